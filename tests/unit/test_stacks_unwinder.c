/* SPDX-License-Identifier: Apache-2.0 */
/* What is published to the walker, when, and which of its walks are accepted: this process as the target, and
 * maps in plain memory. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "fake_maps.h"
#include "self_walk.h"
#include "stacks/unwinder_internal.h"

static time_t ahead_s; /* of the true time */

int clock_gettime(clockid_t clock, struct timespec *to)
{
	int r = (int)syscall(SYS_clock_gettime, clock, to);

	to->tv_sec += ahead_s;
	return r;
}

static struct capture *new_capture_as(struct tables *tables, bool compile_first)
{
	struct world_config cfg = { .proc_root = "/proc",
				    .kallsyms_path = "/dev/null",
				    .all = true,
				    .max_fds = 64,
				    .compile_first = compile_first,
				    .compile_inline = true,
				    .table_bytes = SIZE_MAX };
	struct capture *c = NULL;

	must(capture_new(&cfg, NULL, &c) == 0 && capture_use_tables(c, tables) == 0);
	must(capture_scan(c, getpid()) == 0);
	if (compile_first)
		capture_compile_first(c);
	return c;
}

static struct capture *new_capture(struct tables *tables)
{
	return new_capture_as(tables, true);
}

/* Only what is older than a millisecond is looked at. */
static void turn(struct capture *c)
{
	usleep(3000);
	capture_begin_turn(c);
	must(capture_settle(c, false) == 0);
}

static void kernel_walk(struct capture *c, uint32_t generation, uint16_t nr);
#define WALKED ((uint64_t)(uintptr_t)kernel_walk + 1)

/* A walk that the kernel went through with: of nr functions here, the first one exact. */
static void kernel_walk_as(struct capture *c, uint32_t generation, uint16_t nr, uint8_t flags)
{
	struct {
		struct pa_sample s;
		uint64_t period;
		uint64_t pcs[4];
	} r = { .s = { .head = { PA_RECORD_SAMPLE, (uint32_t)getpid(), clock_mono_ns() },
		       .nr_values = 1,
		       .nr_user = nr,
		       .stop = PA_STOP_END,
		       .flags = flags,
		       .generation = generation,
		       .comm = "self" } };

	for (uint16_t i = 0; i < nr; i++)
		r.pcs[i] = WALKED + i;
	r.pcs[0] |= PA_PC_EXACT;
	must(capture_record(c, &r, pa_sample_bytes(&r.s)) == 0);
}

static void kernel_walk(struct capture *c, uint32_t generation, uint16_t nr)
{
	kernel_walk_as(c, generation, nr, 0);
}

static uint32_t deepest(const struct capture *c)
{
	uint32_t max = 0;

	for (uint32_t i = 0; i < c->model->profile->nr_stacks; i++)
		if (c->model->profile->stacks[i].nr > max)
			max = c->model->profile->stacks[i].nr;
	return max;
}

static void test_outdated(void)
{
	struct test_world w = new_world(SIZE_MAX);
	struct capture *c = new_capture(w.t);
	struct process_event exec = { .type = EVENT_EXEC, .pid = getpid() };
	uint32_t generation;

	turn(c);
	generation = process.generation;
	must(generation && nr_lists == 1);
	exec.time_ns = clock_mono_ns();
	must(capture_event(c, &exec) == 0);
	kernel_walk(c, generation, 3);
	turn(c);
	ok(c->model->stats.stops[PA_STOP_OUTDATED] == 1 && deepest(c) == 1,
	   "a walk with mappings from before an exec is reduced to its leaf");
	kernel_walk(c, generation + 1000, 3);
	turn(c);
	ok(c->model->stats.stops[PA_STOP_OUTDATED] == 2,
	   "a walk with unknown mappings is reduced to its leaf");
	capture_free(c);
	end_world(&w);
}

static void test_current(void)
{
	struct test_world w = new_world(SIZE_MAX);
	struct capture *c = new_capture(w.t);

	turn(c);
	kernel_walk(c, process.generation, 3);
	turn(c);
	ok(c->model->stats.stops[PA_STOP_END] == 1 && deepest(c) == 3,
	   "a walk with current mappings is accepted");
	capture_free(c);
	end_world(&w);
}

