/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug files by build-id in a private folder: .build-id/NN/REST.debug, as debuggers look for them.
 * Bounded in size, the least recently used go first. Several agents may use one folder at once: a
 * file appears whole, under a name that says what it is, and locks end with their holder.
 */
#ifndef FETCH_CACHE_H
#define FETCH_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/build_id.h"

struct pa_error;

#define CACHE_MISSING_MAX_AGE_S 600 /* how long "not found" is believed */
#define CACHE_BROKEN_MAX_AGE_S 3600 /* and how long "that file is no good" */
#define CACHE_TMP_NAME_SIZE 32

struct cache {
	int dir_fd;  /* owned; -1: closed */
	int lock_fd; /* owned; its bytes are locked, one per build-id */
	uint64_t max_bytes;
	uint64_t salt; /* of what is asked: other servers may know what these do not */
	uint64_t nr_evicted;
};

/* Makes the folder and its parents (mode 0700) where they are missing. Refuses, in a sentence, one
 * that belongs to somebody else or that others may write to (-EPERM), and what is no folder that can
 * be written to. */
int cache_open(struct cache *c, const char *path, uint64_t max_bytes, uint64_t salt,
	       struct pa_error *err);
void cache_close(struct cache *c);

/* A descriptor (the caller's), and the file counts as used now. -ENOENT. */
int cache_get(struct cache *c, const struct build_id *id);

/* Takes the file `name` out of the folder dir_fd, which cache_tmp() made; then makes room. */
int cache_put(struct cache *c, const struct build_id *id, int dir_fd, const char *name);

/* Remembers for a while that there is no use in asking; true from cache_is_hopeless() until then. */
enum cache_note { CACHE_MISSING, CACHE_BROKEN };
void cache_remember(struct cache *c, const struct build_id *id, enum cache_note note);
bool cache_is_hopeless(struct cache *c, const struct build_id *id);
void cache_drop(struct cache *c, const struct build_id *id);

/* Whoever wants to fetch a file locks its build-id. -EAGAIN: somebody else does so now. */
int cache_lock(struct cache *c, const struct build_id *id);
void cache_unlock(struct cache *c, const struct build_id *id);

/* A folder for a file on its way, in the same file system; its descriptor is the caller's and marks
 * it as in use. What a killed agent left behind goes with cache_sweep(). */
int cache_tmp(struct cache *c, char name[CACHE_TMP_NAME_SIZE], int *ret_fd);
void cache_remove_tmp(struct cache *c, const char *name);
void cache_sweep(struct cache *c);

/* Removes the least recently used until the rest fits. */
int cache_trim(struct cache *c);

#endif
