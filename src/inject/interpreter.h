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
struct python_tools;

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

/*
 * Files that are not CPython. That is found in the memory of a process, which its user can change: so it is
 * believed for other processes of that user, and for all only from root's.
 */
struct interpreter_cache {
	struct interpreter_no *items; /* owned; sorted */
	uint32_t nr, cap;
};
struct interpreter_no {
	uint64_t key;
	uid_t uid;
};
void interpreter_cache_done(struct interpreter_cache *c);
/* For processes of all users. */
bool interpreter_cache_has(const struct interpreter_cache *c, uint64_t key);

/* A hash with a seed of this process: nobody can make a file that has the key of another. */
uint64_t interpreter_file_key(uint32_t major, uint32_t minor, uint64_t inode);

/* Negative: -ESRCH, -EACCES, -ETIMEDOUT …; -EHOSTDOWN: its time was over before (python_tools.h). */
int interpreter_find(const struct python_tools *tools, pid_t pid,
		     struct interpreter *ret_interpreter);

/* True if it has been initialized and does not finalize. */
bool interpreter_is_up(const struct procfs *procfs, pid_t pid, const struct interpreter *in);

#endif