static uint32_t nr_with_table(const struct test_world *w)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < process.nr; i++) {
		const struct pa_mapping *m = &w->mappings[process.first + i];

		nr += m->nr_blocks && m->nr_blocks != PA_BLOCKS_PENDING;
	}
	return nr;
}

/* Tables that go while a list names them. */
static void test_evicted(void)
{
	struct test_world w = new_world(SIZE_MAX);
	struct capture *c = new_capture(w.t);

	turn(c);
	ok(nr_with_table(&w) >= 2, "a list of mappings refers to tables");
	c->world->unwinder->files.tables.max_bytes = 1;
	turn(c);
	ok(nr_lists == 2 && nr_with_table(&w) <= 1,
	   "when tables are evicted, except the vDSO's, the list is replaced in the same turn");
	turn(c);
	ok(nr_lists == 2, "the replaced list then stays");
	capture_free(c);
	end_world(&w);
}

/* Who waits is not told of every table at once; who misses one is. */
static void test_waiting(void)
{
	struct test_world w = new_world(SIZE_MAX);
	struct capture *c = new_capture_as(w.t, false);
	uint64_t *due_ns = &c->world->unwinder->waiting_due_ns, began_ns;

	turn(c);
	must(nr_lists == 1 && nr_with_table(&w) == 0);
	*due_ns = UINT64_MAX;
	must(self_walk(c, PA_STOP_NO_TABLE));
	for (int i = 0; i < 5; i++)
		turn(c);
	ok(c->model->stats.stops[PA_STOP_END] == 1 && nr_lists == 1,
	   "a process published a moment ago is not published again for more tables");
	must(self_walk(c, PA_STOP_NO_TABLE));
	turn(c);
	ok(nr_lists == 2 && nr_with_table(&w) > 0,
	   "a process whose walks miss a table is published at once");
	w.mappings[process.first].end--;
	*due_ns = 0;
	began_ns = clock_mono_ns();
	turn(c);
	ok(nr_lists == 3 && *due_ns > began_ns, "other processes are published later");
	capture_free(c);
	end_world(&w);
}

/* A process with very many mappings is published in larger steps. */
static void test_big_process(void)
{
	struct test_world w = new_world(SIZE_MAX);
	struct capture *c = new_capture(w.t);
	struct pid_rest rest = { getpid(), UINT64_MAX };

	turn(c);
	must(nr_lists == 1 && c->world->unwinder->nr_rests == 0);
	c->world->unwinder->rests = malloc(sizeof(rest));
	must(c->world->unwinder->rests);
	c->world->unwinder->rests[0] = rest;
	c->world->unwinder->nr_rests = c->world->unwinder->cap_rests = 1;
	unwinder_touch(c->world->unwinder, getpid());
	turn(c);
	turn(c);
	ok(nr_lists == 1, "a process with very many mappings is not published again at once");
	c->world->unwinder->rests[0].due_ns = 0;
	turn(c);
	ok(nr_lists == 2 && c->world->unwinder->nr_rests == 0,
	   "a process with very many mappings is published again after a while");
	turn(c);
	ok(nr_lists == 2, "once");
	capture_free(c);
	end_world(&w);
}

/* A walk that goes wrong says nothing new about the process. */
static void test_wrong_callers(void)
{
	struct test_world w = new_world(SIZE_MAX);
	struct capture *c = new_capture(w.t);

	turn(c);
	for (int i = 0; i < 5; i++) {
		must(self_walk(c, PA_STOP_UNKNOWN_CODE));
		turn(c);
	}
	ok(c->model->stats.nr_kept == 5 && nr_lists == 1,
	   "unknown code does not republish a process: %u times", nr_lists);
	must(self_walk(c, PA_STOP_NO_PROCESS));
	turn(c);
	ok(nr_lists == 2, "a process that the walker does not know is published again");
	w.mappings[process.first].generation = 0;
	must(self_walk(c, PA_STOP_UNKNOWN_CODE));
	turn(c);
	ok(nr_lists == 3, "a process whose list the kernel has shortened is published again");
	capture_free(c);
	end_world(&w);
}

