/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/source.h"

#include <errno.h>

#include "base/clock.h"
#include "elf/elf_image.h"

void source_done(struct source *s)
{
	s->symbolizer = symbolizer_free(s->symbolizer);
	debug_set_done(&s->debug);
	s->opener.open = NULL;
	s->image = elf_image_free(s->image);
	if (s->held_bytes)
		naming_budget_give(s->budget, s->held_bytes);
	s->held_bytes = 0;
}

void source_hold(struct source *s, const struct elf_sources *src)
{
	uint64_t began_ns = clock_mono_ns();

	if (!s->budget || s->held_bytes)
		return;
	s->held_bytes = symbolizer_elf_cost_bytes(src);
	if (s->held_bytes)
		naming_budget_take(s->budget, s->held_bytes);
	s->waited_ns += clock_mono_ns() - began_ns;
}

int source_open_raw(struct source *s, const char *why, const char *cure)
{
	return symbolizer_new_raw(why, cure, &s->symbolizer);
}

bool source_is_about_size(int r)
{
	return r == -ENOMEM || r == -E2BIG;
}

static int try_open(struct capture *c, const struct profile_mapping *m, struct source *s)
{
	if (!m)
		return source_open_raw(s, "the address was in no known mapping", NULL);
	switch (m->kind) {
	case PROFILE_MAPPING_FILE:
		return source_open_file(c, m, s);
	case PROFILE_MAPPING_KERNEL:
		return source_open_kernel(c, s);
	case PROFILE_MAPPING_VDSO:
		return source_open_vdso(s);
	case PROFILE_MAPPING_JIT:
		return source_open_jit(c, m, s);
	}
	return -EINVAL;
}

/* Where there is no memory even for raw names, there is no symbolizer. */
void source_replace(struct source *s, int r)
{
	source_done(s);
	s->is_replaced = true;
	(void)source_open_raw(s, r == -ENOMEM ? SOURCE_NO_MEMORY : "its symbol table is too large",
			      NULL);
}

int source_open(struct capture *c, const struct profile_mapping *m, struct source *s)
{
	int r = try_open(c, m, s);

	if (!source_is_about_size(r))
		return r;
	source_replace(s, r);
	return 0;
}

int source_compare(const struct profile_mapping *a, const struct profile_mapping *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	return 0;
}
