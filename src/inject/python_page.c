/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/python_page.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "inject/python_switch.h"
#include "inject/python_tools.h"
#include "inject/thread_look.h"
#include "inject/tracer.h"
#include "proc/procfs.h"

#define PAGE_BYTES 4096u
#define CODE_BYTES PAGE_BYTES

static uint64_t data_addr(const struct python_switch *s)
{
	return s->page + CODE_BYTES;
}

static uint64_t placed(const struct python_switch *s, uintptr_t entry)
{
	return s->page + (entry - (uintptr_t)inject_code_begin);
}

static size_t code_bytes(void)
{
	return (size_t)(inject_code_end - inject_code_begin);
}

static int read_exactly(const struct python_switch *s, const struct procfs *procfs, uint64_t addr,
			void *to, size_t n)
{
	ssize_t r = procfs_read_mem(procfs, s->pid, addr, to, n);

	if (r == -ETIMEDOUT || r == -EAGAIN || r == -ENOMEM)
		return (int)r;
	return r == (ssize_t)n ? 0 : -ENOENT;
}

int python_page_read(const struct python_switch *s, const struct procfs *procfs,
		     struct inject_page *ret_data)
{
	int r = s->page ? read_exactly(s, procfs, data_addr(s), ret_data, sizeof(*ret_data))
			: -ENOENT;

	if (r < 0)
		return r;
	return (uint64_t)(uintptr_t)ret_data->pending == placed(s, (uintptr_t)inject_pending)
		       ? 0
		       : -ENOENT;
}

int python_page_check(const struct python_switch *s, const struct procfs *procfs)
{
	uint8_t code[CODE_BYTES];
	struct inject_page data;
	size_t n = code_bytes();
	int r = python_page_read(s, procfs, &data);

	if (r == 0)
		r = read_exactly(s, procfs, s->page, code, n);
	return r < 0 ? r : memcmp(code, inject_code_begin, n) == 0 ? 0 : -ENOENT;
}

struct page_search {
	uint64_t page;
	bool has_code, has_data;
};

static int note_page(void *ctx, const struct maps_entry *e)
{
	struct page_search *p = ctx;
	uint64_t data = p->page + CODE_BYTES;

	if (!thread_look_has_no_file(e))
		return 0;
	if (e->is_exec && e->start <= p->page && e->end >= data)
		p->has_code = true;
	if (!e->is_exec && e->start <= data && e->end >= data + PAGE_BYTES)
		p->has_data = true;
	return 0;
}

/* 0: both pages are memory of no file; -EFAULT: not so; -EBUSY: it cannot be told. */
static int check_memory(const struct python_switch *s, const struct procfs *procfs)
{
	struct page_search p = { .page = s->page };

	if (!s->page || s->page % PAGE_BYTES)
		return -EFAULT;
	if (procfs_maps(procfs, s->pid, note_page, &p, NULL) < 0)
		return -EBUSY;
	return p.has_code && p.has_data ? 0 : -EFAULT;
}

static int call_syscall(const struct python_switch *s, struct tracer *t, uint64_t deadline_ns,
			long nr, const uint64_t args[5], long *ret_result)
{
	struct thread_call call = {
		.function = s->in.syscall_code,
		.is_syscall = true,
		.syscall_nr = nr,
		.sigreturn = s->in.sigreturn_code,
	};

	memcpy(call.args, args, 5 * sizeof(*args));
	return tracer_call(t, &call, deadline_ns, ret_result);
}

/* Two new pages: the first for code, the second for data. */
static int map_pages(struct python_switch *s, struct tracer *t, uint64_t deadline_ns)
{
	const uint64_t map_args[5] = { 0, CODE_BYTES + PAGE_BYTES, PROT_READ | PROT_EXEC,
				       MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1 };
	uint64_t protect_args[5] = { 0, PAGE_BYTES, PROT_READ | PROT_WRITE };
	long result;
	int r = call_syscall(s, t, deadline_ns, SYS_mmap, map_args, &result);

	if (r < 0)
		return r;
	if (result < 0 && result > -(long)PAGE_BYTES)
		return -ENOMEM;
	s->page = (uint64_t)result;
	protect_args[0] = data_addr(s);
	r = call_syscall(s, t, deadline_ns, SYS_mprotect, protect_args, &result);
	return r == 0 && result < 0 ? -ENOMEM : r;
}

