/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/unwinder.h"

#include <errno.h>

#include "base/array.h"
#include "base/clock.h"
#include "stacks/finish_internal.h"
#include "stacks/hotspot.h"

#define MAX_PIDS (1u << 22) /* include/linux/threads.h: PID_MAX_LIMIT */
#define MAX_GENERATIONS (1u << 28)
#define MAX_MAPPINGS (1u << 17) /* per process: the most that the walker can search */
/* Processes that wait for some table are examined when another one is ready, mostly in vain: 500
 * processes with 200 files each would be published 100,000 times. So the next time is delayed by
 * this much for each mapping examined, about 30 times the cost; processes whose walks miss a table
 * are published at once. */
#define REST_NS_PER_MAPPING 5000
/* A process with this many mappings is also delayed, however often it maps something: new code is
 * unwound in user space until then. With fewer it would be less than a turn. */
#define BIG_PROCESS_MAPPINGS 1000
#define MAX_RESTS 65536

enum pid_flag {
	PID_DIRTY = 1,     /* in the list of processes to be published */
	PID_WAITING = 2,   /* in the list of processes with missing tables */
	PID_PUBLISHED = 4, /* in the list of processes known to the kernel */
	PID_FORGOTTEN = 8, /* the kernel may have dropped it: published even if unchanged */
};

struct unwinder *unwinder_free(struct unwinder *u)
{
	if (!u)
		return NULL;
	unwind_files_done(&u->files);
	full_files_free(u->full);
	live_code_free(u->live);
	free(u->flags);
	free(u->dirty.pids);
	free(u->waiting.pids);
	free(u->published.pids);
	free(u->rests);
	free(u->images);
	free(u->scratch);
	free(u);
	return NULL;
}

int unwinder_new(const struct tracker *tracker, const struct procfs *procfs,
		 const struct unwind_files_config *files, struct unwinder **ret_unwinder)
{
	_cleanup_(unwinder_freep) struct unwinder *u = calloc(1, sizeof(*u));
	int r;

	if (!u)
		return -ENOMEM;
	u->tracker = tracker;
	u->tables = files->tables;
	r = unwind_files_init(&u->files, files);
	if (r == 0)
		r = full_files_new(files->store, &u->full);
	if (r == 0)
		r = live_code_new(procfs, &u->live);
	u->procfs = procfs;
	if (r < 0)
		return r;
	u->flags = calloc(MAX_PIDS, 1); /* pages are touched on demand */
	if (!u->flags)
		return -ENOMEM;
	*ret_unwinder = TAKE(u);
	return 0;
}

/* False if out of memory. Then the walker is not informed, and user space finishes the walks. */
static bool list_add(struct unwinder *u, struct pid_list *l, pid_t pid, uint8_t flag)
{
	if ((uint32_t)pid >= MAX_PIDS)
		return false;
	if (u->flags[pid] & flag)
		return true;
	if (ARRAY_RESERVE(l->pids, l->cap, l->nr + 1, MAX_PIDS) < 0)
		return false;
	l->pids[l->nr++] = pid;
	u->flags[pid] |= flag;
	return true;
}

void unwinder_touch(struct unwinder *u, pid_t pid)
{
	if (list_add(u, &u->dirty, pid, PID_DIRTY))
		u->flags[pid] |= PID_FORGOTTEN;
}

/* Publishes the process again after some walks, because the kernel gives up after MAX_MISSES of
 * them (bpf/copy_stack.bpf.h) unless something is published. */
void unwinder_followed(struct unwinder *u, pid_t pid)
{
	uint8_t *nr = &u->nr_followed[(uint32_t)pid % FOLLOWED_SLOTS];

	if (++*nr < FOLLOWED_PER_LIST)
		return;
	*nr = 0;
	unwinder_touch(u, pid);
}

