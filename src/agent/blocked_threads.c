/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that waited before the capture began. The kernel supplies their registers; their stacks
 * are read here, and both go through the pipe like a walk that the kernel could not finish.
 */
#include <errno.h>

#include "agent/session.h"
#include "base/clock.h"
#include "bpf/wait.h"

/* not a CPU that has samples, so that their stack pages are not mixed up */
#define NO_CPU UINT32_MAX
/* read from a stack whose end is unknown; blocked threads seldom have deep stacks */
#define ENDLESS_BYTES (32u << 10)
#define MAX_BYTES (64u << 20) /* limit for all stacks together */
#define PAGE ((uint64_t)PA_STACK_PAGE_BYTES)

struct adding_blocked {
	struct pa_session *s;
	uint32_t nr;
	uint64_t bytes;     /* read so far */
	uint64_t turned_ns; /* when the rings were drained */
	uint32_t pid;       /* process of the last thread */
	bool is_first_over; /* its first thread has exited, and no longer has memory */
	/* Sized for the largest record; the registers move up to the words that are used. */
	struct {
		struct pa_sample sample;
		__u64 words[2 + PA_BLOCKED_KERNEL_FRAMES];
		struct pa_stack_regs regs;
	} record;
	char stack[PA_STACK_MAX_BYTES];
	struct {
		struct pa_stack_page page;
		char bytes[PA_STACK_PAGE_BYTES];
	} page;
};

#if defined(__x86_64__)
#define SYSCALL_CODE "\x0f\x05"
#elif defined(__aarch64__)
#define SYSCALL_CODE "\x01\x00\x00\xd4"
#endif
#define SYSCALL_BYTES (sizeof(SYSCALL_CODE) - 1)

static struct pa_record head_of(const struct pa_blocked *b, uint32_t type, uint64_t now_ns)
{
	return (struct pa_record){ .type = type, .pid = b->pid, .time_ns = now_ns };
}

/* The ID through which the memory is read. A process that does not answer is asked once, not once
 * for each thread. */
static pid_t memory_of(struct adding_blocked *a, const struct pa_blocked *b)
{
	struct proc_status st;

	if (a->pid != b->pid)
		a->is_first_over = procfs_status(&a->s->world->procfs, (pid_t)b->pid, &st) == 0 &&
				   st.is_over;
	a->pid = b->pid;
	return (pid_t)(a->is_first_over ? b->tid : b->pid);
}

static void read_code(struct adding_blocked *a, const struct pa_blocked *b,
		      struct pa_stack_regs *to)
{
	const size_t half = PA_CODE_BYTES / 2;

	(void)procfs_read_mem(&a->s->world->procfs, memory_of(a, b), b->pc - half, to->code,
			      PA_CODE_BYTES); /* without it, it is unknown code */
}

static void fill_regs(struct adding_blocked *a, const struct pa_blocked *b,
		      struct pa_stack_regs *to)
{
	*to = (struct pa_stack_regs){ .pc = b->pc, .sp = b->sp, .lr = b->lr };
	memcpy(to->regs, b->regs, sizeof(to->regs));
	read_code(a, b, to);
}

static bool is_in_syscall(const struct pa_stack_regs *regs, const struct pa_blocked *b)
{
	return b->syscall_nr >= 0 &&
	       !memcmp(regs->code + PA_CODE_BYTES / 2 - SYSCALL_BYTES, SYSCALL_CODE, SYSCALL_BYTES);
}

/* Writes the value, the kernel frames and the user address; returns the number of words. */
static uint32_t fill_words(const struct pa_blocked *b, __u64 *words)
{
	uint32_t nr = 0;

	words[nr++] = b->wait;
	memcpy(words + nr, b->kernel, b->nr_kernel * sizeof(words[0]));
	nr += b->nr_kernel;
	if (b->has_regs)
		words[nr++] = PA_FRAME_ADDR(b->pc) | PA_PC_EXACT;
	return nr;
}

/* Builds the record; returns its size, or 0 if its numbers are impossible. */
static size_t fill_record(struct adding_blocked *a, const struct pa_blocked *b, uint64_t now_ns)
{
	struct pa_sample *s = &a->record.sample;
	struct pa_stack_regs regs;
	uint32_t nr;

	if (b->nr_kernel > PA_BLOCKED_KERNEL_FRAMES)
		return 0;
	*s = (struct pa_sample){
		.head = head_of(b, PA_RECORD_SAMPLE, now_ns),
		.tid = b->tid,
		.cpu = NO_CPU,
		.serial = a->nr++ * PA_MAX_NESTING,
		.nr_kernel = (__u16)b->nr_kernel,
		.nr_user = b->has_regs,
		.nr_values = 1,
		.stop = PA_STOP_KERNEL,
		.flags = PA_SAMPLE_WAIT | PA_SAMPLE_IN_KERNEL | PA_SAMPLE_KERNEL_TASK,
	};
	memcpy(s->comm, b->comm, sizeof(s->comm));
	memcpy(s->thread, b->thread, sizeof(s->thread));
	nr = fill_words(b, s->words);
	if (!b->has_regs)
		return sizeof(*s) + nr * sizeof(__u64);
	s->flags = PA_SAMPLE_WAIT | PA_SAMPLE_IN_KERNEL;
	s->stop = PA_STOP_BUDGET;
	/* after a request to stop, no target's memory is waited for */
	if (atomic_load(&a->s->stop))
		return (size_t)pa_sample_bytes(s);
	fill_regs(a, b, &regs);
	s->stop = PA_STOP_STACK_FAULT;
	if (is_in_syscall(&regs, b))
		s->flags |= PA_SAMPLE_IN_SYSCALL;
	s->syscall_nr = (__u16)b->syscall_nr;
	if (b->is_compat)
		s->stop = PA_STOP_COMPAT;
	else if (a->s->world->unwinder) {
		s->stop = PA_STOP_NO_PROCESS;
		s->flags |= PA_SAMPLE_UNFINISHED;
		memcpy(s->words + nr, &regs, sizeof(regs));
	}
	return (size_t)pa_sample_bytes(s);
}

