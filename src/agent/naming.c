/* SPDX-License-Identifier: Apache-2.0 */
/* Gives every location of the model its name: one file after the other, each address once. */
#include <errno.h>

#include "agent/source.h"
#include "base/clock.h"
#include "elf/elf_image.h"

/* Locations in the order of their mapping; mapping i's are [first[i], first[i + 1]). Those without
 * a mapping come last. */
struct grouping {
	uint32_t *first;     /* owned; nr_mappings + 2 elements */
	uint32_t *locations; /* owned */
};

static void grouping_done(struct grouping *g)
{
	free(g->first);
	free(g->locations);
}

static uint32_t group_of(const struct profile *p, uint32_t location)
{
	uint32_t m = p->locations[location].mapping;

	return m == PROFILE_NONE ? p->nr_mappings : m;
}

static int by_address(const void *a, const void *b, void *ctx)
{
	const struct profile_location *all = ctx;
	uint64_t x = all[*(const uint32_t *)a].address, y = all[*(const uint32_t *)b].address;

	return x < y ? -1 : x > y;
}

/* Neighbours are described in one place: their debug information is then read once. */
static void sort_groups(const struct profile *p, struct grouping *g)
{
	for (uint32_t i = 0; i <= p->nr_mappings; i++)
		if (g->first[i] < g->first[i + 1])
			qsort_r(g->locations + g->first[i], g->first[i + 1] - g->first[i],
				sizeof(*g->locations), by_address, p->locations);
}

/* Counting sort by mapping. */
static int group_locations(const struct profile *p, struct grouping *g)
{
	g->first = calloc((size_t)p->nr_mappings + 2, sizeof(*g->first));
	g->locations = calloc((size_t)p->nr_locations + 1, sizeof(*g->locations));
	if (!g->first || !g->locations)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nr_locations; i++)
		g->first[group_of(p, i) + 1]++;
	for (uint32_t i = 0; i <= p->nr_mappings; i++)
		g->first[i + 1] += g->first[i];
	for (uint32_t i = p->nr_locations; i-- > 0;) {
		uint32_t end = group_of(p, i) + 1;

		g->locations[--g->first[end]] = i;
	}
	/* Each end has moved down to the beginning of its own group: shift them back. */
	for (uint32_t i = 0; i <= p->nr_mappings; i++)
		g->first[i] = g->first[i + 1];
	g->first[p->nr_mappings + 1] = p->nr_locations;
	sort_groups(p, g);
	return 0;
}

/* The source's address for a location's: link-time for files, as it is otherwise. */
static uint64_t source_address(const struct source *s, const struct profile_mapping *m,
			       uint64_t address)
{
	uint64_t vaddr;

	if (s->image &&
	    elf_image_vaddr_of(s->image, address - m->start + m->file_offset, &vaddr) == 0)
		return vaddr;
	return address;
}

static int add_function(struct profile *p, uint32_t mapping, const struct symbol_frame *f,
			uint32_t *ret_id)
{
	struct profile_function fn = { .mapping = mapping, .start_line = f->start_line };
	int r = profile_string(p, f->name, &fn.name);

	if (r == 0)
		r = profile_string(p, f->system_name, &fn.system_name);
	if (r == 0 && f->filename)
		r = profile_string(p, f->filename, &fn.filename);
	return r < 0 ? r : profile_function(p, &fn, ret_id);
}

static enum naming_failure failure_of(const struct source *s, const struct profile_mapping *m)
{
	bool is_raw = symbolizer_is_raw(s->symbolizer);

	if (s->is_replaced)
		return NAMING_NO_ROOM;
	if (!m)
		return NAMING_NO_MAPPING;
	switch (m->kind) {
	case PROFILE_MAPPING_KERNEL:
		return is_raw ? NAMING_NO_KERNEL_LIST : NAMING_NO_KERNEL_SYMBOL;
	case PROFILE_MAPPING_JIT:
		return NAMING_NO_JIT_MAP;
	case PROFILE_MAPPING_FILE:
	case PROFILE_MAPPING_VDSO:
		break;
	}
	return is_raw ? NAMING_NO_FILE : NAMING_NO_SYMBOL;
}

static void count_outcome(struct naming_stats *st, const struct source *s,
			  const struct profile_mapping *m, const struct symbol_result *res)
{
	if (res->is_named)
		naming_stats_add_named(st);
	else
		naming_stats_add_unnamed(st, failure_of(s, m), res->is_raw);
}

static int name_location(struct capture *c, const struct source *s, uint32_t location)
{
	struct profile *p = c->profile;
	const struct profile_location *l = &p->locations[location];
	const struct profile_mapping *m = l->mapping == PROFILE_NONE ? NULL
								     : &p->mappings[l->mapping];
	struct profile_line lines[PROFILE_MAX_LINES];
	struct symbol_result res;
	uint64_t addr = m ? source_address(s, m, l->address) : l->address;
	uint32_t nr;
	int r = s->symbolizer->ops->resolve(s->symbolizer, addr, &res);

	if (r < 0)
		return r;
	nr = res.nr_frames < PROFILE_MAX_LINES ? res.nr_frames : PROFILE_MAX_LINES;
	for (uint32_t i = 0; i < nr && r == 0; i++) {
		lines[i].line = res.frames[i].line;
		r = add_function(p, l->mapping, &res.frames[i], &lines[i].function);
	}
	if (r == 0)
		r = profile_set_lines(p, location, lines, nr, res.is_named);
	if (r == 0)
		count_outcome(&c->naming, s, m, &res);
	return r;
}

/* What the source cannot name for want of memory is raw; what even so has no room in the model
 * stays without any name, which writers show as its address. */
