/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/python_switch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "proc/procfs.h"

#define PAGE_BYTES 4096u
#define CODE_BYTES PAGE_BYTES
#define STOP_NS (500 * NS_PER_MS)          /* for a thread to stop: it may have to wait for a CPU */
#define FINISH_SYSCALL_NS (20 * NS_PER_MS) /* for a system call with a time to end */
#define CALL_NS (500 * NS_PER_MS)
#define MAX_THREADS 16 /* tried in one step */
#define MAX_STACKS 4096
#define STACK_BYTES (sizeof(struct thread_frame) + THREAD_STATE_CALL_BYTES)
#define TEXT_BYTES 4096
#define SECCOMP_STRICT 1

static const char *const outcome_keys[] = {
#define X(name, key, text, fix) [PYTHON_##name] = (key),
#include "inject/python_outcomes.def"
#undef X
};
static const char *const outcome_texts[] = {
#define X(name, key, text, fix) [PYTHON_##name] = (text),
#include "inject/python_outcomes.def"
#undef X
};
static const char *const outcome_fixes[] = {
#define X(name, key, text, fix) [PYTHON_##name] = (fix),
#include "inject/python_outcomes.def"
#undef X
};

const char *python_outcome_key(enum python_outcome o)
{
	return outcome_keys[o];
}

const char *python_outcome_text(enum python_outcome o)
{
	return outcome_texts[o];
}

const char *python_outcome_fix(enum python_outcome o)
{
	return outcome_fixes[o];
}

static void settle(struct python_switch *s, enum python_outcome outcome)
{
	s->outcome = outcome;
	s->stage = PYTHON_SETTLED;
}

static uint64_t data_addr(const struct python_switch *s)
{
	return s->page + CODE_BYTES;
}

static bool is_same_process(const struct python_switch *s, const struct procfs *procfs)
{
	struct proc_stat st;

	return s->start_ticks && procfs_stat(procfs, s->pid, &st) == 0 &&
	       st.start_ticks == s->start_ticks;
}

void python_switch_init(struct python_switch *s, const struct procfs *procfs, pid_t pid)
{
	struct proc_stat st;

	*s = (struct python_switch){ .pid = pid, .stage = PYTHON_SETTLED };
	if (procfs_stat(procfs, pid, &st) == 0)
		s->start_ticks = st.start_ticks;
	settle(s, s->start_ticks ? PYTHON_NOT_PYTHON : PYTHON_GONE);
}

void python_switch_begin(struct python_switch *s, enum inject_op op)
{
	s->op = op;
	s->stage = PYTHON_WAITS;
	s->outcome = s->has_interpreter ? PYTHON_NO_SAFE_POINT : PYTHON_NOT_PYTHON;
}

/* One thread, as /proc shows it. */
struct thread_look {
	char state;
	bool is_traced;
	int seccomp;
	uint64_t caught; /* signals that have handlers */
	bool is_fragile; /* see thread_syscall_is_fragile() */
};

static uint64_t status_number(const char *text, const char *field, int base)
{
	const char *at = strstr(text, field);

	return at ? strtoull(at + strlen(field), NULL, base) : 0;
}

static int read_text(const struct procfs *procfs, pid_t pid, pid_t tid, const char *name,
		     char text[TEXT_BYTES])
{
	_cleanup_(buf_done) struct buf b = BUF_INIT(TEXT_BYTES);
	char path[64];
	int r;

	(void)snprintf(path, sizeof(path), "task/%d/%s", (int)tid, name);
	r = procfs_read(procfs, pid, path, TEXT_BYTES - 1, &b);
	if (r < 0)
		return r;
	if (b.len)
		memcpy(text, b.data, b.len);
	text[b.len] = '\0';
	return 0;
}

static bool is_in_fragile_syscall(const char *text)
{
	uint64_t args[6];
	char *end;
	long nr = strtol(text, &end, 10);

	if (end == text) /* "running" */
		return false;
	for (int i = 0; i < 6; i++)
		args[i] = strtoull(end, &end, 16);
	return thread_syscall_is_fragile(nr, args);
}

