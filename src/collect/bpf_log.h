/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes libbpf's messages. libbpf has one print function for the whole process, and other parts of
 * the process, or other sessions on other threads, may use libbpf at the same time: ours is
 * installed only while it is needed, and takes only messages of threads that are inside a scope.
 */
#ifndef COLLECT_BPF_LOG_H
#define COLLECT_BPF_LOG_H

#include "base/cleanup.h"
#include "base/log.h"

struct bpf_log_scope {
	const struct log *outer; /* the log of the enclosing scope of this thread */
	bool had_outer;
};

/*
 * Until bpf_log_end(), libbpf's messages on this thread are logged line by line: its warnings,
 * including the verifier's log of a rejected program, as information (the caller judges the error
 * that follows), the rest for debugging. log may be NULL: then they are dropped.
 */
struct bpf_log_scope bpf_log_begin(const struct log *log);
void bpf_log_end(const struct bpf_log_scope *scope);

#endif
