/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwinder.h"

#include <errno.h>

#include "agent/unwinder_internal.h"
#include "base/array.h"

#define MAX_PIDS (1u << 22) /* include/linux/threads.h: PID_MAX_LIMIT */
#define MAX_GENERATIONS (1u << 28)
#define MAX_MAPPINGS (1u << 17) /* of one process: what the walker searches */

enum pid_flag {
	PID_DIRTY = 1,   /* in the list of what is to be told */
	PID_WAITING = 2, /* in the list of those whose tables are not all there */
};

struct unwinder *unwinder_free(struct unwinder *u)
{
	if (!u)
		return NULL;
	unwind_files_done(&u->files);
	free(u->flags);
	free(u->dirty.pids);
	free(u->waiting.pids);
	free(u->images);
	free(u->scratch);
	free(u);
	return NULL;
}

int unwinder_new(const struct tracker *tracker, const struct filestore *store,
		 struct tables *tables, const struct log *log, struct unwinder **ret_unwinder)
{
	_cleanup_(unwinder_freep) struct unwinder *u = calloc(1, sizeof(*u));
	int r;

	if (!u)
		return -ENOMEM;
	u->tracker = tracker;
	u->tables = tables;
	r = unwind_files_init(&u->files, store, log);
	if (r < 0)
		return r;
	u->flags = calloc(MAX_PIDS, 1); /* touched where PIDs are */
	if (!u->flags)
		return -ENOMEM;
	*ret_unwinder = TAKE(u);
	return 0;
}

static void list_add(struct unwinder *u, struct pid_list *l, pid_t pid, uint8_t flag)
{
	if ((uint32_t)pid >= MAX_PIDS || u->flags[pid] & flag)
		return;
	if (ARRAY_RESERVE(l->pids, l->cap, l->nr + 1, MAX_PIDS) < 0)
		return; /* the walker does not learn of it, and user space finishes its walks */
	l->pids[l->nr++] = pid;
	u->flags[pid] |= flag;
}

void unwinder_touch(struct unwinder *u, pid_t pid)
{
	list_add(u, &u->dirty, pid, PID_DIRTY);
}

/* Puts a compiled table where the walker finds it. */
static void send_table(struct unwinder *u, struct unwind_file *f)
{
	struct table_data d = { f->table->rows, f->table->nr_rows, f->table->blocks,
				f->table->nr_blocks };

	tables_set_rules(u->tables, u->files.dict.rules, u->files.dict.nr);
	f->is_in_kernel = tables_add(u->tables, &d, &f->slot) == 0;
	u->stats.nr_refused += !f->is_in_kernel;
}

/* What the walker is to know of one mapping. */
static struct pa_mapping describe(struct unwinder *u, const struct mapping *m)
{
	struct unwind_file *f = unwind_files_get(&u->files, m, false);
	struct pa_mapping to = { .start = m->start, .end = m->end };
	uint64_t bias;

	if (!f || f->state == UNWIND_NONE)
		return to;
	to.nr_blocks = PA_BLOCKS_PENDING;
	if (f->state != UNWIND_READY)
		return to;
	if (!f->is_in_kernel)
		send_table(u, f);
	if (f->is_in_kernel && unwind_file_bias(f, m, &bias) == 0) {
		to.bias = bias;
		to.block_nr0 = (uint32_t)(f->table->base >> PA_BLOCK_SHIFT);
		to.first_block = f->slot.first_block;
		to.nr_blocks = f->slot.nr_blocks;
	}
	return to;
}

/* All mappings of a process into u->scratch; whether some of their tables are missing. */
static bool gather(struct unwinder *u, const struct process *p, uint32_t *ret_nr)
{
	bool is_waiting = false;
	uint32_t nr = 0;

	for (uint64_t at = 0;;) {
		const struct mapping *m = process_mapping_from(p, at, UINT64_MAX);

		if (!m || ARRAY_RESERVE(u->scratch, u->cap_scratch, nr + 1, MAX_MAPPINGS) < 0)
			break;
		u->scratch[nr] = describe(u, m);
		is_waiting = is_waiting || u->scratch[nr].nr_blocks == PA_BLOCKS_PENDING;
		nr++;
		at = m->end;
	}
	*ret_nr = nr;
	return is_waiting;
}