static int look_at_thread(const struct procfs *procfs, pid_t pid, pid_t tid,
			  struct thread_look *ret_look)
{
	struct thread_look l = { 0 };
	char text[TEXT_BYTES];
	const char *state;
	int r = read_text(procfs, pid, tid, "status", text);

	if (r < 0)
		return r;
	/* The first line is the thread's name; newlines in it are escaped. */
	state = strstr(text, "\nState:\t");
	l.state = state ? state[8] : '?';
	l.is_traced = status_number(text, "\nTracerPid:\t", 10) != 0;
	l.seccomp = (int)status_number(text, "\nSeccomp:\t", 10);
	l.caught = status_number(text, "\nSigCgt:\t", 16);
	if (read_text(procfs, pid, tid, "syscall", text) == 0)
		l.is_fragile = is_in_fragile_syscall(text);
	*ret_look = l;
	return 0;
}

/* True if the thread may be stopped; otherwise s->outcome says why not. */
static bool may_stop(struct python_switch *s, const struct thread_look *l)
{
	if (l->is_traced || l->state == 't')
		s->outcome = PYTHON_TRACED;
	else if (l->state == 'T')
		s->outcome = PYTHON_STOPPED;
	else if (l->state == 'D')
		s->outcome = PYTHON_UNINTERRUPTIBLE;
	else if (l->seccomp == SECCOMP_STRICT)
		s->outcome = PYTHON_SECCOMP;
	else
		return l->state == 'R' || (l->state == 'S' && !l->is_fragile);
	return false;
}

/* Where stacks may be: memory of no file, because writing to a file's pages could take for ever. Read
 * before a thread is stopped. */
struct stacks {
	uint32_t nr;
	struct {
		uint64_t start, end;
	} at[MAX_STACKS];
};

static int note_stack(void *ctx, const struct maps_entry *e)
{
	struct stacks *to = ctx;

	if (e->inode || e->is_exec || to->nr == MAX_STACKS)
		return 0;
	to->at[to->nr].start = e->start;
	to->at[to->nr++].end = e->end;
	return 0;
}

static bool has_stack(const struct stacks *stacks, uint64_t sp)
{
	for (uint32_t i = 0; i < stacks->nr; i++)
		if (sp > stacks->at[i].start && sp <= stacks->at[i].end)
			return sp - stacks->at[i].start >= STACK_BYTES;
	return false;
}

static struct stacks *read_stacks(const struct python_switch *s, const struct procfs *procfs)
{
	struct stacks *to = calloc(1, sizeof(*to));

	if (to && procfs_maps(procfs, s->pid, note_stack, to, NULL) < 0)
		to->nr = 0;
	return to;
}

static bool is_in_eval_loop(const struct python_switch *s, const struct thread_state *st)
{
	return st->place == THREAD_IN_USER_CODE && st->pc >= s->in.eval_loop &&
	       st->pc < s->in.eval_loop_end;
}

/*
 * Whether the thread may be in the interpreter's code that takes or releases the GIL, which has a mutex
 * that _PyEval_AddPendingCall() of 3.13 takes as well. There it waits for, and wakes up, condition variables
 * inside _PyRuntime, and reads the clock. A waiter of such a condition variable keeps another thread, which
 * has the mutex, waiting in pthread_cond_signal() until it has seen that it was woken up.
 */
static bool may_be_at_gil(const struct python_switch *s, const struct thread_state *st)
{
	switch (st->syscall_nr) {
	case SYS_futex:
	case SYS_restart_syscall: /* as the kernel continues it after an earlier stop */
		return !st->syscall_arg ||
		       (st->syscall_arg >= s->in.runtime && st->syscall_arg < s->in.runtime_end);
	case SYS_clock_gettime:
#ifdef SYS_gettimeofday
	case SYS_gettimeofday:
#endif
		return true;
	default:
		return false;
	}
}

/* A handler that runs has its signal blocked. */
static bool is_at_safe_point(const struct python_switch *s, const struct thread_look *l,
			     const struct thread_state *st)
{
	if (st->place == THREAD_IN_SYSCALL)
		return !(st->sigmask & l->caught) && !may_be_at_gil(s, st);
	return is_in_eval_loop(s, st);
}

