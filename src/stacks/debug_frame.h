/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CFI for a binary that has hardly any: .debug_frame of its separate debug file, if that is on this
 * machine. Nothing is fetched, because this happens during sampling.
 */
#ifndef STACKS_DEBUG_FRAME_H
#define STACKS_DEBUG_FRAME_H

#include <stdbool.h>

struct cancel;
struct cfi;
struct debug_query;
struct elf_image;
struct unwind_stats;

/* True if so much of the code lacks CFI that a search may be worthwhile. stats: from compiling the
 * binary itself. */
bool debug_frame_is_wanted(const struct elf_image *img, const struct unwind_stats *stats);

/* where: its image and descriptor are those of img. The debug file must have img's build-id:
 * otherwise it would have to be read completely to be verified. -ENOENT: there is none; -ENOMEM;
 * the errors of cfi_open_debug_frame(). */
int debug_frame_open(const struct elf_image *img, const struct debug_query *where,
		     struct cfi **ret_cfi);

/* As debug_frame_open(), for the binary that is open as fd: returns a descriptor, owned by the
 * caller. */
int debug_frame_find(int fd, const struct debug_query *where, const struct cancel *cancel);

#endif
