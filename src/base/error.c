/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <stdarg.h>
#include <string.h>

#define MEMBER_PREFIX "pa_options."

/* The pa_options member at the start of the message. */
static void find_field(struct pa_error *err)
{
	size_t skip = sizeof(MEMBER_PREFIX) - 1, len = 0;

	if (!strncmp(err->text, MEMBER_PREFIX, skip))
		len = strspn(err->text + skip, "abcdefghijklmnopqrstuvwxyz_");
	if (len < sizeof(err->field))
		memcpy(err->field, err->text + skip, len);
	err->field[len < sizeof(err->field) ? len : 0] = '\0';
}

int error_set(struct pa_error *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err || err->code)
		return -code;
	err->code = code;
	va_start(ap, fmt);
	(void)vsnprintf(err->text, sizeof(err->text), fmt,
			ap); /* a truncated message is still useful */
	va_end(ap);
	find_field(err);
	return -code;
}