void unwinder_missed(struct unwinder *u, pid_t pid, uint8_t stop)
{
	bool is_waiting = (uint32_t)pid < MAX_PIDS && u->flags[pid] & PID_WAITING;

	if (stop == PA_STOP_HARD_RULE || stop == PA_STOP_NO_RECORD || stop == PA_STOP_FP_END)
		return;
	/* Unknown code may not be code at all: then the walk has gone wrong, and so will the next
	 * one. */
	if (stop == PA_STOP_UNKNOWN_CODE || (stop == PA_STOP_NO_TABLE && is_waiting))
		(void)list_add(u, &u->dirty, pid, PID_DIRTY);
	else
		unwinder_touch(u, pid);
}

/* Describes one mapping for the walker. */
static struct pa_mapping describe_mapping(struct unwinder *u, const struct mapping *m)
{
	struct unwind_file *f = unwind_files_get(&u->files, m);
	struct pa_mapping to = { .start = m->start, .end = m->end };
	uint64_t bias;

	if (!f || f->state == UNWIND_NONE)
		return to;
	to.nr_blocks = PA_BLOCKS_PENDING;
	if (f->state != UNWIND_READY)
		return to;
	if (shared_tables_send(&u->files.tables, f->table) && unwind_file_bias(f, m, &bias) == 0) {
		to.bias = bias;
		to.block_nr0 = (uint32_t)(f->table->base >> PA_BLOCK_SHIFT);
		to.first_block = f->table->slot.first_block;
		to.nr_blocks = f->table->slot.nr_blocks;
	}
	return to;
}

static struct record_keeper *keeper_of(struct unwinder *u, const struct process *p)
{
	return &u->keepers[(uint32_t)process_pid(p) % RECORD_KEEPERS];
}

bool unwinder_is_record_keeper(const struct unwinder *u, pid_t pid, uint64_t program)
{
	const struct record_keeper *k = &u->keepers[(uint32_t)pid % RECORD_KEEPERS];

	return k->keeps_records && k->pid == pid && k->program == program;
}

bool unwinder_keeps_records(const struct unwinder *u, const struct process *p, uint64_t time_ns)
{
	return unwinder_is_record_keeper(u, process_pid(p), process_program(p, time_ns));
}

/* Recognizes a runtime by its library. Returns whether what is known of the process has changed. */
static bool look_at_runtime(struct unwinder *u, const struct process *p, const struct mapping *m)
{
	struct record_keeper *k = keeper_of(u, p);
	uint64_t program = process_program(p, UINT64_MAX);

	if (m->kind != MAPPING_FILE || (k->pid == process_pid(p) && k->program == program) ||
	    !hotspot_is_library(filestore_get(u->files.store, m->file)->path))
		return false;
	*k = (struct record_keeper){ process_pid(p), program,
				     hotspot_keeps_records(u->procfs, process_pid(p)) };
	return k->keeps_records;
}

/* Collects all mappings of a process into u->scratch; returns whether some of their tables are
 * missing. */
