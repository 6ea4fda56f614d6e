/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug files by build-id in a private directory: .build-id/NN/REST.debug, where debuggers look for
 * them. Limited in size; the least recently used are removed first. Several agents may share one
 * directory: a file appears complete, under its final name, and locks end with their holder.
 */
#ifndef FETCH_FETCH_CACHE_H
#define FETCH_FETCH_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/build_id.h"

struct pa_error;

#define CACHE_MISSING_MAX_AGE_S 600 /* how long "not found" is cached */
#define CACHE_BROKEN_MAX_AGE_S 3600 /* and how long "invalid file" is cached */
#define CACHE_TMP_NAME_SIZE 32

struct cache {
	int dir_fd;  /* owned; -1: closed */
	int lock_fd; /* owned; its bytes are locks, one per build-id */
	uint64_t max_bytes;
	uint64_t salt; /* hash of the servers: others may have what these lack */
	uint64_t nr_evicted;
};

/* Creates the directory and its parents (mode 0700) if they are missing. A directory that belongs
 * to another user or that others can write to (-EPERM), or that is not a writable directory, is
 * refused with a message. */
int cache_open(struct cache *c, const char *path, uint64_t max_bytes, uint64_t salt,
	       struct pa_error *err);
void cache_close(struct cache *c);

/* Returns a descriptor (the caller's), and marks the file as used now. -ENOENT. */
int cache_get(struct cache *c, const struct build_id *id);

/* Moves the file `name` out of the directory dir_fd, which cache_tmp() created, into the cache;
 * then makes room. */
int cache_put(struct cache *c, const struct build_id *id, int dir_fd, const char *name);

/* Records for a while that requests are futile; cache_is_hopeless() is true until then. */
enum cache_note { CACHE_MISSING, CACHE_BROKEN };
void cache_remember(struct cache *c, const struct build_id *id, enum cache_note note);
bool cache_is_hopeless(struct cache *c, const struct build_id *id);
void cache_drop(struct cache *c, const struct build_id *id);

/* Locks the build-id of a file to be fetched. -EAGAIN: another agent is fetching it. */
int cache_lock(struct cache *c, const struct build_id *id);
void cache_unlock(struct cache *c, const struct build_id *id);

/* A directory for a download, on the same file system; its descriptor is the caller's and marks it
 * as in use. cache_sweep() removes what a killed agent left behind. */
int cache_tmp(struct cache *c, char name[CACHE_TMP_NAME_SIZE], int *ret_fd);
void cache_remove_tmp(struct cache *c, const char *name);
void cache_sweep(struct cache *c);

/* Removes the least recently used files until the rest fits. */
int cache_trim(struct cache *c);

#endif
