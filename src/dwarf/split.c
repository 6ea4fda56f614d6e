/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Split DWARF (DWARF 5, 7.3.2, and GNU's predecessor): a skeleton in the program refers to a .dwo
 * file that contains the unit; all units of a program may be packed into one .dwp file, with an
 * index by dwo_id.
 */
#include <sys/stat.h>

#include "base/array.h"
#include "base/hash.h"
#include "dwarf/internal.h"
#include "elf/elf_image.h"

#define MAX_SPLIT_UNITS 65536 /* per .dwo: types may have units of their own */
#define MAX_COLUMNS 16
#define PATH_BYTES 8192
#define PROBE_COST_BYTES 16
#define OPEN_COST_BYTES 4096   /* cost of looking for a file */
#define MAX_ALLOWED (1u << 20) /* .dwo files of a program; a browser has 30,000 */

static bool is_skeleton(const struct dw_unit *u)
{
	return u->type == DW_UT_skeleton || (u->version < 5 && u->dwo_id && u->root.dwo_name.form);
}

/* The section of the file, or the unit's part of it. */
static int init_split(struct dw_unit *u, struct dw_file *f, uint64_t offset,
		      const struct dw_unit *skeleton)
{
	int r = dw_unit_init(u, f, offset, UINT64_MAX);

	if (r < 0)
		return r;
	dw_unit_use_root(u);
	if (u->dwo_id != skeleton->dwo_id || u->type == DW_UT_split_type)
		return -ENOENT;
	return 0;
}

/* Searches the units of a .dwo. */
static int find_in_dwo(struct dw_unit *u, struct dw_file *f, struct dw_unit *skeleton)
{
	uint64_t offset = 0, end;

	for (int i = 0; i < MAX_SPLIT_UNITS; i++, offset = end) {
		uint8_t type;
		int r = dw_unit_peek(f, offset, &end, &type);

		if (r < 0)
			return r == -ENOMEM ? r : -ENOENT;
		*u = (struct dw_unit){ .skeleton = skeleton };
		r = type == DW_UT_split_type ? -ENOENT : init_split(u, f, offset, skeleton);
		if (r == 0 || r == -ENOMEM)
			return r;
		dw_unit_done(u);
	}
	return -ENOENT;
}

/* .debug_cu_index (DWARF 5, 7.3.5.3): a hash table of rows; each row has the offsets of a unit's
 * part of every section. */
struct cu_index {
	struct cursor hashes, rows, offsets;
	uint32_t version, nr_columns, nr_units, nr_slots;
};

static int open_index(struct dw_file *f, struct cu_index *ret_index)
{
	struct cu_index x = { 0 };
	struct cursor c;
	uint64_t rows_bytes, table_bytes;
	int r = dw_section_whole(f->d, &f->sections[DW_SEC_CU_INDEX], 0, &c);

	if (r < 0)
		return r;
	x.version = cursor_u32(&c) & 0xffff; /* 16 bits and padding in version 5 */
	x.nr_columns = cursor_u32(&c);
	x.nr_units = cursor_u32(&c);
	x.nr_slots = cursor_u32(&c);
	if (c.bad || (x.version != 2 && x.version != 5) || x.nr_columns > MAX_COLUMNS ||
	    x.nr_slots == 0 || (x.nr_slots & (x.nr_slots - 1)))
		return -EBADMSG;
	rows_bytes = 4ull * x.nr_slots;
	table_bytes = 4ull * x.nr_columns * ((uint64_t)x.nr_units + 1);
	x.hashes = c;
	(void)cursor_take(&c, 2 * rows_bytes);
	x.rows = c;
	(void)cursor_take(&c, rows_bytes);
	x.offsets = c;
	(void)cursor_take(&c, table_bytes);
	*ret_index = x;
	return c.bad ? -EBADMSG : 0;
}

static uint64_t u64_at(struct cursor c, uint64_t i)
{
	(void)cursor_take(&c, 8 * i);
	return cursor_u64(&c);
}

static uint32_t u32_at(struct cursor c, uint64_t i)
{
	(void)cursor_take(&c, 4 * i);
	return cursor_u32(&c);
}

/* The row of a unit, from 1. 0: not found. */
static uint32_t find_row(struct dwarf *d, const struct cu_index *x, uint64_t dwo_id)
{
	uint32_t mask = x->nr_slots - 1, slot = (uint32_t)dwo_id & mask;
	uint32_t step = ((uint32_t)(dwo_id >> 32) & mask) | 1;

	for (uint32_t i = 0; i < x->nr_slots; i++, slot = (slot + step) & mask) {
		uint32_t row = u32_at(x->rows, slot);

		if (row == 0 || row > x->nr_units || !dw_work(d, PROBE_COST_BYTES))
			return 0;
		if (u64_at(x->hashes, slot) == dwo_id)
			return row;
	}
	return 0;
}

static int find_in_dwp(struct dw_unit *u, struct dw_file *f, struct dw_unit *skeleton)
{
	uint64_t info = 0;
	struct cu_index x;
	uint32_t row;
	int r = open_index(f, &x);

	if (r < 0)
		return r;
	row = find_row(f->d, &x, skeleton->dwo_id);
	if (!row)
		return -ENOENT;
	*u = (struct dw_unit){ .skeleton = skeleton };
	for (uint32_t i = 0; i < x.nr_columns; i++) {
		uint32_t section = u32_at(x.offsets, i);
		uint64_t offset = u32_at(x.offsets, (uint64_t)row * x.nr_columns + i);

		if (section == DW_SECT_INFO)
			info = offset;
		else if (section == DW_SECT_ABBREV)
			u->abbrev_offset = offset; /* the header's value is added to it */
		else if (section == DW_SECT_LINE)
			u->line_base = offset;
		else if (section == DW_SECT_STR_OFFSETS)
			u->str_offsets_base = offset;
		else if (section == DW_SECT_RNGLISTS && x.version == 5)
			u->rnglists_base = offset;
	}
	r = init_split(u, f, info, skeleton);
	if (r < 0 && r != -ENOMEM)
		dw_unit_done(u);
	return r;
}

static bool is_requested(const struct dwarf *d, const char *path)
{
	const char *requested = d->request.path;

	return path && requested ? strcmp(path, requested) == 0 : !path && !requested;
}

/* Asks the caller for a file. -EAGAIN; -ENOENT: over the work limit; -ENOMEM. */
static int request_file(struct dwarf *d, const char *path)
{
	char *copy = NULL;

	if (!dw_work(d, OPEN_COST_BYTES))
		return -ENOENT;
	if (path) {
		copy = strdup(path);
		if (!copy)
			return -ENOMEM;
	}
	dw_request_done(d);
	d->request = (struct dw_request){ .path = copy, .is_open = true, .fd = -1 };
	return -EAGAIN;
}

/* The descriptor of a file that was requested before, now owned by the caller; otherwise requests it.
 * path NULL: the .dwp. -EAGAIN: requested; -ENOENT: the caller does not have it; -ENOMEM. */
static int take_file(struct dwarf *d, const char *path)
{
	int fd;

	if (!d->request.is_answered || !is_requested(d, path))
		return request_file(d, path);
	fd = TAKE_FD(d->request.fd);
	dw_request_done(d);
	return fd < 0 ? -ENOENT : fd;
}

void dw_request_done(struct dwarf *d)
{
	free(d->request.path);
	closep(&d->request.fd);
	d->request = (struct dw_request){ .fd = -1 };
}

static int open_dwp(struct dwarf *d)
{
	int fd, r;

	if (d->has_tried_dwp)
		return 0;
	fd = take_file(d, NULL);
	if (fd == -EAGAIN || fd == -ENOMEM)
		return fd;
	d->has_tried_dwp = true;
	if (fd < 0)
		return 0;
	r = dw_file_new(d, fd, &d->dwp);
	if (r == 0)
		dw_file_allow(d->dwp);
	return r == -ENOMEM ? r : 0;
}

/* "<compilation directory>/<name>", or the name if that is absolute. */
static bool make_path(const struct dw_unit *u, char path[PATH_BYTES])
{
	const char *s = dw_value_string(u, &u->root.dwo_name);
	char name[PATH_BYTES];

	if (!s || strlen(s) >= PATH_BYTES)
		return false;
	memcpy(name, s, strlen(s) + 1); /* the next string may overwrite it */
	s = name[0] == '/' ? NULL : dw_value_string(u, &u->root.comp_dir);
	return snprintf(path, PATH_BYTES, "%s%s%s", s ? s : "", s ? "/" : "", name) < PATH_BYTES;
}

/* Read at once and closed: a program has thousands of them. */
static int load_dwo(struct dw_file *f, uint64_t *ret_bytes)
{
	uint64_t bytes = sizeof(*f);

	for (size_t i = 0; i < DW_NR_SECTIONS; i++) {
		struct dw_section *s = &f->sections[i];
		struct cursor c;
		int r = dw_section_whole(f->d, s, 0, &c);

		if (r == -ENOMEM)
			return r;
		if (r < 0)
			s->at = NULL; /* as if it were absent */
		else
			bytes += s->size;
		s->is_cached = r == 0;
		f->d->dwo_bytes += r == 0 ? s->size : 0;
	}
	f->owned_img = elf_image_free(f->owned_img);
	f->img = NULL;
	closep(&f->fd);
	f->fd = -1;
	*ret_bytes = bytes;
	return 0;
}

static bool is_identity(const void *owner, uint32_t id, const void *key)
{
	return ((const struct dwarf *)owner)->allowed[id] == *(const uint64_t *)key;
}

/* A file adds to the work limit only once, however often it is opened. */
static int allow_dwo(struct dw_file *f)
{
	struct dwarf *d = f->d;
	uint64_t key;
	struct stat st;
	uint32_t id;
	int r;

	if (fstat(f->fd, &st) < 0)
		return 0;
	key = hash_mix(hash_mix(0, st.st_dev), st.st_ino);
	if (idtable_find(&d->allowed_index, key, is_identity, d, &key, &id))
		return 0;
	r = ARRAY_RESERVE(d->allowed, d->cap_allowed, d->nr_allowed + 1, MAX_ALLOWED);
	if (r == 0)
		r = idtable_reserve(&d->allowed_index);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	d->allowed[d->nr_allowed] = key;
	idtable_insert(&d->allowed_index, key, d->nr_allowed++);
	dw_file_allow(f);
	return 0;
}

void dw_dwos_drop(struct dwarf *d)
{
	for (size_t i = 0; i < DW_NR_DWOS; i++)
		d->dwos[i] = dw_file_unref(d->dwos[i]);
}

/* Several units may be in one file. NULL: it is not cached. */
static struct dw_file *find_dwo(struct dwarf *d, const char *path)
{
	for (size_t i = 0; i < DW_NR_DWOS; i++)
		if (d->dwos[i] && strcmp(d->dwos[i]->path, path) == 0)
			return d->dwos[i];
	return NULL;
}

static void keep_dwo(struct dwarf *d, struct dw_file *f)
{
	struct dw_file **slot = &d->dwos[d->next_dwo++ % DW_NR_DWOS];

	(void)dw_file_unref(*slot);
	*slot = f;
	f->nr_refs++;
}

static int read_dwo(struct dw_unit *skeleton, const char *path)
{
	struct dwarf *d = skeleton->file->d;
	int fd = take_file(d, path), r;
	struct dw_file *f;
	uint64_t bytes = 0;

	if (fd < 0)
		return fd;
	r = dw_file_new(d, fd, &f);
	if (r < 0)
		return r;
	f->path = strdup(path);
	r = f->path ? allow_dwo(f) : -ENOMEM;
	if (r == 0)
		r = load_dwo(f, &bytes);
	if (r < 0) {
		(void)dw_file_unref(f);
		return r;
	}
	skeleton->split_file = f;
	keep_dwo(d, f);
	dw_unit_grew(skeleton, bytes);
	return 0;
}

static int open_dwo(struct dw_unit *skeleton)
{
	struct dwarf *d = skeleton->file->d;
	char path[PATH_BYTES];
	struct dw_file *f;

	if (!make_path(skeleton, path))
		return -ENOENT;
	f = find_dwo(d, path);
	if (!f)
		return read_dwo(skeleton, path);
	if (!dw_work(d, OPEN_COST_BYTES))
		return -ENOENT;
	f->nr_refs++;
	skeleton->split_file = f;
	return 0;
}

static int find_split(struct dw_unit *skeleton, struct dw_unit *to)
{
	struct dwarf *d = skeleton->file->d;
	int r;

	if (!d->files.has_split_files)
		return -ENOENT;
	r = open_dwp(d);
	if (r < 0)
		return r;
	r = d->dwp ? find_in_dwp(to, d->dwp, skeleton) : -ENOENT; /* again after each -EAGAIN */
	if (r == 0 || r == -ENOMEM)
		return r;
	r = open_dwo(skeleton);
	return r < 0 ? r : find_in_dwo(to, skeleton->split_file, skeleton);
}

int dw_split_of(struct dw_unit *skeleton, struct dw_unit **ret_split)
{
	struct dw_unit *u;
	int r;

	*ret_split = skeleton->split;
	if (skeleton->has_tried_split || !is_skeleton(skeleton))
		return 0;
	u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	r = find_split(skeleton, u);
	if (r == -ENOMEM) {
		dw_unit_done(u);
		free(u);
		skeleton->split_file = dw_file_unref(skeleton->split_file);
		return r;
	}
	if (r == -EAGAIN) {
		free(u);
		return r;
	}
	skeleton->has_tried_split = true;
	if (r < 0) {
		free(u);
		skeleton->split_file = dw_file_unref(skeleton->split_file);
		skeleton->file->d->losses.nr_split_missing++;
		return 0;
	}
	skeleton->split = u;
	*ret_split = u;
	dw_unit_grew(skeleton, sizeof(*u) + (u->view.owned ? u->view.n : 0));
	return 0;
}