static int call_syscall(const struct python_switch *s, struct tracee *t, long nr, uint64_t a,
			uint64_t b, uint64_t c, uint64_t d, uint64_t e, long *ret_result)
{
	const struct thread_call call = {
		.function = s->in.syscall_code,
		.args = { a, b, c, d, e, 0 },
		.is_syscall = true,
		.syscall_nr = nr,
		.sigreturn = s->in.sigreturn_code,
	};

	return tracee_call(t, &call, clock_mono_ns() + CALL_NS, ret_result);
}

static uint64_t placed(const struct python_switch *s, uintptr_t entry)
{
	return s->page + (entry - (uintptr_t)inject_code_begin);
}

static size_t code_bytes(void)
{
	return (size_t)(inject_code_end - inject_code_begin);
}

/* Two new pages: the first for code, the second for data. */
static int map_pages(struct python_switch *s, struct tracee *t)
{
	uint8_t code[CODE_BYTES] = { 0 };
	size_t n = code_bytes();
	long result;
	int r;

	if (n > CODE_BYTES)
		return -E2BIG;
	r = call_syscall(s, t, SYS_mmap, 0, CODE_BYTES + PAGE_BYTES, PROT_READ | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, &result);
	if (r < 0)
		return r;
	if (result < 0 && result > -(long)PAGE_BYTES)
		return -ENOMEM;
	s->page = (uint64_t)result;
	r = call_syscall(s, t, SYS_mprotect, data_addr(s), PAGE_BYTES, PROT_READ | PROT_WRITE, 0, 0,
			 &result);
	if (r == 0 && result < 0)
		r = -ENOMEM;
	memcpy(code, inject_code_begin, n);
	return r < 0 ? r : tracee_poke(t, s->page, code, (n + 7) & ~(size_t)7);
}

static struct inject_page new_data(const struct python_switch *s, uint32_t nr_done)
{
	const struct interpreter *in = &s->in;

	return (struct inject_page){
		.op = s->op,
		.pid = s->ns_pid,
		.nr_done = nr_done,
		.interpreter_main = (void *(*)(void))in->interpreter_main,
		.add_pending_call =
			(int (*)(void *, inject_pending_fn, void *, int))in->add_pending_call,
		.get_object = (void *(*)(const char *))in->get_object,
		.call_function = (void *(*)(void *, const char *, ...))in->call_function,
		.is_true = (int (*)(void *))in->is_true,
		.dec_ref = (void (*)(void *))in->dec_ref,
		.clear_error = (void (*)(void))in->clear_error,
		.pending = (inject_pending_fn)placed(s, (uintptr_t)inject_pending),
		.active_name = "is_stack_trampoline_active",
		.activate_name = "activate_stack_trampoline",
		.deactivate_name = "deactivate_stack_trampoline",
		.string_arg = "s",
		.backend = "perf",
	};
}

/* Without a reader: it is memory that we mapped, or none of our business. */
static bool read_memory(const struct python_switch *s, uint64_t addr, void *to, size_t n)
{
	struct iovec local = { to, n }, remote = { (void *)(uintptr_t)addr, n };

	return process_vm_readv(s->pid, &local, 1, &remote, 1, 0) == (ssize_t)n;
}

static bool read_data(const struct python_switch *s, struct inject_page *ret_data)
{
	return read_memory(s, data_addr(s), ret_data, sizeof(*ret_data)) &&
	       (uint64_t)(uintptr_t)ret_data->pending == placed(s, (uintptr_t)inject_pending);
}

bool python_switch_has_pages(const struct python_switch *s)
{
	uint8_t code[CODE_BYTES];
	struct inject_page data;
	size_t n = code_bytes();

	return s->page && read_data(s, &data) && read_memory(s, s->page, code, n) &&
	       memcmp(code, inject_code_begin, n) == 0;
}