static bool has_location(const struct capture *c, uint64_t addr)
{
	for (uint32_t i = 0; i < c->model->profile->nr_locations; i++)
		if (c->model->profile->locations[i].address == addr)
			return true;
	return false;
}

/* The kernel's walk was stopped by a rule; the copy of the stack shows less. */
static void test_shorter(void)
{
	struct {
		struct pa_sample s;
		uint64_t period;
		uint64_t pcs[3];
		struct pa_stack_regs regs;
	} r = { .s = { .head = { PA_RECORD_SAMPLE, (uint32_t)getpid(), 0 },
		       .nr_values = 1,
		       .nr_user = 3,
		       .stop = PA_STOP_HARD_RULE,
		       .flags = PA_SAMPLE_UNFINISHED } };
	struct self_page page = { .head = { .addr = 4096, .size = 64 } };
	struct test_world w = new_world(SIZE_MAX);
	struct capture *c = new_capture(w.t);

	turn(c);
	r.s.head.time_ns = clock_mono_ns();
	r.s.generation = process.generation;
	for (unsigned int i = 0; i < 3; i++)
		r.pcs[i] = WALKED + i;
	r.regs.pc = r.pcs[0];
	r.pcs[0] |= PA_PC_EXACT;
	page.head.head = r.s.head;
	page.head.head.type = PA_RECORD_STACK;
	must(capture_record(c, &r, sizeof(r)) == 0);
	must(capture_record(c, &page, sizeof(page.head) + page.head.size) == 0);
	must(self_end(c, &r.s.head, PA_STOP_STACK_FAULT));
	turn(c);
	ok(c->model->stats.stops[PA_STOP_HARD_RULE] == 1 && deepest(c) == 3,
	   "the walk that got further is kept");
	capture_free(c);
	end_world(&w);
}

/* ---- copies that end before the stack does ---- */

#define BIG_FRAME 20000

static __attribute__((noinline)) void walk_out_of_big_frame(struct capture *c, uint8_t copy_stop)
{
	volatile char room[BIG_FRAME];

	room[0] = room[BIG_FRAME - 1] = 1;
	must(self_walk_pages(c, PA_STOP_NO_TABLE, 1, copy_stop));
	room[1] = 1; /* no tail call */
}

static void test_truncated_copies(void)
{
	static const uint8_t stops[] = { PA_STOP_BUDGET, PA_STOP_BIG_STACK, PA_STOP_STACK_FAULT };
	struct test_world w = new_world(SIZE_MAX);
	struct capture *c = new_capture(w.t);

	turn(c);
	for (unsigned int i = 0; i < sizeof(stops); i++) {
		walk_out_of_big_frame(c, stops[i]);
		turn(c);
		ok(c->model->stats.stops[stops[i]] == 1 && c->model->stats.nr_kept == i + 1,
		   "a walk reports why the copy of its stack ended: reason %u", stops[i]);
	}
	must(self_walk_pages(c, PA_STOP_NO_TABLE, 0, PA_STOP_BUDGET));
	turn(c);
	ok(c->model->stats.stops[PA_STOP_BUDGET] == 2,
	   "a walk reports it also if nothing was copied");
	walk_out_of_big_frame(c, PA_STOP_COPY_LOST);
	must(self_walk_pages(c, PA_STOP_NO_TABLE, 0, PA_STOP_BUDGET));
	turn(c);
	ok(c->model->stats.stops[PA_STOP_COPY_LOST] == 1 &&
		   c->model->stats.stops[PA_STOP_BUDGET] == 3,
	   "a copy without its end is lost, once its CPU has taken the next sample");
	capture_free(c);
	end_world(&w);
}

/* ---- walks that need all registers ---- */

