/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the file that a process maps among those that are known, or opens and adds it. */
#include "proc/filestore.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "proc/filestore_internal.h"
#include "proc/procfs.h"

#define SLOW_OPEN_NS                                                                               \
	(5 * NS_PER_MS) /* sleep in a failing open(): later attempts would be charged to others */
#define RETRY_NS (10 * NS_PER_S)
/* per inode: hard links, bind mounts; further ones share these */
#define MAX_PATHS_PER_ROOT 16

static const struct build_id no_build_id;

static void init_lock(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

void filestore_lock(const struct filestore *s)
{
	/* does not change the contents */
	pthread_mutex_lock(&((struct filestore *)(uintptr_t)s)->lock);
}

void filestore_unlock(const struct filestore *s)
{
	pthread_mutex_unlock(&((struct filestore *)(uintptr_t)s)->lock);
}

void filestore_take(const struct filestore *s, uint32_t id, struct file *ret_file)
{
	filestore_lock(s);
	*ret_file = *filestore_get(s, id);
	if (ret_file->fd >= 0) {
		ret_file->fd = fcntl(ret_file->fd, F_DUPFD_CLOEXEC, 0);
		ret_file->open_error = ret_file->fd < 0 ? errno : 0;
	}
	filestore_unlock(s);
}

int filestore_new(const struct procfs *procfs, unsigned int max_fds, struct filestore **ret_store)
{
	struct filestore *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->opener.procfs = procfs;
	s->max_fds = max_fds;
	accounts_init(&s->accounts);
	for (uint32_t i = 0; i < ACCOUNTS_MAX; i++)
		s->fds[i] = (struct fd_queue){ .oldest = NO_FILE, .newest = NO_FILE };
	init_lock(&s->lock);
	*ret_store = s;
	return 0;
}

struct filestore *filestore_free(struct filestore *s)
{
	if (!s)
		return NULL;
	for (uint32_t i = 0; i < s->nr_entries; i++) {
		struct entry *e = s->entries[i];

		if (!e)
			continue;
		if (e->file.fd >= 0 && e->file.content == i)
			close(e->file.fd);
		entry_free(e);
	}
	index_done(s);
	free(s->entries);
	free(s->unused);
	free(s->idle);
	roots_done(&s->roots);
	pthread_mutex_destroy(&s->lock);
	free(s);
	return NULL;
}

void filestore_set_verifier(struct filestore *s, file_build_id_fn fn, void *ctx)
{
	s->opener.verify = fn;
	s->opener.verify_ctx = ctx;
}

/* ---- what is known of a file ---- */

static bool was_opened(const struct entry *e)
{
	return e->file.ino != 0;
}

static bool is_same_generation(const struct file_key *a, const struct file_key *b)
{
	return a->has_generation && b->has_generation && a->generation == b->generation;
}

/* True if no known fact contradicts that the two are the same file. */
static bool is_compatible(const struct entry *e, const struct file_request *rq)
{
	if (e->key.has_generation && rq->key->has_generation &&
	    e->key.generation != rq->key->generation)
		return false;
	return e->file.build_id.len == 0 || rq->build_id->len == 0 ||
	       build_id_eq(&e->file.build_id, rq->build_id);
}

/* True if a file that was never opened is certainly the one asked for: its key alone may belong to
 * an old file whose inode number was reused. */
static bool is_certain(const struct entry *e, const struct file_request *rq)
{
	if (!is_compatible(e, rq))
		return false;
	return is_same_generation(&e->key, rq->key) || (rq->build_id->len && e->file.build_id.len);
}

static void note_reported(struct filestore *s, struct entry *e, const struct file_request *rq)
{
	struct entry *holder = entry_holder(s, e);
	bool is_new = false;

	if (rq->build_id->len && holder->file.build_id.len == 0) {
		holder->file.build_id = *rq->build_id;
		is_new = true;
	}
	if (rq->key->has_generation && !holder->key.has_generation) {
		holder->key.generation = rq->key->generation;
		holder->key.has_generation = true;
		is_new = true;
	}
	if (is_new)
		entry_update_views(s, holder);
}

static uint64_t mtime_ns_of(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * NS_PER_S + (uint64_t)st->st_mtim.tv_nsec;
}

static bool is_same_stat(const struct file *f, const struct stat *st)
{
	return f->dev == st->st_dev && f->ino == st->st_ino && f->size == (uint64_t)st->st_size &&
	       f->mtime_ns == mtime_ns_of(st);
}

bool file_is_unchanged(const struct file *f)
{
	struct stat st;

	if (f->is_copy)
		return f->fd >= 0;
	return f->fd >= 0 && fstat(f->fd, &st) == 0 && is_same_stat(f, &st);
}

/* True if an inode leads to this file: certain while it is held open, whatever was written to it
 * since; if it is closed, or a copy, the inode number may have been reused. */
static bool is_behind(const struct entry *e, const struct stat *st)
{
	if (!e)
		return false;
	return (e->file.fd >= 0 && !e->file.is_copy) || is_same_stat(&e->file, st);
}

/* Stores the attributes found by opening; takes the descriptor on success. */
static int adopt(struct filestore *s, struct entry *e, const struct reader_file *f)
{
	const struct stat *st = &f->st;
	const char *path = e->raw_path->text;
	int r = entry_set_path(e, path, st->st_nlink ? strlen(path) : path_len_bare(path));

	if (r == 0 && !is_behind(inode_find(s, st->st_dev, st->st_ino), st))
		r = inode_set(s, st->st_dev, st->st_ino, e);
	if (r < 0)
		return r;
	e->file.is_deleted = st->st_nlink == 0;
	e->file.dev = st->st_dev;
	e->file.ino = st->st_ino;
	e->file.size = (uint64_t)st->st_size;
	e->file.mtime_ns = mtime_ns_of(st);
	entry_hold_fd(s, e, f);
	return 0;
}

/* slept_ns: how long the failing call slept. */
static int add_unopened(struct filestore *s, struct entry *e, const struct file_request *rq,
			int error, uint64_t slept_ns, uint32_t *ret_id)
{
	int r;

	if (!e || !is_compatible(e, rq)) {
		r = entry_create(s, rq, &e);
		if (r < 0)
			return r;
	}
	note_reported(s, e, rq);
	if (!was_opened(e))
		e->file.open_error = error;
	if (slept_ns >= SLOW_OPEN_NS)
		e->retry_ns = clock_mono_ns() + RETRY_NS;
	*ret_id = e->file.id;
	return 0;
}

static bool has_path(const struct entry *e, const char *path, size_t len)
{
	return e->path->len == len && memcmp(e->path->text, path, len) == 0;
}

/* The number of the file in this root under this path. If the file has many numbers there, one with
 * another path, because every number has to be updated on changes, and creating links costs a
 * target nothing. NULL if there is none. */
static struct entry *find_view(const struct filestore *s, struct entry *holder, uint32_t root,
			       const char *path, size_t len)
{
	struct entry *in_root = NULL;
	unsigned int nr = 0;

	for (struct entry *e = holder;; e = s->entries[e->next_view]) {
		if (e->file.root == root) {
			if (has_path(e, path, len))
				return e;
			in_root = e;
			nr++;
		}
		if (e->next_view == NO_FILE)
			return nr < MAX_PATHS_PER_ROOT ? NULL : in_root;
	}
}

/* Looks the inode up, whatever its name was before. *ret_entry: what the alias led to, or NULL. */
static int find_or_add_view(struct filestore *s, struct entry *holder,
			    const struct file_request *rq, const struct stat *st,
			    struct entry **ret_entry)
{
	size_t len = st->st_nlink ? strlen(rq->path) : path_len_bare(rq->path);
	struct entry *e = *ret_entry;
	int r;

	if (e && e->file.content == holder->file.id)
		return 0; /* the alias already refers to it */
	e = find_view(s, holder, rq->hint->root, rq->path, len);
	if (!e) {
		r = entry_create_view(s, holder, rq, &e);
		if (r == 0)
			r = entry_set_path(e, rq->path, len);
	} else {
		/* Any number of links may share a number: their names are not kept. */
		r = has_path(e, rq->path, len) ? alias_set(s, rq, e) : 0;
	}
	if (r < 0)
		return r;
	*ret_entry = e;
	return 0;
}

/* The file is already known: it was reached by another name, or was closed over the limit. */
static int add_known(struct filestore *s, struct entry *holder, const struct file_request *rq,
		     struct reader_file *f, struct entry **ret_entry)
{
	int r = find_or_add_view(s, holder, rq, &f->st, ret_entry);

	if (r < 0)
		return r;
	note_reported(s, holder, rq);
	if (holder->file.is_deleted != (f->st.st_nlink == 0)) {
		holder->file.is_deleted = !holder->file.is_deleted;
		entry_update_views(s, holder);
	}
	if (holder->file.fd >= 0) {
		entry_touch_fd(s, holder);
	} else {
		entry_hold_fd(s, holder, f);
		f->fd = -1;
	}
	return 0;
}

/* Takes f->fd if it is kept. */
static int add_opened(struct filestore *s, struct entry *e, const struct file_request *rq,
		      struct reader_file *f, uint32_t *ret_id)
{
	const struct stat *st = &f->st;
	struct entry *known = inode_find(s, st->st_dev, st->st_ino);
	int r = 0;

	if (is_behind(known, st)) {
		r = add_known(s, known, rq, f, &e);
	} else {
		if (!e || was_opened(e) || !is_certain(e, rq))
			r = entry_create(s, rq, &e);
		if (r == 0)
			r = adopt(s, e, f);
		if (r == 0)
			f->fd = -1; /* the store owns it now */
	}
	if (r < 0)
		return r;
	*ret_id = e->file.id;
	return 0;
}

/* True if its last open() failed slowly, so that it is not retried soon. */
static bool is_put_off(const struct entry *e, const struct file_request *rq)
{
	return e && e->retry_ns && is_compatible(e, rq) && !was_opened(e) &&
	       clock_mono_ns() < e->retry_ns;
}

int filestore_add(struct filestore *s, const struct file_key *key, const char *path,
		  const struct build_id *build_id, const struct file_hint *hint, uint32_t *ret_id)
{
	struct file_request rq = { .key = key,
				   .path = path,
				   .build_id = build_id ? build_id : &no_build_id,
				   .hint = hint };
	uint64_t slept_ns = procfs_slept_ns(s->opener.procfs);
	struct reader_file f;
	struct entry *e = alias_find(s, &rq);
	int r;

	if (e && e->file.fd >= 0 && key->inode != 0 && is_compatible(e, &rq)) {
		note_reported(s, e, &rq);
		entry_touch_fd(s, entry_holder(s, e));
		*ret_id = e->file.id;
		return 0;
	}
	if (!e && entries_are_refused(s, hint->payer)) {
		s->stats.nr_refused++;
		return -EDQUOT; /* it is not opened at all */
	}
	if (is_put_off(e, &rq))
		return add_unopened(s, e, &rq, e->file.open_error, 0, ret_id);
	r = file_open(&s->opener, &rq, &f);
	if (r < 0)
		return add_unopened(s, e, &rq, -r, procfs_slept_ns(s->opener.procfs) - slept_ns,
				    ret_id);
	r = add_opened(s, e, &rq, &f, ret_id);
	closep(&f.fd);
	return r;
}

int filestore_set_build_id(struct filestore *s, uint32_t id, const struct build_id *build_id,
			   const struct file_hint *hint)
{
	struct file_request rq;
	struct reader_file f;
	struct entry *e;
	int r;

	e = id < s->nr_entries ? s->entries[id] : NULL;
	if (!e)
		return -EINVAL;
	e = entry_holder(s, e);
	if (e->file.build_id.len == 0)
		e->file.build_id = *build_id;
	entry_update_views(s, e);
	if (was_opened(e))
		return 0;
	rq = (struct file_request){ .key = &e->key,
				    .path = e->raw_path->text,
				    .build_id = &e->file.build_id,
				    .hint = hint };
	r = file_open(&s->opener, &rq, &f);
	if (r < 0) {
		e->file.open_error = -r;
		return 0;
	}
	r = adopt(s, e, &f);
	if (r < 0)
		close(f.fd);
	return r;
}

const struct file *filestore_get(const struct filestore *s, uint32_t id)
{
	return id < s->nr_entries && s->entries[id] ? &s->entries[id]->file : NULL;
}

const struct procfs *filestore_procfs(const struct filestore *s)
{
	return s->opener.procfs;
}

uint32_t filestore_find_root(struct filestore *s, pid_t pid)
{
	return roots_of(&s->roots, s->opener.procfs, pid);
}

uint32_t filestore_place(const struct filestore *s, uint32_t root, const char **path)
{
	return roots_place(&s->roots, root, path);
}

int filestore_root(const struct filestore *s, uint32_t root)
{
	return roots_fd(&s->roots, root);
}

uid_t filestore_root_user(const struct filestore *s, uint32_t root)
{
	return roots_user(&s->roots, root);
}

unsigned int filestore_nr_fds(const struct filestore *s)
{
	return s->nr_fds;
}

struct filestore_stats filestore_stats(const struct filestore *s)
{
	return s->stats;
}
