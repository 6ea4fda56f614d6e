/* SPDX-License-Identifier: Apache-2.0 */
/* Samples by process and by command, according to their labels "pid" and "comm". */
#ifndef DIGEST_COMMANDS_H
#define DIGEST_COMMANDS_H

#include <stdint.h>

struct profile;

/* A process under one name: after an execve() with another name it is a separate entry. */
struct process_share {
	int64_t pid;       /* 0: its samples have no such label */
	uint32_t comm;     /* string; 0: its samples have no such label */
	int64_t count;     /* of events; see profile_count() */
	int64_t in_kernel; /* of count: in kernel mode */
};

struct command_share {
	uint32_t comm;
	uint32_t nr_processes;
	int64_t count, in_kernel;
};

/* Sorted by count, then name, then PID; the caller frees the array. */
int digest_processes(const struct profile *p, struct process_share **ret_processes,
		     uint32_t *ret_nr);

/* As digest_processes(), by name only; computed from the processes. */
int digest_commands(const struct profile *p, const struct process_share *processes,
		    uint32_t nr_processes, struct command_share **ret_commands, uint32_t *ret_nr);

#endif
