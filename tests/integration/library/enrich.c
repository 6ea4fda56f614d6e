/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of the caller's own: pa_options.enrich in captures of a real process. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>

#include "lib_session.h"

/* An enricher, and what it saw. */
struct enricher {
	struct pa_session *session; /* set once it was created */
	unsigned int nr_calls, nr_of_target;
	char executable[PATH_MAX], comm[32];
	bool has_pid_label, is_on_own_thread;
	int set, metrics, stop, wait; /* results of calls */
	struct pa_labels *kept;       /* what must not be used later */
	pthread_t thread;             /* of the caller of the session */
	int result;
	int (*act)(struct enricher *e, struct pa_labels *labels);
};

static int enrich(void *ctx, const struct pa_process_info *p, struct pa_labels *labels)
{
	struct enricher *e = ctx;
	char pid[16];

	e->nr_calls++;
	if (p->pid != target)
		return 0;
	e->nr_of_target++;
	snprintf(e->executable, sizeof(e->executable), "%s", p->executable ? p->executable : "");
	snprintf(e->comm, sizeof(e->comm), "%s", p->comm);
	snprintf(pid, sizeof(pid), "%d", (int)p->pid);
	for (size_t i = 0; i < p->nr_labels; i++)
		e->has_pid_label |= !strcmp(p->labels[i].key, "pid") &&
				    !strcmp(p->labels[i].value, pid);
	e->is_on_own_thread = !pthread_equal(e->thread, pthread_self());
	return e->act ? e->act(e, labels) : e->result;
}

static struct pa_options enriched_options(struct enricher *e, const struct pa_output *outputs,
					  size_t nr)
{
	struct pa_options o = options(outputs, nr);

	e->thread = pthread_self();
	o.enrich = enrich;
	o.enrich_ctx = e;
	return o;
}

struct labelled {
	uint64_t nr, nr_team, nr_tid, nr_comm;
};

static int count_labels(void *ctx, const struct pa_stack *stack)
{
	struct labelled *l = ctx;

	l->nr++;
	for (size_t i = 0; i < stack->nr_labels; i++) {
		l->nr_team += !strcmp(stack->labels[i].key, "team?") &&
			      !strcmp(stack->labels[i].value, "se?arch");
		l->nr_tid += !strcmp(stack->labels[i].key, "tid");
		l->nr_comm += !strcmp(stack->labels[i].key, "comm");
	}
	return 0;
}

static struct labelled labels_of(struct sink *sink)
{
	struct labelled l = { 0 };
	struct pa_profile *p = NULL;

	must(pa_profile_parse(sink->bytes, sink->nr, NULL, NULL, &p, NULL) == 0);
	must(pa_profile_stacks(p, count_labels, &l) == 0);
	pa_profile_free(p);
	free(sink->bytes);
	*sink = (struct sink){ 0 };
	return l;
}

static int add_team(struct enricher *e, struct pa_labels *labels)
{
	char key[] = "team\x1b", value[] = "se\narch";
	struct pa_progress progress = { .sz = sizeof(progress) };
	struct pa_metrics *m = NULL;

	e->set = pa_labels_set(labels, key, value);
	memset(key, 'x', sizeof(key) - 1); /* both were copied */
	memset(value, 'x', sizeof(value) - 1);
	must(pa_labels_drop(labels, "tid") == 0);
	e->metrics = pa_session_metrics(e->session, &m, NULL);
	pa_metrics_free(m);
	pa_session_progress(e->session, &progress);
	return 0;
}

static uint64_t gap(const struct pa_session *s, const char *name)
{
	const struct pa_summary *sum = pa_session_summary(s);

	for (size_t i = 0; i < sum->nr_gaps; i++)
		if (!strcmp(PA_ITEM(sum, pa_count, sum->gaps, i)->name, name))
			return PA_ITEM(sum, pa_count, sum->gaps, i)->count;
	return UINT64_MAX;
}

