/* SPDX-License-Identifier: Apache-2.0 */
/* Parses some lines of /proc/<pid>/status. The kernel escapes newlines in the name, so every line
 * is genuine. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/procfs.h"

#define STARTED_SLACK_NS (20 * NS_PER_MS) /* start times have a resolution of 10 ms */

/* The numbers after "Label:", as many as fit. Returns their number. */
static size_t numbers_of(const char *at, const char *end, const char *label, uint64_t *to,
			 size_t max)
{
	size_t len = strlen(label), nr = 0;

	if ((size_t)(end - at) < len || memcmp(at, label, len) != 0)
		return 0;
	for (at += len; nr < max; nr++) {
		uint64_t value = 0;
		const char *digits;

		while (at < end && (*at == '\t' || *at == ' '))
			at++;
		for (digits = at; at < end && *at >= '0' && *at <= '9' && at - digits < 11; at++)
			value = value * 10 + (uint64_t)(*at - '0');
		if (at == digits)
			break;
		to[nr] = value;
	}
	return nr;
}

static void parse_line(const char *at, const char *end, struct proc_status *st, bool *has_uid)
{
	uint64_t n[33]; /* the kernel's MAX_PID_NS_LEVEL is 32 */
	size_t nr = numbers_of(at, end, "Uid:", n, 4);

	if (nr == 4 && n[1] <= UINT32_MAX) {
		st->euid = (uid_t)n[1];
		st->is_one_user = n[0] == n[1] && n[1] == n[2];
		*has_uid = true;
	}
	nr = numbers_of(at, end, "NSpid:", n, sizeof(n) / sizeof(n[0]));
	if (nr && n[nr - 1] <= INT_MAX) {
		st->ns_pid = (pid_t)n[nr - 1];
		st->nr_pids = (uint32_t)nr;
	}
	if (numbers_of(at, end, "Tgid:", n, 1) == 1 && n[0] <= INT_MAX)
		st->tgid = (pid_t)n[0];
	if (end - at > 7 && memcmp(at, "State:\t", 7) == 0)
		st->is_over = at[7] == 'Z' || at[7] == 'X';
}

uint64_t proc_stat_started_ns(const struct proc_stat *st)
{
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK), boot_ns, slept_ns;
	uint64_t now_ns = clock_mono_ns(); /* read first, so that CLOCK_BOOTTIME is not earlier */

	if (!st->start_ticks || st->start_ticks / hz > UINT32_MAX)
		return 0;
	boot_ns = (st->start_ticks + 1) * (NS_PER_S / hz);
	slept_ns = clock_ns(CLOCK_BOOTTIME) - now_ns;
	return boot_ns > slept_ns ? boot_ns - slept_ns : 0;
}

bool proc_stat_began_by(const struct proc_stat *st, uint64_t time_ns)
{
	uint64_t started_ns = proc_stat_started_ns(st);

	return started_ns <= STARTED_SLACK_NS || started_ns - STARTED_SLACK_NS <= time_ns;
}

int status_parse(const char *text, size_t len, struct proc_status *ret_status)
{
	const char *at = text, *end = text + len, *newline;
	struct proc_status st = { 0 };
	bool has_uid = false;

	while ((newline = memchr(at, '\n', (size_t)(end - at)))) {
		parse_line(at, newline, &st, &has_uid);
		at = newline + 1;
	}
	if (!has_uid || st.ns_pid <= 0)
		return -EBADMSG;
	*ret_status = st;
	return 0;
}
