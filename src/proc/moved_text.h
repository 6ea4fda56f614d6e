/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that move their own code to anonymous memory, to have it in huge pages (node
 * --use-largepages, iodlr): at the same addresses there is a copy of what the file had mapped there.
 */
#ifndef PROC_MOVED_TEXT_H
#define PROC_MOVED_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct procfs;
struct file;

/* Whether anonymous memory of a process has the bytes of the file from an offset on, by samples of them.
 * What cannot be read does not count; too little of it is false. */
bool moved_text_is_of_file(const struct procfs *p, pid_t pid, uint64_t start, uint64_t end,
			   const struct file *f, uint64_t offset);

#endif
