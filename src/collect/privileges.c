/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/privileges.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "collect/features.h"

#define PARANOID_PATH "/proc/sys/kernel/perf_event_paranoid"
#define PARANOID_LAST_UPSTREAM 2 /* higher levels exist only in patched kernels */

static bool needs_memlock(const struct machine *m)
{
	return m->kernel_version < KERNEL_VERSION_OF(5, 11) && m->is_memlock_limited;
}

static bool needs_admin(const struct machine *m)
{
	return m->is_perf_closed;
}

/*
 * CAP_PERFMON and CAP_BPF exist since 5.8, CAP_CHECKPOINT_RESTORE since 5.9. Since 5.11 BPF memory
 * is charged to the cgroup instead of the memory-lock limit. Debian and Ubuntu have levels 3 and 4
 * of perf_event_paranoid, which CAP_PERFMON does not override.
 */
static const struct privilege all[] = {
	{ CAP_BPF, "CAP_BPF", "loading BPF programs", true, true, NULL },
	{ CAP_PERFMON, "CAP_PERFMON", "sampling and reading what is sampled", true, true, NULL },
	{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN",
	  "perf events where kernel.perf_event_paranoid is above 2 (not needed at 2 or below)",
	  true, true, needs_admin },
	{ CAP_SYS_RESOURCE, "CAP_SYS_RESOURCE",
	  "BPF memory above the memory lock limit (ulimit -l), before Linux 5.11", false, false,
	  needs_memlock },
	{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE", "the mappings of other users' processes", false, false,
	  NULL },
	{ CAP_CHECKPOINT_RESTORE, "CAP_CHECKPOINT_RESTORE",
	  "binaries that were deleted, replaced or live in a container", false, true, NULL },
	{ CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH", "binaries that only other users may read",
	  false, false, NULL },
	{ CAP_SYSLOG, "CAP_SYSLOG", "names of kernel functions", false, false, NULL },
};

const struct privilege *privileges(size_t *ret_nr)
{
	*ret_nr = sizeof(all) / sizeof(all[0]);
	return all;
}

bool privilege_is_needed(const struct privilege *p, const struct machine *m)
{
	return !p->is_needed || p->is_needed(m);
}

bool privilege_has_cap(int cap)
{
	cap_t caps = cap_get_proc();
	cap_flag_value_t value = CAP_CLEAR;

	if (!caps)
		return false;
	if (cap_get_flag(caps, cap, CAP_EFFECTIVE, &value) < 0)
		value = CAP_CLEAR; /* the kernel does not know this capability */
	cap_free(caps);
	return value == CAP_SET;
}

bool privilege_is_held(const struct privilege *p)
{
	return privilege_has_cap(p->cap) || (p->admin_includes && privilege_has_cap(CAP_SYS_ADMIN));
}

bool privilege_is_grantable(const struct privilege *p)
{
	return cap_get_bound(p->cap) > 0;
}

static long read_paranoid(void)
{
	_cleanup_(closep) int fd = open(PARANOID_PATH, O_RDONLY | O_CLOEXEC);
	char text[32];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n < 0)
		return 0;
	text[n] = '\0';
	return strtol(text, NULL, 10);
}

/* True if the kernel refuses even a counting event for this process alone. */
static bool is_perf_refused(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_DUMMY,
					.disabled = 1,
					.exclude_kernel = 1,
					.exclude_hv = 1 };
	_cleanup_(closep) int fd =
		(int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 && (errno == EACCES || errno == EPERM);
}

struct machine machine_examine(void)
{
	struct rlimit lim;

	return (struct machine){
		.kernel_version = features_kernel_version(),
		.is_memlock_limited = getrlimit(RLIMIT_MEMLOCK, &lim) == 0 &&
				      lim.rlim_max != RLIM_INFINITY,
		.is_perf_closed = read_paranoid() > PARANOID_LAST_UPSTREAM &&
				  (privilege_has_cap(CAP_SYS_ADMIN) || is_perf_refused()),
	};
}

static int append_lower(struct buf *to, const char *name)
{
	int r = 0;

	for (; *name && r == 0; name++)
		r = buf_printf(to, "%c", tolower((unsigned char)*name));
	return r;
}

/* Appends the word, quoted for a shell. */
static int append_quoted(struct buf *to, const char *word)
{
	int r = buf_printf(to, "'");

	for (; *word && r == 0; word++)
		r = *word == '\'' ? buf_printf(to, "'\\''") : buf_printf(to, "%c", *word);
	return r < 0 ? r : buf_printf(to, "'");
}

/* "sudo groupadd … && sudo chown … && sudo chmod … && ": setcap comes last, because chown removes capabilities. */
static int append_restriction(struct buf *to, const char *program)
{
	int r = buf_printf(to, "sudo groupadd -rf " PRIVILEGES_GROUP
			       " && sudo chown root:" PRIVILEGES_GROUP " ");

	if (r == 0)
		r = append_quoted(to, program);
	if (r == 0)
		r = buf_printf(to, " && sudo chmod 0750 ");
	if (r == 0)
		r = append_quoted(to, program);
	return r < 0 ? r : buf_printf(to, " && ");
}

int privileges_setcap_command(const struct machine *m, const char *program, bool is_open,
			      struct buf *to)
{
	const char *separator = "sudo setcap ";
	size_t nr;
	const struct privilege *p = privileges(&nr);
	int r = is_open ? append_restriction(to, program) : 0;

	for (size_t i = 0; i < nr && r == 0; i++) {
		if (!privilege_is_needed(&p[i], m))
			continue;
		r = buf_printf(to, "%s", separator);
		if (r == 0)
			r = append_lower(to, p[i].name);
		separator = ",";
	}
	if (r == 0)
		r = buf_printf(to, "+ep ");
	return r < 0 ? r : append_quoted(to, program);
}
