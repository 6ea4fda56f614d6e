/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of files: given when a file is first seen, held by mappings and models, released by
 * filestore_sweep() and then given to later files. What an entry occupies is charged to the user of
 * the process that mapped the file first.
 *
 * The numbers of one inode form a chain that begins with the one that holds the descriptor (the
 * holder); the others have copies of its data.
 */
#include <errno.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "proc/filestore_internal.h"

struct entry *entry_holder(const struct filestore *s, const struct entry *e)
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

void entry_update_views(struct filestore *s, const struct entry *holder)
{
	for (uint32_t i = holder->next_view; i != NO_FILE; i = s->entries[i]->next_view)
		copy_content(s->entries[i], holder);
}

/* ---- charging ---- */

/* The size of an entry with its alias and inode. A path may be stored twice: with and without "
 * (deleted)". */
static uint32_t bytes_of(const struct file_request *rq)
{
	size_t path_bytes = sizeof(struct file_path) + strlen(rq->path) + 1;

	return (uint32_t)(sizeof(struct entry) + sizeof(struct alias) + sizeof(struct inode) +
			  2 * path_bytes);
}

bool entries_are_refused(struct filestore *s, uint64_t payer)
{
	const struct account *of = accounts_find(&s->accounts, payer);

	if (!of || !account_is_users(of))
		return false;
	return of->costs[FILE_BYTES] >= FILESTORE_USER_BYTES ||
	       (accounts_users_sum(&s->accounts, FILE_BYTES) >= FILESTORE_ALL_USERS_BYTES &&
		accounts_is_above_share(&s->accounts, of, FILE_BYTES, FILESTORE_ALL_USERS_BYTES));
}

static void charge(struct filestore *s, struct entry *e, const struct file_request *rq)
{
	struct account *of = accounts_find_or_add(&s->accounts, rq->hint->payer);

	e->account = (uint32_t)(of - s->accounts.items);
	e->bytes = bytes_of(rq);
	of->costs[FILE_BYTES] += e->bytes;
}

/* ---- creating ---- */

int entry_set_path(struct entry *e, const char *path, size_t len)
{
	struct file_path *p;

	if (len == e->raw_path->len && memcmp(path, e->raw_path->text, len) == 0)
		p = file_path_ref(e->raw_path);
	else
		p = file_path_new(path, len);
	if (!p)
		return -ENOMEM;
	file_path_unref(e->path);
	e->path = p;
	e->file.path = p->text;
	return 0;
}

void entry_free(struct entry *e)
{
	file_path_unref(e->raw_path);
	file_path_unref(e->path);
	free(e);
}

static void entry_freep(struct entry **e)
{
	if (*e)
		entry_free(*e);
}

/* Each is in the list at most once: reserve_entry() has made room. */
static void note_idle(struct filestore *s, struct entry *e)
{
	if (e->is_idle)
		return;
	s->idle[s->nr_idle++] = e->file.id;
	e->is_idle = true;
}

static int new_entry(const struct file_request *rq, struct entry **ret_entry)
{
	_cleanup_(entry_freep) struct entry *e = calloc(1, sizeof(*e));
	size_t len = path_len_bare(rq->path);
	int r;

	if (!e)
		return -ENOMEM;
	e->raw_path = file_path_new(rq->path, strlen(rq->path));
	if (!e->raw_path)
		return -ENOMEM;
	e->file.fd = -1;
	e->file.build_id = *rq->build_id;
	e->file.is_deleted = rq->path[len] != '\0';
	e->file.root = rq->hint->root;
	e->key = *rq->key;
	e->prev_view = e->next_view = NO_FILE;
	r = entry_set_path(e, rq->path, len);
	if (r < 0)
		return r;
	*ret_entry = TAKE(e);
	return 0;
}

/* Reserves room for another entry, also in the lists of idle and released ones. */
static int reserve_entry(struct filestore *s)
{
	uint32_t nr = s->nr_entries + (s->nr_unused ? 0 : 1);
	int r = ARRAY_RESERVE(s->entries, s->cap_entries, nr, FILESTORE_MAX_FILES);

	if (r == 0)
		r = ARRAY_RESERVE(s->unused, s->cap_unused, nr, FILESTORE_MAX_FILES);
	if (r == 0)
		r = ARRAY_RESERVE(s->idle, s->cap_idle, nr, FILESTORE_MAX_FILES);
	return r;
}

static uint32_t take_number(struct filestore *s)
{
	return s->nr_unused ? s->unused[--s->nr_unused] : s->nr_entries++;
}

int entry_create(struct filestore *s, const struct file_request *rq, struct entry **ret_entry)
{
	_cleanup_(entry_freep) struct entry *e = NULL;
	uint32_t number = s->nr_unused ? s->unused[s->nr_unused - 1] : s->nr_entries;
	int r;

	if (entries_are_refused(s, rq->hint->payer)) {
		s->stats.nr_refused++;
		return -EDQUOT;
	}
	r = reserve_entry(s);
	if (r == 0)
		r = new_entry(rq, &e);
	if (r < 0)
		return r;
	e->file.id = e->file.content = number;
	e->serial = ++s->last_serial;
	r = alias_set(s, rq, e);
	if (r < 0)
		return r;
	s->entries[take_number(s)] = e;
	charge(s, e, rq);
	note_idle(s, e); /* until a mapping uses it */
	*ret_entry = TAKE(e);
	return 0;
}

/* A view holds a reference to its holder. */
static void link_view(struct filestore *s, struct entry *holder, struct entry *e)
{
	e->prev_view = holder->file.id;
	e->next_view = holder->next_view;
	if (e->next_view != NO_FILE)
		s->entries[e->next_view]->prev_view = e->file.id;
	holder->next_view = e->file.id;
	holder->nr_refs++;
}

int entry_create_view(struct filestore *s, struct entry *holder, const struct file_request *rq,
		      struct entry **ret_entry)
{
	int r = entry_create(s, rq, ret_entry);

	if (r < 0)
		return r;
	copy_content(*ret_entry, holder);
	link_view(s, holder, *ret_entry);
	return 0;
}

/* ---- holding ---- */

void filestore_ref(struct filestore *s, uint32_t id)
{
	s->entries[id]->nr_refs++;
}

void filestore_unref(struct filestore *s, uint32_t id)
{
	struct entry *e = s->entries[id];

	if (--e->nr_refs == 0)
		note_idle(s, e);
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
	if (e->file.content != e->file.id)
		unlink_view(s, e);
	else if (e->file.fd >= 0)
		entry_close_fd(s, e);
	s->accounts.items[e->account].costs[FILE_BYTES] -= e->bytes;
	s->entries[e->file.id] = NULL;
	s->unused[s->nr_unused++] = e->file.id;
	s->stats.nr_released++;
	s->nr_stale++;
	s->stale_bytes += e->bytes;
	entry_free(e);
}

/* Checks each idle file once. Releasing a view may make its holder idle: that goes into a slot
 * already visited and is checked next time. */
static void sweep_idle(struct filestore *s, file_gone_fn fn, void *ctx)
{
	uint32_t nr = s->nr_idle;

	s->nr_idle = 0;
	for (uint32_t i = 0; i < nr; i++) {
		struct entry *e = s->entries[s->idle[i]];

		if (e->nr_refs)
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
	index_clean(s);
}

uint32_t filestore_nr(const struct filestore *s)
{
	return s->nr_entries;
}

uint32_t filestore_nr_held(const struct filestore *s)
{
	return s->nr_entries - s->nr_unused;
}
