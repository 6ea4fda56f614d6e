/* SPDX-License-Identifier: Apache-2.0 */
/* A sample's addresses against what was mapped when it was taken: raw record in, model out. */
#include <errno.h>

#include "agent/capture.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"
#include "elf/elf_image.h"

#define KERNEL_START 0x8000000000000000ull /* the upper half, modules and BPF programs included */
#define MAX_FRAMES (PA_MAX_KERNEL_FRAMES + PA_MAX_USER_FRAMES)
#define LOOK_AGAIN_NS 100000000u
#define MAX_PROCESSES (1u << 24)
#define STARTED_SLACK_NS (20 * NS_PER_MS) /* the kernel tells starts in hundredths of a second */

static const char *const stop_names[] = {
#define X(stop, value, machine, people, cure) [value] = machine,
#include "bpf/stop_reasons.def"
#undef X
};

/* What is sampled is a task's, what it runs is an image's; names and ids of both. */
struct resolve {
	struct capture *c;
	const struct process *process; /* NULL: a kernel task, or nothing is known */
	pid_t pid;
	uint64_t time_ns;
	const uint64_t *user_pcs; /* borrowed */
	uint32_t nr_user;
	uint8_t stop;
	bool is_root_begun; /* by nobody's call: it stands at its first byte */
	bool is_in_syscall;
	bool is_walked_again; /* by user space, and that is what counts */
	bool has_made_code;   /* without a file, among its frames */
	uint32_t locations[MAX_FRAMES];
	uint32_t nr;
};

static int probe_file(struct capture *c, const struct file *f, struct file_info *info)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	struct build_id id = f->build_id;
	char hex[BUILD_ID_HEX_SIZE];
	int r;

	if (f->fd >= 0) {
		r = elf_image_open_fd(f->fd, &img);
		if (r == -ENOMEM)
			return r;
		if (r == 0 && !id.len && file_is_unchanged(f))
			id = *elf_image_build_id(img);
		info->is_made = r == -ENOEXEC && strncmp(f->path, "/memfd:", 7) == 0;
	}
	r = profile_string(c->profile, f->path, &info->path);
	if (r == 0)
		r = profile_string(c->profile, build_id_hex(&id, hex), &info->build_id);
	info->is_probed = r == 0;
	return r;
}

static int file_info(struct capture *c, uint32_t file, struct file_info **ret_info)
{
	int r = ARRAY_RESERVE(c->file_infos, c->cap_file_infos, file + 1, UINT32_MAX);

	if (r < 0)
		return r;
	while (c->nr_file_infos <= file)
		c->file_infos[c->nr_file_infos++] = (struct file_info){ 0 };
	*ret_info = &c->file_infos[file];
	if ((*ret_info)->is_probed)
		return 0;
	return probe_file(c, filestore_get(c->files, file), *ret_info);
}

/* Code without a file: another program's bytes at that address are other code. */
static int add_made_mapping(struct resolve *rs, struct profile_mapping *to)
{
	to->kind = PROFILE_MAPPING_JIT;
	to->owner = process_program(rs->process, rs->time_ns);
	return profile_string(rs->c->profile, "[jit]", &to->path);
}

static int add_file_mapping(struct resolve *rs, const struct mapping *m, struct profile_mapping *to)
{
	struct file_info *info;
	int r = file_info(rs->c, m->file, &info);

	if (r < 0)
		return r;
	filestore_keep(rs->c->files, m->file);
	if (info->is_made)
		return add_made_mapping(rs, to);
	to->kind = PROFILE_MAPPING_FILE;
	to->owner = m->file;
	to->path = info->path;
	to->build_id = info->build_id;
	return 0;
}

/* The model's mapping for a process's. */
static int model_mapping(struct resolve *rs, const struct mapping *m, uint32_t *ret_id)
{
	struct profile *p = rs->c->profile;
	struct profile_mapping to = { .start = m->start,
				      .limit = m->end,
				      .file_offset = m->offset };
	int r;

	if (m->kind == MAPPING_FILE) {
		r = add_file_mapping(rs, m, &to);
	} else if (m->kind == MAPPING_VDSO) {
		to.kind = PROFILE_MAPPING_VDSO;
		r = profile_string(p, "[vdso]", &to.path);
	} else {
		r = add_made_mapping(rs, &to);
	}
	return r < 0 ? r : profile_mapping(p, &to, ret_id);
}

static int add_location(struct resolve *rs, uint32_t mapping, uint64_t address)
{
	return profile_location(rs->c->profile, mapping, address, &rs->locations[rs->nr++]);
}

