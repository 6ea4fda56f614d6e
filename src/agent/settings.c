/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/settings.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/pa_file.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "collect/cpus.h"
#include "collect/features.h"
#include "collect/programs.h"
#include "fetch/server_url.h"
#include "perfdata/perf_data.h"
#include "write/pmu_text.h"
#include "write/writer.h"

/* up to what a capture and its outputs need */
#define OPTIONS_MIN_BYTES SIZED_UP_TO(struct pa_options, nr_outputs)
#define DEFAULT_RATE_HZ 99
#define DEFAULT_DRAIN_MS 100
#define MAX_DRAIN_MS 60000
#define MAX_TIDS 4096
#define MAX_NAMES 1024
#define MAX_TAGS 1024
#define MAX_URLS 64
#define MAX_OUTPUTS 64
#define DEFAULT_FUNCTIONS 100
#define MAX_FUNCTIONS 10000
#define MAX_TABLE_BYTES (1ull << 40)
#define DEFAULT_CACHE_MAX_BYTES (2ull << 30)
#define DEFAULT_FETCH_TIMEOUT_NS (30 * NS_PER_S)

#define DEFAULT_STATES (PA_OFF_CPU_SLEEP | PA_OFF_CPU_DISK)
#define ALL_STATES (DEFAULT_STATES | PA_OFF_CPU_RUNQUEUE | PA_OFF_CPU_PREEMPTED)

/* Fields unknown to this library must be zero. */
static int copy_sized(struct pa_options *to, const struct pa_options *from, struct pa_error *err)
{
	int r;

	if (!from)
		return error_set(err, EINVAL, "pa_options: the pointer is NULL");
	*to = (struct pa_options){ 0 };
	r = sized_copy(to, from, OPTIONS_MIN_BYTES, sizeof(*to));
	if (r < 0)
		return sized_error(err, r, "pa_options", "pa_options", from, sizeof(*to));
	to->sz = sizeof(*to);
	return 0;
}

static int copy_string(const char **s)
{
	if (!*s)
		return 0;
	*s = strdup(*s);
	return *s ? 0 : -ENOMEM;
}

static int copy_list(const char *const *from, size_t nr, const char *const **ret_list)
{
	char **list = calloc(nr + 1, sizeof(*list));

	*ret_list = (const char *const *)list;
	for (size_t i = 0; list && i < nr; i++) {
		list[i] = strdup(from[i]);
		if (!list[i])
			return -ENOMEM;
	}
	return list ? 0 : -ENOMEM;
}

static void free_list(const char *const *list, size_t nr)
{
	for (size_t i = 0; list && i < nr; i++)
		free((char *)(uintptr_t)list[i]);
	free((void *)(uintptr_t)list);
}

static int copy_ids(const pid_t *from, size_t nr, const pid_t **ret_ids)
{
	pid_t *ids = calloc(nr + 1, sizeof(*ids));

	*ret_ids = ids;
	if (!ids)
		return -ENOMEM;
	if (nr)
		memcpy(ids, from, nr * sizeof(*ids));
	return 0;
}

/* The distance to the next output is the size stored in each output: the caller may be older or
 * newer. */
static const struct pa_output *next_output(const struct pa_output *out)
{
	return (const struct pa_output *)((const char *)out + out->sz);
}

/* The members that an older caller does not have are zero: every kind of event, no callback. */
static int copy_output(struct pa_output *to, const struct pa_output *from)
{
	int r = sized_copy(to, from, PA_FILE_OUTPUT_MIN_BYTES, sizeof(*to));

	if (r < 0)
		return r; /* not expected: it was checked */
	to->sz = sizeof(*to);
	if (copy_string(&to->format) < 0)
		r = -ENOMEM; /* continue until no pointer is the caller's */
	if (copy_string(&to->path) < 0)
		r = -ENOMEM;
	return copy_string(&to->kind) < 0 ? -ENOMEM : r;
}

static int copy_outputs(struct pa_options *o, const struct pa_output *from)
{
	struct pa_output *to = calloc(o->nr_outputs + 1, sizeof(*to));
	int r = to ? 0 : -ENOMEM;

	o->outputs = to;
	for (size_t i = 0; i < o->nr_outputs && r == 0; i++, from = next_output(from))
		r = copy_output(&to[i], from);
	return r;
}

