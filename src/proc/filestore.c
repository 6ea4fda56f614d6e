/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two indexes lead to a file. An alias is a name the kernel used: (major, minor, inode, path) in a
 * root. It is trusted without opening anything while the file is held open; in another root the same
 * numbers may be another file's (subvolumes). An inode is what fstat() says once we have opened. Both
 * point to the newest file they stand for and are turned to another in place, so that a target that
 * makes and removes files in a loop cannot make chains grow.
 *
 * The numbers of one inode are a chain that begins with the one that holds the descriptor; the others
 * have copies of what it knows.
 */
#include "proc/filestore.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/idtable.h"
#include "base/strtab.h"
#include "proc/file_open.h"
#include "proc/procfs.h"
#include "proc/roots.h"

#define FILESTORE_MAX_ALIASES (4 * FILESTORE_MAX_FILES)
#define NO_FILE UINT32_MAX
#define SLOW_OPEN_NS                                                                               \
	(5 * NS_PER_MS) /* asleep, in an open() that fails: others pay for the next try */
#define RETRY_NS (10 * NS_PER_S)
#define MAX_PATHS_PER_ROOT                                                                         \
	16 /* of one inode: hard links, bind mounts; others are called as one of them */

struct entry {
	struct file file;
	struct file_key key;         /* as first told; the generation may be added later */
	uint32_t raw_path;           /* in paths, as the kernel gave it */
	uint32_t prev_view;          /* of the same inode; NO_FILE: it is the holder */
	uint32_t next_view;          /* NO_FILE: it is the last */
	uint32_t lru_prev, lru_next; /* among open files; NO_FILE at the ends */
	uint64_t
		retry_ns; /* opening it failed, and took so long that it is not tried before then */
	uint32_t nr_refs;
	bool is_kept;
	bool is_idle; /* in the store's list */
};

struct alias {
	uint32_t major, minor;
	uint64_t inode;
	uint32_t path; /* in paths, as the kernel gave it */
	uint32_t root;
	uint32_t file;
};

struct inode {
	uint64_t dev, ino;
	uint32_t file;
};

struct filestore {
	struct file_opener opener;
	unsigned int max_fds;
	unsigned int nr_fds;
	uint32_t lru_oldest, lru_newest;
	struct filestore_stats stats;

	/* Owned, each; they never move, since callers hold pointers. NULL: was given back. */
	struct entry **entries;
	uint32_t nr_entries, cap_entries;
	uint32_t *idle; /* owned; files that nobody holds, or did for a moment */
	uint32_t nr_idle, cap_idle;
	uint32_t nr_stale; /* files given back whose aliases and inodes are still in the indexes */
	struct alias *aliases; /* owned */
	uint32_t nr_aliases, cap_aliases;
	struct idtable by_alias;
	struct inode *inodes; /* owned */
	uint32_t nr_inodes, cap_inodes;
	struct idtable by_inode;
	struct strtab paths;
	struct roots roots;
};

static const struct build_id no_build_id;

int filestore_new(const struct procfs *procfs, unsigned int max_fds, struct filestore **ret_store)
{
	_cleanup_(filestore_freep) struct filestore *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->opener.procfs = procfs;
	s->max_fds = max_fds;
	s->lru_oldest = s->lru_newest = NO_FILE;
	r = strtab_init(&s->paths);
	if (r < 0)
		return r;
	*ret_store = TAKE(s);
	return 0;
}

struct filestore *filestore_free(struct filestore *s)
{
	if (!s)
		return NULL;
	for (uint32_t i = 0; i < s->nr_entries; i++) {
		struct entry *e = s->entries[i];

		if (e && e->file.fd >= 0 && e->file.content == i)
			close(e->file.fd);
		free(e);
	}
	free(s->entries);
	free(s->idle);
	free(s->aliases);
	free(s->inodes);
	idtable_done(&s->by_alias);
	idtable_done(&s->by_inode);
	strtab_done(&s->paths);
	roots_done(&s->roots);
	free(s);
	return NULL;
}

