/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/duration.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define TENTH_S (NS_PER_S / 10)
#define FRACTION_DIGITS 9 /* further digits are less than a nanosecond */
#define FRACTION_ONE 1000000000u

struct unit {
	const char *suffix;
	uint64_t ns;
};

/* Largest first: the units of a duration must be in this order. */
static const struct unit units[] = {
	{ "h", 3600 * NS_PER_S }, { "m", 60 * NS_PER_S }, { "s", NS_PER_S },
	{ "ms", 1000000 },        { "us", 1000 },
};
#define UNIT_SECONDS 2
#define NR_UNITS (sizeof(units) / sizeof(units[0]))

struct number {
	uint64_t whole;
	uint64_t fraction; /* of FRACTION_ONE */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int parse_whole(const char **at, uint64_t *ret_whole)
{
	uint64_t v = 0;

	for (; is_digit(**at); (*at)++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(**at - '0'), &v))
			return -ERANGE;
	*ret_whole = v;
	return 0;
}

static uint64_t parse_fraction(const char **at)
{
	uint64_t v = 0;
	int digits = 0;

	for (; is_digit(**at); (*at)++)
		if (digits < FRACTION_DIGITS) {
			v = v * 10 + (uint64_t)(**at - '0');
			digits++;
		}
	for (; digits < FRACTION_DIGITS; digits++)
		v *= 10;
	return v;
}

static int parse_number(const char **at, struct number *ret_number)
{
	struct number n = { 0 };
	int r;

	if (!is_digit(**at))
		return -EINVAL;
	r = parse_whole(at, &n.whole);
	if (r < 0)
		return r;
	if (**at == '.') {
		(*at)++;
		if (!is_digit(**at))
			return -EINVAL;
		n.fraction = parse_fraction(at);
	}
	*ret_number = n;
	return 0;
}

/* The unit at *at; from is the first that is still allowed. */
static int parse_unit(const char **at, size_t from, size_t *ret_unit)
{
	size_t len = strspn(*at, "abcdefghijklmnopqrstuvwxyz");

	for (size_t i = from; i < NR_UNITS; i++)
		if (strlen(units[i].suffix) == len && !strncmp(*at, units[i].suffix, len)) {
			*at += len;
			*ret_unit = i;
			return 0;
		}
	return -EINVAL;
}

int duration_parse(const char *text, uint64_t *ret_ns)
{
	unsigned __int128 total = 0;
	const char *at = text;
	size_t unit, from = 0;

	do {
		struct number n;
		int r = parse_number(&at, &n);

		if (r < 0)
			return r;
		if (from == 0 && *at == '\0')
			unit = UNIT_SECONDS;
		else if ((r = parse_unit(&at, from, &unit)) < 0)
			return r;
		total += (unsigned __int128)n.whole * units[unit].ns;
		total += (unsigned __int128)n.fraction * units[unit].ns / FRACTION_ONE;
		if (total > DURATION_MAX_NS)
			return -ERANGE;
		from = unit + 1;
	} while (*at);

	if (total == 0)
		return -EDOM;
	*ret_ns = (uint64_t)total;
	return 0;
}

const char *duration_format(uint64_t ns, char text[DURATION_TEXT_SIZE])
{
	uint64_t ms = ns / 1000000;
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < UNIT_SECONDS && ms; i++) {
		uint64_t unit_ms = units[i].ns / 1000000, n = ms / unit_ms;

		ms %= unit_ms;
		if (n)
			len += (size_t)snprintf(text + len, DURATION_TEXT_SIZE - len, "%llu%s",
						(unsigned long long)n, units[i].suffix);
	}
	if (ms >= 1000) /* less than a minute: five digits are exact, such as 1.25 or 10 */
		(void)snprintf(text + len, DURATION_TEXT_SIZE - len, "%.5gs", (double)ms / 1000);
	else if (ms)
		(void)snprintf(text + len, DURATION_TEXT_SIZE - len, "%ums", (unsigned int)ms);
	else if (!len)
		(void)snprintf(text, DURATION_TEXT_SIZE, "%uus",
			       (unsigned int)(ns < 1000 ? 1 : ns / 1000));
	return text;
}

const char *duration_format_brief(uint64_t ns, char text[DURATION_TEXT_SIZE])
{
	if (ns >= NS_PER_S)
		ns = (ns + TENTH_S / 2) / TENTH_S * TENTH_S;
	return duration_format(ns, text);
}
