/* SPDX-License-Identifier: Apache-2.0 */
/* The text of /proc/<pid>/maps: "start-end perms offset major:minor inode   path", one per line. */
#include "proc/procfs.h"

#include <errno.h>

/* A part of the text with an end that cannot be passed. */
struct span {
	char *at;
	char *end;
};

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* Rejects anything that is not a number or does not fit. */
static bool take_number(struct span *s, unsigned int base, uint64_t max, uint64_t *ret_value)
{
	char *first = s->at;
	uint64_t value = 0;

	for (; s->at < s->end; s->at++) {
		int d = digit_value(*s->at);

		if (d < 0 || (unsigned int)d >= base)
			break;
		if (value > (max - (unsigned int)d) / base)
			return false;
		value = value * base + (unsigned int)d;
	}
	*ret_value = value;
	return s->at > first;
}

static bool take_char(struct span *s, char c)
{
	if (s->at == s->end || *s->at != c)
		return false;
	s->at++;
	return true;
}

static bool take_one_of(struct span *s, char set, char unset, bool *ret_is_set)
{
	*ret_is_set = take_char(s, set);
	return *ret_is_set || take_char(s, unset);
}

static bool take_perms(struct span *s, bool *ret_is_exec)
{
	bool ignored;

	return take_one_of(s, 'r', '-', &ignored) && take_one_of(s, 'w', '-', &ignored) &&
	       take_one_of(s, 'x', '-', ret_is_exec) && take_one_of(s, 's', 'p', &ignored);
}

/* The kernel escapes only newlines, so "\012" may also be four characters of a name. Such names are
 * rare, and a wrong path does no harm while the file is accessible through map_files. */
static size_t unescape_newlines(char *to, const char *from, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		if (len - i >= 4 && memcmp(from + i, "\\012", 4) == 0) {
			to[n++] = '\n';
			i += 3;
		} else {
			to[n++] = from[i];
		}
	}
	return n;
}

/* Shifted one byte to the left, over the preceding space, so that there is room for the NUL even at
 * the very end of the text. */
static bool take_path(struct span *s, const char **ret_path)
{
	size_t len;

	*ret_path = "";
	if (s->at == s->end)
		return true;
	if (!take_char(s, ' '))
		return false;
	while (take_char(s, ' '))
		;
	len = (size_t)(s->end - s->at);
	if (len == 0)
		return true;
	if (memchr(s->at, '\0', len))
		return false;
	s->at[unescape_newlines(s->at - 1, s->at, len) - 1] = '\0';
	*ret_path = s->at - 1;
	return true;
}

static bool parse_line(struct span s, struct maps_entry *ret_entry)
{
	struct maps_entry *e = ret_entry;
	uint64_t major, minor;

	if (!take_number(&s, 16, UINT64_MAX, &e->start) || !take_char(&s, '-') ||
	    !take_number(&s, 16, UINT64_MAX, &e->end) || !take_char(&s, ' ') ||
	    !take_perms(&s, &e->is_exec) || !take_char(&s, ' ') ||
	    !take_number(&s, 16, UINT64_MAX, &e->offset) || !take_char(&s, ' ') ||
	    !take_number(&s, 16, UINT32_MAX, &major) || !take_char(&s, ':') ||
	    !take_number(&s, 16, UINT32_MAX, &minor) || !take_char(&s, ' ') ||
	    !take_number(&s, 10, UINT64_MAX, &e->inode))
		return false;
	e->major = (uint32_t)major;
	e->minor = (uint32_t)minor;
	return e->start < e->end && take_path(&s, &e->path);
}

int maps_parse(char *text, size_t len, maps_entry_fn fn, void *ctx, uint64_t *ret_nr_bad)
{
	char *end = text + len;
	uint64_t nr_bad = 0;
	int r = 0;

	for (char *at = text, *eol; at < end && r == 0; at = eol + 1) {
		struct maps_entry e;

		eol = memchr(at, '\n', (size_t)(end - at));
		if (!eol)
			eol = end;
		if (parse_line((struct span){ at, eol }, &e))
			r = fn(ctx, &e);
		else
			nr_bad++;
		if (eol == end)
			break;
	}
	if (r >= 0)
		*ret_nr_bad = nr_bad;
	return r;
}
