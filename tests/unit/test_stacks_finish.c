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
	struct world_config cfg = { .proc_root = "/proc",
				    .kallsyms_path = "/dev/null",
				    .all = true,
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
	return unwinder_stats(c->world->unwinder).files;
}

static uint64_t nr_complete(const struct capture *c)
{
	return c->model->stats.stops[PA_STOP_END];
}

/* Turns until nothing waits. */
static void settle(struct capture *c)
{
	for (int i = 0; i < 10000 && c->pipe->waiting.first; i++) {
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
	ok(c->pipe->waiting.first && c->model->stats.nr_kept == 0,
	   "walks wait while their table is compiled");
	settle(c);
	ok(nr_complete(c) == 3, "walks are finished when their table is ready");
	ok(!c->pipe->waiting.first && c->pipe->waiting.bytes == 0, "no walk is left waiting");
	ok(file_stats(c).nr_compiled >= 2, "%lu tables were compiled, of all files on the stack",
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
	memcpy(&size, c->pipe->queue.bytes.data, sizeof(size));
	size += sizeof(size); /* of the sample */
	must(buf_append(&pages, c->pipe->queue.bytes.data + size,
			c->pipe->queue.bytes.len - size) == 0);
	c->pipe->queue.bytes.len = size;
	usleep(3000);
	must(capture_settle(c, false) == 0);
	ok(c->model->stats.nr_kept == 0,
	   "a sample is not treated as one whose stack was not copied");
	ok(capture_is_in_a_hurry(c), "the next turn is requested soon");
	settle_young(c);
	ok(c->model->stats.nr_kept == 0, "3 ms later the sample still waits: its CPU may be a "
					 "virtual one that has not run since");
	must(buf_append(&c->pipe->queue.bytes, pages.data, pages.len) == 0);
	settle_young(c);
	ok(nr_complete(c) == 1, "the stack comes with the next turn");
	capture_free(c);
}

static void test_stack_that_never_comes(void)
{
	struct capture *c = new_capture(SIZE_MAX, false, true);
	struct pa_sample *s;
	uint64_t size;

	walk_from_here(c, 1);
	memcpy(&size, c->pipe->queue.bytes.data, sizeof(size));
	s = (void *)(c->pipe->queue.bytes.data + sizeof(size));
	s->head.time_ns -= 2 * NS_PER_S;
	c->pipe->queue.bytes.len = sizeof(size) + size;
	settle_young(c);
	ok(c->model->stats.stops[PA_STOP_COPY_LOST] == 1,
	   "a stack that has not come after two seconds is lost");
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
	ok(c->pipe->queue.bytes.len && !capture_is_in_a_hurry(c),
	   "a finished sample waits for the timer");
	capture_free(c);
}

/* Two CPUs can sample in the same nanosecond. */
static void test_stack_of_another_cpu(void)
{
	struct capture *c = new_capture(SIZE_MAX, true, true);
	uint64_t size;

	walk_from_here(c, 1);
	for (size_t at = 0; at < c->pipe->queue.bytes.len; at += sizeof(size) + size) {
		struct pa_stack_page *p = (void *)(c->pipe->queue.bytes.data + at + sizeof(size));

		memcpy(&size, c->pipe->queue.bytes.data + at, sizeof(size));
		if (p->head.type == PA_RECORD_STACK)
			p->cpu = 1;
	}
	settle_young(c);
	ok(nr_complete(c) == 0 && c->model->stats.nr_kept == 1,
	   "a stack belongs to the sample of its CPU");
	capture_free(c);
}

/* As the records of a sample at another level of nesting on the same CPU. */
static void set_serial(struct pa_record *rec, uint32_t serial)
{
	if (rec->type == PA_RECORD_SAMPLE)
		((struct pa_sample *)rec)->serial = serial;
	else if (rec->type == PA_RECORD_STACK)
		((struct pa_stack_page *)rec)->serial = serial;
	else
		((struct pa_stack_end *)rec)->serial = serial;
}

/* The second of two samples interrupts the first one behind its record: before the stack of that. */
static void test_interrupted(void)
{
	struct capture *c = new_capture(SIZE_MAX, true, true);
	_cleanup_(buf_done) struct buf first_stack = BUF_INIT(1 << 20);
	struct buf *q = &c->pipe->queue.bytes;
	uint64_t sample_size, size, half;

	walk_from_here(c, 1);
	half = q->len;
	walk_from_here(c, 1);
	for (size_t at = half; at < q->len; at += sizeof(size) + size) {
		memcpy(&size, q->data + at, sizeof(size));
		set_serial((void *)(q->data + at + sizeof(size)), 1);
	}
	memcpy(&sample_size, q->data, sizeof(sample_size));
	sample_size += sizeof(sample_size);
	must(buf_append(&first_stack, q->data + sample_size, half - sample_size) == 0);
	memmove(q->data + sample_size, q->data + half, q->len - half);
	memcpy(q->data + q->len - first_stack.len, first_stack.data, first_stack.len);
	settle_young(c);
	ok(nr_complete(c) == 2, "a sample that was interrupted by another one keeps its stack");
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
	ok(nr_complete(c) == 1 && c->model->stats.stops[PA_STOP_FP_END] == 1,
	   "a stack that ends where a stack begins is complete");
	capture_free(c);
}

/* A sample whose walk ended by frame pointer in a caller at pc, and whose stack was not copied. */
static void sample_over_budget(struct capture *c, uint64_t pc)
{
	struct {
		struct pa_sample s;
		uint64_t period;
		uint64_t pcs[2];
		struct pa_stack_regs regs;
	} of = { .s = { .head = { PA_RECORD_SAMPLE, (uint32_t)getpid(), clock_mono_ns() },
			.nr_values = 1,
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
	ok(nr_complete(c) == 1 && c->model->stats.stops[PA_STOP_BUDGET] == 1,
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
	must(c->pipe->waiting.first);
	capture_free(c);
	ok(true, "a capture can be cancelled while walks wait");
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
	ok(c->model->stats.nr_kept == 1 && !c->pipe->waiting.first, "a walk does not wait forever");
	ok(st.tables.nr_evicted > 2 && st.nr_recompiled > 2 && st.nr_compiled <= 4,
	   "tables were evicted (%lu) and compiled again (%lu)",
	   (unsigned long)st.tables.nr_evicted, (unsigned long)st.nr_recompiled);
	walk_from_here(c, 5);
	must(capture_settle(c, true) == 0);
	ok(nr_complete(c) == 5 && !c->pipe->waiting.first, "at the end all needed tables are kept");
	capture_free(c);
}

static void test_full(void)
{
	struct capture *c = new_capture(SIZE_MAX, false, false);

	c->pipe->waiting.bytes = WAITING_MAX_BYTES;
	walk_from_here(c, 1);
	settle_young(c);
	ok(c->model->stats.stops[PA_STOP_NO_TABLE] == 1 && c->model->stats.nr_kept == 1,
	   "when no more can wait, a walk reports what it lacked");
	c->pipe->waiting.bytes = 0;
	capture_free(c);
}

struct stopped_sample {
	struct pa_sample s;
	uint64_t period;
	uint64_t pcs[2];
	struct pa_stack_regs regs;
};

/* The stack of such a walk was not copied as far as its caller in libc. */
static void test_ask_for_where_the_kernel_stopped(void)
{
	struct capture *c = new_capture(SIZE_MAX, false, false);
	struct stopped_sample r = {
		.s = { .head = { PA_RECORD_SAMPLE, (uint32_t)getpid(), clock_mono_ns() },
		       .nr_values = 1,
		       .nr_user = 2,
		       .stop = PA_STOP_NO_TABLE,
		       .flags = PA_SAMPLE_UNFINISHED },
		.pcs = { (uint64_t)(uintptr_t)main | PA_PC_EXACT, (uint64_t)(uintptr_t)abort + 4 }
	};

	must(capture_record(c, &r, sizeof(r)) == 0);
	must(self_end(c, &r.s.head, PA_STOP_BIG_STACK));
	settle_young(c);
	(void)unwinder_wait(c->world->unwinder, UINT64_MAX);
	ok(file_stats(c).nr_compiled == 1, "the table that the kernel's walk lacked is compiled, "
					   "although the copy does not reach there");
	ok(c->model->stats.stops[PA_STOP_BIG_STACK] == 1,
	   "the sample itself does not wait for that table");
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
	test_stack_that_never_comes();
	test_no_hurry();
	test_stack_of_another_cpu();
	test_interrupted();
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
