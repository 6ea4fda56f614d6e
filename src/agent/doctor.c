/* SPDX-License-Identifier: Apache-2.0 */
/* pa_doctor(): checks everything that a capture needs, and reports findings and fixes. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "agent/fd_budget.h"
#include "agent/session.h"
#include "base/buf.h"
#include "base/error.h"
#include "collect/events.h"
#include "collect/features.h"
#include "collect/kernel_types.h"
#include "collect/privileges.h"
#include "collect/programs.h"
#include "collect/sideband.h"
#include "collect/trigger_oncpu.h"
#include "fetch/fetcher.h"
#include "proc/procfs.h"

#define FINDING_MAX 640
/* a path with every byte quoted, three times, and the rest of the commands */
#define COMMAND_MAX_BYTES (3 * 4 * PATH_MAX + 1024)

struct doctor {
	pa_check_fn fn;
	void *ctx;
	int nr_failed;
	struct machine machine;
	struct cpus online;
	struct procfs proc;
	bool has_cpus, has_proc; /* online is known, proc is open */
};

__attribute__((format(printf, 5, 6))) static void say(struct doctor *d, enum pa_check_state state,
						      const char *subject, const char *fix,
						      const char *fmt, ...)
{
	char finding[FINDING_MAX];
	struct pa_check c = { state, subject, finding, state == PA_CHECK_OK ? NULL : fix };
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(finding, sizeof(finding), fmt, ap); /* may be truncated */
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
}

static void check_types(struct doctor *d)
{
	int r = kernel_types_probe();

	if (r == 0)
		say(d, PA_CHECK_OK, "BTF", NULL, KERNEL_TYPES_PATH " found");
	else if (r == -EBADMSG)
		say(d, PA_CHECK_FAILED, "BTF",
		    "see what is mounted there, or boot an intact kernel",
		    KERNEL_TYPES_PATH " is not BTF");
	else
		say(d, PA_CHECK_FAILED, "BTF",
		    "mount /sys, or use a kernel built with CONFIG_DEBUG_INFO_BTF=y",
		    KERNEL_TYPES_PATH ": %s", strerror(-r));
}

static void check_cpus(struct doctor *d)
{
	int r = cpus_read(CPUS_ONLINE_PATH, &d->online);

	d->has_cpus = r == 0;
	if (r < 0)
		say(d, PA_CHECK_FAILED, "CPUs", "mount /sys (mount -t sysfs sysfs /sys)",
		    "cannot read " CPUS_ONLINE_PATH ": %s", strerror(-r));
}

static void check_proc(struct doctor *d)
{
	struct pa_error err = { 0 };
	int r = session_check_proc(&err);

	if (r == 0)
		r = procfs_open("/proc", &d->proc);
	d->has_proc = r == 0;
	if (r < 0)
		say(d, PA_CHECK_FAILED, "processes", "mount -t proc proc /proc", "%.*s",
		    err.code ? (int)strcspn(err.text, ":") : INT_MAX,
		    err.code ? err.text : strerror(-r)); /* the text after it is the fix */
}

/* If a program file could carry the capability, returns what its absence means; otherwise
 * PA_CHECK_OK. */
static enum pa_check_state check_privilege(struct doctor *d, const struct privilege *p)
{
	enum pa_check_state missing = p->is_essential ? PA_CHECK_FAILED : PA_CHECK_LIMITED;
	bool is_grantable;

	if (!privilege_is_needed(p, &d->machine))
		return PA_CHECK_OK;
	if (privilege_is_held(p)) {
		say(d, PA_CHECK_OK, p->name, NULL, "allows %s", p->use);
		return PA_CHECK_OK;
	}
	is_grantable = privilege_is_grantable(p);
	say(d, missing, p->name,
	    is_grantable
		    ? "run as root (sudo), or use the setcap command below"
		    : "give it to the container or service: it is not in the bounding set here",
	    "missing; needed for %s", p->use);
	return is_grantable ? missing : PA_CHECK_OK;
}

/* True if the file is perf-agent itself and everybody may execute it. Another program that uses the library may be an
 * interpreter, which is not to be taken from everybody. */
static bool is_open_agent(const char *program)
{
	const char *slash = strrchr(program, '/');
	struct stat st;

	return slash && !strcmp(slash + 1, "perf-agent") && stat("/proc/self/exe", &st) == 0 &&
	       st.st_mode & S_IXOTH;
}

static void say_setcap(struct doctor *d, enum pa_check_state state, const char *finding)
{
	struct buf command = BUF_INIT(COMMAND_MAX_BYTES);
	struct pa_check c = { state, "privileges", finding, NULL };
	char program[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);

	program[n > 0 ? n : 0] = '\0';
	if (privileges_setcap_command(&d->machine, n > 0 ? program : "perf-agent",
				      is_open_agent(program), &command) == 0) {
		c.fix = command.data;
		d->nr_failed += state == PA_CHECK_FAILED;
		d->fn(d->ctx, &c);
	}
	buf_done(&command);
}

