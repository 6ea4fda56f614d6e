/* SPDX-License-Identifier: Apache-2.0 */
#include "dwarf/dwarf.h"

#include <elf.h>

#include "dwarf/internal.h"
#include "elf/elf_image.h"

/* A lookup: the current unit, and the resulting frames. */
struct look_up {
	uint64_t addr;
	struct dwarf_frame *frames;
	uint32_t nr;
};

static int by_start(const void *pa, const void *pb)
{
	const struct dw_range *a = pa, *b = pb;

	return a->start < b->start ? -1 : a->start > b->start;
}

/* Sorted and disjoint, so that one binary search suffices: it is consulted for every range of the
 * file, and a file may have thousands of segments in any order. */
static void sort_code(struct dwarf *d)
{
	uint32_t nr = 0;

	if (d->nr_code)
		qsort(d->code, d->nr_code, sizeof(*d->code), by_start);
	for (uint32_t i = 0; i < d->nr_code; i++) {
		struct dw_range *last = nr ? &d->code[nr - 1] : NULL;

		if (!last || d->code[i].start > last->end)
			d->code[nr++] = d->code[i];
		else if (d->code[i].end > last->end)
			last->end = d->code[i].end;
	}
	d->nr_code = nr;
}

static int find_code(struct dwarf *d)
{
	const struct elf_segment *loads;
	size_t nr;

	loads = elf_image_loads(d->files.image, &nr);
	d->code = calloc(nr ? nr : 1, sizeof(*d->code));
	if (!d->code)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		if ((loads[i].flags & PF_X) && loads[i].memsz <= UINT64_MAX - loads[i].vaddr)
			d->code[d->nr_code++] =
				(struct dw_range){ loads[i].vaddr,
						   loads[i].vaddr + loads[i].memsz };
	sort_code(d);
	return 0;
}

static int open_files(struct dwarf *d)
{
	const struct dw_section *info = &d->main.sections[DW_SEC_INFO];

	dw_file_init(&d->main, d, d->files.debug, false);
	dw_file_allow(&d->main);
	if (d->files.alt) {
		dw_file_init(&d->alt, d, d->files.alt, false);
		dw_file_allow(&d->alt);
	}
	return info->at ? info->error : -ENOENT;
}

/* -EAGAIN: a split file is requested. */
static int complete_index(struct dwarf *d)
{
	int r = dw_index_build(d);

	if (r < 0)
		return r;
	d->is_indexed = true;
	if (!d->nr_ranges && d->losses.is_over_budget)
		return -E2BIG;
	return !d->nr_ranges && d->losses.is_damaged ? -EBADMSG : 0;
}

int dwarf_open(const struct dwarf_files *files, struct dwarf **ret_dwarf)
{
	_cleanup_(dwarf_freep) struct dwarf *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	d->files = *files;
	d->request.fd = -1;
	d->main = (struct dw_file){ .d = d, .fd = -1 };
	d->alt = (struct dw_file){ .d = d, .fd = -1 };
	d->max_bytes = files->max_bytes ? files->max_bytes : DWARF_MAX_BYTES;
	d->work = (struct work){ .left_bytes = DWARF_FREE_WORK_BYTES, .cancel = files->cancel };
	work_limit_cpu(&d->work, files->max_cpu_ns ? files->max_cpu_ns : DWARF_MAX_CPU_NS);
	r = strtab_init(&d->strings);
	if (r == 0)
		r = open_files(d);
	if (r == 0)
		r = find_code(d);
	if (r == 0)
		r = complete_index(d);
	if (r < 0 && r != -EAGAIN)
		return r;
	*ret_dwarf = TAKE(d);
	return 0;
}

struct dwarf *dwarf_free(struct dwarf *d)
{
	if (!d)
		return NULL;
	dw_request_done(d);
	dw_file_done(&d->main);
	dw_file_done(&d->alt);
	dw_dwos_drop(d);
	d->dwp = dw_file_unref(d->dwp);
	free(d->allowed);
	idtable_done(&d->allowed_index);
	free(d->code);
	free(d->ranges);
	free(d->names);
	idtable_done(&d->name_index);
	strtab_done(&d->strings);
	free(d);
	return NULL;
}

/* Decodes this unit, once. What cannot be decoded counts as absent. */
static int prepare_scopes(struct dw_unit *u)
{
	int r;

	if (u->has_tried_scopes)
		return 0;
	r = dw_scopes_new(u, &u->scopes);
	if (r == -ENOMEM)
		return r;
	u->has_tried_scopes = true;
	if (u->scopes)
		dw_unit_grew(u, dw_scopes_bytes(u->scopes));
	return 0;
}

static int prepare_lines(struct dw_unit *u)
{
	int r;

	if (u->has_tried_lines)
		return 0;
	r = dw_lines_new(u, &u->lines);
	if (r == -ENOMEM)
		return r;
	u->has_tried_lines = true;
	if (u->lines)
		dw_unit_grew(u, dw_lines_bytes(u->lines));
	return 0;
}

