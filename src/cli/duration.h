/* SPDX-License-Identifier: Apache-2.0 */
/* Durations as users write them: 10s, 1m30s, 250ms, 1.5s, 1h; a bare number is seconds. */
#ifndef CLI_DURATION_H
#define CLI_DURATION_H

#include <stdint.h>

#define NS_PER_S 1000000000ull
#define DURATION_MAX_NS INT64_MAX /* 292 years; the kernel's timers end there too */
#define DURATION_TEXT_SIZE 48

/*
 * Units are h, m, s, ms and us, each at most once, larger ones first. -EINVAL: not a duration;
 * -EDOM: less than a nanosecond; -ERANGE: longer than DURATION_MAX_NS.
 */
int duration_parse(const char *text, uint64_t *ret_ns);

/* Formats a duration truncated to milliseconds, or to microseconds if it is shorter than that.
 * Returns text. */
const char *duration_format(uint64_t ns, char text[DURATION_TEXT_SIZE]);

/* As duration_format(), but durations of a second or more are rounded to a tenth of a second. */
const char *duration_format_brief(uint64_t ns, char text[DURATION_TEXT_SIZE]);

#endif
