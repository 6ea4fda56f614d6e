/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <stdarg.h>

int error_set(struct pa_error *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err || err->code)
		return -code;
	err->code = code;
	va_start(ap, fmt);
	(void)vsnprintf(err->text, sizeof(err->text), fmt, ap); /* a cut sentence is still one */
	va_end(ap);
	return -code;
}
