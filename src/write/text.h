/* SPDX-License-Identifier: Apache-2.0 */
/* Names come from targets and may be any bytes; formats promise UTF-8. */
#ifndef WRITE_TEXT_H
#define WRITE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

/* Bytes of the well-formed UTF-8 character at s (Unicode table 3-7), 0 when there is none. s ends
 * with a NUL, which is a character of one byte. */
size_t text_char_bytes(const char *s);

bool text_is_utf8(const char *s);

/* Appends s, with U+FFFD for each byte that belongs to no character. */
int text_append_utf8(struct buf *to, const char *s);

/* The same for one frame of a folded stack: also ':' for ';' and '?' for each control character,
 * so that a frame can end neither itself nor its line. */
int text_append_frame(struct buf *to, const char *s);

#endif