void filestore_set_verifier(struct filestore *s, file_build_id_fn fn, void *ctx)
{
	s->opener.verify = fn;
	s->opener.verify_ctx = ctx;
}

/* ---- open files, least recently used first ---- */

static void lru_remove(struct filestore *s, struct entry *e)
{
	if (e->lru_prev != NO_FILE)
		s->entries[e->lru_prev]->lru_next = e->lru_next;
	else
		s->lru_oldest = e->lru_next;
	if (e->lru_next != NO_FILE)
		s->entries[e->lru_next]->lru_prev = e->lru_prev;
	else
		s->lru_newest = e->lru_prev;
}

static void lru_append(struct filestore *s, struct entry *e)
{
	e->lru_prev = s->lru_newest;
	e->lru_next = NO_FILE;
	if (s->lru_newest != NO_FILE)
		s->entries[s->lru_newest]->lru_next = e->file.id;
	else
		s->lru_oldest = e->file.id;
	s->lru_newest = e->file.id;
}

static void lru_touch(struct filestore *s, struct entry *e)
{
	lru_remove(s, e);
	lru_append(s, e);
}

/* The one that holds the descriptor. */
static struct entry *holder_of(const struct filestore *s, const struct entry *e)
{
	return s->entries[e->file.content];
}

static void copy_content(struct entry *to, const struct entry *from)
{
	struct file f = from->file;

	f.id = to->file.id;
	f.root = to->file.root;
	f.path = to->file.path;
	to->file = f;
	to->key = from->key;
}

/* What the holder knows has changed. */
static void tell_views(struct filestore *s, const struct entry *holder)
{
	for (uint32_t i = holder->next_view; i != NO_FILE; i = s->entries[i]->next_view)
		copy_content(s->entries[i], holder);
}

static void close_over_limit(struct filestore *s)
{
	while (s->nr_fds > s->max_fds) {
		struct entry *e = s->entries[s->lru_oldest];

		lru_remove(s, e);
		close(e->file.fd);
		e->file.fd = -1;
		e->file.open_error = EMFILE;
		tell_views(s, e);
		s->nr_fds--;
		s->stats.nr_closed_over_limit++;
	}
}

static bool was_opened(const struct entry *e)
{
	return e->file.ino != 0;
}

/* Its descriptor becomes the store's. */
static void hold_fd(struct filestore *s, struct entry *e, const struct reader_file *f)
{
	e->file.fd = f->fd;
	e->file.is_copy = f->is_copy;
	e->file.open_error = 0;
	tell_views(s, e);
	s->nr_fds++;
	lru_append(s, e);
	close_over_limit(s);
}

/* ---- aliases ---- */

static uint64_t alias_hash(const struct alias *a)
{
	uint64_t h = hash_mix((uint64_t)a->major << 32 | a->minor, a->inode);

	return hash_mix(h, (uint64_t)a->root << 32 | a->path);
}

static bool alias_eq(const void *owner, uint32_t id, const void *key)
{
	const struct alias *a = &((const struct filestore *)owner)->aliases[id];
	const struct alias *k = key;

	return a->inode == k->inode && a->major == k->major && a->minor == k->minor &&
	       a->path == k->path && a->root == k->root;
}

static struct alias alias_of(const struct file_request *rq)
{
	return (struct alias){ .major = rq->key->major,
			       .minor = rq->key->minor,
			       .inode = rq->key->inode,
			       .path = rq->path_id,
			       .root = rq->hint->root };
}

static uint32_t alias_find(const struct filestore *s, const struct file_request *rq)
{
	struct alias a = alias_of(rq);
	uint32_t i;

	if (!idtable_find(&s->by_alias, alias_hash(&a), alias_eq, s, &a, &i))
		return NO_FILE;
	return s->aliases[i].file;
}

