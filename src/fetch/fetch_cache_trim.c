/* SPDX-License-Identifier: Apache-2.0 */
/* Removal from the cache: the least recently used files, expired notes, leftovers of killed agents.
 * */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/open_dir.h"
#include "fetch/fetch_cache_internal.h"

#define MAX_ENTRIES (1u << 20)
#define MAX_DEPTH 4    /* of a temporary directory: <cache of libdebuginfod>/<build-id>/<file> */
#define LOCK_TRIES 500 /* 5 s; a trim takes milliseconds */
#define LOCK_WAIT_NS (10 * NS_PER_MS)

struct entry {
	char path[CACHE_PATH_SIZE];
	uint64_t bytes;
	uint64_t used_ns;
};

struct listing {
	struct entry *entries; /* owned */
	uint32_t nr, cap;
	uint64_t bytes;
};

static void listing_done(struct listing *l)
{
	free(l->entries);
}

typedef int (*name_fn)(void *ctx, int dir_fd, const char *name);

/* Calls fn for every name in a directory except . and .. */
static int each_name(int at_fd, const char *folder, name_fn fn, void *ctx)
{
	_cleanup_(dirclosep) DIR *dir = NULL;
	struct dirent *e;
	int r = open_dir_at(at_fd, folder, O_NOFOLLOW, &dir);

	while (r == 0 && (e = readdir(dir)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			r = fn(ctx, dirfd(dir), e->d_name);
	return r;
}

struct walk {
	struct listing *to;
	const char *folder; /* "NN" */
};

static int add_entry(struct walk *w, const struct stat *st, const char *name)
{
	struct listing *l = w->to;
	struct entry *e;
	int r = ARRAY_RESERVE(l->entries, l->cap, (size_t)l->nr + 1, MAX_ENTRIES);

	if (r < 0)
		return r;
	e = &l->entries[l->nr];
	if (snprintf(e->path, sizeof(e->path), CACHE_ENTRIES "/%s/%s", w->folder, name) >=
	    (int)sizeof(e->path))
		return 0; /* none of ours is that long */
	e->bytes = (uint64_t)st->st_size;
	e->used_ns = (uint64_t)st->st_mtim.tv_sec * NS_PER_S + (uint64_t)st->st_mtim.tv_nsec;
	l->bytes += e->bytes;
	l->nr++;
	return 0;
}

static bool is_old_note(const struct stat *st, const char *name)
{
	if (strstr(name, CACHE_MISSING_MARK))
		return !cache_note_is_young(st, CACHE_MISSING);
	return strstr(name, CACHE_BROKEN_MARK) && !cache_note_is_young(st, CACHE_BROKEN);
}

static int see_entry(void *ctx, int dir_fd, const char *name)
{
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return 0; /* another agent has removed it, or it is not ours */
	if (is_old_note(&st, name)) {
		(void)unlinkat(dir_fd, name, 0); /* it is ignored in any case */
		return 0;
	}
	return add_entry(ctx, &st, name);
}

static int see_folder(void *ctx, int dir_fd, const char *name)
{
	struct walk w = { .to = ctx, .folder = name };
	int r = each_name(dir_fd, name, see_entry, &w);

	return r == -ENOMEM || r == -E2BIG ? r : 0;
}

static int by_use(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->used_ns != y->used_ns)
		return x->used_ns < y->used_ns ? -1 : 1;
	return strcmp(x->path, y->path);
}

static int trim_locked(struct cache *c)
{
	_cleanup_(listing_done) struct listing l = { 0 };
	int r = each_name(c->dir_fd, CACHE_ENTRIES, see_folder, &l);

	if (r < 0 || l.bytes <= c->max_bytes)
		return r;
	qsort(l.entries, l.nr, sizeof(*l.entries), by_use);
	for (uint32_t i = 0; i < l.nr && l.bytes > c->max_bytes; i++) {
		if (!l.entries[i].bytes || unlinkat(c->dir_fd, l.entries[i].path, 0) < 0)
			continue;
		l.bytes -= l.entries[i].bytes;
		c->nr_evicted++;
	}
	return 0;
}

/* One agent at a time, or two would both remove files. An agent that cannot wait leaves it to the
 * other. */
int cache_trim(struct cache *c)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
	const struct timespec wait = { .tv_nsec = LOCK_WAIT_NS };
	int r = -EAGAIN;

	for (int i = 0; i < LOCK_TRIES && r == -EAGAIN; i++) {
		if (i)
			(void)nanosleep(&wait, NULL);
		r = fcntl(c->lock_fd, F_OFD_SETLK, &lock) < 0 ? -EAGAIN : 0;
	}
	if (r < 0)
		return 0;
	r = trim_locked(c);
	lock.l_type = F_UNLCK;
	(void)fcntl(c->lock_fd, F_OFD_SETLK, &lock); /* releasing one's own lock cannot fail */
	return r;
}

/* Removes a directory and its contents, to a depth that ours never reach. */
struct removal {
	unsigned int depth;
};

static int remove_name(void *ctx, int dir_fd, const char *name)
{
	struct removal *rm = ctx;

	if (unlinkat(dir_fd, name, 0) == 0 || rm->depth == MAX_DEPTH)
		return 0;
	rm->depth++;
	(void)each_name(dir_fd, name, remove_name, rm); /* leftovers stay until the next sweep */
	rm->depth--;
	(void)unlinkat(dir_fd, name, AT_REMOVEDIR);
	return 0;
}

void cache_remove_tmp(struct cache *c, const char *name)
{
	_cleanup_(closep) int tmp_fd =
		openat(c->dir_fd, CACHE_TMP, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct removal rm = { 0 };

	if (tmp_fd >= 0)
		(void)remove_name(&rm, tmp_fd, name);
}

static int sweep_one(void *ctx, int dir_fd, const char *name)
{
	_cleanup_(closep) int fd =
		openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		cache_remove_tmp(ctx, name);
	return 0;
}

void cache_sweep(struct cache *c)
{
	(void)each_name(c->dir_fd, CACHE_TMP, sweep_one, c); /* the next run will do it */
}