/* The unit whose file table applies to calls: the split unit's own, if it has one. */
static struct dw_unit *files_of(struct dw_unit *u)
{
	if (u->skeleton && !u->file->sections[DW_SEC_LINE].size)
		return u->skeleton;
	return u;
}

static int fill_line(struct dw_unit *u, struct look_up *q, struct dwarf_frame *to)
{
	uint32_t file;

	if (!u->lines || !dw_lines_find(u->lines, q->addr, &file, &to->line))
		return 0;
	return dw_lines_path(u->lines, u, file, &to->path);
}

static int fill_call(struct dw_unit *u, const struct dw_scope *callee, struct dwarf_frame *to)
{
	struct dw_unit *owner = files_of(u);
	int r = prepare_lines(owner);

	to->line = callee->call_line;
	if (r < 0 || !owner->lines)
		return r;
	return dw_lines_path(owner->lines, owner, callee->call_file, &to->path);
}

/* From the innermost function outwards; frames[0] already has its line. */
static int fill_chain(struct dw_unit *u, struct look_up *q, uint32_t scope)
{
	const struct dw_scope *callee = NULL;

	for (; scope != DW_NO_SCOPE; scope = callee->parent) {
		const struct dw_scope *s = dw_scopes_get(u->scopes, scope);
		struct dwarf_frame *f;
		int r;

		/* If a chain is too long, the outermost function takes the last slot. */
		if (q->nr == DWARF_MAX_FRAMES)
			q->nr--;
		f = &q->frames[q->nr];
		if (callee) {
			*f = (struct dwarf_frame){ 0 };
			r = fill_call(u, callee, f);
			if (r < 0)
				return r;
		}
		r = dw_name_of(u, s->die, f);
		if (r < 0)
			return r;
		q->nr++;
		callee = s;
		if (!s->is_inlined)
			break;
	}
	return 0;
}

static int ask_pinned(struct dw_unit *u, struct look_up *q)
{
	struct dw_unit *split, *owner;
	uint32_t scope;
	int r = dw_split_of(u, &split);

	if (r < 0)
		return r;
	owner = split ? split : u;
	r = prepare_scopes(owner);
	if (r == 0)
		r = prepare_lines(u);
	if (r < 0)
		return r;
	q->nr = 0;
	q->frames[0] = (struct dwarf_frame){ 0 };
	r = fill_line(u, q, &q->frames[0]);
	if (r < 0)
		return r;
	scope = owner->scopes ? dw_scopes_find(owner->scopes, q->addr) : DW_NO_SCOPE;
	if (scope == DW_NO_SCOPE && !q->frames[0].line && !q->frames[0].path)
		return -ENOENT;
	r = fill_chain(owner, q, scope);
	if (r == 0 && q->nr == 0)
		q->nr = 1; /* a line without a function */
	return r;
}

static int ask_unit(void *ctx, struct dwarf *d, uint32_t number)
{
	struct dw_unit *u;
	int r = dw_unit_number(&d->main, number, &u);

	if (r < 0)
		return r == -ENOMEM ? r : -ENOENT;
	u->nr_pins++;
	r = ask_pinned(u, ctx);
	u->nr_pins--;
	return r;
}

/* An index that cannot be completed covers nothing. */
static int resume_index(struct dwarf *d)
{
	int r = complete_index(d);

	if (r == 0 || r == -EAGAIN || r == -ENOMEM)
		return r;
	d->losses.is_interrupted |= r == -ECANCELED;
	d->is_indexed = true;
	d->nr_ranges = 0;
	return 0;
}

const char *dwarf_needed_path(const struct dwarf *d)
{
	return d->request.path;
}

void dwarf_supply(struct dwarf *d, int fd)
{
	if (!d->request.is_open || d->request.is_answered) {
		closep(&fd);
		return;
	}
	d->request.fd = fd < 0 ? -1 : fd;
	d->request.is_answered = true;
}

int dwarf_resolve(struct dwarf *d, uint64_t addr, struct dwarf_frame *frames, uint32_t *ret_nr)
{
	struct look_up q = { .addr = addr, .frames = frames };
	int r = d->is_indexed ? 0 : resume_index(d);

	if (r == 0)
		r = dw_index_each(d, addr, ask_unit, &q);
	if (r < 0)
		return r;
	*ret_nr = q.nr;
	return 0;
}

const struct dwarf_losses *dwarf_losses(const struct dwarf *d)
{
	return &d->losses;
}

uint64_t dwarf_held_bytes(const struct dwarf *d)
{
	return d->whole_bytes + d->cached_bytes + d->strings.total_bytes +
	       d->cap_ranges * sizeof(*d->ranges) + d->main.cap_units * sizeof(*d->main.units) +
	       d->cap_names * sizeof(*d->names);
}
