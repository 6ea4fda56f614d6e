/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/mountinfo.h"

#include <string.h>

#define SEPARATOR " - " /* blanks in paths and options are escaped, so there is only one */

struct text {
	const char *at, *end;
};

static bool take_number(struct text *t, uint64_t max, uint64_t *ret_value)
{
	uint64_t value = 0;
	const char *start = t->at;

	for (; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++) {
		value = value * 10 + (uint64_t)(*t->at - '0');
		if (value > max)
			return false;
	}
	*ret_value = value;
	return t->at > start;
}

static bool take_char(struct text *t, char c)
{
	if (t->at == t->end || *t->at != c)
		return false;
	t->at++;
	return true;
}

/* A word and the blank after it. */
static bool take_word(struct text *t, const char **ret_word, size_t *ret_len)
{
	const char *blank = memchr(t->at, ' ', (size_t)(t->end - t->at));

	if (!blank || blank == t->at)
		return false;
	*ret_word = t->at;
	*ret_len = (size_t)(blank - t->at);
	t->at = blank + 1;
	return true;
}

static bool has_type(const struct text *t, const char *type)
{
	size_t len = strlen(type);

	return (size_t)(t->end - t->at) > len && !memcmp(t->at, type, len) && t->at[len] == ' ';
}

bool mountinfo_parse(const char *line, size_t len, struct mount_line *ret_mount)
{
	struct text t = { line, line + len };
	uint64_t id, parent, major, minor;
	struct mount_line m = { 0 };

	if (!take_number(&t, INT32_MAX, &id) || !take_char(&t, ' ') ||
	    !take_number(&t, INT32_MAX, &parent) || !take_char(&t, ' ') ||
	    !take_number(&t, UINT32_MAX, &major) || !take_char(&t, ':') ||
	    !take_number(&t, UINT32_MAX, &minor) || !take_char(&t, ' ') ||
	    !take_word(&t, &m.root, &m.root_len) || !take_word(&t, &m.point, &m.point_len))
		return false;
	t.at = memmem(t.at, (size_t)(t.end - t.at), SEPARATOR, strlen(SEPARATOR));
	if (!t.at)
		return false;
	t.at += strlen(SEPARATOR);
	m.id = id;
	m.major = (uint32_t)major;
	m.minor = (uint32_t)minor;
	m.is_overlay = has_type(&t, "overlay");
	m.is_cgroup2 = has_type(&t, "cgroup2");
	*ret_mount = m;
	return true;
}
