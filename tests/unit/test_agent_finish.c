/* SPDX-License-Identifier: Apache-2.0 */
/* Walks that the kernel could not finish, of this process's own stack: they wait for tables that a
 * thread compiles, and none is lost. Also built for the thread sanitizer. */
#include <elf.h>
#include <sys/auxv.h>

#include "self_walk.h"
#include "tap.h"

int main(void);

static struct capture *new_capture(size_t table_bytes, bool is_inline, bool is_first)
{
	struct capture_config cfg = { .proc_root = "/proc",
				      .kallsyms_path = "/dev/null",
				      .all = true,
				      .period_ns = 1000000,
				      .max_fds = 64,
				      .compile_first = is_first,
				      .compile_inline = is_inline,
				      .table_bytes = table_bytes };
	struct capture *c = NULL;

	must(capture_new(&cfg, NULL, &c) == 0 && capture_use_tables(c, NULL) == 0);
	must(capture_scan(c, getpid()) == 0);
	capture_compile_first(c);
	return c;
}

static struct unwind_files_stats file_stats(const struct capture *c)
{
	return unwinder_stats(c->unwinder).files;
}

static uint64_t nr_complete(const struct capture *c)
{
	return c->stats.stops[PA_STOP_END];
}

/* Turns until nothing waits. */
static void settle(struct capture *c)
{
	for (int i = 0; i < 10000 && c->parking.first; i++) {
		capture_begin_turn(c);
		(void)capture_settle(c, false);
		usleep(1000);
	}
}

/* The queue holds back what is younger than a millisecond. */
static void settle_young(struct capture *c)
{
	usleep(3000);
	capture_begin_turn(c);
	must(capture_settle(c, false) == 0);
}

__attribute__((noinline)) static void walk_from_here(struct capture *c, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		must(self_walk(c, PA_STOP_NO_TABLE));
}

static void test_wait(void)
{
	struct capture *c = new_capture(SIZE_MAX, false, false);

	walk_from_here(c, 3);
	settle_young(c);
	ok(c->parking.first && c->stats.nr_kept == 0, "walks wait while their table is compiled");
	settle(c);
	ok(nr_complete(c) == 3, "and are finished when it is there");
	ok(!c->parking.first && c->parking.bytes == 0, "none is left waiting");
	ok(file_stats(c).nr_compiled >= 2, "%lu tables were compiled, of all files on the way",
	   (unsigned long)file_stats(c).nr_compiled);
	walk_from_here(c, 1);
	settle_young(c);
	ok(nr_complete(c) == 4, "the next walk does not wait");
	capture_free(c);
}

/* The ring is emptied between a sample and its stack, and then the side-band keeps the turn busy. */
static void test_stack_on_its_way(void)
{
	struct capture *c = new_capture(SIZE_MAX, false, true);
	_cleanup_(buf_done) struct buf pages = BUF_INIT(1 << 20);
	uint64_t size;

	capture_begin_turn(c);
	walk_from_here(c, 1);
	memcpy(&size, c->queue.data, sizeof(size));
	size += sizeof(size); /* of the sample */
	must(buf_append(&pages, c->queue.data + size, c->queue.len - size) == 0);
	c->queue.len = size;
	usleep(3000);
	must(capture_settle(c, false) == 0);
	ok(c->stats.nr_kept == 0, "a sample is not taken for one whose stack was not copied");
	ok(capture_is_in_a_hurry(c), "the next turn is to come soon");
	must(buf_append(&c->queue, pages.data, pages.len) == 0);
	settle_young(c);
	ok(nr_complete(c) == 1, "its stack comes with the next turn");
	capture_free(c);
}

/* At a high rate there always is one that is too young for this turn. */
static void test_no_hurry(void)
{
	struct capture *c = new_capture(SIZE_MAX, false, true);
	struct pa_sample young = { .head = { PA_RECORD_SAMPLE, (uint32_t)getpid(), UINT64_MAX / 2 },
				   .stop = PA_STOP_END };

	must(capture_record(c, &young, sizeof(young)) == 0);
	settle_young(c);
	ok(c->queue.len && !capture_is_in_a_hurry(c), "a finished sample waits for the timer");
	capture_free(c);
}