static int place_code(struct python_switch *s, struct tracer *t)
{
	uint8_t code[CODE_BYTES] = { 0 };
	size_t n = code_bytes();

	if (n > CODE_BYTES)
		return -E2BIG;
	memcpy(code, inject_code_begin, n);
	return tracer_poke(t, s->page, code, (n + 7) & ~(size_t)7);
}

static int new_pages(struct python_switch *s, const struct procfs *procfs, struct tracer *t,
		     uint64_t deadline_ns)
{
	int r = map_pages(s, t, deadline_ns);

	if (r == 0)
		r = check_memory(s, procfs);
	if (r == 0)
		r = place_code(s, t);
	if (r < 0)
		s->page = 0;
	return r;
}

static struct inject_page new_data(const struct python_switch *s, const struct inject_page *before)
{
	const struct interpreter *in = &s->in;
	struct inject_page data = {
		.op = s->op,
		.pid = s->ns_pid,
		.nr_done = before->nr_done,
		.was_switched_by_us = before->was_switched_by_us,
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

	(void)snprintf(data.map_path, sizeof(data.map_path), "/tmp/perf-%d.map", (int)s->ns_pid);
	return data;
}

static int place_data(struct python_switch *s, const struct procfs *procfs, struct tracer *t)
{
	struct inject_page data, before;
	int r = python_page_read(s, procfs, &before);

	if (r == -ENOENT) /* it is new */
		memset(&before, 0, sizeof(before));
	else if (r < 0)
		return r;
	data = new_data(s, &before);
	return tracer_poke(t, data_addr(s), &data, sizeof(data));
}

int python_page_queue(struct python_switch *s, const struct python_tools *tools,
		      uint64_t deadline_ns)
{
	const struct procfs *procfs = tools->procfs;
	struct tracer *t = tools->tracer;
	struct inject_page data;
	struct thread_call call = { .sigreturn = s->in.sigreturn_code };
	long unused;
	int r = s->page ? check_memory(s, procfs) : new_pages(s, procfs, t, deadline_ns);

	if (r == 0)
		r = place_data(s, procfs, t);
	if (r < 0)
		return r;
	call.function = placed(s, (uintptr_t)inject_queue);
	call.args[0] = data_addr(s);
	s->stage = PYTHON_IS_QUEUED; /* perhaps, whatever happens from now on */
	s->nr_queued++;
	r = tracer_call(t, &call, deadline_ns, &unused);
	if (r == 0 && python_page_read(s, procfs, &data) == 0 && data.is_queued &&
	    data.queue_result) {
		s->stage = PYTHON_WAITS; /* the queue is full */
		s->nr_queued--;
	}
	return r == -ETIMEDOUT ? 0 : r;
}

bool python_page_unmap(struct python_switch *s, struct tracer *t, uint64_t deadline_ns)
{
	const uint64_t args[5] = { s->page, CODE_BYTES + PAGE_BYTES };
	long result;

	if (call_syscall(s, t, deadline_ns, SYS_munmap, args, &result) < 0 || result != 0)
		return false;
	s->page = 0;
	return true;
}

/* Whether the process runs what was looked at. It may have given up rights since. */
static bool is_same_program(const struct python_switch *s, const struct procfs *procfs)
{
	struct identity now;

	return identity_read_process(procfs, s->pid, &now) == 0 &&
	       now.start_ticks == s->start_ticks && identity_has_same_memory(&s->identity, &now);
}

int python_page_cancel(const struct python_switch *s, const struct python_tools *tools)
{
	const struct procfs *procfs = tools->procfs;
	int r = tracer_open_memory(tools->tracer, s->pid);

	if (r < 0)
		return r;
	if (!is_same_program(s, procfs) || python_page_check(s, procfs) < 0 ||
	    check_memory(s, procfs) < 0)
		return -ENOENT;
	return tracer_write_memory(tools->tracer,
				   data_addr(s) + offsetof(struct inject_page, is_cancelled), 1);
}