/* True if a program file could carry all capabilities that are needed. */
static bool are_grantable(const struct doctor *d, const struct privilege *p, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (privilege_is_needed(&p[i], &d->machine) && !privilege_is_grantable(&p[i]))
			return false;
	return true;
}

static void check_privileges(struct doctor *d)
{
	enum pa_check_state worst = PA_CHECK_OK;
	size_t nr;
	const struct privilege *p = privileges(&nr);

	for (size_t i = 0; i < nr; i++) {
		enum pa_check_state state = check_privilege(d, &p[i]);

		if (state > worst)
			worst = state;
	}
	if (worst != PA_CHECK_OK)
		say_setcap(d, worst,
			   "some are missing; the program file can carry them, for everybody who "
			   "may execute it");
	else if (geteuid() == 0 && are_grantable(d, p, nr))
		say_setcap(d, PA_CHECK_OK,
			   "root has them; the program file can carry them instead, for everybody "
			   "who may execute it");
}

static void check_cycles(struct doctor *d, const struct programs *p)
{
	_cleanup_(events_freep) struct events *e = NULL;
	struct pa_error err = { 0 };
	int r = oncpu_open(PA_EVENT_CYCLES, 99, p, &d->online, &e, &err);

	if (r == 0)
		say(d, PA_CHECK_OK, "pa_options.event cycles", NULL, "the hardware counts cycles");
	else
		say(d, PA_CHECK_LIMITED, "pa_options.event cycles",
		    "use pa_options.event cpu-clock, the default", "%s",
		    r == -EACCES || r == -EPERM ? err.text : "there is no hardware cycle counter");
}

static void check_open_files(struct doctor *d)
{
	struct pa_error err = { 0 };

	if (fd_budget_check(&err) == 0)
		say(d, PA_CHECK_OK, "open files", NULL, "the limit is enough");
	else
		say(d, PA_CHECK_FAILED, "open files", "raise the limit", "%s", err.text);
}

/* Configures everything as for a capture, but with a tiny ring, since nothing is captured. */
#define DOCTOR_RING_BYTES 4096
#define DOCTOR_TABLE_BYTES (1u << 20)

static void check_sampling(struct doctor *d)
{
	_cleanup_(programs_freep) struct programs *p = NULL;
	_cleanup_(events_freep) struct events *e = NULL;
	struct programs_config cfg = { .select = PA_SELECT_ALL,
				       .kernel_stacks = true,
				       .has_oncpu = true,
				       .use_tables = true,
				       .table_bytes = DOCTOR_TABLE_BYTES,
				       .ring_bytes = DOCTOR_RING_BYTES };
	struct pa_error err = { 0 };

	if (programs_load(&cfg, NULL, &p, &err) < 0) {
		say(d, PA_CHECK_FAILED, "BPF programs",
		    "see the checks above; kernel lockdown and seccomp also forbid it", "%.*s",
		    /* the rest of the message refers to doctor */
		    (int)strcspn(err.text, ";"), err.text);
		return;
	}
	say(d, PA_CHECK_OK, "BPF programs", NULL, "loaded and attached");
	if (!d->has_cpus)
		return;
	if (oncpu_open(PA_EVENT_CPU_CLOCK, 99, p, &d->online, &e, &err) < 0)
		say(d, PA_CHECK_FAILED, "sampling", "see the checks above", "%s", err.text);
	else
		say(d, PA_CHECK_OK, "sampling", NULL, "%u CPU%s, at most %ld Hz", events_nr_cpus(e),
		    events_nr_cpus(e) == 1 ? "" : "s", features_max_sample_rate());
	check_cycles(d, p);
}