static bool gather_mappings(struct unwinder *u, const struct process *p, uint32_t *ret_nr)
{
	bool is_waiting = false;
	uint32_t nr = 0;

	for (uint64_t at = 0;;) {
		const struct mapping *m = process_mapping_from(p, at, UINT64_MAX);

		if (!m || ARRAY_RESERVE(u->scratch, u->cap_scratch, nr + 1, MAX_MAPPINGS) < 0)
			break;
		if (look_at_runtime(u, p, m))
			return gather_mappings(u, p, ret_nr); /* only once, since it is known now */
		u->scratch[nr] = describe_mapping(u, m);
		if (m->kind == MAPPING_ANON && unwinder_keeps_records(u, p, UINT64_MAX))
			u->scratch[nr].first_block = PA_FIRST_BLOCK_RECORDS;
		is_waiting = is_waiting || u->scratch[nr].nr_blocks == PA_BLOCKS_PENDING;
		nr++;
		at = m->end;
	}
	*ret_nr = nr;
	u->nr_gathered += nr;
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

/* Publishes u->scratch. If that fails, the process is removed, because the previous list may be
 * wrong. */
static void set_process(struct unwinder *u, const struct process *p, pid_t pid, uint32_t nr)
{
	uint32_t generation;

	u->has_published = true;
	if (list_add(u, &u->published, pid, PID_PUBLISHED) &&
	    tables_set_process(u->tables, pid, u->scratch, nr, &generation) == 0) {
		note_image(u, generation, p);
		return;
	}
	tables_drop_process(u->tables, pid);
	u->stats.nr_processes_refused++;
}

static bool is_resting(const struct unwinder *u, pid_t pid)
{
	for (uint32_t i = 0; i < u->nr_rests; i++)
		if (u->rests[i].pid == pid)
			return true;
	return false;
}

static void begin_rest(struct unwinder *u, pid_t pid, uint32_t nr_mappings)
{
	if (nr_mappings < BIG_PROCESS_MAPPINGS || is_resting(u, pid) ||
	    ARRAY_RESERVE(u->rests, u->cap_rests, u->nr_rests + 1, MAX_RESTS) < 0)
		return;
	u->rests[u->nr_rests++] =
		(struct pid_rest){ pid,
				   clock_mono_ns() + (uint64_t)nr_mappings * REST_NS_PER_MAPPING };
}

static void end_rests(struct unwinder *u)
{
	uint64_t now = u->nr_rests ? clock_mono_ns() : 0;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < u->nr_rests; i++)
		if (now < u->rests[i].due_ns)
			u->rests[kept++] = u->rests[i];
	u->nr_rests = kept;
}

static void publish_process(struct unwinder *u, pid_t pid, bool is_forgotten)
{
	const struct process *p = tracker_find(u->tracker, pid, UINT64_MAX);
	uint32_t nr;

	if (!p || process_is_over(p)) {
		tables_drop_process(u->tables, pid);
		return;
	}
	if (gather_mappings(u, p, &nr))
		(void)list_add(u, &u->waiting, pid, PID_WAITING);
	begin_rest(u, pid, nr);
	if (is_forgotten || !tables_has_process(u->tables, pid, u->scratch, nr))
		set_process(u, p, pid, nr);
}

static void publish_list(struct unwinder *u, struct pid_list *l, uint8_t flag)
{
	uint32_t nr = l->nr;

	/* publish_process() may add to the list again, for the next turn. */
	for (uint32_t i = 0; i < nr; i++) {
		pid_t pid = l->pids[i];
		bool is_forgotten = flag == PID_DIRTY && u->flags[pid] & PID_FORGOTTEN;

		if (is_resting(u, pid)) {
			u->flags[pid] &= (uint8_t)~flag;
			(void)list_add(u, &u->dirty, pid,
				       PID_DIRTY); /* until the process is touched again */
			continue;
		}
		u->flags[pid] &= (uint8_t) ~(flag | (is_forgotten ? PID_FORGOTTEN : 0));
		publish_process(u, pid, is_forgotten);
	}
	l->nr -= nr;
	if (l->nr) /* an empty list may not be allocated */
		memmove(l->pids, l->pids + nr, l->nr * sizeof(l->pids[0]));
}

/* Publishes all processes, since tables that lists may refer to were evicted. */
static void publish_all(struct unwinder *u)
{
	struct pid_list *l = &u->published;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < l->nr; i++) {
		pid_t pid = l->pids[i];
		const struct process *p = tracker_find(u->tracker, pid, UINT64_MAX);

		publish_process(u, pid, false);
		if (p && !process_is_over(p))
			l->pids[kept++] = pid;
		else
			u->flags[pid] &= (uint8_t)~PID_PUBLISHED;
	}
	l->nr = kept;
}

/* Publishes the waiting processes if tables have become ready or were evicted, or if the kernel has
 * room for one. */
static void publish_waiting(struct unwinder *u)
{
	uint64_t now = clock_mono_ns(), before = u->nr_gathered;

	if (now < u->waiting_due_ns)
		return;
	u->nr_news_published = u->files.nr_news;
	u->has_room_to_publish = false;
	publish_list(u, &u->waiting, PID_WAITING);
	u->waiting_due_ns = now + (u->nr_gathered - before) * REST_NS_PER_MAPPING;
}