static void free_outputs(const struct pa_output *outputs, size_t nr)
{
	for (size_t i = 0; outputs && i < nr; i++) {
		free((char *)(uintptr_t)outputs[i].format);
		free((char *)(uintptr_t)outputs[i].path);
		free((char *)(uintptr_t)outputs[i].kind);
	}
	free((void *)(uintptr_t)outputs);
}

/* As for outputs, the distance to the next one is the size stored in each. */
static const struct pa_exporter *next_exporter(const struct pa_exporter *e)
{
	return (const struct pa_exporter *)((const char *)e + e->sz);
}

static int copy_exporters(const struct pa_exporter *from, size_t nr,
			  const struct pa_exporter **ret_exporters)
{
	struct pa_exporter *to = calloc(nr + 1, sizeof(*to));

	*ret_exporters = to;
	for (size_t i = 0; to && i < nr; i++, from = next_exporter(from))
		to[i] = *from;
	return to ? 0 : -ENOMEM;
}

/* Replaces every pointer by a copy of our own. A pointer that could not be copied becomes NULL, and
 * the rest is freed later. */
static int own(struct pa_options *o)
{
	const char **strings[] = { &o->auto_name,   &o->symbol_cache_dir, &o->fetch_program,
				   &o->target_text, &o->cgroup,           &o->cpus,
				   &o->pod_name,    &o->pod_namespace,    &o->container_name };
	const char *const *tags = o->tags, *const *urls = o->debuginfod_urls;
	const char *const *names = o->process_names;
	const struct pa_output *outputs = o->outputs;
	const struct pa_exporter *exporters = o->exporters;
	const pid_t *pids = o->pids, *tids = o->tids;
	int r = 0;

	o->exporters = NULL;
	o->outputs = NULL;
	o->tags = NULL;
	o->debuginfod_urls = NULL;
	o->pids = NULL;
	o->process_names = NULL;
	o->tids = NULL;
	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
		if (copy_string(strings[i]) < 0)
			r = -ENOMEM; /* continue until no pointer is the caller's */
	if (r == 0)
		r = copy_list(tags, o->nr_tags, &o->tags);
	if (r == 0)
		r = copy_list(urls, o->nr_debuginfod_urls, &o->debuginfod_urls);
	if (r == 0)
		r = copy_list(names, o->nr_process_names, &o->process_names);
	if (r == 0)
		r = copy_ids(pids, o->nr_pids, &o->pids);
	if (r == 0)
		r = copy_ids(tids, o->nr_tids, &o->tids);
	if (r == 0)
		r = copy_outputs(o, outputs);
	if (r == 0)
		r = copy_exporters(exporters, o->nr_exporters, &o->exporters);
	return r;
}

void settings_done(struct settings *s)
{
	struct pa_options *o = &s->o;

	free((char *)(uintptr_t)o->auto_name);
	free((char *)(uintptr_t)o->symbol_cache_dir);
	free((char *)(uintptr_t)o->fetch_program);
	free((char *)(uintptr_t)o->target_text);
	free_list(o->tags, o->nr_tags);
	free_list(o->debuginfod_urls, o->nr_debuginfod_urls);
	free((char *)(uintptr_t)o->cgroup);
	free((char *)(uintptr_t)o->pod_name);
	free((char *)(uintptr_t)o->pod_namespace);
	free((char *)(uintptr_t)o->container_name);
	free_list(o->process_names, o->nr_process_names);
	free((void *)(uintptr_t)o->pids);
	free((void *)(uintptr_t)o->tids);
	free_outputs(o->outputs, o->nr_outputs);
	free((void *)(uintptr_t)o->exporters);
	free((char *)(uintptr_t)o->cpus);
	*o = (struct pa_options){ 0 };
}

/* Determines the one way in which targets are selected. */
static int find_select(const struct pa_options *o, enum pa_select *ret_select, struct pa_error *err)
{
	const struct {
		enum pa_select select;
		bool is_asked_for;
	} ways[] = {
		{ PA_SELECT_PIDS, o->nr_pids || o->nr_process_names },
		{ PA_SELECT_ALL, o->all },
		{ PA_SELECT_TIDS, o->nr_tids },
		{ PA_SELECT_USER, o->select_user },
		{ PA_SELECT_CGROUP, o->cgroup },
	};
	unsigned int nr = 0;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (ways[i].is_asked_for) {
			*ret_select = ways[i].select;
			nr++;
		}
	if (nr == 1)
		return 0;
	return error_set(err, EINVAL, "targets: %s",
			 nr ? "processes, threads, a user, a cgroup and the whole machine are "
			      "mutually exclusive"
			    : "processes, threads, a user, a cgroup or the whole machine is "
			      "required");
}