static int queue_call(struct python_switch *s, struct tracee *t)
{
	struct inject_page data;
	struct thread_call call = { .sigreturn = s->in.sigreturn_code };
	long unused;
	int r = s->page ? 0 : map_pages(s, t);

	if (r < 0)
		return r;
	if (!read_data(s, &data))
		data.nr_done = 0;
	data = new_data(s, data.nr_done);
	r = tracee_poke(t, data_addr(s), &data, sizeof(data));
	if (r < 0)
		return r;
	call.function = placed(s, (uintptr_t)inject_queue);
	call.args[0] = data_addr(s);
	s->stage = PYTHON_IS_QUEUED; /* perhaps, whatever happens from now on */
	s->nr_queued++;
	r = tracee_call(t, &call, clock_mono_ns() + CALL_NS, &unused);
	if (r == 0 && read_data(s, &data) && data.is_queued && data.queue_result) {
		s->stage = PYTHON_WAITS; /* the queue is full */
		s->nr_queued--;
	}
	return r == -ETIMEDOUT ? 0 : r;
}

static enum python_outcome outcome_of(int error)
{
	switch (error) {
	case -ESRCH:
		return PYTHON_GONE;
	case -EPERM:
	case -EACCES:
		return PYTHON_NO_PERMISSION;
	case -ENOMEM:
		return PYTHON_NO_MEMORY;
	case -EAGAIN:
		return PYTHON_STOPPED;
	case -ETIMEDOUT:
		return PYTHON_NO_SAFE_POINT;
	default:
		return PYTHON_FAILED;
	}
}

static void try_call(struct python_switch *s, struct tracee *t, const struct thread_look *l,
		     const struct stacks *stacks)
{
	int r;

	if (t->state.obstacle)
		s->outcome = PYTHON_OBSTACLE;
	else if (!is_at_safe_point(s, l, &t->state))
		s->outcome = PYTHON_NO_SAFE_POINT;
	else if (!interpreter_is_up(s->pid, &s->in))
		s->outcome = PYTHON_NOT_UP;
	else if (!has_stack(stacks, t->state.sp))
		s->outcome = PYTHON_SMALL_STACK;
	else {
		r = queue_call(s, t);
		if (r == -ENOMEM || r == -EFAULT)
			settle(s, outcome_of(r));
		else if (r < 0)
			s->outcome = outcome_of(r);
	}
}

/* Stops a thread and lets it go again. */
static void visit_thread(struct python_switch *s, pid_t tid, const struct thread_look *l,
			 const struct stacks *stacks)
{
	struct tracee *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return;
	r = tracee_stop(t, tid, clock_mono_ns() + STOP_NS);
	if (r == 0 && !t->state.obstacle && t->state.place == THREAD_IN_TIMED_SYSCALL)
		r = tracee_finish_syscall(t, clock_mono_ns() + FINISH_SYSCALL_NS);
	if (r == 0)
		try_call(s, t, l, stacks);
	else
		s->outcome = outcome_of(r);
	if (tracee_let_go(t))
		free(t);
	else
		s->straggler = t;
}

/* The children of vfork() run in their parent's memory. */
static bool shares_memory(const struct python_switch *s, const struct procfs *procfs)
{
	pid_t parent;

	return procfs_parent(procfs, s->pid, &parent) == 0 && parent > 0 &&
	       syscall(SYS_kcmp, s->pid, parent, KCMP_VM, 0, 0) == 0;
}

static uint32_t list_threads(const struct python_switch *s, const struct procfs *procfs,
			     pid_t tids[MAX_THREADS])
{
	_cleanup_(dirclosep) DIR *dir = NULL;
	const struct dirent *e;
	uint32_t nr = 0;
	char path[32];
	int fd;

	(void)snprintf(path, sizeof(path), "%d/task", (int)s->pid);
	fd = openat(procfs->fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while (nr < MAX_THREADS && (e = readdir(dir)) != NULL) {
		pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);

		if (tid > 0)
			tids[nr++] = tid;
	}
	return nr;
}