static void check_sideband(struct doctor *d)
{
	_cleanup_(sideband_freep) struct sideband *s = NULL;
	struct pa_error err = { 0 };
	int r;

	if (!d->has_cpus)
		return;
	r = sideband_open(&d->online, NULL, &s, &err);
	if (r < 0) /* EPERM means that too much memory is locked */
		say(d, PA_CHECK_FAILED, "process events",
		    r == -EPERM ? "raise the memory lock limit (ulimit -l) or see the checks above"
				: "see the checks above",
		    "%s", err.text[0] ? err.text : strerror(-r));
	else if (!sideband_has_build_ids(s))
		say(d, PA_CHECK_LIMITED, "process events", "use Linux 5.12 or newer",
		    "without build-ids: a binary that is deleted within milliseconds gets no "
		    "symbols");
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

/* Tests access with the first mapped file of the agent itself. */
static void check_map_files(struct doctor *d)
{
	struct maps_entry e = { 0 };
	int r = d->has_proc ? procfs_maps(&d->proc, getpid(), first_file, &e, NULL) : -ENOENT;
	_cleanup_(closep) int fd =
		r < 0 ? r : procfs_open_mapped(&d->proc, getpid(), e.start, e.end, NULL);

	if (!d->has_proc)
		return;
	if (fd >= 0)
		say(d, PA_CHECK_OK, "mapped files", NULL,
		    "can be read through /proc/PID/map_files");
	else
		say(d, PA_CHECK_LIMITED, "mapped files",
		    "grant CAP_CHECKPOINT_RESTORE (Linux 5.9) or run as root",
		    "/proc/PID/map_files: %s; deleted binaries and those of containers get no "
		    "symbols",
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
	    addr ? "has addresses" : "shows no addresses: kernel frames get no symbols");
}

/* Only needed if servers are given, so its absence is not a failure. */
static void check_debuginfod(struct doctor *d, const struct pa_options *opts)
{
	const char *program = opts->fetch_program ? opts->fetch_program : PERFAGENT_PROGRAM;
	enum fetch_result client = fetch_probe(program);

	if (client == FETCH_FETCHED)
		say(d, PA_CHECK_OK, "debuginfod", NULL,
		    "libdebuginfod is installed, to fetch debug files "
		    "(pa_options.debuginfod_urls)");
	else if (client == FETCH_NO_CLIENT)
		say(d, PA_CHECK_LIMITED, "debuginfod", "apt install libdebuginfod1",
		    "libdebuginfod is not installed: pa_options.debuginfod_urls fetches nothing, "
		    "and "
		    "stripped "
		    "binaries have only the names and lines that are on this machine");
	else
		say(d, PA_CHECK_LIMITED, "debuginfod",
		    "install perf-agent there, or make it executable",
		    "cannot run '%s', which fetches debug files", program);
}

static int no_entry(void *ctx, const struct maps_entry *e)
{
	return 1;
}

/* Security modules and user namespaces can refuse access even with the capability. */
static void say_closed_target(struct doctor *d, const char *subject, const char *comm, int r)
{
	bool is_forbidden = privilege_has_cap(CAP_SYS_PTRACE);

	say(d, PA_CHECK_LIMITED, subject,
	    is_forbidden
		    ? "allow it where it is forbidden: in a security module (AppArmor, SELinux), "
		      "or in a user namespace above this one; then profile from there"
		    : "grant CAP_SYS_PTRACE or run as root",
	    is_forbidden ? "'%s', its mappings cannot be read although CAP_SYS_PTRACE is there: %s"
			 : "'%s', its mappings cannot be read: %s",
	    comm, strerror(-r));
}

/* Asks the kernel directly, because /proc can hide processes. */
static bool is_alive(pid_t pid)
{
	return kill(pid, 0) == 0 || errno == EPERM;
}

static void check_target(struct doctor *d, const struct procfs *proc, pid_t pid)
{
	char subject[32], comm[PROC_COMM_SIZE] = "";
	int r = procfs_comm(proc, pid, comm);

	(void)snprintf(subject, sizeof(subject), "PID %d", pid);
	if (r < 0 && is_alive(pid)) {
		say(d, PA_CHECK_FAILED, subject, "run as root (sudo)",
		    "hidden from this user: /proc is mounted with hidepid");
		return;
	}
	if (r < 0) {
		say(d, PA_CHECK_FAILED, subject, "give the PID of a running process", "%s",
		    strerror(-r));
		return;
	}
	r = procfs_maps(proc, pid, no_entry, NULL, NULL);
	if (r > 0)
		say(d, PA_CHECK_OK, subject, NULL, "'%s', its mappings can be read", comm);
	else if (r == 0)
		say(d, PA_CHECK_LIMITED, subject, "profile with pa_options.kernel_stacks",
		    "'%s' is a kernel thread or is exiting: it has no user stack", comm);
	else
		say_closed_target(d, subject, comm, r);
}

static void check_targets(struct doctor *d, const struct pa_options *opts)
{
	for (size_t i = 0; d->has_proc && i < opts->nr_pids; i++)
		check_target(d, &d->proc, opts->pids[i]);
}

int pa_doctor(const struct pa_options *opts, pa_check_fn fn, void *ctx)
{
	struct doctor d = {
		.fn = fn, .ctx = ctx, .machine = machine_examine(), .proc = { .fd = -1 }
	};
	struct pa_options o = { 0 };
	int r = !fn ? -EINVAL : opts ? settings_read(opts, &o, NULL) : 0;

	if (r < 0)
		return r;
	check_kernel(&d);
	check_types(&d);
	check_cpus(&d);
	check_proc(&d);
	check_privileges(&d);
	check_open_files(&d);
	check_sampling(&d);
	check_sideband(&d);
	check_map_files(&d);
	check_kallsyms(&d);
	check_debuginfod(&d, &o);
	check_targets(&d, &o);
	procfs_close(&d.proc);
	return d.nr_failed;
}
