/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/python_list.h"

#include "base/array.h"
#include "base/bisect.h"

#define MAX_TARGETS (1u << 16)

static uint32_t place_of(const struct python_list *l, pid_t pid)
{
	return BISECT(i, l->nr, l->items[i]->sw.pid < pid);
}

struct python_target *python_list_find(const struct python_list *l, pid_t pid)
{
	uint32_t at = place_of(l, pid);

	return at < l->nr && l->items[at]->sw.pid == pid ? l->items[at] : NULL;
}

struct python_target *python_list_add(struct python_list *l, const struct procfs *procfs, pid_t pid)
{
	uint32_t at = place_of(l, pid);
	struct python_target *t = calloc(1, sizeof(*t));

	if (!t || ARRAY_RESERVE(l->items, l->cap, l->nr + 1, MAX_TARGETS) < 0) {
		free(t);
		l->nr_no_room++;
		return NULL;
	}
	python_switch_init(&t->sw, procfs, pid);
	t->due_ns = PYTHON_NEVER;
	memmove(&l->items[at + 1], &l->items[at], (l->nr - at) * sizeof(struct python_target *));
	l->items[at] = t;
	l->nr++;
	return t;
}

void python_list_remove(struct python_list *l, pid_t pid)
{
	uint32_t at = place_of(l, pid);
	struct python_target *t = python_list_find(l, pid);

	if (!t)
		return;
	if (t->has_outcome) {
		l->counts[t->outcome]++;
		l->nr_ended += t->outcome == PYTHON_SWITCHED;
	}
	free(t);
	l->nr--;
	memmove(&l->items[at], &l->items[at + 1], (l->nr - at) * sizeof(struct python_target *));
}

void python_list_count(const struct python_list *l, uint64_t to[PYTHON_NR_OUTCOMES])
{
	memcpy(to, l->counts, sizeof(l->counts));
	for (uint32_t i = 0; i < l->nr; i++)
		if (l->items[i]->has_outcome)
			to[l->items[i]->outcome]++;
}

void python_list_done(struct python_list *l)
{
	for (uint32_t i = 0; i < l->nr; i++)
		free(l->items[i]);
	free(l->items);
	*l = (struct python_list){ 0 };
}
