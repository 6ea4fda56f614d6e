/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds CPython in a process: by the symbols of the ELF files as they lie in its memory, whatever
 * they are called and wherever they come from. Nothing is opened.
 */
#ifndef INJECT_INTERPRETER_H
#define INJECT_INTERPRETER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct procfs;

struct interpreter {
	uint32_t version; /* PY_VERSION_HEX */
	uint64_t eval_loop, eval_loop_end;
	uint64_t runtime, runtime_end;
	uint64_t add_pending_call, interpreter_main;
	uint64_t get_object, call_function, is_true, dec_ref, clear_error;
	uint64_t syscall_code, sigreturn_code; /* see thread_state.h */
	uint64_t initialized, finalizing;      /* addresses of these fields of the runtime */
};

enum interpreter_result {
	INTERPRETER_FOUND,
	INTERPRETER_NONE,
	INTERPRETER_TOO_OLD,
	INTERPRETER_NO_TRAMPOLINE, /* built without it */
	INTERPRETER_NO_SYMBOLS,
	INTERPRETER_NO_CODE, /* neither a system call nor rt_sigreturn() found to return with */
	INTERPRETER_32_BIT,
};

/* Files that are not CPython, over all processes. */
struct interpreter_cache {
	uint64_t *keys; /* owned; sorted */
	uint32_t nr, cap;
};
void interpreter_cache_done(struct interpreter_cache *c);
bool interpreter_cache_has(const struct interpreter_cache *c, uint64_t key);

static inline uint64_t interpreter_file_key(uint32_t major, uint32_t minor, uint64_t inode)
{
	return inode ^ (uint64_t)major << 52 ^ (uint64_t)minor << 32;
}

/* Negative: -ESRCH, -EACCES, -ETIMEDOUT … */
int interpreter_find(const struct procfs *procfs, pid_t pid, struct interpreter_cache *cache,
		     struct interpreter *ret_interpreter);

/* True if it has been initialized and does not finalize. */
bool interpreter_is_up(const struct procfs *procfs, pid_t pid, const struct interpreter *in);

#endif