/* The main thread comes first. It is the one that ends the interpreter. */
static void visit_threads(struct python_switch *s, const struct procfs *procfs)
{
	_cleanup_(freep) struct stacks *stacks = NULL;
	pid_t tids[MAX_THREADS];
	uint32_t nr = list_threads(s, procfs, tids);

	if (shares_memory(s, procfs))
		return;
	stacks = read_stacks(s, procfs);
	for (uint32_t i = 0; stacks && i < nr && s->stage == PYTHON_WAITS && !s->straggler; i++) {
		struct thread_look l;

		if (look_at_thread(procfs, s->pid, tids[i], &l) == 0 && may_stop(s, &l))
			visit_thread(s, tids[i], &l, stacks);
	}
}

/* Where the interpreter will write, if there is a file already. */
static bool has_foreign_map(struct python_switch *s, const struct procfs *procfs)
{
	struct reader_file file = { .fd = -1 };
	struct proc_status status;
	char path[64];
	int r = procfs_status(procfs, s->pid, &status);

	if (r < 0)
		return false;
	s->ns_pid = status.ns_pid;
	(void)snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)status.ns_pid);
	r = procfs_open_no_link(procfs, s->pid, path, &file);
	if (r < 0)
		return r == -ELOOP || r == -ENODEV;
	close(file.fd);
	return file.st.st_uid != status.euid || file.st.st_nlink != 1;
}

static enum python_outcome not_found(int result)
{
	switch (result) {
	case INTERPRETER_NONE:
		return PYTHON_NOT_PYTHON;
	case INTERPRETER_TOO_OLD:
		return PYTHON_TOO_OLD;
	case INTERPRETER_NO_TRAMPOLINE:
		return PYTHON_NO_TRAMPOLINE;
	case INTERPRETER_NO_SYMBOLS:
		return PYTHON_NO_SYMBOLS;
	case INTERPRETER_NO_CODE:
		return PYTHON_NO_CODE;
	case INTERPRETER_32_BIT:
		return PYTHON_IS_32_BIT;
	default:
		return outcome_of(result);
	}
}

static void find_interpreter(struct python_switch *s, const struct procfs *procfs,
			     struct interpreter_cache *cache)
{
	int r = interpreter_find(procfs, s->pid, cache, &s->in);

	s->has_interpreter = r == INTERPRETER_FOUND;
	if (!s->has_interpreter)
		settle(s, not_found(r));
	else if (has_foreign_map(s, procfs))
		settle(s, PYTHON_FOREIGN_MAP);
	else
		s->outcome = PYTHON_NO_SAFE_POINT;
}

static void read_result(struct python_switch *s, enum inject_result result)
{
	switch (result) {
	case INJECT_PENDING:
		break;
	case INJECT_SWITCHED:
		s->is_on = s->op == INJECT_ACTIVATE;
		settle(s, PYTHON_SWITCHED);
		break;
	case INJECT_UNCHANGED:
		s->is_on = s->op == INJECT_ACTIVATE && s->is_inherited;
		settle(s, s->is_on ? PYTHON_SWITCHED : PYTHON_ALREADY);
		break;
	case INJECT_CANCELLED:
		settle(s, PYTHON_BLOCKED);
		break;
	case INJECT_MISSING:
		settle(s, PYTHON_MISSING);
		break;
	case INJECT_FORKED:
		settle(s, PYTHON_FAILED);
		break;
	case INJECT_REFUSED:
	default:
		settle(s, PYTHON_REFUSED);
		break;
	}
}

void python_switch_step(struct python_switch *s, const struct procfs *procfs,
			struct interpreter_cache *cache)
{
	struct inject_page data;

	if (s->stage == PYTHON_SETTLED || !python_switch_release(s))
		return;
	if (!is_same_process(s, procfs)) {
		settle(s, PYTHON_GONE);
		return;
	}
	if (s->stage == PYTHON_IS_QUEUED) {
		if (read_data(s, &data))
			read_result(s, (enum inject_result)data.result);
		else
			settle(s, PYTHON_GONE); /* another program runs in it */
		return;
	}
	if (!s->has_interpreter)
		find_interpreter(s, procfs, cache);
	if (s->stage == PYTHON_WAITS && s->page && !python_switch_has_pages(s))
		settle(s, PYTHON_GONE);
	if (s->stage == PYTHON_WAITS)
		visit_threads(s, procfs);
}

