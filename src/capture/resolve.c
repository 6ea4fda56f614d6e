/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/resolve.h"

#include <errno.h>

/* One record being resolved. */
struct resolving {
	struct world *world;
	const struct pa_sample *record;
	const struct process *process; /* NULL: a kernel task, or an unknown process */
	const uint64_t *user_pcs;      /* borrowed */
	uint32_t nr_user;
	uint8_t stop;
	bool has_typed; /* the walk has frames of kinds other than native */
	/* the outermost frame is at the first byte of its function */
	bool is_root_begun;
	bool was_walked_again; /* user space has finished the walk */
	bool is_walk_of_ours;  /* the frames are those of that walk */
	/* set if the code has moved; NULL: see process_mapping() */
	const struct mapping *leaf_mapping;
	struct resolved *to;
};

static pid_t pid_of(const struct resolving *rs)
{
	return (pid_t)rs->record->head.pid;
}

static uint64_t time_of(const struct resolving *rs)
{
	return rs->record->head.time_ns;
}

/* ---- choosing the walk ---- */

/* True if the walk has reached the outermost function, which has no rule: then it has not
 * failed. */
static bool is_at_root(const struct resolving *rs)
{
	struct unwinder *u = rs->world->unwinder;

	return u && rs->process && rs->nr_user && rs->stop == PA_STOP_FP_END &&
	       unwinder_is_root(u, rs->process, rs->user_pcs[rs->nr_user - 1], time_of(rs));
}

/* Keeps only the leaf if the kernel used the mappings of another program than the sampled one. */
static void check_generation(struct resolving *rs)
{
	const struct pa_sample *s = rs->record;

	if (!s->generation || unwinder_is_current(rs->world->unwinder, s->generation, rs->process,
						  time_of(rs), rs->user_pcs, rs->nr_user))
		return;
	rs->nr_user = rs->nr_user ? 1 : 0;
	rs->has_typed = false;
	rs->stop = PA_STOP_OUTDATED;
}

/* Finds the native frames of the kernel's walk. Usually all are native, and the words are used in
 * place. */
static void find_native(struct resolving *rs)
{
	const struct pa_sample *s = rs->record;
	const __u64 *words = pa_sample_user(s);
	uint32_t kind;

	rs->user_pcs = (const uint64_t *)words;
	rs->nr_user = s->nr_user;
	if (!rs->has_typed)
		return;
	rs->user_pcs = rs->to->native_pcs;
	rs->nr_user = 0;
	for (uint32_t i = 0; i < s->nr_user; i += PA_FRAME_WORDS(kind)) {
		kind = PA_FRAME_KIND(words[i]);
		if (kind == PA_FRAME_NATIVE)
			rs->to->native_pcs[rs->nr_user++] = words[i];
	}
}

/* Chooses the kernel's walk, or that of user space if it got further. */
static int choose_walk(struct resolving *rs, const struct stack_copy *stack,
		       struct finished_walk *finished)
{
	const struct pa_sample *s = rs->record;
	struct unwinder *u = rs->world->unwinder;

	find_native(rs);
	rs->stop = s->stop;
	if (!u || !rs->process)
		return 0;
	check_generation(rs);
	/* Nothing to do if the stack is complete, or if there is no copy. The sampled pc itself may
	 * be anywhere. */
	if (!stack || (rs->nr_user > 1 && is_at_root(rs)))
		return 0;
	if (s->stop == PA_STOP_NO_TABLE && rs->nr_user)
		unwinder_ask_at(u, rs->process, rs->user_pcs[rs->nr_user - 1], time_of(rs));
	if (!stack->nr_pages) {
		rs->stop = stack->stop;
		return 0;
	}
	if (unwinder_finish(u, rs->process, time_of(rs), stack, finished) == -EAGAIN)
		return -EAGAIN;
	rs->was_walked_again = true;
	if (finished->nr < rs->nr_user && finished->stop != PA_STOP_END)
		return 0;
	rs->user_pcs = finished->pcs;
	rs->nr_user = finished->nr;
	rs->stop = finished->stop;
	rs->has_typed = false; /* walks in user space have only native frames */
	rs->is_walk_of_ours = true;
	return 0;
}

static void check_root(struct resolving *rs)
{
	uint64_t pc;

	if (!is_at_root(rs))
		return;
	pc = rs->user_pcs[rs->nr_user - 1];
	rs->stop = PA_STOP_END;
	rs->is_root_begun = !(pc & PA_PC_EXACT) &&
			    !unwinder_is_called(rs->world->unwinder, rs->process, pc, time_of(rs));
}

