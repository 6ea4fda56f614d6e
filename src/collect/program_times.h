/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often BPF programs ran, and for how long. The kernel measures that while somebody asks for it, then of
 * every program of the machine: each run takes about 50 ns longer (docs/sampling.md).
 */
#ifndef COLLECT_PROGRAM_TIMES_H
#define COLLECT_PROGRAM_TIMES_H

#include <stdint.h>

#define PROGRAM_TIMES_MAX 48 /* more than all objects of a session have */
#define PROGRAM_NAME_SIZE 32

struct program_time {
	char name[PROGRAM_NAME_SIZE];
	uint64_t nr_runs, run_ns;
};

struct program_times {
	struct program_time items[PROGRAM_TIMES_MAX];
	uint32_t nr;
};

/* Returns a descriptor; the kernel measures until it is closed. -EPERM: needs CAP_SYS_ADMIN. */
int program_times_measure(void);

/* Adds the programs of an object that are loaded. */
struct bpf_object;
void program_times_add(struct program_times *to, const struct bpf_object *object);

/* The sum of all run times. */
uint64_t program_times_sum_ns(const struct program_times *t);

#endif