/* A location that is new in code without a file: its names must be looked for while there is time. */
static int add_user_location(struct resolve *rs, const struct mapping *m, uint32_t mapping,
			     uint64_t addr)
{
	const struct profile *p = rs->c->profile;
	uint32_t nr = p->nr_locations;
	int r = add_location(rs, mapping, p->mappings[mapping].start + (addr - m->start));

	if (p->mappings[mapping].kind != PROFILE_MAPPING_JIT)
		return r;
	rs->has_made_code = true;
	if (r == 0 && p->nr_locations > nr)
		jit_files_note(rs->c->jit, rs->process, rs->pid, addr, rs->time_ns);
	return r;
}

static int add_kernel_frame(struct resolve *rs, uint64_t pc, bool is_exact)
{
	struct profile *p = rs->c->profile;
	struct profile_mapping m = { .kind = PROFILE_MAPPING_KERNEL,
				     .start = KERNEL_START,
				     .limit = UINT64_MAX };
	uint32_t id;
	int r = profile_string(p, "[kernel]", &m.path);

	if (r == 0)
		r = profile_mapping(p, &m, &id);
	return r < 0 ? r : add_location(rs, id, is_exact ? pc : pc - 1);
}

/* Code that moved without a word (mremap) is found by asking again, a few times a second at most;
 * what /proc tells holds only while the process still runs the program that was sampled. */
static const struct mapping *look_again(struct resolve *rs, uint64_t addr)
{
	struct capture *c = rs->c;
	uint64_t id = process_id(rs->process), image = process_image(rs->process, rs->time_ns);
	const struct process *now;

	if (rs->time_ns - c->looked_again_ns < LOOK_AGAIN_NS)
		return NULL;
	c->looked_again_ns = rs->time_ns;
	(void)capture_scan(c, rs->pid); /* gone: nothing is learned */
	rs->process = tracker_find(c->tracker, rs->pid, rs->time_ns);
	now = tracker_find(c->tracker, rs->pid, UINT64_MAX);
	if (!now || process_id(now) != id || process_image(now, UINT64_MAX) != image)
		return NULL;
	return process_mapping(now, addr, UINT64_MAX - 1);
}

/* NULL: in none that names could be found by. A 32-bit task has another vDSO than the one that is
 * looked into for names. */
static const struct mapping *find_code(struct resolve *rs, uint64_t addr, bool is_leaf)
{
	const struct mapping *m = NULL;

	if (rs->process)
		m = process_mapping(rs->process, addr, rs->time_ns);
	if (!m && rs->process && is_leaf)
		m = look_again(rs, addr);
	return m && m->kind == MAPPING_VDSO && rs->stop == PA_STOP_COMPAT ? NULL : m;
}

/* 1: the frame stands; 0: it is in no mapped code, and a caller cannot be. */
static int add_user_frame(struct resolve *rs, uint64_t pc, bool is_leaf)
{
	/* In a system call, the leaf too is where it will go on; there may be another function. */
	bool is_exact = pc & PA_PC_EXACT && !(is_leaf && rs->is_in_syscall);
	uint64_t addr = (pc & ~PA_PC_EXACT) - !is_exact;
	const struct mapping *m = find_code(rs, addr, is_leaf);
	uint32_t id;
	int r;

	if (!m && rs->process && !is_leaf)
		return 0;
	if (!m) {
		r = add_location(rs, PROFILE_NONE, addr);
		return r < 0 ? r : 1;
	}
	if (rs->c->unwinder)
		unwinder_use(rs->c->unwinder, m, rs->time_ns);
	r = model_mapping(rs, m, &id);
	if (r == 0)
		r = add_user_location(rs, m, id, addr);
	return r < 0 ? r : 1;
}

static int add_frames(struct resolve *rs, const struct pa_sample *s)
{
	int r = 0;

	for (uint32_t i = 0; i < s->nr_kernel && r >= 0; i++)
		r = add_kernel_frame(rs, s->pcs[i], i == 0);
	for (uint32_t i = 0; i < rs->nr_user && r >= 0; i++) {
		uint64_t exact = rs->is_root_begun && i + 1 == rs->nr_user ? PA_PC_EXACT : 0;

		r = add_user_frame(rs, rs->user_pcs[i] | exact, i == 0);
		if (r == 0) {
			rs->stop = PA_STOP_NO_MAPPING; /* the walk had gone astray */
			break;
		}
	}
	return r < 0 ? r : 0;
}

/* Whether the walk ran out of rules at the very end: it has not failed then. */
static bool is_at_root(const struct resolve *rs)
{
	struct unwinder *u = rs->c->unwinder;

	return u && rs->process && rs->nr_user && rs->stop == PA_STOP_FP_END &&
	       unwinder_is_root(u, rs->process, rs->user_pcs[rs->nr_user - 1], rs->time_ns);
}

