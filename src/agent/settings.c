/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/settings.h"

#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "collect/features.h"
#include "fetch/server_url.h"

#define DEFAULT_RATE_HZ 99
#define DEFAULT_DRAIN_MS 100
#define MAX_DRAIN_MS 60000
#define MAX_PIDS 4096
#define MAX_TAGS 1024
#define MAX_URLS 64
#define DEFAULT_CACHE_MAX_BYTES (2ull << 30)
#define DEFAULT_FETCH_TIMEOUT_NS (30 * NS_PER_S)

/* Fields that this library does not know must not be set. */
static int copy_sized(struct pa_options *to, const struct pa_options *from, struct pa_error *err)
{
	const char *bytes = (const char *)from;

	if (!from || from->sz < sizeof(from->sz))
		return error_set(err, EINVAL, "options: sz is not set");
	for (size_t i = sizeof(*to); i < from->sz; i++)
		if (bytes[i])
			return error_set(err, E2BIG, "options: made for a newer library");
	*to = (struct pa_options){ 0 };
	memcpy(to, from, from->sz < sizeof(*to) ? from->sz : sizeof(*to));
	to->sz = sizeof(*to);
	return 0;
}

static int copy_string(const char **s)
{
	if (*s)
		*s = strdup(*s);
	return 0;
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

static int copy_pids(struct pa_options *o, const pid_t *from)
{
	pid_t *pids = calloc(o->nr_pids + 1, sizeof(*pids));

	o->pids = pids;
	if (!pids)
		return -ENOMEM;
	if (o->nr_pids)
		memcpy(pids, from, o->nr_pids * sizeof(*pids));
	return 0;
}

/* Every pointer becomes our own copy; what could not be copied is NULL and freed with the rest. */
static int own(struct pa_options *o)
{
	const char **strings[] = { &o->pprof_path, &o->folded_path, &o->auto_name,
				   &o->symbol_cache_dir, &o->fetch_program };
	const char *const *tags = o->tags, *const *urls = o->debuginfod_urls;
	const pid_t *pids = o->pids;
	int r = 0;

	o->tags = NULL;
	o->debuginfod_urls = NULL;
	o->pids = NULL;
	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
		bool was_set = *strings[i] != NULL;

		copy_string(strings[i]);
		if (was_set && !*strings[i])
			r = -ENOMEM;
	}
	if (r == 0)
		r = copy_list(tags, o->nr_tags, &o->tags);
	if (r == 0)
		r = copy_list(urls, o->nr_debuginfod_urls, &o->debuginfod_urls);
	if (r == 0)
		r = copy_pids(o, pids);
	return r;
}

void settings_done(struct settings *s)
{
	struct pa_options *o = &s->o;

	free((char *)(uintptr_t)o->pprof_path);
	free((char *)(uintptr_t)o->folded_path);
	free((char *)(uintptr_t)o->auto_name);
	free((char *)(uintptr_t)o->symbol_cache_dir);
	free((char *)(uintptr_t)o->fetch_program);
	free_list(o->tags, o->nr_tags);
	free_list(o->debuginfod_urls, o->nr_debuginfod_urls);
	free((void *)(uintptr_t)o->pids);
	*o = (struct pa_options){ 0 };
}

static int check_target(const struct pa_options *o, struct pa_error *err)
{
	if (o->all && o->nr_pids)
		return error_set(err, EINVAL,
				 "targets: pids and the whole machine are mutually exclusive");
	if (!o->all && !o->nr_pids)
		return error_set(err, EINVAL, "targets: a pid or the whole machine is required");
	if (o->nr_pids > MAX_PIDS || o->nr_tags > MAX_TAGS)
		return error_set(err, E2BIG, "options: at most %d pids and %d tags", MAX_PIDS,
				 MAX_TAGS);
	return 0;
}

/* A pidfd exists only for processes, and is readable once they have ended. */
static int check_pid(pid_t pid, struct pa_error *err)
{
	_cleanup_(closep) int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (pid <= 0)
		return error_set(err, EINVAL, "--pid %d: a PID is a positive number", pid);
	if (fd < 0 && errno == ESRCH)
		return error_set(err, ESRCH, "--pid %d: no such process", pid);
	if (fd < 0 && (errno == EINVAL || errno == ENOENT))
		return error_set(err, EINVAL,
				 "--pid %d: that is a thread; give the PID of its process", pid);
	if (fd >= 0 && poll(&p, 1, 0) == 1)
		return error_set(err, ESRCH, "--pid %d: the process has already exited", pid);
	return 0;
}

static int check_rate(const struct pa_options *o, struct pa_error *err)
{
	long max = features_max_sample_rate();

	if (max > 0 && o->sample_rate_hz > (unsigned long)max)
		return error_set(err, EINVAL,
				 "--sample-rate %u: the kernel allows at most %ld (sysctl "
				 "kernel.perf_event_max_sample_rate)",
				 o->sample_rate_hz, max);
	if (o->event != PA_EVENT_CPU_CLOCK && o->event != PA_EVENT_CYCLES)
		return error_set(err, EINVAL, "--event: no such event");
	return 0;
}

static int check_urls(const struct pa_options *o, struct pa_error *err)
{
	if (o->nr_debuginfod_urls > MAX_URLS)
		return error_set(err, E2BIG, "options: at most %d debuginfod servers", MAX_URLS);
	for (size_t i = 0; i < o->nr_debuginfod_urls; i++) {
		const char *url = o->debuginfod_urls[i], *mistake = server_url_mistake(url);

		if (mistake)
			return error_set(err, EINVAL,
					 "--debuginfod-url '%s': %s; give a URL like "
					 "https://debuginfod.elfutils.org",
					 url ? url : "", mistake);
	}
	return 0;
}

static int check(const struct pa_options *o, struct pa_error *err)
{
	int r = check_target(o, err);

	if (r == 0)
		r = check_rate(o, err);
	for (size_t i = 0; i < o->nr_pids && r == 0; i++)
		r = check_pid(o->pids[i], err);
	if (r == 0)
		r = check_urls(o, err);
	if (r == 0 && o->drain_interval_ms > MAX_DRAIN_MS)
		r = error_set(err, EINVAL, "options: drain_interval_ms is at most %d",
			      MAX_DRAIN_MS);
	return r;
}

int settings_init(struct settings *s, const struct pa_options *opts, struct pa_error *err)
{
	struct pa_options *o = &s->o;
	int r = copy_sized(o, opts, err);

	if (r == 0)
		r = check(o, err);
	if (r < 0) {
		*o = (struct pa_options){ 0 }; /* its pointers are still the caller's */
		return r;
	}
	if (!o->sample_rate_hz)
		o->sample_rate_hz = DEFAULT_RATE_HZ;
	if (!o->symbol_cache_max_bytes)
		o->symbol_cache_max_bytes = DEFAULT_CACHE_MAX_BYTES;
	if (!o->symbol_fetch_timeout_ns)
		o->symbol_fetch_timeout_ns = DEFAULT_FETCH_TIMEOUT_NS;
	if (!o->drain_interval_ms)
		o->drain_interval_ms = DEFAULT_DRAIN_MS;
	r = own(o);
	if (r < 0)
		settings_done(s);
	return r;
}
