/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame information of a binary that has none itself, or hardly any: .debug_frame of its
 * separate debug file, if that is on this machine. Nothing is fetched: this is asked while sampling.
 */
#ifndef AGENT_DEBUG_FRAME_H
#define AGENT_DEBUG_FRAME_H

#include <stdbool.h>

struct cfi;
struct debug_query;
struct elf_image;
struct unwind_stats;

/* Whether so much of the code has no rules that looking further may be worth it. stats: of what was
 * made of the binary itself. */
bool debug_frame_is_wanted(const struct elf_image *img, const struct unwind_stats *stats);

/* where: its image and descriptor are those of img. The debug file must have img's build-id: without
 * one, it would have to be read to its end to be believed. -ENOENT: there is none; -ENOMEM; the
 * errors of cfi_open_debug_frame(). */
int debug_frame_open(const struct elf_image *img, const struct debug_query *where,
		     struct cfi **ret_cfi);

#endif
