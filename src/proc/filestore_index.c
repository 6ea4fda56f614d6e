/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two indexes lead to a file. An alias is a name that the kernel used: (major, minor, inode, path)
 * in a root. It is trusted without opening anything while the file is held open; in another root
 * the same numbers may belong to another file (subvolumes). An inode is what fstat() reports once
 * the file is open. Both point to the newest file that they stand for and are updated in place, so
 * that a target that creates and removes files in a loop cannot grow chains.
 */
#include <errno.h>

#include "base/array.h"
#include "base/hash.h"
#include "proc/filestore_internal.h"

#define MAX_ALIASES (4 * FILESTORE_MAX_FILES)
#define MAX_STALE_BYTES (1u << 20) /* size of paths of released files */

static struct entry_ref ref_to(const struct entry *e)
{
	return (struct entry_ref){ e->file.id, e->serial };
}

/* NULL if the file was released. */
static struct entry *entry_of(const struct filestore *s, struct entry_ref to)
{
	struct entry *e = s->entries[to.file];

	return e && e->serial == to.serial ? e : NULL;
}

/* ---- aliases ---- */

static uint64_t alias_hash(const struct alias *a)
{
	uint64_t h = hash_mix((uint64_t)a->major << 32 | a->minor, a->inode);

	return hash_mix(hash_mix(h, a->root), a->path_hash);
}

/* An alias that borrows its path. */
static struct alias alias_of(const struct file_request *rq)
{
	return (struct alias){ .major = rq->key->major,
			       .minor = rq->key->minor,
			       .inode = rq->key->inode,
			       .path_hash = hash_bytes(rq->path, strlen(rq->path)),
			       .root = rq->hint->root };
}

static bool alias_eq(const void *owner, uint32_t id, const void *key)
{
	const struct alias *a = &((const struct filestore *)owner)->aliases[id];
	const struct file_request *rq = key;

	return a->inode == rq->key->inode && a->major == rq->key->major &&
	       a->minor == rq->key->minor && a->root == rq->hint->root &&
	       strcmp(a->path->text, rq->path) == 0;
}

struct entry *alias_find(const struct filestore *s, const struct file_request *rq)
{
	struct alias a = alias_of(rq);
	uint32_t i;

	if (!idtable_find(&s->by_alias, alias_hash(&a), alias_eq, s, rq, &i))
		return NULL;
	return entry_of(s, s->aliases[i].to);
}

/* Most aliases have the path of their file. */
static struct file_path *path_for(const struct entry *e, const char *path)
{
	return strcmp(e->raw_path->text, path) == 0 ? file_path_ref(e->raw_path)
						    : file_path_new(path, strlen(path));
}

/* If the table is full, the next lookup has to open the file. */
int alias_set(struct filestore *s, const struct file_request *rq, const struct entry *e)
{
	struct alias a = alias_of(rq);
	uint64_t h = alias_hash(&a);
	uint32_t i;
	int r;

	if (idtable_find(&s->by_alias, h, alias_eq, s, rq, &i)) {
		s->aliases[i].to = ref_to(e);
		return 0;
	}
	r = ARRAY_RESERVE(s->aliases, s->cap_aliases, s->nr_aliases + 1, MAX_ALIASES);
	if (r == 0)
		r = idtable_reserve(&s->by_alias);
	if (r < 0)
		return r == -E2BIG ? 0 : r;
	a.path = path_for(e, rq->path);
	if (!a.path)
		return -ENOMEM;
	a.to = ref_to(e);
	s->aliases[s->nr_aliases] = a;
	idtable_insert(&s->by_alias, h, s->nr_aliases++);
	return 0;
}

static void clean_aliases(struct filestore *s)
{
	uint32_t kept = 0;

	idtable_clear(&s->by_alias);
	for (uint32_t i = 0; i < s->nr_aliases; i++) {
		if (!entry_of(s, s->aliases[i].to)) {
			file_path_unref(s->aliases[i].path);
			continue;
		}
		s->aliases[kept] = s->aliases[i];
		idtable_insert(&s->by_alias, alias_hash(&s->aliases[kept]), kept);
		kept++;
	}
	s->nr_aliases = kept;
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

struct entry *inode_find(const struct filestore *s, uint64_t dev, uint64_t ino)
{
	struct inode k = { .dev = dev, .ino = ino };
	uint32_t i;

	if (!idtable_find(&s->by_inode, inode_hash(&k), inode_eq, s, &k, &i))
		return NULL;
	return entry_of(s, s->inodes[i].to);
}

int inode_set(struct filestore *s, uint64_t dev, uint64_t ino, const struct entry *e)
{
	struct inode n = { .dev = dev, .ino = ino, .to = ref_to(e) };
	uint64_t h = inode_hash(&n);
	uint32_t i;
	int r;

	if (idtable_find(&s->by_inode, h, inode_eq, s, &n, &i)) {
		s->inodes[i] = n;
		return 0;
	}
	r = ARRAY_RESERVE(s->inodes, s->cap_inodes, s->nr_inodes + 1, FILESTORE_MAX_FILES);
	if (r == 0)
		r = idtable_reserve(&s->by_inode);
	if (r < 0)
		return r;
	s->inodes[s->nr_inodes] = n;
	idtable_insert(&s->by_inode, h, s->nr_inodes++);
	return 0;
}

static void clean_inodes(struct filestore *s)
{
	uint32_t kept = 0;

	idtable_clear(&s->by_inode);
	for (uint32_t i = 0; i < s->nr_inodes; i++) {
		if (!entry_of(s, s->inodes[i].to))
			continue;
		s->inodes[kept] = s->inodes[i];
		idtable_insert(&s->by_inode, inode_hash(&s->inodes[kept]), kept);
		kept++;
	}
	s->nr_inodes = kept;
}

/* ---- both indexes ---- */

void index_clean(struct filestore *s)
{
	if (s->nr_stale <= filestore_nr_held(s) && s->stale_bytes <= MAX_STALE_BYTES)
		return;
	clean_aliases(s);
	clean_inodes(s);
	s->nr_stale = 0;
	s->stale_bytes = 0;
}

void index_done(struct filestore *s)
{
	for (uint32_t i = 0; i < s->nr_aliases; i++)
		file_path_unref(s->aliases[i].path);
	free(s->aliases);
	free(s->inodes);
	idtable_done(&s->by_alias);
	idtable_done(&s->by_inode);
}