bool unwinder_publish(struct unwinder *u)
{
	bool is_gone = unwind_files_trim(&u->files);

	u->has_published = false;
	if (!u->tables)
		return false;
	end_rests(u);
	if (tables_age(u->tables))
		u->has_room_to_publish = true;
	if (u->nr_news_published != u->files.nr_news || u->has_room_to_publish)
		publish_waiting(u);
	publish_list(u, &u->dirty, PID_DIRTY);
	if (is_gone)
		publish_all(u);
	return u->has_published;
}

void unwinder_take(struct unwinder *u)
{
	unwind_files_take(&u->files);
}

void unwinder_give(struct unwinder *u)
{
	unwind_files_give(&u->files);
}

/* Limit before sampling: tables that are not compiled by then are compiled when a walk needs
 * them. */
#define FIRST_MAX_CPU_NS (8 * NS_PER_S)

bool unwinder_wait(struct unwinder *u, uint64_t max_cpu_ns)
{
	return unwind_files_wait(&u->files, max_cpu_ns);
}

void unwinder_give_up(struct unwinder *u)
{
	table_worker_give_up(u->files.worker);
}

enum work_end unwinder_end(const struct unwinder *u, uint32_t file)
{
	return unwind_files_end(&u->files, file);
}

uint64_t unwinder_cpu_ns(const struct unwinder *u)
{
	return unwind_files_cpu_ns(&u->files);
}

int unwinder_fd(const struct unwinder *u)
{
	return table_worker_fd(u->files.worker);
}

bool unwinder_is_awaited(const struct unwinder *u, uint32_t file)
{
	return unwind_files_is_awaited(&u->files, file);
}

bool unwinder_forget_file(struct unwinder *u, uint32_t file)
{
	if (!unwind_files_forget(&u->files, file))
		return false;
	full_files_forget(u->full, file);
	return true;
}

void unwinder_use(struct unwinder *u, const struct mapping *m, uint64_t time_ns)
{
	unwind_files_use(&u->files, m, time_ns);
}

static void ask_for_all(struct unwinder *u, pid_t pid)
{
	const struct process *p = tracker_find(u->tracker, pid, UINT64_MAX);
	const struct mapping *m = p ? process_mapping_from(p, 0, UINT64_MAX) : NULL;

	for (; m; m = process_mapping_from(p, m->end, UINT64_MAX))
		(void)unwind_files_ask(&u->files, m);
}

void unwinder_compile_touched(struct unwinder *u)
{
	for (uint32_t i = 0; i < u->dirty.nr; i++)
		ask_for_all(u, u->dirty.pids[i]);
	while (unwind_files_wait(&u->files, FIRST_MAX_CPU_NS))
		;
}

/* The byte that identifies a frame's code: of the instruction itself, or inside the preceding call.
 * */
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

void unwinder_ask_at(struct unwinder *u, const struct process *p, uint64_t pc, uint64_t time_ns)
{
	const struct mapping *m = process_mapping(p, code_addr(pc), time_ns);

	if (m)
		(void)unwind_files_ask(&u->files, m);
}

bool unwinder_has_own_stack(const struct unwinder *u, uint64_t file)
{
	const struct unwind_file *f = file < u->files.nr ? u->files.files[file] : NULL;

	return f && f->made.has_own_stack;
}

bool unwinder_is_root(struct unwinder *u, const struct process *p, uint64_t pc, uint64_t time_ns)
{
	uint64_t addr = code_addr(pc);
	const struct mapping *m = process_mapping(p, addr, time_ns);
	const struct unwind_file *f = m ? unwind_files_get(&u->files, m) : NULL;

	return f && (unwind_file_is_root(f, m, addr) || finish_is_end(u, p, time_ns, pc));
}

struct unwinder_stats unwinder_stats(const struct unwinder *u)
{
	struct unwinder_stats s = u->stats;

	s.files = unwind_files_stats(&u->files);
	return s;
}
