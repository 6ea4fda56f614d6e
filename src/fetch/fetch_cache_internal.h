/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the cache only. */
#ifndef FETCH_FETCH_CACHE_INTERNAL_H
#define FETCH_FETCH_CACHE_INTERNAL_H

#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>

#include "fetch/fetch_cache.h"

#define CACHE_ENTRIES ".build-id"
#define CACHE_TMP ".tmp"
#define CACHE_SUFFIX ".debug"
#define CACHE_MISSING_MARK ".missing-"
#define CACHE_BROKEN_MARK ".broken-"
#define CACHE_PATH_SIZE 128 /* ".build-id/NN/" and a build-id in hex, with the longest suffix */

static inline bool cache_note_is_young(const struct stat *st, enum cache_note note)
{
	time_t now = time(NULL), age_s = now - st->st_mtim.tv_sec;

	return age_s >= 0 &&
	       age_s < (note == CACHE_MISSING ? CACHE_MISSING_MAX_AGE_S : CACHE_BROKEN_MAX_AGE_S);
}

#endif
