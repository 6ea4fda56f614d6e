/* SPDX-License-Identifier: Apache-2.0 */
/* Names come from targets and may be any bytes; formats promise UTF-8, and programs print them to
 * terminals. Every string of an output is sanitized here. */
#ifndef WRITE_CLEAN_TEXT_H
#define WRITE_CLEAN_TEXT_H

#include <stdbool.h>

struct buf;

/* True if s is UTF-8 without characters that address a terminal rather than a reader: controls (C0,
 * DEL, C1), and invisible ones that reorder or hide others. */
bool text_is_clean(const char *s);

/* Appends s, with U+FFFD for each byte that belongs to no character and '?' for each character that
 * is not clean. Clean text is unchanged: paths can be opened, names can be searched for. */
int text_append_clean(struct buf *to, const char *s);

/* As text_append_clean(), for one frame of a folded stack: ';' becomes ':', so that a frame can end
 * neither itself nor its line. */
int text_append_frame(struct buf *to, const char *s);

#endif
