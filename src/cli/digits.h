/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_DIGITS_H
#define CLI_DIGITS_H

#include <errno.h>
#include <stdint.h>
#include <string.h>

/* Digits only, up to max, which must be less than UINT64_MAX / 10. */
static inline int parse_digits(const char *text, size_t len, uint64_t max, uint64_t *ret_value)
{
	uint64_t v = 0;

	if (len == 0 || strspn(text, "0123456789") < len)
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		v = v * 10 + (uint64_t)(text[i] - '0');
		if (v > max)
			return -ERANGE;
	}
	*ret_value = v;
	return 0;
}

#endif
