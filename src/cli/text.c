/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/text.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>

#define DOTS "..."
#define DOTS_COLUMNS 3
#define DEFAULT_COLUMNS 80 /* of a terminal that does not know its own size */

struct glyph {
	const char *bytes;
	size_t nr_bytes;
	uint32_t cols;
};

/* Invisible characters that change how others are shown (Unicode 15, general category Cf). */
static bool is_format_control(wint_t c)
{
	return c == 0xad || c == 0x61c || (c >= 0x200b && c <= 0x200f) ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
	       (c >= 0xfff9 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe007f);
}

/* The next character of *at, which is not at its end; never more bytes than the string has. */
static struct glyph next_glyph(const char **at)
{
	struct glyph g = { .bytes = "?", .nr_bytes = 1, .cols = 1 };
	mbstate_t state = { 0 };
	wchar_t c;
	size_t n = mbrtowc(&c, *at, strnlen(*at, MB_LEN_MAX), &state);

	if (n == 0 || n > MB_LEN_MAX) { /* also (size_t)-1 and -2: broken or cut off */
		(*at)++;
		return g;
	}
	if (iswprint((wint_t)c) && !is_format_control((wint_t)c) && wcwidth(c) >= 0) {
		g.bytes = *at;
		g.nr_bytes = n;
		g.cols = (uint32_t)wcwidth(c);
	}
	*at += n;
	return g;
}

uint32_t text_columns(const char *s)
{
	uint64_t cols = 0;

	while (*s)
		cols += next_glyph(&s).cols;
	return cols < TEXT_NO_LIMIT ? (uint32_t)cols : TEXT_NO_LIMIT;
}

static uint32_t put_up_to(FILE *out, const char *s, uint32_t max_cols)
{
	uint32_t cols = 0;

	while (*s) {
		struct glyph g = next_glyph(&s);

		if (g.cols > max_cols - cols)
			break;
		(void)fwrite(g.bytes, 1, g.nr_bytes, out); /* the caller looks at ferror() */
		cols += g.cols;
	}
	return cols;
}

uint32_t text_put(FILE *out, const char *s, uint32_t max_cols)
{
	uint32_t cols;

	if (max_cols == TEXT_NO_LIMIT || max_cols < DOTS_COLUMNS || text_columns(s) <= max_cols)
		return put_up_to(out, s, max_cols);
	cols = put_up_to(out, s, max_cols - DOTS_COLUMNS);
	(void)fputs(DOTS, out);
	return cols + DOTS_COLUMNS;
}

/* Breaks the line where the next word does not fit any more. Returns the columns used. */
static uint32_t wrap_word(FILE *out, const char *word, uint32_t used, uint32_t max_cols,
			  uint32_t indent, bool is_first)
{
	uint32_t cols = text_columns(word);

	if (!is_first && (used >= max_cols || cols >= max_cols - used)) {
		(void)fprintf(out, "\n%*s", (int)indent, "");
		used = 0;
	} else if (!is_first) {
		(void)fputc(' ', out);
		used++;
	}
	return used + text_put(out, word, max_cols - used);
}

void text_wrap(FILE *out, char *s, uint32_t max_cols, uint32_t indent)
{
	uint32_t used = 0;
	bool is_first = true;
	char *save, *word;

	if (text_columns(s) <= max_cols) {
		(void)text_put(out, s, max_cols);
		return;
	}
	for (word = strtok_r(s, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		used = wrap_word(out, word, used, max_cols, indent, is_first);
		is_first = false;
	}
}

const char *text_size(uint64_t size_bytes, char text[TEXT_SIZE_SIZE])
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double v = (double)size_bytes;
	int unit = -1;

	/* 1023.95 would be printed as 1024.0 */
	for (; v >= (unit < 0 ? 1024 : 1023.95); unit++)
		v /= 1024;
	if (unit < 0)
		(void)snprintf(text, TEXT_SIZE_SIZE, "%u B", (unsigned int)size_bytes);
	else
		(void)snprintf(text, TEXT_SIZE_SIZE, "%.1f %s", v, units[unit]);
	return text;
}

double text_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

const char *text_share(uint64_t part, uint64_t whole, char text[TEXT_SHARE_SIZE])
{
	double percent = text_percent(part, whole);

	if (part < whole && percent >= 99.95)
		percent = 99.9;
	(void)snprintf(text, TEXT_SHARE_SIZE, part && percent < 0.05 ? "<0.1%%" : "%.1f%%",
		       percent);
	return text;
}

const char *text_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

const char *text_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* What begins like a mark, or has characters that could look like one. */
static bool reads_like_mark(const char *name)
{
	static const char *const marks[] = { "kernel", "jit", "vdso", "unknown" };

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (strncasecmp(name, marks[i], strlen(marks[i])) == 0)
			return true;
	for (const char *c = name; *c; c++)
		if (*c < ' ' || *c > '~' || *c == '[' || *c == ']')
			return true;
	return name[0] == ' ';
}

const char *text_file_name(const char *file)
{
	const char *name = text_base_name(file);

	return name != file && reads_like_mark(name) ? file : name;
}

uint32_t text_terminal_columns(int fd)
{
	struct winsize size;

	if (!isatty(fd))
		return 0;
	if (ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		return DEFAULT_COLUMNS;
	return size.ws_col;
}
