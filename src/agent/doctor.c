/* SPDX-License-Identifier: Apache-2.0 */
/* pa_doctor(): tries each thing a capture needs, and says what it found and what would cure it. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/utsname.h>

#include "agent/settings.h"
#include "base/error.h"
#include "collect/events.h"
#include "collect/features.h"
#include "collect/programs.h"
#include "collect/sideband.h"
#include "proc/procfs.h"

#define FINDING_MAX 640

struct doctor {
	pa_check_fn fn;
	void *ctx;
	int nr_failed;
	struct cpus online;
};

__attribute__((format(printf, 5, 6))) static void say(struct doctor *d, enum pa_check_state state,
						      const char *subject, const char *fix,
						      const char *fmt, ...)
{
	char finding[FINDING_MAX];
	struct pa_check c = { state, subject, finding, state == PA_CHECK_OK ? NULL : fix };
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(finding, sizeof(finding), fmt, ap); /* a cut finding is still one */
	va_end(ap);
	d->nr_failed += state == PA_CHECK_FAILED;
	d->fn(d->ctx, &c);
}

static void check_kernel(struct doctor *d)
{
	struct utsname u = { 0 };
	bool is_new = features_kernel_version() >= KERNEL_VERSION_OF(5, 8);

	uname(&u);
	say(d, is_new ? PA_CHECK_OK : PA_CHECK_FAILED, "kernel", "use Linux 5.8 or newer", "%s %s",
	    u.release, u.machine);
	if (access("/sys/kernel/btf/vmlinux", R_OK) == 0)
		say(d, PA_CHECK_OK, "type information", NULL, "/sys/kernel/btf/vmlinux is there");
	else
		say(d, PA_CHECK_FAILED, "type information",
		    "use a kernel built with CONFIG_DEBUG_INFO_BTF=y",
		    "/sys/kernel/btf/vmlinux: %s", strerror(errno));
}

static void check_privileges(struct doctor *d)
{
	size_t nr;
	const struct privilege *p = features_privileges(&nr);

	for (size_t i = 0; i < nr; i++) {
		bool has = features_has(&p[i]);
		enum pa_check_state missing = p[i].is_essential ? PA_CHECK_FAILED
								: PA_CHECK_LIMITED;

		say(d, has ? PA_CHECK_OK : missing, p[i].name,
		    "run as root (sudo), or grant it to the program file with setcap", "%s%s",
		    has ? "allows " : "missing, and with it ", p[i].use);
	}
}

static void check_cycles(struct doctor *d, int prog_fd)
{
	_cleanup_(events_freep) struct events *e = NULL;
	struct pa_error err = { 0 };

	if (events_open(PA_EVENT_CYCLES, 99, prog_fd, &d->online, &e, &err) == 0)
		say(d, PA_CHECK_OK, "--event cycles", NULL, "the hardware counts cycles");
	else
		say(d, PA_CHECK_LIMITED, "--event cycles", "use --event cpu-clock, the default",
		    "%s", err.text);
}

static void check_sampling(struct doctor *d)
{
	_cleanup_(programs_freep) struct programs *p = NULL;
	_cleanup_(events_freep) struct events *e = NULL;
	struct programs_config cfg = { .all = true, .kernel_stacks = true, .ring_bytes = 4096 };
	struct pa_error err = { 0 };

	if (programs_load(&cfg, NULL, &p, &err) < 0) {
		say(d, PA_CHECK_FAILED, "BPF programs",
		    "see the checks above; kernel lockdown and seccomp also forbid it", "%s",
		    err.text);
		return;
	}
	say(d, PA_CHECK_OK, "BPF programs", NULL, "loaded and attached");
	if (events_open(PA_EVENT_CPU_CLOCK, 99, programs_sampler_fd(p), &d->online, &e, &err) < 0)
		say(d, PA_CHECK_FAILED, "sampling", "see the checks above", "%s", err.text);
	else
		say(d, PA_CHECK_OK, "sampling", NULL, "%u CPUs, at most %ld Hz", events_nr_cpus(e),
		    features_max_sample_rate());
	check_cycles(d, programs_sampler_fd(p));
}

