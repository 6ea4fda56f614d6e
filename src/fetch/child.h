/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each fetch has its own process. libdebuginfod gets its servers, cache and timeouts only from the
 * environment; and whatever it, libcurl and a TLS library do with a hostile reply, they do without
 * our privileges, with a limit on file size, and until a timer kills them.
 */
#ifndef FETCH_CHILD_H
#define FETCH_CHILD_H

#include <stdint.h>
#include <sys/types.h>

#include "fetch/fetcher.h"

#define CHILD_RESULT "result" /* name of the file in the directory, once it is there */
#define CHILD_LOG "log" /* libdebuginfod's, in the same directory; see fetch/debuginfod_log.h */

/* a user who owns nothing: kernel.overflowuid, and "nobody" of distributions */
#define CHILD_NOBODY 65534

struct child {
	pid_t pid;
	int pidfd; /* owned; readable when the process has ended; -1: none */
};

struct child_setup {
	const char *program;
	char *const *env;   /* its complete environment */
	const char *what;   /* its argument: a build-id in hex, or FETCH_PROBE */
	int dir_fd;         /* its working directory */
	uint64_t max_bytes; /* its file size limit */
	bool as_nobody;     /* it must run as another user, or not at all */
};

/* All borrowed during the call. */
int child_start(const struct child_setup *setup, struct child *ret_child);

/* Requests to be killed when the thread that started us ends; false: the process `parent` is
 * already gone. */
bool child_follow(pid_t parent);

/* The environment for child_start(): NULL-terminated, one allocation, freed by the caller. */
int child_environment(const struct fetcher_config *cfg, char ***ret_env);

/* Waits for the process, after killing it if `kill`, and returns the result. */
enum fetch_result child_finish(struct child *c, bool kill);

#endif