static void note_image(struct unwinder *u, uint32_t generation, const struct process *p)
{
	if (ARRAY_RESERVE(u->images, u->cap_images, generation + 1, MAX_GENERATIONS) < 0)
		return;
	while (u->nr_images <= generation)
		u->images[u->nr_images++] = 0;
	u->images[generation] = process_image(p, UINT64_MAX);
}

static void publish(struct unwinder *u, pid_t pid)
{
	const struct process *p = tracker_find(u->tracker, pid, UINT64_MAX);
	uint32_t nr, generation;

	if (!p || process_is_over(p)) {
		tables_drop_process(u->tables, pid);
		return;
	}
	if (gather(u, p, &nr))
		list_add(u, &u->waiting, pid, PID_WAITING);
	if (tables_set_process(u->tables, pid, u->scratch, nr, &generation) < 0)
		u->stats.nr_refused++;
	else
		note_image(u, generation, p);
	u->has_published = true;
}

static void publish_list(struct unwinder *u, struct pid_list *l, uint8_t flag)
{
	uint32_t nr = l->nr;

	/* publish() may add to the list again: what it adds is for the next turn. */
	for (uint32_t i = 0; i < nr; i++) {
		pid_t pid = l->pids[i];

		u->flags[pid] &= (uint8_t)~flag;
		publish(u, pid);
	}
	l->nr -= nr;
	memmove(l->pids, l->pids + nr, l->nr * sizeof(l->pids[0]));
}

bool unwinder_publish(struct unwinder *u)
{
	u->has_published = false;
	if (!u->tables)
		return false;
	tables_age(u->tables);
	if (u->nr_compiled_told != u->files.nr_compiled) {
		u->nr_compiled_told = u->files.nr_compiled;
		publish_list(u, &u->waiting, PID_WAITING);
	}
	publish_list(u, &u->dirty, PID_DIRTY);
	return u->has_published;
}

void unwinder_compile_all(struct unwinder *u, pid_t pid)
{
	const struct process *p = tracker_find(u->tracker, pid, UINT64_MAX);
	const struct mapping *m = p ? process_mapping_from(p, 0, UINT64_MAX) : NULL;

	for (; m; m = process_mapping_from(p, m->end, UINT64_MAX))
		(void)unwind_files_get(&u->files, m, true); /* without memory: by frame pointer */
}

/* The byte of a frame's code: of the instruction itself, or inside the call before it. */
static uint64_t code_addr(uint64_t pc)
{
	return pc & PA_PC_EXACT ? pc & ~PA_PC_EXACT : pc - 1;
}

bool unwinder_is_current(const struct unwinder *u, uint32_t generation, const struct process *p,
			 uint64_t time_ns, const uint64_t *pcs, uint32_t nr)
{
	if (generation >= u->nr_images)
		return false;
	if (u->images[generation] == process_image(p, time_ns))
		return true;
	for (uint32_t i = 0; i < nr; i++)
		if (!process_has_code_of(p, code_addr(pcs[i]), time_ns, u->images[generation]))
			return false;
	return nr > 0;
}

bool unwinder_is_root(struct unwinder *u, const struct process *p, uint64_t pc, uint64_t time_ns)
{
	uint64_t addr = code_addr(pc);
	const struct mapping *m = process_mapping(p, addr, time_ns);
	const struct unwind_file *f = m ? unwind_files_get(&u->files, m, true) : NULL;

	return f && unwind_file_is_root(f, m, addr);
}

struct unwinder_stats unwinder_stats(const struct unwinder *u)
{
	struct unwinder_stats s = u->stats;

	s.nr_compiled = u->files.nr_compiled;
	return s;
}