/* The walk of the kernel, that of user space where it got further, or the leaf alone where the
 * kernel knew another program than the one that was sampled. */
static int choose_walk(struct resolve *rs, const struct pa_sample *s,
		       const struct stack_copy *stack, struct finished_walk *finished)
{
	struct unwinder *u = rs->c->unwinder;

	rs->user_pcs = (const uint64_t *)s->pcs + s->nr_kernel;
	rs->nr_user = s->nr_user;
	rs->stop = s->stop;
	if (!u || !rs->process)
		return 0;
	if (s->generation && !unwinder_is_current(u, s->generation, rs->process, rs->time_ns,
						  rs->user_pcs, rs->nr_user)) {
		rs->nr_user = s->nr_user ? 1 : 0;
		rs->stop = PA_STOP_OUTDATED;
	}
	/* Nothing is missing that the copy of the stack could show. The sampled pc alone may be anywhere. */
	if (!stack || (rs->nr_user > 1 && is_at_root(rs)))
		return 0;
	if (s->stop == PA_STOP_NO_TABLE && s->nr_user)
		unwinder_ask_at(u, rs->process, s->pcs[s->nr_kernel + s->nr_user - 1], rs->time_ns);
	if (!stack->nr_pages) {
		rs->stop = stack->stop;
		return 0;
	}
	if (unwinder_finish(u, rs->process, rs->time_ns, stack, finished) == -EAGAIN)
		return -EAGAIN;
	rs->c->stats.nr_walked_again++;
	if (finished->nr < rs->nr_user && finished->stop != PA_STOP_END)
		return 0;
	rs->user_pcs = finished->pcs;
	rs->nr_user = finished->nr;
	rs->stop = finished->stop;
	rs->is_walked_again = true;
	return 0;
}

static void check_root(struct resolve *rs)
{
	uint64_t pc;

	if (!is_at_root(rs))
		return;
	pc = rs->user_pcs[rs->nr_user - 1];
	rs->stop = PA_STOP_END;
	rs->is_root_begun = !(pc & PA_PC_EXACT) &&
			    !unwinder_is_called(rs->c->unwinder, rs->process, pc, rs->time_ns);
}

/* An empty name is no label: string 0 means that the label is a number. */
static int add_string_label(struct capture *c, struct profile_label *labels, uint32_t *nr,
			    uint32_t key, const char *text, size_t max)
{
	struct profile_label l = { .key = key };
	int r = strtab_intern_n(&c->profile->strings, text, max, &l.str);

	if (r == 0 && l.str)
		labels[(*nr)++] = l;
	return r;
}

static bool is_without_stack(uint8_t stop)
{
	return PA_STOPS_WITHOUT_STACK >> stop & 1;
}

/* Nobody expects a user stack of a kernel task. */
static bool has_end_label(uint8_t stop)
{
	return stop != PA_STOP_END && stop != PA_STOP_KERNEL;
}

static int label_set(struct capture *c, const struct pa_sample *s, uint8_t stop, uint32_t *ret_id)
{
	struct profile_label l[5] = {
		{ .key = c->label_pid, .num = s->head.pid },
		{ .key = c->label_tid, .num = s->tid },
	};
	uint32_t nr = 2;
	int r;

	r = add_string_label(c, l, &nr, c->label_comm, s->comm, sizeof(s->comm));
	if (r == 0)
		r = add_string_label(c, l, &nr, c->label_thread, s->thread, sizeof(s->thread));
	if (r == 0 && has_end_label(stop))
		r = add_string_label(c, l, &nr,
				     is_without_stack(stop) ? c->label_no_user_stack
							    : c->label_truncated,
				     stop_names[stop], SIZE_MAX);
	return r < 0 ? r : profile_label_set(c->profile, l, nr, ret_id);
}

static bool process_eq(const void *owner, uint32_t id, const void *key)
{
	const struct capture *c = owner;

	return c->seen_processes[id].id == *(const uint64_t *)key;
}

/* Who runs the process: one user, and no other at times. What has its PID now may be another. */
static uint32_t find_user(const struct resolve *rs)
{
	struct proc_status status;
	struct proc_stat stat;

	if (!rs->process || procfs_stat(&rs->c->procfs, rs->pid, &stat) < 0 ||
	    proc_stat_started_ns(&stat) > rs->time_ns + STARTED_SLACK_NS ||
	    procfs_status(&rs->c->procfs, rs->pid, &status) < 0)
		return PROFILE_NO_USER;
	return status.is_one_user ? status.euid : PROFILE_NO_USER;
}