/* ---- frames ---- */

/* The address of user frame i: of the instruction that was running, or of the call. */
static uint64_t user_address(const struct resolving *rs, uint32_t i)
{
	uint64_t pc = rs->user_pcs[i];
	bool is_exact = pc & PA_PC_EXACT || (rs->is_root_begun && i + 1 == rs->nr_user);

	/* In a system call the leaf's pc is after the instruction as well, and may belong to the
	 * next function. */
	if (i == 0 && rs->record->flags & PA_SAMPLE_IN_SYSCALL)
		is_exact = false;
	return (pc & ~PA_PC_EXACT) - !is_exact;
}

/* The running code may have moved without an event; checked before the frames are resolved. */
static void look_again_at_leaf(struct resolving *rs)
{
	uint64_t addr;

	if (!rs->process || !rs->nr_user)
		return;
	addr = user_address(rs, 0);
	if (!process_mapping(rs->process, addr, time_of(rs)))
		rs->leaf_mapping =
			world_look_again(rs->world, &rs->process, pid_of(rs), addr, time_of(rs));
}

/* NULL if in no mapping that has symbols. A 32-bit task has a different vDSO from the one used for
 * symbols. */
static const struct mapping *find_code(const struct resolving *rs, uint64_t addr, bool is_leaf)
{
	const struct mapping *m = NULL;

	if (rs->process)
		m = process_mapping(rs->process, addr, time_of(rs));
	if (!m && is_leaf)
		m = rs->leaf_mapping;
	return m && m->kind == MAPPING_VDSO && rs->stop == PA_STOP_COMPAT ? NULL : m;
}

static int kind_of(struct world *w, const struct mapping *m, enum frame_kind *ret_kind)
{
	const struct file_info *info;
	int r;

	*ret_kind = FRAME_NATIVE;
	if (!m || m->kind == MAPPING_VDSO)
		return 0;
	*ret_kind = FRAME_JIT;
	if (m->kind != MAPPING_FILE)
		return 0;
	r = world_file_info(w, m->file, &info);
	if (r == 0 && !info->is_jit_memory)
		*ret_kind = FRAME_NATIVE;
	return r;
}

static struct frame *next_frame(struct resolving *rs)
{
	return &rs->to->frames[rs->to->sample.nr_frames++];
}

static void add_kernel_frames(struct resolving *rs)
{
	const struct pa_sample *s = rs->record;
	const __u64 *pcs = pa_sample_kernel(s);

	for (uint32_t i = 0; i < s->nr_kernel; i++)
		*next_frame(rs) = (struct frame){ .kind = FRAME_KERNEL,
						  .address = pcs[i] - (i > 0),
						  .pc = pcs[i] };
}

/* 1: the frame is kept; 0: no code is mapped there, so it cannot be a caller. */
static int add_user_frame(struct resolving *rs, uint32_t i)
{
	struct frame f = { .address = user_address(rs, i), .pc = rs->user_pcs[i] & ~PA_PC_EXACT };
	int r;

	f.mapping = find_code(rs, f.address, i == 0);
	if (!f.mapping && rs->process && i)
		return 0;
	if (f.mapping && rs->world->unwinder)
		unwinder_use(rs->world->unwinder, f.mapping, time_of(rs));
	r = kind_of(rs->world, f.mapping, &f.kind);
	if (r < 0)
		return r;
	*next_frame(rs) = f;
	return 1;
}

static void add_typed_frame(struct resolving *rs, const __u64 *words, uint32_t kind)
{
	struct frame f = { .kind = FRAME_TYPED,
			   .address = PA_FRAME_ADDR(words[0]),
			   .pc = PA_FRAME_ADDR(words[0]),
			   .type = rs->world->frame_types[kind] };

	for (uint32_t i = 1; i < PA_FRAME_WORDS(kind); i++)
		f.aux[i - 1] = words[i];
	*next_frame(rs) = f;
}

/* Adds frames of all kinds, in their order. */
static int add_mixed_frames(struct resolving *rs)
{
	const struct pa_sample *s = rs->record;
	const __u64 *words = pa_sample_user(s);
	uint32_t kind, nr_native = 0;
	int r = 1;

	for (uint32_t i = 0; i < s->nr_user && r > 0; i += PA_FRAME_WORDS(kind)) {
		kind = PA_FRAME_KIND(words[i]);
		if (kind == PA_FRAME_NATIVE)
			r = add_user_frame(rs, nr_native++);
		else
			add_typed_frame(rs, words + i, kind);
	}
	return r;
}

