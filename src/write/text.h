/* SPDX-License-Identifier: Apache-2.0 */
/* Names come from targets and may be any bytes; formats promise UTF-8, and programs print what they
 * read from them to terminals. Every string of an output goes through here. */
#ifndef WRITE_TEXT_H
#define WRITE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

/* Bytes of the well-formed UTF-8 character at s (Unicode table 3-7), 0 when there is none. s ends
 * with a NUL, which is a character of one byte. */
size_t text_char_bytes(const char *s);

/* Whether s is UTF-8 without a character that is meant for a terminal, not for a reader: controls (C0,
 * DEL, C1), and the invisible ones that reorder or hide others. */
bool text_is_clean(const char *s);

/* Appends s, with U+FFFD for each byte that belongs to no character and '?' for each character that
 * is not clean. What is clean stays as it is: paths can be opened, names be looked for. */
int text_append_clean(struct buf *to, const char *s);

/* The same for one frame of a folded stack: also ':' for ';', so that a frame can end neither itself
 * nor its line. */
int text_append_frame(struct buf *to, const char *s);

#endif