/* A full table only costs an open() the next time. */
static int alias_set(struct filestore *s, const struct file_request *rq, uint32_t file)
{
	struct alias a = alias_of(rq);
	uint64_t h = alias_hash(&a);
	uint32_t i;
	int r;

	if (idtable_find(&s->by_alias, h, alias_eq, s, &a, &i)) {
		s->aliases[i].file = file;
		return 0;
	}
	r = ARRAY_RESERVE(s->aliases, s->cap_aliases, s->nr_aliases + 1, FILESTORE_MAX_ALIASES);
	if (r == 0)
		r = idtable_reserve(&s->by_alias);
	if (r < 0)
		return r == -E2BIG ? 0 : r;
	a.file = file;
	s->aliases[s->nr_aliases] = a;
	idtable_insert(&s->by_alias, h, s->nr_aliases++);
	return 0;
}

/* ---- inodes ---- */

static bool inode_eq(const void *owner, uint32_t id, const void *key)
{
	const struct inode *n = &((const struct filestore *)owner)->inodes[id];
	const struct inode *k = key;

	return n->ino == k->ino && n->dev == k->dev;
}

static uint64_t inode_hash(const struct inode *n)
{
	return hash_mix(n->dev, n->ino);
}

/* What it leads to may have been given back. */
static struct inode *inode_find(const struct filestore *s, uint64_t dev, uint64_t ino)
{
	struct inode k = { .dev = dev, .ino = ino };
	uint32_t i;

	if (!idtable_find(&s->by_inode, inode_hash(&k), inode_eq, s, &k, &i))
		return NULL;
	return &s->inodes[i];
}

static int inode_set(struct filestore *s, uint64_t dev, uint64_t ino, uint32_t file)
{
	struct inode *known = inode_find(s, dev, ino);
	int r;

	if (known) {
		known->file = file;
		return 0;
	}
	r = ARRAY_RESERVE(s->inodes, s->cap_inodes, s->nr_inodes + 1, FILESTORE_MAX_FILES);
	if (r == 0)
		r = idtable_reserve(&s->by_inode);
	if (r < 0)
		return r;
	s->inodes[s->nr_inodes] = (struct inode){ .dev = dev, .ino = ino, .file = file };
	idtable_insert(&s->by_inode, inode_hash(&s->inodes[s->nr_inodes]), s->nr_inodes);
	s->nr_inodes++;
	return 0;
}

/* ---- files ---- */

static bool is_same_generation(const struct file_key *a, const struct file_key *b)
{
	return a->has_generation && b->has_generation && a->generation == b->generation;
}

/* Whether nothing that was told speaks against the two being one. */
static bool is_compatible(const struct entry *e, const struct file_request *rq)
{
	if (e->key.has_generation && rq->key->has_generation &&
	    e->key.generation != rq->key->generation)
		return false;
	return e->file.build_id.len == 0 || rq->build_id->len == 0 ||
	       build_id_eq(&e->file.build_id, rq->build_id);
}

/* Whether a file never opened is certainly the one asked for: its key alone may be an old file's
 * number given to a new one. */
static bool is_certain(const struct entry *e, const struct file_request *rq)
{
	if (!is_compatible(e, rq))
		return false;
	return is_same_generation(&e->key, rq->key) || (rq->build_id->len && e->file.build_id.len);
}

static void note_told(struct filestore *s, struct entry *e, const struct file_request *rq)
{
	struct entry *holder = holder_of(s, e);
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
		tell_views(s, holder);
}