void call_by_rbx(void (*fn)(void));
#ifdef SELF_WALK_IS_POSSIBLE
/* Its CFA is in rbx, which the light walk knows at the sampled frame only. */
__asm__(".text\n"
	".type call_by_rbx, @function\n"
	"call_by_rbx:\n"
	".cfi_startproc\n"
	"push %rbx\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset %rbx, -16\n"
	"mov %rsp, %rbx\n"
	".cfi_def_cfa %rbx, 16\n"
	"sub $64, %rsp\n"
	"call *%rdi\n"
	"behind_call_by_rbx:\n"
	"mov %rbx, %rsp\n"
	"pop %rbx\n"
	".cfi_def_cfa %rsp, 8\n"
	".cfi_restore %rbx\n"
	"ret\n"
	".cfi_endproc\n"
	".size call_by_rbx, . - call_by_rbx\n");
extern const char behind_call_by_rbx[];
#else
void call_by_rbx(void (*fn)(void))
{
}
static const char behind_call_by_rbx[1];
#endif

struct made_sample {
	struct pa_sample s;
	uint64_t period;
	uint64_t pc;
	struct pa_stack_regs regs;
};

/* Of generated code, at its return to `caller`: no frame pointer leads there. */
static struct made_sample made_sample(const void *made, struct self_page *page, uint64_t caller)
{
	struct made_sample r = { .s = { .head = { PA_RECORD_SAMPLE, (uint32_t)getpid(),
						  clock_mono_ns() },
					.nr_values = 1,
					.nr_user = 1,
					.stop = PA_STOP_NO_PROCESS,
					.flags = PA_SAMPLE_UNFINISHED } };

	page->head = (struct pa_stack_page){ .head = r.s.head, .addr = 4096, .size = 64 };
	page->head.head.type = PA_RECORD_STACK;
	r.regs.pc = (uint64_t)(uintptr_t)made;
	r.regs.sp = r.regs.regs[PA_REG_X86_SP] = page->head.addr;
	r.regs.code[PA_CODE_BYTES / 2] = 0xc3;
	r.pc = r.regs.pc | PA_PC_EXACT;
	memcpy(page->bytes, &caller, sizeof(caller));
	return r;
}

static void send(struct capture *c, const struct made_sample *r, const struct self_page *page)
{
	must(capture_record(c, r, sizeof(*r)) == 0);
	must(capture_record(c, page, sizeof(page->head) + page->head.size) == 0);
	must(self_end(c, &r->s.head, PA_STOP_STACK_FAULT));
	turn(c);
}

static void test_made_code(void)
{
	uint64_t caller = WALKED, in_rbx = (uint64_t)(uintptr_t)behind_call_by_rbx;
	void *made = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct test_world w = new_world(SIZE_MAX);
	struct capture *c = new_capture(w.t);
	struct self_page page = { .bytes = { 0 } };
	struct made_sample r;

	must(made != MAP_FAILED);
	turn(c);
	r = made_sample(made, &page, caller);
	send(c, &r, &page);
	ok(has_location(c, caller - 1), "the code sent with the registers is used");
	r = made_sample(made, &page, in_rbx);
	r.regs.regs[3] = page.head.addr + 16; /* rbx */
	caller += 2;
	memcpy(page.bytes + 24, &caller, sizeof(caller));
	send(c, &r, &page);
	ok(has_location(c, in_rbx - 1) && has_location(c, caller - 1),
	   "the code sent with the registers is used in a walk with all registers");
	capture_free(c);
	end_world(&w);
	munmap(made, 4096);
}

/* ---- what handlers return to ---- */

static struct capture *from_handler;
static uint64_t restorer;

static void on_signal(int nr)
{
	restorer = (uint64_t)(uintptr_t)__builtin_return_address(0);
	must(self_walk(from_handler, PA_STOP_NO_TABLE));
}

static void test_in_syscall(void)
{
	struct test_world w = new_world(SIZE_MAX);
	struct capture *c = new_capture(w.t);

	turn(c);
	kernel_walk_as(c, process.generation, 1, PA_SAMPLE_IN_KERNEL);
	turn(c);
	ok(has_location(c, WALKED) && !has_location(c, WALKED - 1), "an interrupted pc is exact");
	kernel_walk_as(c, process.generation, 1, PA_SAMPLE_IN_KERNEL | PA_SAMPLE_IN_SYSCALL);
	turn(c);
	ok(has_location(c, WALKED - 1), "a pc in a system call is that of the instruction");
	capture_free(c);
	end_world(&w);
}

