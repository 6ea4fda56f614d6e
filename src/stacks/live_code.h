/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code without a file, read from the live process; and rules derived from code without a table. A
 * JIT compiler may have replaced the code since the sample: callers verify results against the
 * stack, and all of it is forgotten after LIVE_CODE_NS.
 */
#ifndef STACKS_LIVE_CODE_H
#define STACKS_LIVE_CODE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "unwind/x86_exit.h"

#define LIVE_CODE_NS 1000000000ull

struct live_code;
struct procfs;

int live_code_new(const struct procfs *procfs, struct live_code **ret_code); /* borrowed */
struct live_code *live_code_free(struct live_code *c);
DEFINE_CLEANUP(struct live_code *, live_code_free)

/* The process, its program, and the time of the sample. */
struct live_query {
	pid_t pid;
	uint64_t program; /* process_program() */
	uint64_t time_ns;
};

/* Reads n bytes at addr; returns the number available, or negative. */
long live_code_read(struct live_code *c, const struct live_query *q, uint64_t addr, void *to,
		    size_t n);

/* The cached rule for a pc, PA_RULE_WORD_NONE if it has none. False: nothing is cached. */
bool live_code_find(const struct live_code *c, const struct live_query *q, uint64_t pc,
		    struct x86_exit *ret_exit);
void live_code_keep(struct live_code *c, const struct live_query *q, uint64_t pc,
		    const struct x86_exit *e);

#endif