/* Counts processes that have samples, and asks once for each program who runs it. */
static int note_process(const struct resolve *rs, uint32_t *ret_user)
{
	struct capture *c = rs->c;
	uint64_t id = rs->process ? process_id(rs->process) : ~(uint64_t)rs->pid;
	uint64_t program = rs->process ? process_program(rs->process, rs->time_ns) : 0;
	uint64_t h = hash_mix(0, id);
	uint32_t at;
	int r;

	if (idtable_find(&c->process_ids, h, process_eq, c, &id, &at)) {
		if (c->seen_processes[at].program != program)
			c->seen_processes[at] = (struct seen_process){ id, program, find_user(rs) };
		*ret_user = c->seen_processes[at].user;
		return 0;
	}
	r = ARRAY_RESERVE(c->seen_processes, c->cap_seen_processes, c->nr_seen_processes + 1,
			  MAX_PROCESSES);
	if (r == 0)
		r = idtable_reserve(&c->process_ids);
	if (r < 0)
		return r;
	*ret_user = find_user(rs);
	c->seen_processes[c->nr_seen_processes] = (struct seen_process){ id, program, *ret_user };
	idtable_insert(&c->process_ids, h, c->nr_seen_processes++);
	c->stats.nr_processes++;
	return 0;
}

/* The process of a sample; on first sight /proc is asked. NULL is an answer. */
static const struct process *find_process(struct capture *c, const struct pa_sample *s)
{
	pid_t pid = (pid_t)s->head.pid;
	const struct process *p;

	if (s->flags & PA_SAMPLE_KERNEL_TASK)
		return NULL;
	p = tracker_find(c->tracker, pid, s->head.time_ns);
	if (p)
		return p;
	(void)tracker_scan(c->tracker, s->head.time_ns, pid); /* gone: the addresses stay raw */
	return tracker_find(c->tracker, pid, s->head.time_ns);
}

static void note_end(struct capture *c, const struct pa_sample *s, const struct resolve *rs)
{
	c->stats.stops[rs->stop]++;
	c->stats.nr_in_kernel += (s->flags & PA_SAMPLE_IN_KERNEL) != 0;
	c->stats.nr_finished += rs->is_walked_again && rs->stop == PA_STOP_END;
	if (rs->is_walked_again && rs->stop == PA_STOP_END &&
	    (s->stop == PA_STOP_NO_RECORD || s->stop == PA_STOP_FP_END))
		unwinder_followed(c->unwinder, rs->pid);
	if (!c->stats.first_ns || s->head.time_ns < c->stats.first_ns)
		c->stats.first_ns = s->head.time_ns;
}

/* Into the model, unless what its code was called is decided in the end. */
static int add_sample(struct resolve *rs, const struct pa_sample *s, uint32_t stack,
		      uint32_t labels)
{
	struct jit_moment m = { rs->time_ns, s->weight, stack, labels };
	int64_t values[] = { 1, (int64_t)s->weight };

	int r = rs->has_made_code ? jit_files_keep(rs->c->jit, rs->process, &m) : 0;

	if (r > 0)
		return 0;
	rs->c->stats.nr_untimed += r < 0;
	return profile_add(rs->c->profile, stack, labels, values);
}

int capture_resolve(struct capture *c, const struct pa_sample *s, const struct stack_copy *stack,
		    uint32_t *ret_missing)
{
	struct resolve rs = { .c = c,
			      .pid = (pid_t)s->head.pid,
			      .time_ns = s->head.time_ns,
			      .is_in_syscall = s->flags & PA_SAMPLE_IN_SYSCALL };
	struct finished_walk finished;
	uint32_t stack_id, labels, user = PROFILE_NO_USER;
	int r;

	if (s->nr_kernel > PA_MAX_KERNEL_FRAMES || s->nr_user > PA_MAX_USER_FRAMES ||
	    s->stop >= PA_NR_STOPS)
		return -EBADMSG;
	rs.process = find_process(c, s);
	if (choose_walk(&rs, s, stack, &finished) == -EAGAIN) {
		*ret_missing = finished.missing;
		return -EAGAIN;
	}
	check_root(&rs);
	r = add_frames(&rs, s);
	if (r == 0)
		r = note_process(&rs, &user);
	if (r == 0)
		r = profile_stack_of(c->profile, user, rs.locations, rs.nr, &stack_id);
	if (r == 0)
		r = label_set(c, s, rs.stop, &labels);
	if (r == 0)
		r = add_sample(&rs, s, stack_id, labels);
	if (r == 0)
		note_end(c, s, &rs);
	return r;
}
