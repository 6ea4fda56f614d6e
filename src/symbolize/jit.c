/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols of code generated at run time: all addresses are known in advance and resolved at once.
 * */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bisect.h"
#include "symbolize/jit_internal.h"
#include "symbolize/symbolize_internal.h"

struct jit_symbolizer {
	struct symbolizer base; /* first: shares its address */
	struct answer answer;
	struct jit_list list;
	struct jit_found *found; /* owned; by index in the list */
};

/* ---- reading ---- */

int jit_reader_init(struct jit_reader *r, int fd, const struct cancel *cancel)
{
	*r = (struct jit_reader){ .fd = fd,
				  .cancel = cancel,
				  .bytes = malloc(JIT_READ_BYTES),
				  .max_bytes = UINT64_MAX,
				  .read_bytes = JIT_READ_BYTES };
	return r->bytes ? 0 : -ENOMEM;
}

void jit_reader_done(struct jit_reader *r)
{
	free(r->bytes);
}

static void fill_window(struct jit_reader *r, uint64_t offset, size_t size)
{
	r->start = offset;
	r->len = 0;
	if (offset >= r->max_bytes)
		return;
	if (size > r->max_bytes - offset)
		size = (size_t)(r->max_bytes - offset);
	while (r->len < size && !cancel_is_asked(r->cancel)) {
		ssize_t n =
			pread(r->fd, r->bytes + r->len, size - r->len, (off_t)(offset + r->len));

		if (n > 0)
			r->len += (size_t)n;
		else if (n == 0 || errno != EINTR)
			return; /* a file that cannot be read counts as absent */
	}
}

const uint8_t *jit_reader_get(struct jit_reader *r, uint64_t offset, size_t want, size_t *ret_got)
{
	size_t left;

	if (offset > INT64_MAX - JIT_READ_BYTES) {
		*ret_got = 0;
		return r->bytes;
	}
	if (offset < r->start || offset - r->start > r->len || r->start + r->len - offset < want)
		fill_window(r, offset, want > r->read_bytes ? want : r->read_bytes);
	left = (size_t)(r->start + r->len - offset);
	*ret_got = left < want ? left : want;
	return r->bytes + (offset - r->start);
}

/* ---- names ---- */

#define PLACE_MAX_BYTES 255

/* Functions without a name are distinguished by their place: "(anonymous srv.js:5)". */
static int intern_name(struct strtab *strings, const struct jit_name *n, uint32_t *ret_name)
{
	char text[PLACE_MAX_BYTES + 64];
	const char *slash, *base;
	size_t base_len;
	int len;

	if (!n->is_nameless || !n->file_len)
		return strtab_intern_n(strings, n->name, n->name_len, ret_name);
	slash = memrchr(n->file, '/', n->file_len);
	base = slash ? slash + 1 : n->file;
	base_len = n->file_len - (size_t)(base - n->file);
	if (base_len > PLACE_MAX_BYTES)
		base_len = PLACE_MAX_BYTES;
	len = snprintf(text, sizeof(text), "%.*s %.*s:%" PRIu32 ")", (int)n->name_len - 1, n->name,
		       (int)base_len, base, n->line);
	return strtab_intern_n(strings, text, (size_t)len, ret_name);
}

int jit_found_set(const struct jit_task *t, uint32_t i, const char *text, size_t len,
		  bool *ret_is_v8)
{
	struct jit_found *f = &t->found[i];
	uint32_t name, filename = 0;
	struct jit_name n;
	int r;

	if (len > JIT_MAX_NAME_BYTES)
		len = JIT_MAX_NAME_BYTES;
	len = strnlen(text, len);
	jit_name_decode(text, len, &n);
	r = intern_name(t->strings, &n, &name);
	if (r == 0 && n.file_len)
		r = strtab_intern_n(t->strings, n.file, n.file_len, &filename);
	if (r == 0)
		r = strtab_intern_n(t->strings, text, len, &f->system_name);
	if (r < 0)
		return r;
	f->name = name;
	f->filename = filename;
	f->line = f->start_line = n.line;
	*ret_is_v8 = n.is_v8;
	return 0;
}

