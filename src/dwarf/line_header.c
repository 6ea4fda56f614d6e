/* SPDX-License-Identifier: Apache-2.0 */
#include "dwarf/line_header.h"

#include "base/array.h"

#define MAX_DIRECTORIES (256u << 10)
#define MAX_FILES (1u << 20)
#define MAX_FORMATS 64
#define PREFIX_BYTES 24 /* lengths and version in the 64-bit format */
#define PATH_BYTES 8192 /* longer paths are dropped */

/* A column of the DWARF 5 tables. */
struct format {
	uint64_t content;
	uint16_t form;
};

void dw_line_header_done(struct dw_line_header *h)
{
	dw_view_done(&h->view);
	free(h->directories);
	free(h->files);
	*h = (struct dw_line_header){ 0 };
}

uint64_t dw_line_header_bytes(const struct dw_line_header *h)
{
	return (h->view.owned ? h->view.n : 0) + h->cap_directories * sizeof(*h->directories) +
	       h->cap_files * sizeof(*h->files);
}

static int add_directory(struct dw_line_header *h, const struct dw_value *v)
{
	int r = ARRAY_RESERVE(h->directories, h->cap_directories, h->nr_directories + 1,
			      MAX_DIRECTORIES);

	if (r == 0)
		h->directories[h->nr_directories++] = *v;
	return r;
}

static int add_file(struct dw_line_header *h, const struct dw_value *v, uint64_t directory)
{
	int r = ARRAY_RESERVE(h->files, h->cap_files, h->nr_files + 1, MAX_FILES);

	if (r == 0)
		h->files[h->nr_files++] = (struct dw_line_file){ *v, directory };
	return r;
}

/* Up to DWARF 4: strings up to an empty one; directory 0 is the unit's, files are numbered from 1.
 * */
static int read_old_tables(struct dw_line_header *h, struct cursor *c)
{
	struct dw_value v = { .form = DW_FORM_string };
	int r = add_directory(h, &(struct dw_value){ 0 });

	while (r == 0 && (v.s = cursor_str(c)) && *v.s)
		r = add_directory(h, &v);
	if (r == 0)
		r = add_file(h, &(struct dw_value){ 0 }, 0);
	while (r == 0 && (v.s = cursor_str(c)) && *v.s) {
		uint64_t directory = cursor_uleb128(c);

		(void)cursor_uleb128(c); /* modification time */
		(void)cursor_uleb128(c); /* its size */
		r = add_file(h, &v, directory);
	}
	return c->bad ? -EBADMSG : r;
}

static int read_formats(struct cursor *c, struct format *formats, uint32_t *ret_nr)
{
	uint32_t nr = cursor_u8(c);

	if (nr > MAX_FORMATS)
		return -EBADMSG;
	for (uint32_t i = 0; i < nr; i++) {
		uint64_t form;

		formats[i].content = cursor_uleb128(c);
		form = cursor_uleb128(c);
		if (form > UINT16_MAX || form == DW_FORM_implicit_const)
			return -EBADMSG;
		formats[i].form = (uint16_t)form;
	}
	*ret_nr = nr;
	return c->bad ? -EBADMSG : 0;
}

/* One row of a table: its path and its directory. */
static void read_columns(struct cursor *c, const struct dw_unit *u, const struct format *formats,
			 uint32_t nr, struct dw_line_file *ret_file)
{
	*ret_file = (struct dw_line_file){ 0 };
	for (uint32_t i = 0; i < nr; i++) {
		struct dw_value v;

		dw_form_read(c, u, &(struct dw_attr){ .form = formats[i].form }, &v);
		if (formats[i].content == DW_LNCT_path)
			ret_file->name = v;
		else if (formats[i].content == DW_LNCT_directory_index)
			(void)dw_value_number(&v, &ret_file->directory);
	}
}

static int read_table(struct dw_line_header *h, struct cursor *c, const struct dw_unit *u,
		      bool is_files)
{
	struct format formats[MAX_FORMATS];
	uint32_t nr_formats;
	int r = read_formats(c, formats, &nr_formats);
	uint64_t nr = cursor_uleb128(c);

	/* Rows take space in the file; rows without bytes could be any number. */
	if (r < 0 || c->bad || nr > cursor_left(c))
		return r < 0 ? r : -EBADMSG;
	if (!dw_work(u->file->d, nr * nr_formats)) /* columns may take no bytes either */
		return -E2BIG;
	for (uint64_t i = 0; i < nr && r == 0; i++) {
		struct dw_line_file f;

		read_columns(c, u, formats, nr_formats, &f);
		if (c->bad)
			return -EBADMSG;
		r = is_files ? add_file(h, &f.name, f.directory) : add_directory(h, &f.name);
	}
	return r;
}

/* In the middle of the header; *ret_rest: bytes of it after that point. */
static int read_prefix(struct dw_line_header *h, const struct dw_unit *u, uint64_t offset,
		       struct cursor c, uint64_t *ret_header_end)
{
	const uint8_t *start = c.at;
	uint64_t n = cursor_u32(&c), end, header_bytes;
	uint64_t size = u->file->sections[DW_SEC_LINE].size;