static void test_signal(void)
{
	struct test_world w = new_world(SIZE_MAX);
	struct capture *c = new_capture(w.t);

	turn(c);
	from_handler = c;
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	turn(c);
	ok(c->model->stats.stops[PA_STOP_END] == 1, "a walk out of a signal handler is complete");
	ok(has_location(c, restorer) && !has_location(c, restorer - 1),
	   "the pc interrupted by a signal is exact");
	capture_free(c);
	end_world(&w);
}

static void raise_it(void)
{
	raise(SIGUSR1);
}

static void test_signal_below_rbx(void)
{
	struct test_world w = new_world(SIZE_MAX);
	struct capture *c = new_capture(w.t);

	turn(c);
	from_handler = c;
	signal(SIGUSR1, on_signal);
	restorer = 0;
	call_by_rbx(raise_it);
	turn(c);
	ok(c->model->stats.stops[PA_STOP_END] == 1 &&
		   has_location(c, (uint64_t)(uintptr_t)behind_call_by_rbx - 1),
	   "a walk with all registers is complete across a signal frame");
	ok(has_location(c, restorer) && !has_location(c, restorer - 1),
	   "the pc interrupted by a signal is exact in a walk with all registers");
	capture_free(c);
	end_world(&w);
}

static void set_states(struct capture *c, enum unwind_state from, enum unwind_state to)
{
	struct unwind_files *u = &c->world->unwinder->files;

	for (uint32_t i = 0; i < u->nr; i++)
		if (u->files[i] && u->files[i]->state == from)
			u->files[i]->state = to;
}

/* A child with this process's code, which only waits. */
static pid_t fork_target(struct capture *c)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	must(pid > 0 && capture_scan(c, pid) == 0);
	return pid;
}

/* What waits in the queue is of that process. */
static void sign_over(struct capture *c, pid_t pid)
{
	uint64_t size;

	for (size_t at = 0; at < c->pipe->queue.bytes.len; at += sizeof(size) + size) {
		struct pa_record *r = (void *)(c->pipe->queue.bytes.data + at + sizeof(size));

		memcpy(&size, c->pipe->queue.bytes.data + at, sizeof(size));
		r->pid = (uint32_t)pid;
	}
}

/* What a process was is not forgotten while a walk of it waits. */
static void test_waits_for_long(void)
{
	struct test_world w = new_world(SIZE_MAX);
	struct capture *c = new_capture(w.t);
	struct process_event over = { .type = EVENT_EXIT, .pid = fork_target(c) };

	turn(c);
	set_states(c, UNWIND_READY, UNWIND_COMPILING);
	must(self_walk(c, PA_STOP_NO_TABLE));
	sign_over(c, over.pid);
	turn(c);
	must(c->pipe->waiting.first && kill(over.pid, SIGKILL) == 0 &&
	     waitpid(over.pid, NULL, 0) > 0);
	over.time_ns = clock_mono_ns();
	must(capture_event(c, &over) == 0);
	ahead_s += 60;
	turn(c);
	must(c->pipe->waiting.first);
	set_states(c, UNWIND_COMPILING, UNWIND_READY);
	turn(c);
	ok(c->model->stats.stops[PA_STOP_END] == 1,
	   "a walk that waited for a minute is finished, although the process is gone");
	capture_free(c);
	end_world(&w);
}

int main(void)
{
#ifndef SELF_WALK_IS_POSSIBLE
	tap_skip("only x86-64 registers are known here");
	return tap_done();
#endif
	test_current();
	test_outdated();
	test_evicted();
	test_waiting();
	test_big_process();
	test_wrong_callers();
	test_shorter();
	test_truncated_copies();
	test_in_syscall();
	test_made_code();
	test_signal();
	test_signal_below_rbx();
	test_waits_for_long();
	return tap_done();
}