static bool write_cancelled(const struct python_switch *s)
{
	uint32_t yes = 1;
	struct iovec from = { &yes, sizeof(yes) };
	struct iovec to = { (void *)(uintptr_t)(data_addr(s) +
						offsetof(struct inject_page, is_cancelled)),
			    sizeof(yes) };

	return process_vm_writev(s->pid, &from, 1, &to, 1, 0) == sizeof(yes);
}

void python_switch_give_up(struct python_switch *s, const struct procfs *procfs)
{
	struct inject_page data = { 0 };

	if (s->stage == PYTHON_IS_QUEUED && s->op == INJECT_ACTIVATE &&
	    is_same_process(s, procfs) && read_data(s, &data) && write_cancelled(s)) {
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (read_data(s, &data) && data.is_started && data.result == INJECT_PENDING)
			return;
		read_result(s, (enum inject_result)data.result);
	}
	if (s->stage == PYTHON_IS_QUEUED)
		settle(s, PYTHON_BLOCKED);
	else if (s->stage == PYTHON_WAITS)
		settle(s, s->outcome);
}

/* A thread in the interpreter's main loop has the GIL, with which alone our code runs: so it does
 * not run now. */
static void unmap_pages(struct python_switch *s, struct tracee *t)
{
	long result;

	if (t->state.obstacle || !is_in_eval_loop(s, &t->state))
		return;
	if (call_syscall(s, t, SYS_munmap, s->page, CODE_BYTES + PAGE_BYTES, 0, 0, 0, &result) ==
		    0 &&
	    result == 0)
		s->page = 0;
}

/* Whether no call of ours is queued or running. What a fork took along cannot be counted. */
static bool is_idle(const struct python_switch *s)
{
	struct inject_page data;

	return !s->is_inherited && read_data(s, &data) && data.nr_done == s->nr_queued;
}

static void clean_by(struct python_switch *s, pid_t tid, const struct stacks *stacks)
{
	struct tracee *t = calloc(1, sizeof(*t));

	if (!t)
		return;
	if (tracee_stop(t, tid, clock_mono_ns() + STOP_NS) == 0 && has_stack(stacks, t->state.sp))
		unmap_pages(s, t);
	if (tracee_let_go(t))
		free(t);
	else
		s->straggler = t;
}

bool python_switch_clean(struct python_switch *s, const struct procfs *procfs)
{
	_cleanup_(freep) struct stacks *stacks = NULL;
	pid_t tids[MAX_THREADS];
	struct thread_look l;
	uint32_t nr;

	if (!s->page || !is_same_process(s, procfs) || !python_switch_has_pages(s))
		return true;
	stacks = is_idle(s) ? read_stacks(s, procfs) : NULL;
	nr = stacks ? list_threads(s, procfs, tids) : 0;
	for (uint32_t i = 0; i < nr && s->page && python_switch_release(s); i++)
		if (look_at_thread(procfs, s->pid, tids[i], &l) == 0 && l.state == 'R' &&
		    may_stop(s, &l))
			clean_by(s, tids[i], stacks);
	return !s->page;
}

void python_switch_fork(struct python_switch *child, const struct procfs *procfs,
			const struct python_switch *parent)
{
	struct proc_status status;

	child->is_inherited = true;
	child->has_interpreter = parent->has_interpreter;
	child->in = parent->in;
	if (procfs_status(procfs, child->pid, &status) == 0)
		child->ns_pid = status.ns_pid;
	child->page = parent->page;
	if (!python_switch_has_pages(child))
		child->page = 0;
	child->is_on = child->page != 0;
}

bool python_switch_release(struct python_switch *s)
{
	if (s->straggler && tracee_let_go(s->straggler)) {
		free(s->straggler);
		s->straggler = NULL;
	}
	return !s->straggler;
}

void python_switch_done(struct python_switch *s)
{
	(void)python_switch_release(s);
	free(s->straggler);
	s->straggler = NULL;
}