static int set_path(struct filestore *s, struct entry *e, const char *path, bool strip)
{
	size_t len = strip ? path_len_bare(path) : strlen(path);
	uint32_t id;
	int r = strtab_intern_n(&s->paths, path, len, &id);

	if (r == 0)
		e->file.path = strtab_get(&s->paths, id);
	return r;
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

/* Whether an inode leads to this file: for certain while we hold it open, whatever has been written
 * to it since; once it is closed, or of a copy, the number may have gone to a new file. */
static bool is_behind(const struct entry *e, const struct stat *st)
{
	if (!e)
		return false;
	return (e->file.fd >= 0 && !e->file.is_copy) || is_same_stat(&e->file, st);
}

/* Fills in what opening showed; the descriptor is the store's on success. */
static int adopt(struct filestore *s, struct entry *e, const struct reader_file *f)
{
	const struct stat *st = &f->st;
	struct inode *known = inode_find(s, st->st_dev, st->st_ino);
	int r = set_path(s, e, strtab_get(&s->paths, e->raw_path), st->st_nlink == 0);

	if (r == 0 && (!known || !is_behind(s->entries[known->file], st)))
		r = inode_set(s, st->st_dev, st->st_ino, e->file.id);
	if (r < 0)
		return r;
	e->file.is_deleted = st->st_nlink == 0;
	e->file.dev = st->st_dev;
	e->file.ino = st->st_ino;
	e->file.size = (uint64_t)st->st_size;
	e->file.mtime_ns = mtime_ns_of(st);
	s->stats.nr_unopened--;
	s->stats.nr_opened++;
	hold_fd(s, e, f);
	return 0;
}

/* Each is in the list once at most: create() has made the room. */
static void note_idle(struct filestore *s, struct entry *e)
{
	if (e->is_idle)
		return;
	s->idle[s->nr_idle++] = e->file.id;
	e->is_idle = true;
}

static int new_entry(struct filestore *s, const struct file_request *rq, struct entry **ret_entry)
{
	_cleanup_(freep) struct entry *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return -ENOMEM;
	e->file.id = s->nr_entries;
	e->file.fd = -1;
	e->file.build_id = *rq->build_id;
	e->file.is_deleted = rq->path[path_len_bare(rq->path)] != '\0';
	e->key = *rq->key;
	e->raw_path = rq->path_id;
	e->file.root = rq->hint->root;
	e->file.content = e->file.id;
	e->prev_view = e->next_view = NO_FILE;
	r = set_path(s, e, rq->path, true);
	if (r < 0)
		return r;
	*ret_entry = TAKE(e);
	return 0;
}

/* A new file, not opened so far. */
static int create(struct filestore *s, const struct file_request *rq, struct entry **ret_entry)
{
	_cleanup_(freep) struct entry *e = NULL;
	int r;

	r = ARRAY_RESERVE(s->entries, s->cap_entries, s->nr_entries + 1, FILESTORE_MAX_FILES);
	if (r == 0)
		r = ARRAY_RESERVE(s->idle, s->cap_idle, filestore_nr_held(s) + 1,
				  FILESTORE_MAX_FILES);
	if (r == 0)
		r = new_entry(s, rq, &e);
	if (r == 0)
		r = alias_set(s, rq, e->file.id);
	if (r < 0)
		return r;
	s->entries[s->nr_entries++] = e;
	s->stats.nr_unopened++;
	note_idle(s, e); /* until a mapping shows it */
	*ret_entry = TAKE(e);
	return 0;
}

/* slept_ns: how long it took to learn the error. */
static int add_unopened(struct filestore *s, struct entry *e, const struct file_request *rq,
			int error, uint64_t slept_ns, uint32_t *ret_id)
{
	int r;

	if (!e || !is_compatible(e, rq)) {
		r = create(s, rq, &e);
		if (r < 0)
			return r;
	}
	note_told(s, e, rq);
	if (!was_opened(e))
		e->file.open_error = error;
	if (slept_ns >= SLOW_OPEN_NS)
		e->retry_ns = clock_mono_ns() + RETRY_NS;
	*ret_id = e->file.id;
	return 0;
}

/* The number that the file has in this root under this path. Under another one, if it has many there:
 * every number is told of changes, and links cost nothing. NULL: none. */
static struct entry *find_view(const struct filestore *s, struct entry *holder, uint32_t root,
			       const char *path)
{
	struct entry *in_root = NULL;
	unsigned int nr = 0;

	for (struct entry *e = holder;; e = s->entries[e->next_view]) {
		if (e->file.root == root) {
			if (strcmp(e->file.path, path) == 0)
				return e;
			in_root = e;
			nr++;
		}
		if (e->next_view == NO_FILE)
			return nr < MAX_PATHS_PER_ROOT ? NULL : in_root;
	}
}

/* A view holds its holder. */
static void link_view(struct filestore *s, struct entry *holder, struct entry *e)
{
	e->prev_view = holder->file.id;
	e->next_view = holder->next_view;
	if (e->next_view != NO_FILE)
		s->entries[e->next_view]->prev_view = e->file.id;
	holder->next_view = e->file.id;
	holder->nr_refs++;
}

static int add_view(struct filestore *s, struct entry *holder, const struct file_request *rq,
		    struct entry **ret_entry)
{
	struct entry *e;
	int r = create(s, rq, &e);

	if (r < 0)
		return r;
	s->stats.nr_unopened--;
	copy_content(e, holder);
	link_view(s, holder, e);
	*ret_entry = e;
	return 0;
}

/* By whatever name the inode was known before. *ret_entry: what the alias led to, or NULL. */
static int find_or_add_view(struct filestore *s, struct entry *holder,
			    const struct file_request *rq, const struct stat *st,
			    struct entry **ret_entry)
{
	size_t len = st->st_nlink ? strlen(rq->path) : path_len_bare(rq->path);
	uint32_t path;
	int r;

	if (*ret_entry && (*ret_entry)->file.content == holder->file.id)
		return 0; /* the alias leads to it */
	r = strtab_intern_n(&s->paths, rq->path, len, &path);
	if (r < 0)
		return r;
	*ret_entry = find_view(s, holder, rq->hint->root, strtab_get(&s->paths, path));
	if (*ret_entry)
		return alias_set(s, rq, (*ret_entry)->file.id);
	r = add_view(s, holder, rq, ret_entry);
	if (r == 0)
		(*ret_entry)->file.path = strtab_get(&s->paths, path);
	return r;
}

/* Known already: reached by another name, or closed over the limit. */
static int add_known(struct filestore *s, struct entry *holder, const struct file_request *rq,
		     struct reader_file *f, struct entry **ret_entry)
{
	int r = find_or_add_view(s, holder, rq, &f->st, ret_entry);

	if (r < 0)
		return r;
	note_told(s, holder, rq);
	if (holder->file.is_deleted != (f->st.st_nlink == 0)) {
		holder->file.is_deleted = !holder->file.is_deleted;
		tell_views(s, holder);
	}
	if (holder->file.fd >= 0) {
		lru_touch(s, holder);
	} else {
		hold_fd(s, holder, f);
		f->fd = -1;
	}
	return 0;
}

/* Takes f->fd if it is kept. */
static int add_opened(struct filestore *s, struct entry *e, const struct file_request *rq,
		      struct reader_file *f, uint32_t *ret_id)
{
	const struct stat *st = &f->st;
	struct inode *known = inode_find(s, st->st_dev, st->st_ino);
	int r = 0;

	if (known && is_behind(s->entries[known->file], st)) {
		r = add_known(s, s->entries[known->file], rq, f, &e);
	} else {
		if (!e || was_opened(e) || !is_certain(e, rq))
			r = create(s, rq, &e);
		if (r == 0)
			r = adopt(s, e, f);
		if (r == 0)
			f->fd = -1; /* the store's now */
	}
	if (r < 0)
		return r;
	*ret_id = e->file.id;
	return 0;
}

/* Whether its last open() failed slowly: not before long will it do better. */
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
	struct entry *e = NULL;
	uint32_t id;
	int r;

	r = strtab_intern(&s->paths, path, &rq.path_id);
	if (r < 0)
		return r;
	id = alias_find(s, &rq);
	if (id != NO_FILE)
		e = s->entries[id];
	if (e && e->file.fd >= 0 && key->inode != 0 && is_compatible(e, &rq)) {
		note_told(s, e, &rq);
		lru_touch(s, holder_of(s, e));
		*ret_id = id;
		return 0;
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

int filestore_tell_build_id(struct filestore *s, uint32_t id, const struct build_id *build_id,
			    const struct file_hint *hint)
{
	struct file_request rq;
	struct reader_file f;
	struct entry *e;
	int r;

	e = id < s->nr_entries ? s->entries[id] : NULL;
	if (!e)
		return -EINVAL;
	e = holder_of(s, e);
	if (e->file.build_id.len == 0)
		e->file.build_id = *build_id;
	tell_views(s, e);
	if (was_opened(e))
		return 0;
	rq = (struct file_request){ .key = &e->key,
				    .path = strtab_get(&s->paths, e->raw_path),
				    .path_id = e->raw_path,
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

/* ---- who holds a file ---- */

void filestore_ref(struct filestore *s, uint32_t id)
{
	s->entries[id]->nr_refs++;
}

void filestore_unref(struct filestore *s, uint32_t id)
{
	struct entry *e = s->entries[id];

	if (--e->nr_refs == 0 && !e->is_kept)
		note_idle(s, e);
}

void filestore_keep(struct filestore *s, uint32_t id)
{
	s->entries[id]->is_kept = true;
}

static void unlink_view(struct filestore *s, struct entry *e)
{
	s->entries[e->prev_view]->next_view = e->next_view;
	if (e->next_view != NO_FILE)
		s->entries[e->next_view]->prev_view = e->prev_view;
	filestore_unref(s, e->file.content);
}

static void release(struct filestore *s, struct entry *e)
{
	if (e->file.content != e->file.id) {
		unlink_view(s, e);
	} else if (e->file.fd >= 0) {
		lru_remove(s, e);
		close(e->file.fd);
		s->nr_fds--;
	}
	s->entries[e->file.id] = NULL;
	s->stats.nr_released++;
	s->nr_stale++;
	free(e);
}

static void clean_aliases(struct filestore *s)
{
	uint32_t kept = 0;

	idtable_clear(&s->by_alias);
	for (uint32_t i = 0; i < s->nr_aliases; i++) {
		if (!s->entries[s->aliases[i].file])
			continue;
		s->aliases[kept] = s->aliases[i];
		idtable_insert(&s->by_alias, alias_hash(&s->aliases[kept]), kept);
		kept++;
	}
	s->nr_aliases = kept;
}

static void clean_inodes(struct filestore *s)
{
	uint32_t kept = 0;

	idtable_clear(&s->by_inode);
	for (uint32_t i = 0; i < s->nr_inodes; i++) {
		if (!s->entries[s->inodes[i].file])
			continue;
		s->inodes[kept] = s->inodes[i];
		idtable_insert(&s->by_inode, inode_hash(&s->inodes[kept]), kept);
		kept++;
	}
	s->nr_inodes = kept;
}

/* One look at each. A view that is released may leave its holder idle: that goes into a slot that was
 * read, and is looked at the next time. */
static void sweep_idle(struct filestore *s, file_gone_fn fn, void *ctx)
{
	uint32_t nr = s->nr_idle;

	s->nr_idle = 0;
	for (uint32_t i = 0; i < nr; i++) {
		struct entry *e = s->entries[s->idle[i]];

		if (e->nr_refs || e->is_kept)
			e->is_idle = false;
		else if (fn && !fn(ctx, e->file.id))
			s->idle[s->nr_idle++] = e->file.id;
		else
			release(s, e);
	}
}

void filestore_sweep(struct filestore *s, file_gone_fn fn, void *ctx)
{
	uint64_t nr_released = s->stats.nr_released;

	sweep_idle(s, fn, ctx);
	if (s->stats.nr_released != nr_released)
		sweep_idle(s, fn, ctx);
	if (s->nr_stale <= filestore_nr_held(s))
		return; /* as much work as it saves */
	clean_aliases(s);
	clean_inodes(s);
	s->nr_stale = 0;
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

uint32_t filestore_nr(const struct filestore *s)
{
	return s->nr_entries;
}

uint32_t filestore_nr_held(const struct filestore *s)
{
	return s->nr_entries - (uint32_t)s->stats.nr_released;
}

unsigned int filestore_nr_fds(const struct filestore *s)
{
	return s->nr_fds;
}

struct filestore_stats filestore_stats(const struct filestore *s)
{
	return s->stats;
}