static int compare_addresses(const void *pa, const void *pb)
{
	const struct jit_address *a = pa, *b = pb;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	if (a->version != b->version)
		return a->version < b->version ? -1 : 1;
	return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

/* An address seen in two mappings counts from its first sample. */
int jit_list_init(struct jit_list *l, struct jit_address *all, uint32_t nr)
{
	*l = (struct jit_list){ .addrs = calloc((size_t)nr + 1, sizeof(*l->addrs)),
				.times_ns = calloc((size_t)nr + 1, sizeof(*l->times_ns)),
				.versions = calloc((size_t)nr + 1, sizeof(*l->versions)) };
	if (!l->addrs || !l->times_ns || !l->versions)
		return -ENOMEM;
	if (nr)
		qsort(all, nr, sizeof(*all), compare_addresses);
	for (uint32_t i = 0; i < nr; i++) {
		if (i && all[i - 1].addr == all[i].addr && all[i - 1].version == all[i].version)
			continue;
		l->addrs[l->nr] = all[i].addr;
		l->versions[l->nr] = all[i].version;
		l->times_ns[l->nr++] = all[i].time_ns;
	}
	return 0;
}

void jit_list_done(struct jit_list *l)
{
	free(l->addrs);
	free(l->times_ns);
	free(l->versions);
}

static bool is_before(const struct jit_list *l, uint32_t i, uint64_t addr, uint64_t version)
{
	return l->addrs[i] < addr || (l->addrs[i] == addr && l->versions[i] < version);
}

uint32_t jit_list_find(const struct jit_list *l, uint64_t addr, uint64_t version)
{
	uint32_t at = BISECT(i, l->nr, is_before(l, i, addr, version));

	return at < l->nr && l->addrs[at] == addr && l->versions[at] == version ? at : UINT32_MAX;
}

static int jit_resolve_version(struct symbolizer *s, uint64_t addr, uint64_t version,
			       struct symbol_result *ret_result)
{
	struct jit_symbolizer *j = (struct jit_symbolizer *)s;
	const struct strtab *strings = &j->answer.strings;
	uint32_t i = jit_list_find(&j->list, addr, version);
	const struct jit_found *f = i == UINT32_MAX ? NULL : &j->found[i];

	if (!f || !f->name)
		return answer_raw(&j->answer, NULL, addr, ret_result);
	j->answer.frame = (struct symbol_frame){
		.name = strtab_get(strings, f->name),
		.system_name = strtab_get(strings, f->system_name),
		.filename = f->filename ? strtab_get(strings, f->filename) : NULL,
		.line = f->line,
		.start_line = f->start_line,
	};
	*ret_result = (struct symbol_result){ .frames = &j->answer.frame,
					      .nr_frames = 1,
					      .is_named = true };
	return 0;
}

static int jit_resolve(struct symbolizer *s, uint64_t addr, struct symbol_result *ret_result)
{
	return jit_resolve_version(s, addr, 0, ret_result);
}

static void jit_free(struct symbolizer *s)
{
	struct jit_symbolizer *j = (struct jit_symbolizer *)s;

	jit_list_done(&j->list);
	free(j->found);
	answer_done(&j->answer);
	free(j);
}

static const struct symbolizer_ops jit_ops = { .resolve = jit_resolve,
					       .resolve_version = jit_resolve_version,
					       .free = jit_free };

static int make_room(struct jit_symbolizer *j)
{
	j->found = calloc((size_t)j->list.nr + 1, sizeof(*j->found));
	return j->found ? 0 : -ENOMEM;
}

/* True if a file (-1: none) may be read. */
static bool may_read(int fd, uint64_t max_bytes, struct jit_task *t, uint64_t *nr_over)
{
	if (fd < 0)
		return false;
	t->max_bytes = max_bytes;
	*nr_over += max_bytes == 0;
	return max_bytes;
}

/* Reads the jitdump first, because it has times and lines. */
static int read_symbol_files(const struct jit_symbol_files *files, struct jit_task *t)
{
	int r = 0;

	t->until_ns = files->until_ns;
	if (may_read(files->dump_fd, files->dump_max_bytes, t, &t->counts->nr_dumps_too_large))
		r = jitdump_read(files->dump_fd, t);
	if (r == -EBADMSG)
		r = 0; /* counted; there may be a perf map */
	if (r == 0 &&
	    may_read(files->map_fd, files->map_max_bytes, t, &t->counts->nr_maps_too_large))
		r = perf_map_read(files->map_fd, t);
	return r;
}

static int read_all(struct jit_symbolizer *j, const struct jit_sources *src,
		    struct jit_counts *counts)
{
	struct jit_task t = { .list = &j->list,
			      .found = j->found,
			      .strings = &j->answer.strings,
			      .counts = counts,
			      .cancel = src->cancel };
	int r = 0;

	for (uint32_t i = 0; i < src->nr_symbol_files && r == 0; i++) {
		t.has_versions = i == 0;
		r = read_symbol_files(&src->symbol_files[i], &t);
	}
	return r == 0 && cancel_is_asked(src->cancel) ? -ECANCELED : r;
}

void jit_counts_add(struct jit_counts *to, const struct jit_counts *from)
{
	to->nr_maps += from->nr_maps;
	to->nr_map_lines += from->nr_map_lines;
	to->nr_map_bad_lines += from->nr_map_bad_lines;
	to->nr_maps_too_large += from->nr_maps_too_large;
	to->nr_dumps += from->nr_dumps;
	to->nr_dumps_bad += from->nr_dumps_bad;
	to->nr_dump_records += from->nr_dump_records;
	to->nr_dump_bad_records += from->nr_dump_bad_records;
	to->nr_dump_bad_lines += from->nr_dump_bad_lines;
	to->nr_dumps_too_large += from->nr_dumps_too_large;
}

int symbolizer_new_jit(const struct jit_sources *src, struct jit_counts *counts,
		       struct symbolizer **ret_symbolizer)
{
	_cleanup_(symbolizer_freep) struct symbolizer *s = NULL;
	struct jit_symbolizer *j = calloc(1, sizeof(*j));
	int r;

	if (!j)
		return -ENOMEM;
	s = &j->base;
	s->ops = &jit_ops; /* from here symbolizer_free() is safe */
	r = answer_init(&j->answer);
	if (r == 0)
		r = jit_list_init(&j->list, src->addresses, src->nr_addresses);
	if (r == 0)
		r = make_room(j);
	if (r == 0)
		r = read_all(j, src, counts);
	if (r < 0)
		return r;
	*ret_symbolizer = TAKE(s);
	return 0;
}
