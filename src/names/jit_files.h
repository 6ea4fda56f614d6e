/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbol files of processes that generate code: /tmp/perf-<pid>.map, with the path and PID as
 * the process itself sees them, and jit-<pid>.dump, which the process has mapped. They are opened
 * while the process lives, at the first sample in generated code and again later, and are kept (up
 * to a limit) until symbolization. The mapped files of the process are noted, too, because some
 * runtimes keep their code in a file (V8 its builtins). Code that a child inherited at its fork is
 * resolved by what the parent had written until then.
 */
#ifndef NAMES_JIT_FILES_H
#define NAMES_JIT_FILES_H

#include "base/cleanup.h"
#include "names/jit_map.h"
#include "proc/tracker.h"
#include "symbolize/symbolizer_jit.h"

struct procfs;
struct jit_files;

/* All are borrowed until jit_files_free(). At most max_fds maps are kept open. */
int jit_files_new(const struct procfs *procfs, struct filestore *files,
		  const struct tracker *tracker, unsigned int max_fds,
		  struct jit_files **ret_files);
struct jit_files *jit_files_free(struct jit_files *j);
DEFINE_CLEANUP(struct jit_files *, jit_files_free)

/* Called for each new sampled address in code without a file. Looks for the symbol files of the process,
 * at growing intervals. If memory is short, addresses stay without symbols. */
void jit_files_look(struct jit_files *j, const struct process *p, pid_t pid, uint64_t time_ns);

/* 1: the process had a jitdump of its own by that time, so the code at the time of a sample will be
 * known; 0: it had none; -ENOMEM: unknown. */
int jit_files_has_dump(struct jit_files *j, const struct process *p, uint64_t time_ns);

/* The jitdump of a program (see process_program), for the caller to close; -1: none, or not available. */
int jit_files_open_dump(const struct jit_files *j, uint64_t program);

/* Where a process that lists its code has mapped a part of a file. Its symbols are used for processes of
 * the same user in the same root. */
struct jit_place {
	uint64_t start;
	uint32_t user;
	uint32_t process;
};

/* Collects all places for jit_files_next_place(), before the first jit_files_get(). Each call of
 * jit_files_list_places() handles some processes from *at on, which is 0 first; 1: more are left, 0: done,
 * or -ENOMEM. jit_files_sort_places() follows once; it takes long and needs no lock, because only the
 * symbolization of a model reads the places. */
int jit_files_list_places(struct jit_files *j, uint32_t *at);
void jit_files_sort_places(struct jit_files *j);

/* The symbol files that a process has and that belong to its user. The caller owns the
 * descriptors. */
struct jit_symbol_files jit_files_of_process(const struct jit_files *j, uint32_t process);

/* The next process that has these bytes of a file (by number) mapped in that file's root, and whose map or
 * jitdump belongs to its user; *at is 0 first. False: no more. */
bool jit_files_next_place(const struct jit_files *j, uint32_t *at, uint32_t file, uint64_t offset,
			  uint64_t bytes, struct jit_place *ret_place);

/* Announces a jit_files_get() and jit_files_drop() of the program; its files stay open until then. */
void jit_files_expect(struct jit_files *j, uint64_t program);

/* The maps of a program and of those that it was forked from. Opening them can take long, so it is done
 * without the lock that all other calls need. */
struct jit_looks {
	struct jit_look {
		uint32_t process;
		struct jit_map_query query;
		enum jit_map map;
		int fd; /* owned until jit_files_get() */
	} list[JIT_MAX_ORIGINS];
	uint32_t nr;
};

/* Lists the maps to open. is_last: the program is not requested again, so its map is opened even over the
 * limit. */
void jit_files_list_looks(struct jit_files *j, uint64_t program, bool is_last,
			  struct jit_looks *ret_looks);
void jit_looks_open(struct jit_looks *looks, const struct procfs *procfs);

/* The files of a program, including those just opened, and of the programs that it was forked from. The
 * caller owns their descriptors. */
enum jit_map jit_files_get(struct jit_files *j, uint64_t program, struct jit_looks *looks,
			   struct jit_symbol_files ret_list[JIT_MAX_ORIGINS], uint32_t *ret_nr);

/* The runtime that generated the code of a program, by its name in advice.h, and the PID; NULL and 0 if
 * unknown. */
struct jit_runtime {
	const char *runtime;
	pid_t pid;
};
struct jit_runtime jit_files_runtime(const struct jit_files *j, uint64_t owner);

/* After jit_files_get(): closes the files of a program, and of those that it was forked from, unless other
 * programs still need them. */
void jit_files_drop(struct jit_files *j, uint64_t owner);

/* jit_files_hold() and its counterpart enclose the time in which a model has unresolved samples in
 * code of the program. */
void jit_files_hold(struct jit_files *j, uint64_t program);
void jit_files_let_go(struct jit_files *j, uint64_t program);

/* Frees programs that have ended, that no model holds, and that no other program was forked from.
 * Not to be called during symbolization, because the numbers of processes change. */
void jit_files_forget(struct jit_files *j);
uint32_t jit_files_nr_processes(const struct jit_files *j);

/* Programs that jit_files_get() was called for, by the state of their map. */
struct jit_map_counts {
	uint64_t nr[NR_JIT_MAPS];
};
struct jit_map_counts jit_files_counts(const struct jit_files *j);

#endif
