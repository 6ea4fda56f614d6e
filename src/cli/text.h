/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text for a terminal. Names come from the programs that are profiled and are not to be trusted:
 * what could move the cursor, recolour or reverse the line is shown as '?', and so is what the
 * locale's encoding cannot say.
 */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stdint.h>
#include <stdio.h>

#define TEXT_NO_LIMIT UINT32_MAX
#define TEXT_SIZE_SIZE 32

/* Columns that text_put() would fill. */
uint32_t text_columns(const char *s);

/* Writes s made harmless; what is longer than max_cols ends in "...". Returns the columns used. */
uint32_t text_put(FILE *out, const char *s, uint32_t max_cols);

/* Writes s made harmless in lines of at most max_cols, broken at spaces; what follows the first line
 * is indented by that many columns. A word that no line can hold ends in "...". Cuts s up. */
void text_wrap(FILE *out, char *s, uint32_t max_cols, uint32_t indent);

/* "512 B", "12.3 KiB", "1.5 GiB". Returns text. */
const char *text_size(uint64_t size_bytes, char text[TEXT_SIZE_SIZE]);

/* part of whole in percent; 0 when there is no whole. */
double text_percent(uint64_t part, uint64_t whole);

/* The same as text, where nothing and all are not to be mixed up with nearly: "<0.1%", "99.9%" for all
 * but one in a million. Returns text. */
#define TEXT_SHARE_SIZE 16
const char *text_share(uint64_t part, uint64_t whole, char text[TEXT_SHARE_SIZE]);

/* What a word gets behind n: "s" unless that is 1. */
const char *text_plural(uint64_t n);

/* The part of a path after its last '/'. */
const char *text_base_name(const char *path);

/* What a file of the summary is called where columns are scarce: by its base name, unless that could be
 * taken for a mark of code without a file ("[kernel]", "[jit]"). No file is shown as one of these,
 * however it is called: such a one keeps its path. */
const char *text_file_name(const char *file);

/* Columns of the terminal behind fd, or 0 when it is none. */
uint32_t text_terminal_columns(int fd);

#endif
