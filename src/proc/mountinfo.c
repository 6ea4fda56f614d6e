/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/mountinfo.h"

#include <string.h>

#define SEPARATOR " - " /* blanks in paths and options are escaped, so there is only one */
#define OVERLAY "overlay"

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

bool mountinfo_parse(const char *line, size_t len, struct mount_line *ret_mount)
{
	struct text t = { line, line + len };
	uint64_t id, parent, major, minor;
	const char *type;

	if (!take_number(&t, INT32_MAX, &id) || !take_char(&t, ' ') ||
	    !take_number(&t, INT32_MAX, &parent) || !take_char(&t, ' ') ||
	    !take_number(&t, UINT32_MAX, &major) || !take_char(&t, ':') ||
	    !take_number(&t, UINT32_MAX, &minor) || !take_char(&t, ' '))
		return false;
	type = memmem(t.at, (size_t)(t.end - t.at), SEPARATOR, strlen(SEPARATOR));
	if (!type)
		return false;
	type += strlen(SEPARATOR);
	*ret_mount = (struct mount_line){
		.id = id,
		.major = (uint32_t)major,
		.minor = (uint32_t)minor,
		.is_overlay = (size_t)(t.end - type) > strlen(OVERLAY) &&
			      memcmp(type, OVERLAY " ", strlen(OVERLAY " ")) == 0,
	};
	return true;
}
