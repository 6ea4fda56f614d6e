/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/features.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/capability.h>
#include <sys/utsname.h>

#include "base/buf.h"
#include "base/cleanup.h"

#define BTF_PATH "/sys/kernel/btf/vmlinux"
#define MAX_RATE_PATH "/proc/sys/kernel/perf_event_max_sample_rate"
#define NAMES_MAX_BYTES 256

/* CAP_PERFMON and CAP_BPF came with 5.8, CAP_CHECKPOINT_RESTORE with 5.9. */
static const struct privilege privileges[] = {
	{ CAP_BPF, "CAP_BPF", "loading BPF programs", true },
	{ CAP_PERFMON, "CAP_PERFMON", "sampling and reading what is sampled", true },
	{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE", "the mappings of other users' processes", false },
	{ CAP_CHECKPOINT_RESTORE, "CAP_CHECKPOINT_RESTORE",
	  "binaries that were deleted, replaced or live in a container", false },
	{ CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH", "binaries that only other users may read",
	  false },
	{ CAP_SYSLOG, "CAP_SYSLOG", "names of kernel functions", false },
};

const struct privilege *features_privileges(size_t *ret_nr)
{
	*ret_nr = sizeof(privileges) / sizeof(privileges[0]);
	return privileges;
}

unsigned int features_kernel_version(void)
{
	struct utsname u;
	unsigned int major, minor;

	if (uname(&u) < 0 || sscanf(u.release, "%u.%u", &major, &minor) != 2)
		return 0;
	return KERNEL_VERSION_OF(major, minor);
}

long features_max_sample_rate(void)
{
	_cleanup_(closep) int fd = open(MAX_RATE_PATH, O_RDONLY | O_CLOEXEC);
	char text[32];
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	return strtol(text, NULL, 10);
}

static bool has_cap(int cap)
{
	cap_t caps = cap_get_proc();
	cap_flag_value_t value = CAP_CLEAR;

	if (!caps)
		return false;
	if (cap_get_flag(caps, cap, CAP_EFFECTIVE, &value) < 0)
		value = CAP_CLEAR; /* a kernel that does not know this capability */
	cap_free(caps);
	return value == CAP_SET;
}

bool features_has(const struct privilege *p)
{
	bool admin_includes = p->cap != CAP_SYS_PTRACE && p->cap != CAP_DAC_READ_SEARCH;

	return has_cap(p->cap) || (admin_includes && has_cap(CAP_SYS_ADMIN));
}

static int append_missing(struct buf *names, bool essential)
{
	size_t nr;
	const struct privilege *p = features_privileges(&nr);
	int r = 0;

	for (size_t i = 0; i < nr && r == 0; i++)
		if (p[i].is_essential == essential && !features_has(&p[i]))
			r = buf_printf(names, "%s%s", names->len ? ", " : "", p[i].name);
	return r;
}

static int check_privileges(struct pa_error *err)
{
	struct buf names = BUF_INIT(NAMES_MAX_BYTES);
	int r = append_missing(&names, true);

	if (r == 0 && names.len) {
		(void)append_missing(&names, false); /* those named so far are reason enough */
		r = error_set(err, EPERM,
			      "missing privileges: %.*s; run as root (sudo), or grant them to the "
			      "program file with setcap",
			      (int)names.len, names.data);
	}
	buf_done(&names);
	return r;
}

static void warn_of_limits(const struct log *log)
{
	size_t nr;
	const struct privilege *p = features_privileges(&nr);

	for (size_t i = 0; i < nr; i++)
		if (!p[i].is_essential && !features_has(&p[i]))
			log_warn(log, "privileges: no %s: missing will be %s", p[i].name, p[i].use);
}

int features_check(const struct log *log, struct pa_error *err)
{
	int r = check_privileges(err);

	if (r < 0)
		return r;
	if (access(BTF_PATH, R_OK) < 0)
		return error_set(err, ENOTSUP,
				 "this kernel has no type information (%s): it must be built with "
				 "CONFIG_DEBUG_INFO_BTF=y, as distribution kernels since 2020 are",
				 BTF_PATH);
	if (features_kernel_version() < KERNEL_VERSION_OF(5, 8))
		return error_set(err, ENOTSUP, "this kernel is too old: 5.8 or newer is needed");
	warn_of_limits(log);
	return 0;
}
