/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/flag_names.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/options.h"

#define MEMBER "pa_options."
#define DOCTOR "pa_doctor() or perf-agent doctor"
#define STARTS_WITH(text, word) (!strncmp(text, word, sizeof(word) - 1))

/* The length of the library's name at text, if it has another name on the command line; otherwise
 * 0. */
static size_t translate(const char *text, char *to, size_t size)
{
	const char *member = text + sizeof(MEMBER) - 1, *flag;
	size_t len;

	if (STARTS_WITH(text, DOCTOR)) {
		(void)snprintf(to, size, "'perf-agent doctor'");
		return sizeof(DOCTOR) - 1;
	}
	if (!STARTS_WITH(text, MEMBER))
		return 0;
	len = strspn(member, "abcdefghijklmnopqrstuvwxyz_");
	flag = options_flag(member, len);
	if (!flag)
		return 0;
	(void)snprintf(to, size, "--%s", flag);
	return sizeof(MEMBER) - 1 + len;
}

/* Skips quoted text. The library quotes paths and names of others, but not its own names. Quoted
 * text may contain quotes: everything from the first opening quote to the last one is skipped, and
 * to the end if none closes. An apostrophe does not open a quote. */
struct foreign {
	const char *start, *end;
};

static struct foreign find_foreign(const char *text)
{
	struct foreign f = { strchr(text, '\''), strrchr(text, '\'') };

	while (f.start && f.start != text && f.start[-1] != ' ' && f.start[-1] != '(')
		f.start = strchr(f.start + 1, '\'');
	if (f.start && f.start == f.end)
		f.end = f.start + strlen(f.start);
	return f;
}

static bool is_in(const struct foreign *f, const char *at)
{
	return f->start && at >= f->start && at < f->end;
}

const char *flag_names(const char *text, char to[FLAG_NAMES_SIZE])
{
	struct foreign foreign = find_foreign(text);
	size_t len = 0;

	while (*text && len < FLAG_NAMES_SIZE - 1) {
		size_t n = is_in(&foreign, text) ? 0
						 : translate(text, to + len, FLAG_NAMES_SIZE - len);

		if (n)
			len += strlen(to + len);
		else
			to[len++] = *text;
		text += n ? n : 1;
	}
	to[len] = '\0';
	return to;
}