/* Two CPUs can sample in the same nanosecond. */
static void test_stack_of_another_cpu(void)
{
	struct capture *c = new_capture(SIZE_MAX, true, true);
	uint64_t size;

	walk_from_here(c, 1);
	for (size_t at = 0; at < c->queue.len; at += sizeof(size) + size) {
		struct pa_stack_page *p = (void *)(c->queue.data + at + sizeof(size));

		memcpy(&size, c->queue.data + at, sizeof(size));
		if (p->head.type == PA_RECORD_STACK)
			p->cpu = 1;
	}
	settle_young(c);
	ok(nr_complete(c) == 0 && c->stats.nr_kept == 1,
	   "a stack belongs to the sample of its CPU");
	capture_free(c);
}

/* Where the kernel lets the loader begin: there is no caller, and no rule that says so. */
static void test_root(void)
{
	struct capture *c = new_capture(SIZE_MAX, true, true);
	uint64_t base = getauxval(AT_BASE), none = 0, pc = 0;

	if (!base) {
		tap_skip("the loader's entry: this program is static");
		capture_free(c);
		return;
	}
	pc = base + ((const Elf64_Ehdr *)(uintptr_t)base)->e_entry;
	must(replay_sample(c, clock_mono_ns(), getpid(), &none, 0,
			   &(uint64_t){ (pc + 1) | PA_PC_EXACT }, 1, 0, PA_STOP_FP_END) == 0);
	must(replay_sample(c, clock_mono_ns(), getpid(), &none, 0,
			   &(uint64_t){ (uint64_t)(uintptr_t)&test_stack_of_another_cpu |
					PA_PC_EXACT },
			   1, 0, PA_STOP_FP_END) == 0);
	settle_young(c);
	ok(nr_complete(c) == 1 && c->stats.stops[PA_STOP_FP_END] == 1,
	   "a stack is complete if its end is where one begins");
	capture_free(c);
}

/* A sample whose walk ended by frame pointer in a caller at pc, and whose stack was not copied. */
static void sample_over_budget(struct capture *c, uint64_t pc)
{
	struct {
		struct pa_sample s;
		uint64_t pcs[2];
		struct pa_stack_regs regs;
	} of = { .s = { .head = { PA_RECORD_SAMPLE, (uint32_t)getpid(), clock_mono_ns() },
			.weight = 1,
			.tid = (uint32_t)getpid(),
			.nr_user = 2,
			.stop = PA_STOP_FP_END,
			.flags = PA_SAMPLE_UNFINISHED },
		 .pcs = { (uint64_t)(uintptr_t)&sample_over_budget | PA_PC_EXACT, pc } };
	struct pa_stack_end end = { .head = { PA_RECORD_STACK_END, of.s.head.pid,
					      of.s.head.time_ns },
				    .stop = PA_STOP_BUDGET };

	must(capture_record(c, &of, sizeof(of)) == 0 && capture_record(c, &end, sizeof(end)) == 0);
}

static void test_root_without_copy(void)
{
	struct capture *c = new_capture(SIZE_MAX, true, true);
	uint64_t base = getauxval(AT_BASE);

	if (!base) {
		tap_skip("the loader's entry: this program is static");
		capture_free(c);
		return;
	}
	sample_over_budget(c, base + ((const Elf64_Ehdr *)(uintptr_t)base)->e_entry + 1);
	sample_over_budget(c, (uint64_t)(uintptr_t)&test_root_without_copy);
	settle_young(c);
	ok(nr_complete(c) == 1 && c->stats.stops[PA_STOP_BUDGET] == 1,
	   "a walk that ended where a stack begins needs no copy of the stack, any other does");
	capture_free(c);
}

