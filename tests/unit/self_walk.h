/* SPDX-License-Identifier: Apache-2.0 */
/* This very process as a target: an unfinished walk of its own stack, as the kernel would send it. */
#ifndef TESTS_SELF_WALK_H
#define TESTS_SELF_WALK_H

#include <sys/uio.h>

#include "base/clock.h"
#include "replay.h"

#if defined(__x86_64__)
#define SELF_WALK_IS_POSSIBLE 1
#endif

#define SELF_PAGES 8

struct self_sample {
	struct pa_sample s;
	uint64_t period;
	uint64_t pc;
	struct pa_stack_regs regs;
};

struct self_page {
	struct pa_stack_page head;
	char bytes[PA_STACK_PAGE_BYTES];
};

/* Registers of the function that this is inlined into, by their DWARF numbers. */
static inline __attribute__((always_inline)) void self_registers(struct pa_stack_regs *to)
{
	*to = (struct pa_stack_regs){ 0 };
#if defined(__x86_64__)
	__asm__ volatile("lea 0(%%rip), %%rax\n\tmov %%rax, 0(%0)\n\tmov %%rsp, 8(%0)\n\t"
			 "mov %%rbx, 48(%0)\n\tmov %%rbp, 72(%0)\n\tmov %%rsp, 80(%0)\n\t"
			 "mov %%r12, 120(%0)\n\tmov %%r13, 128(%0)\n\tmov %%r14, 136(%0)\n\t"
			 "mov %%r15, 144(%0)"
			 :
			 : "r"(to)
			 : "rax", "memory");
#endif
}

/* Of this process's memory; false: it is not all there, as past the end of the stack. */
static inline bool self_read(void *to, uint64_t addr, uint32_t size)
{
	struct iovec local = { to, size }, remote = { (void *)(uintptr_t)addr, size };

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* What is behind the pages of a stack: why there are no more. */
static inline bool self_end(struct capture *c, const struct pa_record *head, uint8_t copy_stop)
{
	struct pa_stack_end end = { .head = *head, .stop = copy_stop };

	end.head.type = PA_RECORD_STACK_END;
	return capture_record(c, &end, sizeof(end)) == 0;
}

/* The sample and its stack, as far as that and nr_pages go; false: the capture refused it. */
static inline __attribute__((always_inline)) bool self_walk_pages(struct capture *c, uint8_t stop,
								  unsigned int nr_pages,
								  uint8_t copy_stop)
{
	struct self_sample r = { .s = { .head = { PA_RECORD_SAMPLE, (uint32_t)getpid(),
						  clock_mono_ns() },
					.nr_values = 1,
					.nr_user = 1,
					.stop = stop,
					.flags = PA_SAMPLE_UNFINISHED,
					.comm = "self" } };
	struct self_page p;
	uint64_t at;

	self_registers(&r.regs);
	r.pc = r.regs.pc | PA_PC_EXACT;
	if (capture_record(c, &r, sizeof(r)) < 0)
		return false;
	at = r.regs.sp;
	for (unsigned int i = 0; i < nr_pages; i++) {
		uint32_t size = PA_STACK_PAGE_BYTES - ((uint32_t)at & (PA_STACK_PAGE_BYTES - 1));

		p.head = (struct pa_stack_page){ .head = r.s.head, .addr = at, .size = size };
		p.head.head.type = PA_RECORD_STACK;
		if (!self_read(p.bytes, at, size))
			break;
		if (capture_record(c, &p, sizeof(p.head) + size) < 0)
			return false;
		at += size;
	}
	return copy_stop == PA_STOP_COPY_LOST || self_end(c, &r.s.head, copy_stop);
}

static inline __attribute__((always_inline)) bool self_walk(struct capture *c, uint8_t stop)
{
	return self_walk_pages(c, stop, SELF_PAGES, PA_STOP_STACK_FAULT);
}

#endif
