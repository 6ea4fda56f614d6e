/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text for a terminal. Names come from the profiled programs and are untrusted: characters that
 * could move the cursor, recolour or reverse the line are shown as '?', and so are those that the
 * locale's encoding cannot represent. If that encoding is not UTF-8, everything but ASCII is '?'.
 */
#ifndef CLI_TERMINAL_TEXT_H
#define CLI_TERMINAL_TEXT_H

#include <stdint.h>
#include <stdio.h>

#define TEXT_NO_LIMIT UINT32_MAX
#define TEXT_SIZE_SIZE 32

/* Columns that text_put() would fill. */
uint32_t text_columns(const char *s);

/* Writes s without control characters; a text longer than max_cols ends in "...". Returns the columns
 * used. */
uint32_t text_put(FILE *out, const char *s, uint32_t max_cols);

/* As text_put(), but a text longer than max_cols begins with "..." and keeps its end. */
uint32_t text_put_end(FILE *out, const char *s, uint32_t max_cols);

/* Writes s without control characters in lines of at most max_cols, wrapped at spaces; every line but
 * the first is indented by that many columns. A word is never split: one that is longer than a line has
 * a line of its own, so that it can be copied whole. Writes NULs into s. */
void text_wrap(FILE *out, char *s, uint32_t max_cols, uint32_t indent);

/* "512 B", "12.3 KiB", "1.5 GiB". Returns text. */
const char *text_size(uint64_t size_bytes, char text[TEXT_SIZE_SIZE]);

/* part of whole in per cent; 0 if whole is 0. */
double text_percent(uint64_t part, uint64_t whole);

/* As text_percent(), as text; nothing and all are never rounded to: "<0.1%", "99.9%" for all but
 * one in a million. Returns text. */
#define TEXT_SHARE_SIZE 16
const char *text_share(uint64_t part, uint64_t whole, char text[TEXT_SHARE_SIZE]);

/* The plural ending of a word after the number n: "s" unless n is 1. */
const char *text_plural(uint64_t n);

/* The part of a path after its last '/'. */
const char *text_base_name(const char *path);

/* The short name of a file of the summary: its base name, unless that could be mistaken for a mark
 * of code without a file ("[kernel]", "[jit]"). Such a file keeps its path. */
const char *text_file_name(const char *file);

/* As text_file_name(), for the source file of generated code, which may be any text; NULL: it could be mistaken
 * for a mark. */
const char *text_source_name(const char *source);

/* A path as part of a sentence: in quotes if it has spaces or quotes, by which it could pretend to be the
 * rest of the sentence. The caller frees it; NULL: no memory. */
char *text_path(const char *path);

/* Columns of the terminal behind fd; 0 if it is not a terminal. */
uint32_t text_terminal_columns(int fd);

#endif