/* Two profiles of one process. */
static void test_two_profiles(void)
{
	struct sink on = { 0 }, off = { 0 };
	struct pa_output outputs[] = {
		{ .sz = sizeof(*outputs),
		  .format = "pprof",
		  .kind = "on-cpu",
		  .write = sink_write,
		  .write_ctx = &on },
		{ .sz = sizeof(*outputs),
		  .format = "pprof",
		  .kind = "off-cpu",
		  .write = sink_write,
		  .write_ctx = &off },
	};
	struct enricher e = { .act = add_team };
	struct pa_options o = enriched_options(&e, outputs, 2);
	struct pa_error err = { 0 };
	char self[PATH_MAX] = "";
	struct labelled l;

	o.modes = PA_MODE_PROFILE | PA_MODE_OFFCPU;
	must(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	must(pa_session_new(&o, &e.session, &err) == 0);
	ok(e.nr_calls == 0, "nobody is asked for labels before the capture");
	must(pa_session_start(e.session, &err) == 0);
	ok(pa_session_wait(e.session, -1, &err) == 0, "a capture with labels works: %s", err.text);
	ok(e.nr_of_target == 1, "a process is asked for once, for both profiles: %u times",
	   e.nr_of_target);
	ok(!strcmp(e.executable, self) && !strncmp(e.comm, "lib_enrich", 10) && e.has_pid_label,
	   "the program, name and labels of the process are known: %s, %s", e.executable, e.comm);
	ok(e.is_on_own_thread && e.metrics == 0,
	   "it is called on the session's thread, and may take metrics");
	ok(e.set == 0, "a label is taken");
	l = labels_of(&on);
	ok(l.nr > 0 && l.nr_team == l.nr && l.nr_tid == 0 && l.nr_comm == l.nr,
	   "all %llu on-CPU stacks have the added label, cleaned, and not the dropped one: %llu, "
	   "%llu",
	   (unsigned long long)l.nr, (unsigned long long)l.nr_team, (unsigned long long)l.nr_tid);
	l = labels_of(&off);
	ok(l.nr > 0 && l.nr_team == l.nr && l.nr_tid == 0 && l.nr_comm == l.nr,
	   "all %llu off-CPU stacks have the added label, and not the dropped one: %llu, %llu",
	   (unsigned long long)l.nr, (unsigned long long)l.nr_team, (unsigned long long)l.nr_tid);
	ok(gap(e.session, "labels_failed") == 0 && gap(e.session, "labels_full") == 0,
	   "no label is missing");
	must(pa_session_stop(e.session, &err) == 0 && pa_session_start(e.session, &err) == 0);
	must(pa_session_wait(e.session, -1, &err) == 0);
	ok(e.nr_of_target == 2, "another capture asks again");
	pa_session_free(e.session);
	free(on.bytes);
	free(off.bytes);
}

struct messages {
	unsigned int nr;
	char last[256];
};

static void take_message(void *ctx, enum pa_log_level level, const char *text)
{
	struct messages *m = ctx;

	if (level != PA_LOG_WARN || strncmp(text, "labels: ", 8) != 0)
		return;
	m->nr++;
	snprintf(m->last, sizeof(m->last), "%s", text);
}

static unsigned int warnings_with(const char *const *formats, size_t nr, char *last)
{
	struct sink sinks[2] = { { 0 }, { 0 } };
	struct pa_output outputs[2] = { 0 };
	struct enricher e = { 0 };
	struct pa_options o = enriched_options(&e, outputs, nr);
	struct pa_error err = { 0 };
	struct messages m = { 0 };

	for (size_t i = 0; i < nr; i++)
		outputs[i] = (struct pa_output){ .sz = sizeof(*outputs),
						 .format = formats[i],
						 .write = sink_write,
						 .write_ctx = &sinks[i] };
	o.log = take_message;
	o.log_ctx = &m;
	must(pa_session_new(&o, &e.session, &err) == 0);
	pa_session_free(e.session);
	strcpy(last, m.last);
	return m.nr;
}

static void test_unseen_labels(void)
{
	char text[sizeof(((struct messages *)0)->last)] = "";

	ok(warnings_with((const char *const[]){ "folded", "flamegraph" }, 2, text) == 1 &&
		   strstr(text, "'pprof'"),
	   "one warning says that no output shows the labels of an enricher: %s", text);
	ok(warnings_with(NULL, 0, text) == 1, "no output shows no labels of an enricher: %s", text);
	ok(warnings_with((const char *const[]){ "folded", "pprof" }, 2, text) == 0,
	   "nothing is to be said of an enricher if one output shows its labels: %s", text);
}

static int set_and_fail(struct enricher *e, struct pa_labels *labels)
{
	must(pa_labels_set(labels, "team\x1b", "se\narch") == 0 &&
	     pa_labels_drop(labels, "comm") == 0);
	return e->result;
}

static void test_failure(int result, const char *text)
{
	struct sink on = { 0 };
	struct pa_output output = {
		.sz = sizeof(output), .format = "pprof", .write = sink_write, .write_ctx = &on
	};
	struct enricher e = { .act = set_and_fail, .result = result };
	struct pa_options o = enriched_options(&e, &output, 1);
	struct pa_error err = { 0 };
	struct messages m = { 0 };
	struct labelled l;

	o.log = take_message;
	o.log_ctx = &m;
	must(pa_session_new(&o, &e.session, &err) == 0 && pa_session_start(e.session, &err) == 0);
	ok(pa_session_wait(e.session, -1, &err) == 0,
	   "an enricher that returns %d does not end the capture: %s", result, err.text);
	ok(e.nr_of_target == 1 && gap(e.session, "labels_failed") == 1,
	   "an enricher that returns %d is counted, and not called again", result);
	ok(m.nr == 1 && strstr(m.last, text), "a message says that an enricher returned %d: %s",
	   result, m.last);
	l = labels_of(&on);
	ok(l.nr > 0 && l.nr_team == 0 && l.nr_comm == l.nr && l.nr_tid == l.nr,
	   "with an enricher that returns %d the process keeps its labels", result);
	pa_session_free(e.session);
}

static void *set_elsewhere(void *labels)
{
	return (void *)(intptr_t)pa_labels_set(labels, "k", "v");
}

static int end_capture(struct enricher *e, struct pa_labels *labels)
{
	struct pa_error err = { 0 };
	pthread_t other;
	void *r = NULL;

	must(pthread_create(&other, NULL, set_elsewhere, labels) == 0 &&
	     pthread_join(other, &r) == 0);
	e->set = (int)(intptr_t)r;
	e->kept = labels;
	e->stop = pa_session_stop(e->session, &err);
	e->wait = pa_session_wait(e->session, -1, &err);
	pa_session_free(e->session); /* does nothing */
	return pa_session_request_stop(e->session);
}

static void test_calls(void)
{
	struct enricher e = { .act = end_capture };
	struct pa_options o = enriched_options(&e, NULL, 0);
	struct pa_error err = { 0 };

	o.duration_ns = 600 * 1000 * MS;
	must(pa_session_new(&o, &e.session, &err) == 0 && pa_session_start(e.session, &err) == 0);
	ok(pa_session_wait(e.session, 60000, &err) == 0 &&
		   !strcmp(pa_session_summary(e.session)->end_reason, "stopped"),
	   "an enricher may ask the capture to end: %s", err.text);
	ok(e.set == -EINVAL, "another thread cannot set labels for an enricher: %d", e.set);
	ok(e.stop == -EDEADLK && e.wait == -EDEADLK,
	   "an enricher that stops its session or waits for it gets an error: %d, %d", e.stop,
	   e.wait);
	ok(pa_labels_set(e.kept, "k", "v") == -EINVAL && pa_labels_drop(e.kept, "tid") == -EINVAL,
	   "labels that an enricher kept are an error after its call");
	ok(pa_session_stop(e.session, &err) == 0, "the session can be stopped later: %s", err.text);
	ok(pa_labels_set(e.kept, "k", "v") == -EINVAL,
	   "kept labels are an error after the capture");
	pa_session_free(e.session);
}

int main(void)
{
	ok(pa_labels_set(NULL, "k", "v") == -EINVAL && pa_labels_drop(NULL, "k") == -EINVAL,
	   "labels that are NULL are an error");
	if (geteuid() != 0) {
		tap_skip("needs root to load BPF programs");
		return tap_done();
	}
	target = lib_target_start();
	test_two_profiles();
	test_unseen_labels();
	test_failure(-EACCES, "Permission denied");
	test_failure(INT_MIN, "Input/output error");
	test_calls();
	lib_target_end(target);
	return tap_done();
}
