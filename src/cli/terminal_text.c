/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal_text.h"

#include <langinfo.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>

#include "base/hidden_char.h"

#define DOTS "..."
#define DOTS_COLUMNS 3
#define DEFAULT_COLUMNS 80 /* if the terminal does not report its size */
#define MAX_MARKS 3        /* accents on one letter; no script needs more */

struct glyph {
	const char *bytes;
	size_t nr_bytes;
	uint32_t cols;
};

/* Names are UTF-8. In a locale with another encoding, only their ASCII characters can be shown. */
static bool shows_utf8(void)
{
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* The part of a text that is not shown yet. */
struct text_rest {
	const char *at;
	uint32_t nr_marks; /* characters of zero width since the last one of another width */
};

/* At the start of a text, marks would be drawn on the character left of it. */
static struct text_rest text_rest(const char *s)
{
	return (struct text_rest){ s, MAX_MARKS };
}

/* Many marks on one letter would be drawn over the lines above and below. */
static bool is_mark_too_many(struct text_rest *s, int cols)
{
	s->nr_marks = cols ? 0 : s->nr_marks + 1;
	return s->nr_marks > MAX_MARKS;
}

/* The next character of a text that is not at its end; never reads past the string. */
static struct glyph next_glyph(struct text_rest *s)
{
	struct glyph g = { .bytes = "?", .nr_bytes = 1, .cols = 1 };
	mbstate_t state = { 0 };
	wchar_t c;
	size_t n = mbrtowc(&c, s->at, strnlen(s->at, MB_LEN_MAX), &state);

	/* n is (size_t)-1 or -2 for an invalid or incomplete sequence */
	if (n == 0 || n > MB_LEN_MAX || ((unsigned char)*s->at >= 0x80 && !shows_utf8())) {
		s->at++;
		s->nr_marks = 0;
		return g;
	}
	if (iswprint((wint_t)c) && !is_hidden_char((uint32_t)c) && wcwidth(c) >= 0 &&
	    !is_mark_too_many(s, wcwidth(c))) {
		g.bytes = s->at;
		g.nr_bytes = n;
		g.cols = (uint32_t)wcwidth(c);
	}
	s->at += n;
	return g;
}

uint32_t text_columns(const char *s)
{
	struct text_rest rest = text_rest(s);
	uint64_t cols = 0;

	while (*rest.at)
		cols += next_glyph(&rest).cols;
	return cols < TEXT_NO_LIMIT ? (uint32_t)cols : TEXT_NO_LIMIT;
}

static uint32_t put_up_to(FILE *out, const char *s, uint32_t max_cols)
{
	struct text_rest rest = text_rest(s);
	uint32_t cols = 0;

	while (*rest.at) {
		struct glyph g = next_glyph(&rest);

		if (g.cols > max_cols - cols)
			break;
		(void)fwrite(g.bytes, 1, g.nr_bytes, out); /* the caller checks ferror() */
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

uint32_t text_put_end(FILE *out, const char *s, uint32_t max_cols)
{
	struct text_rest rest = text_rest(s);
	uint32_t cols = text_columns(s);

	if (cols <= max_cols)
		return put_up_to(out, s, max_cols);
	if (max_cols < DOTS_COLUMNS)
		return text_put(out, s, max_cols);
	while (cols > max_cols - DOTS_COLUMNS)
		cols -= next_glyph(&rest).cols;
	(void)fputs(DOTS, out);
	return DOTS_COLUMNS + put_up_to(out, rest.at, cols);
}

/* Starts a new line if the next word does not fit. Returns the columns used. */
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
	return used + text_put(out, word, TEXT_NO_LIMIT);
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

/* True if it begins like a mark, or has characters that could look like one. */
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

const char *text_source_name(const char *source)
{
	const char *name = text_file_name(source);

	return strchr(name, '/') || !reads_like_mark(name) ? name : NULL;
}

char *text_path(const char *path)
{
	const char *quote = strpbrk(path, " '\"`") ? "'" : "";
	char *text;

	if (asprintf(&text, "%s%s%s", quote, path, quote) < 0)
		return NULL;
	for (char *c = text + strlen(quote); c[strlen(quote)]; c++)
		if (*c == '\'')
			*c = '?';
	return text;
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
