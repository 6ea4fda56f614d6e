/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What processes tell about the code they make at run time: /tmp/perf-<pid>.map, as the process
 * itself sees that path and its own PID, and jit-<pid>.dump, which it has mapped. Found and opened
 * while the process lives, on first sight of a sample in such code and again as time passes, and
 * kept (up to a limit) for naming at the end; with them the addresses that were sampled, and where
 * the process has mapped files: some runtimes keep code of theirs in one (V8 its builtins). A child
 * that goes on with what its parent had made is named by what the parent told until the fork.
 */
#ifndef AGENT_JIT_FILES_H
#define AGENT_JIT_FILES_H

#include "agent/jit_map.h"
#include "base/cleanup.h"
#include "proc/tracker.h"
#include "symbolize/symbolizer.h"

struct procfs;
struct jit_files;

/* All are borrowed until jit_files_free(). At most max_fds maps are kept open. */
int jit_files_new(const struct procfs *procfs, struct filestore *files,
		  const struct tracker *tracker, unsigned int max_fds,
		  struct jit_files **ret_files);
struct jit_files *jit_files_free(struct jit_files *j);
DEFINE_CLEANUP(struct jit_files *, jit_files_free)

/* An address in code without a file that was not sampled before. What cannot be remembered costs a
 * name. */
void jit_files_note(struct jit_files *j, const struct process *p, pid_t pid, uint64_t addr,
		    uint64_t time_ns);

/* A sample in code of a process with a jitdump: what was where when it was taken is told in the end,
 * for the runtime may replace code and write of it later than we look. Until then it is kept out of
 * the model. */
struct jit_moment {
	uint64_t time_ns;
	uint64_t weight;
	uint32_t stack, labels; /* of the model */
};

/* 1: it is kept; 0: the process has no dump of its own; -ENOMEM, -E2BIG. */
int jit_files_keep(struct jit_files *j, const struct process *p, const struct jit_moment *m);

/* Of one program's process; borrowed until jit_files_drop_kept(). */
struct jit_kept {
	uint32_t process;
	struct jit_moment *moments;
	uint32_t nr_moments;
	struct jit_address *addresses; /* until jit_files_note_version() */
	uint32_t nr_addresses;
	int dump_fd; /* -1: it was not to be had */
};

/* From one process to the next; *at is 0 first. False: there are no more. */
bool jit_files_next_kept(const struct jit_files *j, uint32_t *at, struct jit_kept *ret_kept);

/* There is a location for another version of the code at addr. -ENOMEM, -E2BIG. */
int jit_files_note_version(struct jit_files *j, uint32_t process, uint64_t addr, uint64_t version);

void jit_files_drop_kept(struct jit_files *j, uint32_t process);

/* Where a process has mapped a stretch of a file of which it tells names, and what it tells: to
 * processes of the same user in the same root. */
struct jit_place {
	uint64_t start;
	uint32_t user;
	uint32_t process;
};

/* Finds all of them, for the questions below. Before any jit_files_get(). -ENOMEM, -ECANCELED. */
int jit_files_index_places(struct jit_files *j, const struct cancel *cancel);

/* What that process tells, if it is its own user's: the map is the caller's. */
struct jit_told jit_files_told_by(const struct jit_files *j, uint32_t process);

/* The next process with a map or a dump of its own user's that has these bytes of a file (by number)
 * mapped, in that file's root; *at is 0 first. False: there are no more. */
bool jit_files_next_place(const struct jit_files *j, uint32_t *at, uint32_t file, uint64_t offset,
			  uint64_t bytes, struct jit_place *ret_place);

/* What is known in the end about a process's program `owner` (see process_program), and what was told
 * of those that it was forked from; addresses are borrowed, jit_sources_done() is due. Any thread, if no two ask for the same one and none makes another call
 * meanwhile, but for jit_files_drop(). */
enum jit_map jit_files_get(struct jit_files *j, uint64_t owner, struct jit_sources *ret_sources);

/* What generated the code of that program, as cures.h calls it, and the process; NULL and 0: not known. */
struct jit_runtime {
	const char *runtime;
	pid_t pid;
};
struct jit_runtime jit_files_runtime(const struct jit_files *j, uint64_t owner);

void jit_sources_done(struct jit_sources *src);

/* Closes what was kept of a process, and of those that it was forked from, unless it is needed for
 * others: it has been asked for. */
void jit_files_drop(struct jit_files *j, uint64_t owner);

/* Processes by what became of their map; after jit_files_get() of all of them. */
const uint64_t *jit_files_counts(const struct jit_files *j);

#endif
