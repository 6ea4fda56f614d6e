/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One fetch is one process. libdebuginfod takes its servers, cache and times from the environment
 * alone, and whatever it, libcurl and a TLS library do with a hostile answer they do without our
 * privileges, with a limit on what they write, and until a timer ends them.
 */
#ifndef FETCH_CHILD_H
#define FETCH_CHILD_H

#include <stdint.h>
#include <sys/types.h>

#include "fetch/fetcher.h"

#define CHILD_RESULT "result" /* the file's name in the folder, when it is there */
#define CHILD_LOG "log"       /* of libdebuginfod, in the same folder; see fetch/answers.h */

#define CHILD_NOBODY 65534 /* who owns nothing: kernel.overflowuid, and "nobody" of distributions */

struct child {
	pid_t pid;
	int pidfd; /* owned; readable when it has ended; -1: none */
};

struct child_setup {
	const char *program;
	char *const *env;   /* all of its environment */
	const char *what;   /* its argument: a build-id in hex, or FETCH_PROBE */
	int dir_fd;         /* where it runs */
	uint64_t max_bytes; /* it writes no larger file */
	bool as_nobody;     /* it must not be the user that we are, or not run */
};

/* All borrowed during the call. */
int child_start(const struct child_setup *setup, struct child *ret_child);

/* To be killed when the thread that started us ends; false: the process `parent` is gone already. */
bool child_follow(pid_t parent);

/* The environment for child_start(): NULL-terminated, one allocation, the caller's to free. */
int child_environment(const struct fetcher_config *cfg, char ***ret_env);

/* Waits for it, having killed it before if `kill`, and says how it went. */
enum fetch_result child_finish(struct child *c, bool kill);

#endif