static int name_somehow(struct capture *c, struct source *s, uint32_t location)
{
	int r = s->symbolizer ? name_location(c, s, location) : -ENOMEM;

	if (!source_is_about_size(r))
		return r;
	if (s->symbolizer)
		source_replace(s, r);
	r = s->symbolizer ? name_location(c, s, location) : -ENOMEM;
	if (!source_is_about_size(r))
		return r;
	naming_stats_add_unnamed(&c->naming, NAMING_NO_ROOM, true);
	return 0;
}

static const char *mapping_path(const struct profile *p, uint32_t mapping)
{
	return profile_str(p, p->mappings[mapping].path);
}

static int name_group(struct capture *c, const struct grouping *g, struct source *s, uint32_t group,
		      const atomic_bool *cancel)
{
	int r = 0;

	for (uint32_t i = g->first[group]; i < g->first[group + 1] && r == 0; i++) {
		if (cancel && atomic_load_explicit(cancel, memory_order_relaxed))
			return -ECANCELED;
		r = name_somehow(c, s, g->locations[i]);
	}
	if (s->symbolizer && s->symbolizer->lines_why && group < c->profile->nr_mappings)
		log_warn(c->log, "symbolize: '%s': %s", mapping_path(c->profile, group),
			 s->symbolizer->lines_why);
	c->notes[group].why = s->symbolizer ? s->symbolizer->missing_why : SOURCE_NO_MEMORY;
	c->notes[group].cure = s->symbolizer ? s->symbolizer->missing_cure : NULL;
	return r;
}

static int by_source(const void *a, const void *b, void *ctx)
{
	const struct profile_mapping *all = ctx;

	return source_compare(&all[*(const uint32_t *)a], &all[*(const uint32_t *)b]);
}

static bool is_fallback(const struct source *s, const struct profile_mapping *m)
{
	bool is_raw = !s->symbolizer || symbolizer_is_raw(s->symbolizer);

	return s->is_fallback || s->is_replaced || (m && m->kind != PROFILE_MAPPING_JIT && is_raw);
}

/* A batch: what one source names, the time to open it included. */
struct batch {
	const struct profile_mapping *m; /* the last one named; NULL: none, or in no mapping */
	uint64_t began_ns;               /* 0: not begun */
	struct source source;
};

static void batch_end(struct capture *c, struct batch *b)
{
	if (b->began_ns)
		naming_stats_add_batch(&c->naming, clock_mono_ns() - b->began_ns,
				       is_fallback(&b->source, b->m));
	source_done(&b->source);
	*b = (struct batch){ .source = SOURCE_NONE };
}

static int batch_begin(struct capture *c, struct batch *b, const struct profile_mapping *m)
{
	batch_end(c, b);
	b->began_ns = clock_mono_ns();
	return source_open(c, m, &b->source);
}

/* The mappings in `order`, then (number nr_mappings) what has none. */
static int name_groups(struct capture *c, const struct grouping *g, const uint32_t *order,
		       const atomic_bool *cancel)
{
	struct batch b = { .source = SOURCE_NONE };
	uint32_t nr = c->profile->nr_mappings;
	int r = 0;

	for (uint32_t i = 0; i <= nr && r == 0; i++) {
		uint32_t group = i < nr ? order[i] : nr;
		const struct profile_mapping *m = i < nr ? &c->profile->mappings[group] : NULL;

		if (g->first[group] == g->first[group + 1])
			continue;
		if (!m || !b.m || source_compare(b.m, m) != 0)
			r = batch_begin(c, &b, m);
		b.m = m;
		if (r == 0)
			r = name_group(c, g, &b.source, group, cancel);
	}
	batch_end(c, &b);
	return r;
}

/* Debug files of the mappings that have samples, each file once, and the kernel's own. */
static int fetch_debug_files(struct capture *c, const struct grouping *g, const uint32_t *order,
			     const atomic_bool *cancel)
{
	const struct profile *p = c->profile;
	_cleanup_(freep) uint32_t *files = calloc((size_t)p->nr_mappings + 1, sizeof(*files));
	const struct build_id *kernel = NULL;
	struct build_id id;
	uint32_t nr = 0;

	if (!files)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nr_mappings; i++) {
		const struct profile_mapping *m = &p->mappings[order[i]];

		if (g->first[order[i]] == g->first[order[i] + 1])
			continue;
		if (m->kind == PROFILE_MAPPING_KERNEL && source_lacks_kernel_file(c, &id))
			kernel = &id;
		if (m->kind == PROFILE_MAPPING_FILE && !(nr && files[nr - 1] == (uint32_t)m->owner))
			files[nr++] = (uint32_t)m->owner;
	}
	return debug_files_fetch(c->debug, files, nr, kernel, cancel);
}

int capture_name(struct capture *c, const atomic_bool *cancel)
{
	_cleanup_(grouping_done) struct grouping g = { 0 };
	_cleanup_(freep) uint32_t *order = NULL;
	struct profile *p = c->profile;
	int r = group_locations(p, &g);

	if (r < 0)
		return r;
	order = calloc((size_t)p->nr_mappings + 1, sizeof(*order));
	c->notes = calloc((size_t)p->nr_mappings + 1, sizeof(*c->notes));
	if (!order || !c->notes)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nr_mappings; i++)
		order[i] = i;
	qsort_r(order, p->nr_mappings, sizeof(*order), by_source, p->mappings);
	if (c->debug && debug_files_can_fetch(c->debug))
		r = fetch_debug_files(c, &g, order, cancel);
	if (r < 0 && r != -ENOMEM) /* without memory for that, names are made of what is here */
		return r;
	return name_groups(c, &g, order, cancel);
}
