/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that move their own code to anonymous memory, to get huge pages (node --use-largepages,
 * iodlr): at the same addresses there is a copy of what the file had mapped there.
 */
#ifndef PROC_MOVED_TEXT_H
#define PROC_MOVED_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct procfs;
struct file;

/*
 * Checking reads memory of the target, and the target controls how much there is to check: a limit
 * for each process, and one for all, which grows with time.
 */
#define MOVED_TEXT_PROCESS_LOOKS 64 /* programs that do this have a handful of such mappings */
#define MOVED_TEXT_LOOKS 2048
#define MOVED_TEXT_LOOKS_PER_S 64

struct moved_text_budget {
	uint32_t nr_left;
	uint64_t since_ns; /* when it was last refilled */
};

void moved_text_budget_init(struct moved_text_budget *b);

/* True if a process that was checked nr_looks times may be checked once more. Counts it. */
bool moved_text_may_look(struct moved_text_budget *b, uint32_t *nr_looks);

/* True if samples of a process's anonymous memory equal the bytes of the file from an offset on.
 * Unreadable samples do not count; too few is false. */
bool moved_text_is_of_file(const struct procfs *p, pid_t pid, uint64_t start, uint64_t end,
			   const struct file *f, uint64_t offset);

#endif