	h->offset_bytes = n == UINT32_MAX ? 8 : 4;
	if (n == UINT32_MAX)
		n = cursor_u64(&c);
	end = offset + (uint64_t)(c.at - start);
	if (c.bad || n > size - end)
		return -EBADMSG;
	end += n;
	h->version = cursor_u16(&c);
	if (h->version < 2 || h->version > 5)
		return -EOPNOTSUPP;
	if (h->version >= 5)
		(void)cursor_u16(&c); /* sizes of an address and of a segment selector */
	header_bytes = h->offset_bytes == 8 ? cursor_u64(&c) : cursor_u32(&c);
	h->program_offset = offset + (uint64_t)(c.at - start);
	if (c.bad || h->program_offset > end || header_bytes > end - h->program_offset)
		return -EBADMSG;
	*ret_header_end = h->program_offset + header_bytes;
	h->program_bytes = end - *ret_header_end;
	return 0;
}

static void read_encoding(struct dw_line_header *h, struct cursor *c)
{
	h->min_instruction_bytes = cursor_u8(c);
	if (h->version >= 4)
		(void)cursor_u8(c); /* operations per instruction: 1 on all supported machines */
	(void)cursor_u8(c);         /* default of is_stmt */
	h->line_base = (int8_t)cursor_u8(c);
	h->line_range = cursor_u8(c);
	h->opcode_base = cursor_u8(c);
	if (h->line_range == 0 || h->opcode_base == 0)
		c->bad = true;
	for (unsigned int i = 1; i < h->opcode_base; i++)
		h->operands[i] = cursor_u8(c);
}

static int read_rest(struct dw_line_header *h, const struct dw_unit *u, uint64_t header_end)
{
	struct dw_unit as_header = *u; /* the table has its own format and version */
	struct dw_file *f = u->file;
	struct cursor c;
	int r = dw_section_view(f->d, &f->sections[DW_SEC_LINE], h->program_offset,
				header_end - h->program_offset, &h->view);

	if (r < 0)
		return r;
	/* Every unit may refer to one table. */
	if (!h->view.owned && !dw_work(f->d, h->view.n))
		return -E2BIG;
	as_header.offset_bytes = h->offset_bytes;
	as_header.version = h->version;
	c = cursor_of(h->view.bytes, h->view.n);
	read_encoding(h, &c);
	if (c.bad)
		return -EBADMSG;
	h->program_offset = header_end;
	if (h->version < 5)
		return read_old_tables(h, &c);
	r = read_table(h, &c, &as_header, false);
	return r < 0 ? r : read_table(h, &c, &as_header, true);
}

int dw_line_header_init(struct dw_line_header *h, const struct dw_unit *u)
{
	_cleanup_(dw_view_done) struct dw_view v = { 0 };
	struct dw_file *f = u->file;
	struct dw_section *s = &f->sections[DW_SEC_LINE];
	uint64_t offset, end = 0, n;
	int r;

	/* A split unit may have its own table, which is then the only one. */
	if (!dw_value_number(&u->root.stmt_list, &offset)) {
		if (!f->is_split)
			return -ENOENT;
		offset = 0;
	}
	offset += u->line_base;
	n = offset < s->size ? s->size - offset : 0;
	r = dw_section_view(f->d, s, offset, n < PREFIX_BYTES ? n : PREFIX_BYTES, &v);
	if (r == 0)
		r = read_prefix(h, u, offset, cursor_of(v.bytes, v.n), &end);
	return r < 0 ? r : read_rest(h, u, end);
}

/* Appends "/part"; an absolute part replaces everything before it. */
static bool append_path_part(char *path, size_t *len, const char *part)
{
	size_t n = strnlen(part, PATH_BYTES);
	bool has_slash = *len && path[*len - 1] == '/';

	if (part[0] == '/')
		*len = 0;
	if (*len + n + 2 > PATH_BYTES)
		return false;
	if (*len && n && !has_slash)
		path[(*len)++] = '/';
	memcpy(path + *len, part, n);
	*len += n;
	path[*len] = '\0';
	return true;
}

static bool append_value(char *path, size_t *len, const struct dw_unit *u, const struct dw_value *v)
{
	const char *part = v->form ? dw_value_string(u, v) : NULL;

	return !part || append_path_part(path, len, part);
}

int dw_line_header_path(const struct dw_line_header *h, const struct dw_unit *u, uint32_t file,
			const char **ret_path)
{
	const struct dw_unit *owner = u->skeleton ? u->skeleton : u;
	const struct dw_line_file *f = file < h->nr_files ? &h->files[file] : NULL;
	char path[PATH_BYTES];
	size_t len = 0;

	*ret_path = NULL;
	if (!f || !f->name.form)
		return 0;
	path[0] = '\0';
	if (!append_value(path, &len, owner, &owner->root.comp_dir))
		return 0;
	if (f->directory < h->nr_directories &&
	    !append_value(path, &len, u, &h->directories[f->directory]))
		return 0;
	if (!append_value(path, &len, u, &f->name) || len == 0)
		return 0;
	return dw_keep_string(u->file->d, path, ret_path);
}