static void check_sideband(struct doctor *d)
{
	_cleanup_(sideband_freep) struct sideband *s = NULL;
	struct pa_error err = { 0 };

	if (sideband_open(&d->online, NULL, &s, &err) < 0)
		say(d, PA_CHECK_FAILED, "process events",
		    "raise the memory lock limit (ulimit -l) or see the checks above", "%s",
		    err.text);
	else if (!sideband_has_build_ids(s))
		say(d, PA_CHECK_LIMITED, "process events", "use Linux 5.12 or newer",
		    "without build-ids: a binary that is gone within milliseconds stays unnamed");
	else
		say(d, PA_CHECK_OK, "process events", NULL, "with build-ids");
}

static int first_file(void *ctx, const struct maps_entry *e)
{
	struct maps_entry *to = ctx;

	if (e->inode == 0)
		return 0;
	*to = *e;
	return 1;
}

/* The agent's own first mapped file stands for everybody's. */
static void check_map_files(struct doctor *d, const struct procfs *proc)
{
	struct maps_entry e = { 0 };
	int r = procfs_maps(proc, getpid(), first_file, &e);
	_cleanup_(closep) int fd = r < 0 ? r : procfs_open_mapped(proc, getpid(), e.start, e.end);

	if (fd >= 0)
		say(d, PA_CHECK_OK, "mapped files", NULL,
		    "can be read through /proc/PID/map_files");
	else
		say(d, PA_CHECK_LIMITED, "mapped files",
		    "grant CAP_CHECKPOINT_RESTORE (Linux 5.9) or run as root",
		    "/proc/PID/map_files: %s; deleted and container binaries stay unnamed",
		    strerror(-fd));
}

static void check_kallsyms(struct doctor *d)
{
	_cleanup_(fclosep) FILE *f = fopen("/proc/kallsyms", "re");
	unsigned long long addr = 0;
	char line[512];

	while (f && !addr && fgets(line, sizeof(line), f))
		addr = strtoull(line, NULL, 16);
	say(d, addr ? PA_CHECK_OK : PA_CHECK_LIMITED, "kernel symbols",
	    "set kernel.kptr_restrict to 0 or 1 and grant CAP_SYSLOG", "/proc/kallsyms %s",
	    addr ? "has addresses" : "shows no addresses: kernel frames stay raw");
}

static int no_entry(void *ctx, const struct maps_entry *e)
{
	return 1;
}

static void check_target(struct doctor *d, const struct procfs *proc, pid_t pid)
{
	char subject[32], comm[PROC_COMM_SIZE] = "";
	int r = procfs_comm(proc, pid, comm);

	(void)snprintf(subject, sizeof(subject), "PID %d", pid);
	if (r < 0) {
		say(d, PA_CHECK_FAILED, subject, "give the PID of a running process", "%s",
		    strerror(-r));
		return;
	}
	r = procfs_maps(proc, pid, no_entry, NULL);
	if (r > 0)
		say(d, PA_CHECK_OK, subject, NULL, "'%s', its mappings can be read", comm);
	else if (r == 0)
		say(d, PA_CHECK_LIMITED, subject, "profile with --kernel-stacks",
		    "'%s' is a kernel thread or is exiting: it has no user stack", comm);
	else
		say(d, PA_CHECK_LIMITED, subject, "grant CAP_SYS_PTRACE or run as root",
		    "'%s', its mappings cannot be read: %s", comm, strerror(-r));
}

int pa_doctor(const struct pa_options *opts, pa_check_fn fn, void *ctx)
{
	struct doctor d = { .fn = fn, .ctx = ctx };
	struct procfs proc = { .fd = -1 };
	int r = cpus_read(CPUS_ONLINE_PATH, &d.online);

	if (r == 0)
		r = procfs_open("/proc", &proc);
	if (r < 0)
		return r;
	check_kernel(&d);
	check_privileges(&d);
	check_sampling(&d);
	check_sideband(&d);
	check_map_files(&d, &proc);
	check_kallsyms(&d);
	for (size_t i = 0; opts && i < opts->nr_pids; i++)
		check_target(&d, &proc, opts->pids[i]);
	procfs_close(&proc);
	return d.nr_failed;
}
