/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/features.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/utsname.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "collect/kernel_types.h"
#include "collect/privileges.h"

#define MAX_RATE_PATH "/proc/sys/kernel/perf_event_max_sample_rate"
#define NAMES_MAX_BYTES 256

unsigned int features_kernel_version(void)
{
	struct utsname u;
	unsigned int major, minor;

	if (uname(&u) < 0 || sscanf(u.release, "%u.%u", &major, &minor) != 2)
		return 0;
	return KERNEL_VERSION_OF(major, minor);
}

enum pa_state_source features_state_source(unsigned int version)
{
	if (version < KERNEL_VERSION_OF(5, 18))
		return PA_STATE_OF_TASK;
	return version < KERNEL_VERSION_OF(6, 15) ? PA_STATE_ARG_UNSURE : PA_STATE_ARG;
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

static bool is_missing(const struct privilege *p, const struct machine *m)
{
	return privilege_is_needed(p, m) && !privilege_is_held(p);
}

static int append_missing(struct buf *names, const struct machine *m, bool essential)
{
	size_t nr;
	const struct privilege *p = privileges(&nr);
	int r = 0;

	for (size_t i = 0; i < nr && r == 0; i++)
		if (p[i].is_essential == essential && is_missing(&p[i], m))
			r = buf_printf(names, "%s%s", names->len ? ", " : "", p[i].name);
	return r;
}

static int check_privileges(const struct machine *m, struct pa_error *err)
{
	struct buf names = BUF_INIT(NAMES_MAX_BYTES);
	int r = append_missing(&names, m, true);

	if (r == 0 && names.len) {
		/* the missing capabilities are reason enough to fail, even if there is no memory
		 * for their names */
		(void)append_missing(&names, m, false);
		r = error_set(err, EPERM,
			      "missing privileges: %.*s; run as root (sudo), or grant them to the "
			      "program file: " DOCTOR_NAMES " prints the command",
			      (int)names.len, names.data);
	}
	buf_done(&names);
	return r;
}

static void warn_of_limits(const struct machine *m, const struct log *log)
{
	size_t nr;
	const struct privilege *p = privileges(&nr);

	for (size_t i = 0; i < nr; i++)
		if (!p[i].is_essential && is_missing(&p[i], m))
			log_warn(log, "privileges: no %s, which is needed for %s", p[i].name,
				 p[i].use);
}

int features_check(const struct log *log, struct pa_error *err)
{
	struct machine m = machine_examine();
	int r = check_privileges(&m, err);

	if (r < 0)
		return r;
	if (access(KERNEL_TYPES_PATH, R_OK) < 0)
		return error_set(err, ENOTSUP,
				 "this kernel has no type information (%s): it must be built with "
				 "CONFIG_DEBUG_INFO_BTF=y, as distribution kernels since 2020 are",
				 KERNEL_TYPES_PATH);
	if (features_kernel_version() < KERNEL_VERSION_OF(5, 8))
		return error_set(err, ENOTSUP, "this kernel is too old: 5.8 or newer is needed");
	warn_of_limits(&m, log);
	return 0;
}