static int add_user_frames(struct resolving *rs)
{
	int r = rs->has_typed ? add_mixed_frames(rs) : 1;

	for (uint32_t i = 0; !rs->has_typed && i < rs->nr_user && r > 0; i++)
		r = add_user_frame(rs, i);
	if (r == 0)
		rs->stop = PA_STOP_NO_MAPPING; /* the walk had gone wrong */
	return r < 0 ? r : 0;
}

/* ---- other fields ---- */

static void fill_sample(const struct resolving *rs, const struct task_owner *owner)
{
	const struct pa_sample *s = rs->record;
	struct sample *to = &rs->to->sample;

	to->origin = s->origin;
	to->wait = s->flags & PA_SAMPLE_WAIT ? pa_sample_values(s)[0] : 0;
	to->syscall_nr =
		s->flags & PA_SAMPLE_IN_SYSCALL && s->stop != PA_STOP_COMPAT ? s->syscall_nr : -1;
	to->cgroup_id = s->cgroup_id;
	to->time_ns = s->head.time_ns;
	to->cpu = s->cpu;
	to->pid = (pid_t)s->head.pid;
	to->tid = (pid_t)s->tid;
	to->comm = s->comm;
	to->thread = s->thread;
	to->comm_bytes = PA_COMM_SIZE;
	to->process = rs->process;
	to->program = rs->process ? process_program(rs->process, s->head.time_ns) : 0;
	to->user = owner->user;
	to->ns_pid = owner->ns_pid;
	to->cgroup = owner->cgroup;
	to->values[0] = 1;
	for (uint32_t i = 0; i < s->nr_values; i++)
		to->values[1 + i] = (int64_t)pa_sample_values(s)[i];
	to->nr_values = 1u + s->nr_values;
	to->frames = rs->to->frames;
	to->stop = rs->stop;
	to->is_in_kernel = s->flags & PA_SAMPLE_IN_KERNEL;
	to->was_walked_again = rs->was_walked_again;
	to->is_finished = rs->is_walk_of_ours && rs->stop == PA_STOP_END;
}

/* True if its frames are complete and of known kinds. */
static bool are_frames_sane(struct resolving *rs)
{
	const __u64 *words = pa_sample_user(rs->record);
	uint32_t nr = rs->record->nr_user, kind, i;

	for (i = 0; i < nr; i += PA_FRAME_WORDS(kind)) {
		kind = PA_FRAME_KIND(words[i]);
		if (kind == PA_FRAME_NATIVE)
			continue;
		if (!rs->world->frame_types[kind])
			return false;
		rs->has_typed = true;
	}
	return i == nr;
}

/* True if its numbers are plausible. */
static bool is_sane(const struct pa_sample *s)
{
	if (s->nr_kernel > PA_MAX_KERNEL_FRAMES || s->nr_user > PA_MAX_USER_FRAMES || s->nr_extra ||
	    s->stop >= PA_NR_STOPS || s->nr_values >= SAMPLE_MAX_VALUES)
		return false;
	return !(s->flags & PA_SAMPLE_WAIT) || s->nr_values == 1;
}

int resolve_record(struct world *w, const struct pa_sample *s, const struct stack_copy *stack,
		   struct resolved *ret, uint32_t *ret_missing)
{
	struct resolving rs = { .world = w, .record = s, .to = ret };
	struct finished_walk finished;
	struct task_owner owner;
	int r;

	if (!is_sane(s) || !are_frames_sane(&rs))
		return -EBADMSG;
	ret->sample = (struct sample){ 0 };
	if (!(s->flags & PA_SAMPLE_KERNEL_TASK))
		rs.process = world_process(w, pid_of(&rs), time_of(&rs));
	if (choose_walk(&rs, stack, &finished) == -EAGAIN) {
		*ret_missing = finished.missing;
		return -EAGAIN;
	}
	check_root(&rs);
	look_again_at_leaf(&rs);
	r = world_owner(w,
			&(struct sampled_task){ rs.process, pid_of(&rs), (pid_t)s->tid,
						s->cgroup_id, time_of(&rs) },
			&owner);
	if (r < 0)
		return r;
	add_kernel_frames(&rs);
	r = add_user_frames(&rs);
	if (r < 0)
		return r;
	fill_sample(&rs, &owner);
	if (ret->sample.is_finished && (s->stop == PA_STOP_NO_RECORD || s->stop == PA_STOP_FP_END))
		unwinder_followed(w->unwinder, pid_of(&rs));
	return 0;
}