/* A pidfd exists only for processes and is readable once they have ended. */
static int check_pid(pid_t pid, struct pa_error *err)
{
	_cleanup_(closep) int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (pid <= 0)
		return error_set(err, EINVAL, "pa_options.pids %d: a PID is a positive number",
				 pid);
	if (fd < 0 && errno == ESRCH)
		return error_set(err, ESRCH, "pa_options.pids %d: no such process", pid);
	if (fd < 0 && (errno == EINVAL || errno == ENOENT))
		return error_set(err, EINVAL,
				 "pa_options.pids %d: that is a thread; give the PID of its "
				 "process",
				 pid);
	if (fd >= 0 && poll(&p, 1, 0) == 1)
		return error_set(err, ESRCH, "pa_options.pids %d: the process has already exited",
				 pid);
	return 0;
}

/* The ID of a main thread that has exited is detected when it is added. */
static int check_tid(pid_t tid, struct pa_error *err)
{
	if (tid <= 0)
		return error_set(err, EINVAL, "pa_options.tids %d: a TID is a positive number",
				 tid);
	if (kill(tid, 0) < 0 && errno == ESRCH)
		return error_set(err, ESRCH, "pa_options.tids %d: no such thread", tid);
	return 0;
}

static int check_names(const struct pa_options *o, struct pa_error *err)
{
	for (size_t i = 0; i < o->nr_process_names; i++)
		if (!o->process_names[i] || !o->process_names[i][0])
			return error_set(err, EINVAL,
					 "pa_options.process_names: one of them is empty");
	return 0;
}

static int check_rate(const struct pa_options *o, struct pa_error *err)
{
	long max = features_max_sample_rate();

	if (max > 0 && o->sample_rate_hz > (unsigned long)max)
		return error_set(err, EINVAL,
				 "pa_options.sample_rate_hz %u: the kernel allows at most %ld "
				 "(sysctl kernel.perf_event_max_sample_rate)",
				 o->sample_rate_hz, max);
	return 0;
}

static int check_enums(const struct pa_options *o, struct pa_error *err)
{
	if (o->event != PA_EVENT_CPU_CLOCK && o->event != PA_EVENT_CYCLES)
		return error_set(err, EINVAL, "pa_options.event: %d is not an enum pa_event",
				 (int)o->event);
	if (o->unwind != PA_UNWIND_AUTO && o->unwind != PA_UNWIND_FP &&
	    o->unwind != PA_UNWIND_DWARF)
		return error_set(err, EINVAL, "pa_options.unwind: %d is not an enum pa_unwind",
				 (int)o->unwind);
	if (o->off_cpu_states & ~ALL_STATES)
		return error_set(err, EINVAL,
				 "pa_options.off_cpu_states: %u is not of enum pa_off_cpu_state",
				 o->off_cpu_states);
	return 0;
}

/* No user has this ID: system calls take it for "no change". */
static int check_user(const struct pa_options *o, struct pa_error *err)
{
	if (o->select_user && o->user == (uid_t)-1)
		return error_set(err, EINVAL, "pa_options.user: -1 is not a user");
	return 0;
}

static int check_modes(const struct pa_options *o, struct pa_error *err)
{
	if (o->modes & ~(unsigned int)(PA_MODE_PROFILE | PA_MODE_OFFCPU | PA_MODE_PMU))
		return error_set(err, EINVAL, "pa_options.modes: %#x is not a sum of enum pa_mode",
				 o->modes);
	if (o->per_process && !(o->modes & PA_MODE_PMU))
		return error_set(err, EINVAL,
				 "pa_options.per_process: only with scheduler statistics");
	if (o->per_process && !o->all)
		return error_set(err, EINVAL, "pa_options.per_process: only of the whole machine");
	if (o->inject_python && o->modes && !(o->modes & PA_MODE_PROFILE))
		return error_set(err, EINVAL,
				 "pa_options.inject_python: only with an on-CPU profile");
	return 0;
}

