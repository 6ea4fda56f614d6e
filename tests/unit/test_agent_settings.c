/* SPDX-License-Identifier: Apache-2.0 */
/* Every enum, size and list of the options: the last good value is taken, the next one refused. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "agent/settings.h"
#include "tap.h"

static pid_t self;

static struct pa_options good_options(void)
{
	return (struct pa_options){ .sz = sizeof(struct pa_options), .pids = &self, .nr_pids = 1 };
}

static void takes(const struct pa_options *o, const char *what)
{
	struct pa_error err = { 0 };
	struct settings s;
	int r = settings_init(&s, o, &err);

	ok(r == 0, "%s is taken%s%s", what, r ? ": " : "", err.text);
	settings_done(&s);
}

static void refuses(const struct pa_options *o, int code, const char *field, const char *what)
{
	struct pa_error err = { 0 };
	struct settings s;
	int r = settings_init(&s, o, &err);

	ok(r == -code && err.code == code && strcmp(err.field, field) == 0,
	   "%s is refused by its name: '%s', %s", what, err.field, err.text);
	ok(!s.o.pids && !s.o.tags, "a failed copy of the options keeps nothing of the caller");
}

/* member = value, as a statement of the test. */
#define TAKES(assignment)                                                                          \
	do {                                                                                       \
		struct pa_options o = good_options();                                              \
		o.assignment;                                                                      \
		takes(&o, #assignment);                                                            \
	} while (0)

#define REFUSES(code, field, assignment)                                                           \
	do {                                                                                       \
		struct pa_options o = good_options();                                              \
		o.assignment;                                                                      \
		refuses(&o, code, field, #assignment);                                             \
	} while (0)

static void test_enums(void)
{
	TAKES(event = PA_EVENT_CYCLES);
	REFUSES(EINVAL, "event", event = (enum pa_event)(PA_EVENT_CYCLES + 1));
	REFUSES(EINVAL, "event", event = (enum pa_event) - 1);
	REFUSES(EINVAL, "event", event = (enum pa_event)INT_MAX);
	TAKES(unwind = PA_UNWIND_FP);
	TAKES(unwind = PA_UNWIND_DWARF);
	REFUSES(EINVAL, "unwind", unwind = (enum pa_unwind)(PA_UNWIND_DWARF + 1));
	REFUSES(EINVAL, "unwind", unwind = (enum pa_unwind) - 1);
	REFUSES(EINVAL, "unwind", unwind = (enum pa_unwind)INT_MIN);
	TAKES(modes = PA_MODE_PMU);
	TAKES(modes = PA_MODE_PMU | PA_MODE_PROFILE);
	REFUSES(EINVAL, "modes", modes = 1u << 31);
	TAKES(off_cpu_states = PA_OFF_CPU_PREEMPTED);
	TAKES(off_cpu_states = 15);
	REFUSES(EINVAL, "off_cpu_states", off_cpu_states = 16);
	REFUSES(EINVAL, "off_cpu_states", off_cpu_states = UINT_MAX);
	REFUSES(EINVAL, "per_process", per_process = true);
}

static void test_sizes(void)
{
	REFUSES(EINVAL, "sample_rate_hz", sample_rate_hz = UINT_MAX);
	TAKES(duration_ns = INT64_MAX);
	REFUSES(EINVAL, "duration_ns", duration_ns = 1ull << 63);
	TAKES(ring_bytes = 4096);
	TAKES(ring_bytes = 1u << 30);
	REFUSES(EINVAL, "ring_bytes", ring_bytes = (1u << 30) + 1);
	REFUSES(EINVAL, "ring_bytes", ring_bytes = SIZE_MAX);
	TAKES(drain_interval_ms = 60000);
	REFUSES(EINVAL, "drain_interval_ms", drain_interval_ms = 60001);
	TAKES(max_functions = 10000);
	REFUSES(EINVAL, "max_functions", max_functions = 10001);
	TAKES(table_bytes = 1);
	TAKES(table_bytes = 1ull << 40);
	REFUSES(EINVAL, "table_bytes", table_bytes = (1ull << 40) + 1);
	TAKES(symbol_cache_max_bytes = INT64_MAX);
	REFUSES(EINVAL, "symbol_cache_max_bytes", symbol_cache_max_bytes = 1ull << 63);
	TAKES(off_cpu_min_ns = INT64_MAX);
	REFUSES(EINVAL, "off_cpu_min_ns", off_cpu_min_ns = 1ull << 63);
	TAKES(symbol_fetch_timeout_ns = INT64_MAX);
	REFUSES(EINVAL, "symbol_fetch_timeout_ns", symbol_fetch_timeout_ns = 1ull << 63);
}

static void test_lists(void)
{
	const char *tags[] = { "a=b", NULL }, *urls[] = { "http://a", NULL };

	TAKES(nr_pids = 1);
	REFUSES(EINVAL, "pids", pids = NULL);
	REFUSES(E2BIG, "pids", nr_pids = 4097);
	REFUSES(E2BIG, "pids", nr_pids = SIZE_MAX);
	REFUSES(EINVAL, "pids", pids = &(pid_t){ 0 });
	REFUSES(EINVAL, "pids", pids = &(pid_t){ -1 });
	REFUSES(EINVAL, "tags", nr_tags = 1);
	REFUSES(E2BIG, "tags", nr_tags = 1025);
	REFUSES(EINVAL, "tags", tags = tags; o.nr_tags = 2);
	TAKES(tags = tags; o.nr_tags = 1);
	REFUSES(EINVAL, "debuginfod_urls", nr_debuginfod_urls = 1);
	REFUSES(E2BIG, "debuginfod_urls", nr_debuginfod_urls = 65);
	REFUSES(EINVAL, "debuginfod_urls", debuginfod_urls = urls; o.nr_debuginfod_urls = 2);
}

/* Exactly one way to choose targets. */
static void test_targets(void)
{
	const char *names[] = { "init", "" };
	struct pa_options none = { .sz = sizeof(none) };
	struct pa_options user = { .sz = sizeof(user), .select_user = true };
	struct pa_options cgroup = { .sz = sizeof(cgroup), .cgroup = "/" };
	struct settings s;

	refuses(&none, EINVAL, "", "no target");
	REFUSES(EINVAL, "", all = true);
	REFUSES(EINVAL, "", tids = &self; o.nr_tids = 1);
	REFUSES(EINVAL, "", select_user = true);
	REFUSES(EINVAL, "", cgroup = "/");
	TAKES(nr_pids = 0; o.select_user = true; o.user = (uid_t)-2);
	REFUSES(EINVAL, "user", nr_pids = 0; o.select_user = true; o.user = (uid_t)-1);
	TAKES(process_names = names; o.nr_process_names = 1);
	REFUSES(EINVAL, "process_names", process_names = names; o.nr_process_names = 2);
	REFUSES(EINVAL, "process_names", nr_process_names = 1);
	TAKES(nr_pids = 0; o.tids = &self; o.nr_tids = 1);
	REFUSES(EINVAL, "tids", nr_pids = 0; o.tids = &(pid_t){ 0 }; o.nr_tids = 1);
	REFUSES(ESRCH, "tids", nr_pids = 0; o.tids = &(pid_t){ INT_MAX }; o.nr_tids = 1);
	REFUSES(E2BIG, "tids", nr_pids = 0; o.tids = &self; o.nr_tids = 4097);
	ok(settings_init(&s, &user, NULL) == 0 && s.select == PA_SELECT_USER &&
		   !settings_has_target_list(&s),
	   "a user is selected");
	settings_done(&s);
	ok(settings_init(&s, &cgroup, NULL) == 0 && s.select == PA_SELECT_CGROUP &&
		   s.o.cgroup != cgroup.cgroup,
	   "a cgroup is selected, by a copy of its path");
	settings_done(&s);
}

static void test_outputs(void)
{
	struct pa_output outs[] = {
		{ .sz = sizeof(*outs), .format = "pprof" },
		{ .sz = sizeof(*outs), .format = "folded", .path = "-" },
		{ .sz = sizeof(*outs), .format = "pprof", .path = "again.pb.gz" },
	};
	struct pa_output none[] = { { .sz = sizeof(*none) } };
	struct pa_output other[] = { { .sz = sizeof(*other), .format = "xml" } };
	struct pa_output short_one[] = { { .sz = sizeof(*short_one) - 1, .format = "pprof" } };
	struct pa_output huge[] = { { .sz = SIZE_MAX - 7, .format = "pprof" } };

	TAKES(outputs = outs; o.nr_outputs = 3);
	TAKES(nr_outputs = 0);
	REFUSES(EINVAL, "outputs", nr_outputs = 1);
	REFUSES(E2BIG, "outputs", outputs = outs; o.nr_outputs = 65);
	REFUSES(EINVAL, "outputs", outputs = none; o.nr_outputs = 1);
	REFUSES(EINVAL, "outputs", outputs = other; o.nr_outputs = 1);
	REFUSES(EINVAL, "outputs", outputs = short_one; o.nr_outputs = 1);
	REFUSES(EINVAL, "outputs", outputs = huge; o.nr_outputs = 1);
}

/* Outputs of a newer caller lie further apart. */
static void test_newer_outputs(void)
{
	struct newer {
		struct pa_output out;
		size_t news;
	} newer[] = {
		{ .out = { .sz = sizeof(*newer), .format = "folded", .path = "a" } },
		{ .out = { .sz = sizeof(*newer), .format = "pprof", .path = "b" } },
	};
	struct pa_options o = good_options();
	struct settings s;

	o.outputs = &newer[0].out;
	o.nr_outputs = 2;
	must(settings_init(&s, &o, NULL) == 0);
	ok(s.o.nr_outputs == 2 && strcmp(s.o.outputs[0].path, "a") == 0 &&
		   strcmp(s.o.outputs[1].format, "pprof") == 0 &&
		   strcmp(s.o.outputs[1].path, "b") == 0 &&
		   s.o.outputs[1].path != newer[1].out.path,
	   "outputs of a newer caller are copied, one by one");
	settings_done(&s);
	newer[1].news = 1;
	refuses(&o, E2BIG, "outputs", "one whose news are used");
}

/* Options of an older caller, which end early, of a newer one, and of one that forgot. */
static void test_versions(void)
{
	struct {
		struct pa_options o;
		char newer[64];
	} both = { .o = good_options() };

	REFUSES(EINVAL, "sz", sz = 0);
	REFUSES(EINVAL, "sz", sz = sizeof(size_t) - 1);
	REFUSES(EINVAL, "sz", sz = SIZE_MAX);
	REFUSES(EINVAL, "sz", sz = sizeof(void *));
	REFUSES(EINVAL, "sz", sz = 2 * sizeof(void *));
	REFUSES(EINVAL, "sz", sz = sizeof(struct pa_options) - 1);
	both.o.sz = sizeof(both);
	takes(&both.o, "a newer structure whose news are not used");
	both.newer[63] = 1;
	refuses(&both.o, E2BIG, "", "one whose news are used");
	both.o.sz = offsetof(struct pa_options, table_bytes);
	both.o.table_bytes = SIZE_MAX;
	takes(&both.o, "an older structure, whatever lies behind it,");
}

static void test_doctor_options(void)
{
	struct pa_options o = good_options(), got;

	ok(settings_read(&o, &got, NULL) == 0 && got.pids == o.pids, "options can be read alone");
	o.unwind = (enum pa_unwind)3;
	ok(settings_read(&o, &got, NULL) == -EINVAL, "options that are read alone are checked");
}

int main(void)
{
	self = getpid();
	test_enums();
	test_sizes();
	test_lists();
	test_targets();
	test_outputs();
	test_newer_outputs();
	test_versions();
	test_doctor_options();
	return tap_done();
}
