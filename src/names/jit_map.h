/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens /tmp/perf-<pid>.map of a process, with the path and PID as the process itself sees them. Because
 * anyone can write to /tmp, the map is used only if it belongs to the process's user, is not a link, and was
 * written after the program began.
 */
#ifndef NAMES_JIT_MAP_H
#define NAMES_JIT_MAP_H

#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct procfs;

enum jit_map {
	JIT_MAP_NONE, /* the file does not exist */
	JIT_MAP_OPEN,
	JIT_MAP_FOREIGN, /* it belongs to another user */
	JIT_MAP_LINK,    /* it is a symbolic link, or not a regular file */
	JIT_MAP_STALE,   /* last written before the program began or after it was replaced */
	JIT_MAP_GONE,    /* the process had ended before its map was opened */
	JIT_MAP_UNREADABLE,
	JIT_MAP_TOO_MANY, /* the limit on open maps was reached */
	NR_JIT_MAPS,
};

struct jit_map_query {
	pid_t pid, ppid;       /* ppid 0: unknown */
	uint64_t start_ticks;  /* 0: unknown */
	uint64_t exec_real_ns; /* when its program began, CLOCK_REALTIME; 0: unknown */
};

/* The caller owns *ret_fd if the result is JIT_MAP_OPEN. */
enum jit_map jit_map_open(const struct procfs *procfs, const struct jit_map_query *q, int *ret_fd);

/* When the file was last written, CLOCK_REALTIME. */
uint64_t jit_map_written_real_ns(const struct stat *st);

#endif