static void test_end(void)
{
	struct capture *c = new_capture(SIZE_MAX, false, false);

	walk_from_here(c, 20);
	must(capture_settle(c, true) == 0);
	ok(nr_complete(c) == 20, "at the end every walk is waited for");
	capture_free(c);
}

static void test_first(void)
{
	struct capture *c = new_capture(SIZE_MAX, false, true);
	uint64_t nr = file_stats(c).nr_compiled;

	walk_from_here(c, 1);
	settle_young(c);
	ok(nr_complete(c) == 1 && file_stats(c).nr_compiled == nr,
	   "with all tables compiled before, nothing waits");
	capture_free(c);
}

static void test_freed_while_waiting(void)
{
	struct capture *c = new_capture(SIZE_MAX, false, false);

	walk_from_here(c, 3);
	settle_young(c);
	must(c->parking.first);
	capture_free(c);
	ok(true, "a capture can be given up while walks wait");
}

/* Not one table fits: each is dropped before the next one comes. */
static void test_no_room(void)
{
	struct capture *c = new_capture(1, false, false);
	struct unwind_files_stats st;

	walk_from_here(c, 1);
	settle_young(c);
	settle(c);
	st = file_stats(c);
	ok(c->stats.nr_kept == 1 && !c->parking.first, "a walk does not wait for ever");
	ok(st.tables.nr_evicted > 2 && st.nr_recompiled > 2 && st.nr_compiled <= 4,
	   "tables were dropped (%lu) and compiled again (%lu)",
	   (unsigned long)st.tables.nr_evicted, (unsigned long)st.nr_recompiled);
	walk_from_here(c, 5);
	must(capture_settle(c, true) == 0);
	ok(nr_complete(c) == 5 && !c->parking.first, "at the end, all that is needed is kept");
	capture_free(c);
}

static void test_full(void)
{
	struct capture *c = new_capture(SIZE_MAX, false, false);

	c->parking.bytes = PARKING_MAX_BYTES;
	walk_from_here(c, 1);
	settle_young(c);
	ok(c->stats.stops[PA_STOP_NO_TABLE] == 1 && c->stats.nr_kept == 1,
	   "where no more can wait, a walk says what it lacked");
	c->parking.bytes = 0;
	capture_free(c);
}

struct stopped_sample {
	struct pa_sample s;
	uint64_t pcs[2];
	struct pa_stack_regs regs;
};

/* The stack of such a walk was not copied as far as its caller in libc. */
static void test_ask_for_where_the_kernel_stopped(void)
{
	struct capture *c = new_capture(SIZE_MAX, false, false);
	struct stopped_sample r = {
		.s = { .head = { PA_RECORD_SAMPLE, (uint32_t)getpid(), clock_mono_ns() },
		       .weight = 1,
		       .nr_user = 2,
		       .stop = PA_STOP_NO_TABLE,
		       .flags = PA_SAMPLE_UNFINISHED },
		.pcs = { (uint64_t)(uintptr_t)main | PA_PC_EXACT, (uint64_t)(uintptr_t)abort + 4 }
	};

	must(capture_record(c, &r, sizeof(r)) == 0);
	must(self_end(c, &r.s.head, PA_STOP_BIG_STACK));
	settle_young(c);
	(void)unwinder_wait(c->unwinder, UINT64_MAX);
	ok(file_stats(c).nr_compiled == 1,
	   "the table that the kernel's walk stopped for is compiled, though no copy leads there");
	ok(c->stats.stops[PA_STOP_BIG_STACK] == 1, "the sample itself does not wait for it");
	capture_free(c);
}

int main(void)
{
#ifndef SELF_WALK_IS_POSSIBLE
	tap_skip("only x86-64 registers are known here");
	return tap_done();
#endif
	test_wait();
	test_stack_on_its_way();
	test_no_hurry();
	test_stack_of_another_cpu();
	test_root();
	test_root_without_copy();
	test_end();
	test_first();
	test_freed_while_waiting();
	test_no_room();
	test_full();
	test_ask_for_where_the_kernel_stopped();
	return tap_done();
}