static void give_page(struct adding_blocked *a, uint64_t addr, const char *bytes, uint32_t size)
{
	struct pa_stack_page *page = &a->page.page;

	page->head = a->record.sample.head;
	page->head.type = PA_RECORD_STACK;
	page->addr = addr;
	page->cpu = NO_CPU;
	page->serial = a->record.sample.serial;
	page->size = size;
	memcpy(page->bytes, bytes, size);
	(void)pipe_record(a->s->pipe, page, sizeof(*page) + size); /* never fails */
}

/* How many bytes to read: little if the stack's end is unknown, because many threads must not use
 * up the common limit. Of a large stack, as many pages as the kernel copies; the first of them is
 * partial. */
static size_t stack_bytes(const struct pa_blocked *b, uint64_t at)
{
	uint64_t max = PA_STACK_MAX_BYTES - at % PAGE;

	if (b->stack_end <= at)
		return ENDLESS_BYTES;
	return b->stack_end - at < max ? (size_t)(b->stack_end - at) : (size_t)max;
}

/* Reads at most `want` bytes from address `at`; returns how many. Falls back to pages, because the
 * first thread's stack may end within the range. */
static size_t read_stack(struct adding_blocked *a, pid_t pid, uint64_t at, size_t want)
{
	const struct procfs *procfs = &a->s->world->procfs;
	ssize_t n = procfs_read_mem(procfs, pid, at, a->stack, want);
	size_t len = 0, size;

	if (n > 0)
		return (size_t)n;
	for (; len < want; len += size) {
		size = PAGE - (at + len) % PAGE;
		if (size > want - len)
			size = want - len;
		if (procfs_read_mem(procfs, pid, at + len, a->stack + len, size) != (ssize_t)size)
			break;
	}
	return len;
}

/* Passes on the stack, page by page from the red zone on. Returns why it ends. */
static uint32_t give_stack(struct adding_blocked *a, uint32_t origin, const struct pa_blocked *b)
{
	uint64_t at = b->sp - PA_RED_ZONE_BYTES, end;
	size_t want = stack_bytes(b, at), n;

	if (a->bytes > MAX_BYTES)
		return PA_STOP_BUDGET;
	n = read_stack(a, memory_of(a, b), at, want);
	if (!triggers_is_blocked(a->s->triggers, origin, b))
		return PA_STOP_WOKEN;
	if (!n)
		return PA_STOP_STACK_FAULT;
	a->bytes += n;
	end = at + n / sizeof(uint64_t) * sizeof(uint64_t);
	for (uint64_t from = at, next; from < end; from = next) {
		next = (from / PAGE + 1) * PAGE;
		if (next > end)
			next = end;
		give_page(a, from, a->stack + (from - at), (uint32_t)(next - from));
	}
	return n == want && at + n != b->stack_end ? PA_STOP_BIG_STACK : PA_STOP_STACK_FAULT;
}

static void add_thread(struct adding_blocked *a, uint32_t origin, const struct pa_blocked *b)
{
	struct pa_stack_end stack_end = { .cpu = NO_CPU };
	size_t size = fill_record(a, b, clock_mono_ns());

	if (!size)
		return;
	a->record.sample.origin = (__u8)origin;
	(void)pipe_record(a->s->pipe, &a->record, size); /* never fails */
	if (!(a->record.sample.flags & PA_SAMPLE_UNFINISHED))
		return;
	stack_end.stop = give_stack(a, origin, b);
	stack_end.head = a->record.sample.head;
	stack_end.head.type = PA_RECORD_STACK_END;
	stack_end.serial = a->record.sample.serial;
	(void)pipe_record(a->s->pipe, &stack_end, sizeof(stack_end));
}

/* Adds one of possibly thousands of threads. The rings are drained in between, and the lock is held
 * for one thread at a time. */
static void add_blocked(void *ctx, uint32_t origin, const struct pa_blocked *b)
{
	struct adding_blocked *a = ctx;
	struct pa_session *s = a->s;

	world_lock(s->world);
	add_thread(a, origin, b);
	world_unlock(s->world);
	if (clock_mono_ns() - a->turned_ns < s->settings.o.drain_interval_ms * NS_PER_MS)
		return;
	/* if it fails, so does the next turn, which ends the capture */
	(void)session_turn(s, false);
	a->turned_ns = clock_mono_ns();
}

void session_add_blocked(struct pa_session *s)
{
	struct adding_blocked *a = calloc(1, sizeof(*a));
	int r = a ? 0 : -ENOMEM;

	if (a) {
		a->s = s;
		a->turned_ns = clock_mono_ns();
		r = triggers_blocked(s->triggers, add_blocked, a);
	}
	if (r < 0)
		log_warn(&s->log, "off-CPU: threads that wait already are not shown: %s",
			 strerror(-r));
	free(a);
}