static int check_sizes(const struct pa_options *o, struct pa_error *err)
{
	const struct {
		const char *member;
		uint64_t value, max;
	} sizes[] = {
		{ "sample_rate_hz", o->sample_rate_hz, NS_PER_S },
		{ "duration_ns", o->duration_ns, INT64_MAX },
		{ "ring_bytes", o->ring_bytes, PROGRAMS_MAX_RING_BYTES },
		{ "drain_interval_ms", o->drain_interval_ms, MAX_DRAIN_MS },
		{ "table_bytes", o->table_bytes, MAX_TABLE_BYTES },
		{ "symbol_cache_max_bytes", o->symbol_cache_max_bytes, INT64_MAX },
		{ "symbol_fetch_timeout_ns", o->symbol_fetch_timeout_ns, INT64_MAX },
		{ "max_functions", o->max_functions, MAX_FUNCTIONS },
		{ "off_cpu_min_ns", o->off_cpu_min_ns, INT64_MAX },
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (sizes[i].value > sizes[i].max)
			return error_set(err, EINVAL, "pa_options.%s: %llu is more than %llu",
					 sizes[i].member, (unsigned long long)sizes[i].value,
					 (unsigned long long)sizes[i].max);
	return 0;
}

static int check_list(const char *member, const void *list, size_t nr, size_t max,
		      struct pa_error *err)
{
	if (nr > max)
		return error_set(err, E2BIG, "pa_options.%s: %zu are more than %zu", member, nr,
				 max);
	if (nr && !list)
		return error_set(err, EINVAL, "pa_options.%s: NULL, but its number is %zu", member,
				 nr);
	return 0;
}

static bool is_format(const char *name)
{
	return writer_find(name) || strcmp(name, PMU_TEXT_FORMAT) == 0 ||
	       strcmp(name, PERF_DATA_FORMAT) == 0;
}

static int check_output(const struct pa_output *out, struct pa_error *err)
{
	struct pa_output known = { 0 };
	int r = pa_file_copy_output(out, &known, "pa_options.outputs", err);

	if (r < 0)
		return r;
	if (!out->format || !is_format(out->format))
		return error_set(err, EINVAL, "pa_options.outputs: '%s' is not a format",
				 out->format ? out->format : "");
	return pa_file_check_output(&known, "pa_options.outputs", err);
}

static int check_outputs(const struct pa_options *o, struct pa_error *err)
{
	const struct pa_output *out = o->outputs;
	int r = check_list("outputs", out, o->nr_outputs, MAX_OUTPUTS, err);

	for (size_t i = 0; r == 0 && i < o->nr_outputs; i++) {
		r = check_output(out, err);
		if (r == 0)
			out = next_output(out);
	}
	return r;
}

static int check_exporters(const struct pa_options *o, struct pa_error *err)
{
	const struct pa_exporter *e = o->exporters;
	int r = check_list("exporters", e, o->nr_exporters, SETTINGS_MAX_EXPORTERS, err);

	for (size_t i = 0; r == 0 && i < o->nr_exporters; i++) {
		r = sized_check(e, SIZED_UP_TO(struct pa_exporter, interval_ns), sizeof(*e));
		if (r < 0)
			return sized_error(err, r, "pa_options.exporters", "pa_exporter", e,
					   sizeof(*e));
		if (!e->send)
			return error_set(err, EINVAL, "pa_options.exporters: send is NULL");
		e = next_exporter(e);
	}
	return r;
}

static int check_cpus(const struct pa_options *o, struct pa_error *err)
{
	struct cpus cpus;

	if (!o->cpus)
		return 0;
	if (cpus_parse(o->cpus, &cpus) < 0 || cpus_count(&cpus) == 0)
		return error_set(err, EINVAL,
				 "pa_options.cpus: '%s' is not a list of CPUs; write it like 0-3,8",
				 o->cpus);
	if (o->modes & ~(unsigned int)PA_MODE_PROFILE)
		return error_set(err, EINVAL, "pa_options.cpus: only for on-CPU profiles");
	return 0;
}

static int check_lists(const struct pa_options *o, struct pa_error *err)
{
	int r = check_list("pids", o->pids, o->nr_pids, SETTINGS_MAX_PIDS, err);

	if (r == 0)
		r = check_list("tids", o->tids, o->nr_tids, MAX_TIDS, err);
	if (r == 0)
		r = check_list("process_names", o->process_names, o->nr_process_names, MAX_NAMES,
			       err);
	if (r == 0)
		r = check_names(o, err);
	if (r == 0)
		r = check_list("tags", o->tags, o->nr_tags, MAX_TAGS, err);
	if (r == 0)
		r = check_list("debuginfod_urls", o->debuginfod_urls, o->nr_debuginfod_urls,
			       MAX_URLS, err);
	if (r == 0)
		r = check_outputs(o, err);
	if (r == 0)
		r = check_exporters(o, err);
	if (r == 0)
		r = check_cpus(o, err);
	for (size_t i = 0; r == 0 && i < o->nr_tags; i++)
		if (!o->tags[i])
			return error_set(err, EINVAL, "pa_options.tags: one of them is NULL");
	return r;
}

static int check_urls(const struct pa_options *o, struct pa_error *err)
{
	for (size_t i = 0; i < o->nr_debuginfod_urls; i++) {
		const char *url = o->debuginfod_urls[i];
		const char *mistake = url ? server_url_mistake(url) : "it is NULL";

		if (mistake)
			return error_set(err, EINVAL,
					 "pa_options.debuginfod_urls '%s': %s; give a URL like "
					 "https://debuginfod.elfutils.org",
					 url ? url : "", mistake);
	}
	return 0;
}

int settings_read(const struct pa_options *opts, struct pa_options *ret_options,
		  struct pa_error *err)
{
	int r = copy_sized(ret_options, opts, err);

	if (r == 0)
		r = check_enums(ret_options, err);
	if (r == 0)
		r = check_modes(ret_options, err);
	if (r == 0)
		r = check_user(ret_options, err);
	if (r == 0)
		r = check_sizes(ret_options, err);
	return r < 0 ? r : check_lists(ret_options, err);
}

/* Checks what depends on this machine and on the processes that run now. */
static int check(const struct pa_options *o, struct pa_error *err)
{
	int r = check_rate(o, err);

	for (size_t i = 0; i < o->nr_pids && r == 0; i++)
		r = check_pid(o->pids[i], err);
	for (size_t i = 0; i < o->nr_tids && r == 0; i++)
		r = check_tid(o->tids[i], err);
	return r < 0 ? r : check_urls(o, err);
}

int settings_init(struct settings *s, const struct pa_options *opts, struct pa_error *err)
{
	struct pa_options *o = &s->o;
	int r = settings_read(opts, o, err);

	if (r == 0)
		r = find_select(o, &s->select, err);
	if (r == 0)
		r = check(o, err);
	if (r < 0) {
		*o = (struct pa_options){ 0 }; /* its pointers still belong to the caller */
		return r;
	}
	if (!o->modes)
		o->modes = PA_MODE_PROFILE;
	if (!o->sample_rate_hz)
		o->sample_rate_hz = DEFAULT_RATE_HZ;
	if (!o->symbol_cache_max_bytes)
		o->symbol_cache_max_bytes = DEFAULT_CACHE_MAX_BYTES;
	if (!o->symbol_fetch_timeout_ns)
		o->symbol_fetch_timeout_ns = DEFAULT_FETCH_TIMEOUT_NS;
	if (!o->max_functions)
		o->max_functions = DEFAULT_FUNCTIONS;
	if (!o->drain_interval_ms)
		o->drain_interval_ms = DEFAULT_DRAIN_MS;
	if (!o->off_cpu_states)
		o->off_cpu_states = DEFAULT_STATES;
	s->nr_given_pids = o->nr_pids;
	r = own(o);
	if (r < 0)
		settings_done(s);
	return r;
}

int settings_renew(struct settings *s, struct pa_error *err)
{
	s->o.nr_pids = s->nr_given_pids;
	return check(&s->o, err);
}

int settings_add_pid(struct settings *s, pid_t pid)
{
	struct pa_options *o = &s->o;
	pid_t *pids;

	if (o->nr_pids == SETTINGS_MAX_PIDS)
		return -E2BIG;
	pids = realloc((void *)(uintptr_t)o->pids, (o->nr_pids + 1) * sizeof(*pids));
	if (!pids)
		return -ENOMEM;
	pids[o->nr_pids++] = pid;
	o->pids = pids;
	return 0;
}
