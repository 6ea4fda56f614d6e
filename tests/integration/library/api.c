/* SPDX-License-Identifier: Apache-2.0 */
/* libperfagent as its users see it: every way to get at a result, and how a session lives. Through the public header and the
 * shared library alone. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "lib_session.h"

#define FAILED_STARTS 200

struct sums {
	int64_t nr, nr_spinning;
	bool has_labels, has_frames;
};

static int add_stack(void *ctx, const struct pa_stack *stack)
{
	struct sums *sums = ctx;
	const char *comm = NULL;

	sums->nr += stack->values[0];
	for (size_t i = 0; i < stack->nr_labels; i++)
		if (!strcmp(stack->labels[i].key, "comm"))
			comm = stack->labels[i].value;
	sums->has_labels |= comm && !strncmp(comm, "lib_api", 7);
	for (size_t i = 0; i < stack->nr_frames; i++) {
		const struct pa_frame *f = PA_ITEM(stack, pa_frame, stack->frames, i);

		sums->has_frames |= f->address && f->file;
		if (f->function && !strcmp(f->function, "lib_target_spin")) {
			sums->nr_spinning += stack->values[0];
			break;
		}
	}
	return 0;
}

static int end_at_once(void *ctx, const struct pa_stack *stack)
{
	++*(int *)ctx;
	return -ETXTBSY;
}

static void test_memory(void)
{
	struct sink pprof = { .most = 100 }, folded = { 0 }, page = { 0 }, perf = { .most = 1000 };
	struct pa_output outputs[] = {
		{ .sz = sizeof(*outputs),
		  .format = "pprof",
		  .write = sink_write,
		  .write_ctx = &pprof },
		{ .sz = sizeof(*outputs),
		  .format = "folded",
		  .write = sink_write,
		  .write_ctx = &folded },
		{ .sz = sizeof(*outputs),
		  .format = "flamegraph",
		  .write = sink_write,
		  .write_ctx = &page },
		{ .sz = sizeof(*outputs),
		  .format = "perf.data",
		  .write = sink_write,
		  .write_ctx = &perf },
	};
	struct pa_options o = options(outputs, 4);
	struct pa_profile *p = NULL;
	struct pa_error err = { 0 };
	struct sums sums = { 0 };
	int nr_calls = 0;
	uint64_t offset_size[2];

	ok(capture(&o, &err) == 0, "a capture into memory works: %s", err.text);
	ok(pa_profile_parse(pprof.bytes, pprof.nr, NULL, NULL, &p, &err) == 0 && p,
	   "the profile in memory can be read: %s", err.text);
	must(p);
	must(pa_profile_stacks(p, add_stack, &sums) == 0);
	ok(sums.nr == (int64_t)pa_profile_summary(p)->samples && sums.nr > 20,
	   "stacks have all %lld samples", (long long)sums.nr);
	ok(sums.has_labels && sums.has_frames && sums.nr_spinning * 2 > sums.nr,
	   "stacks have labels, frames and names: %lld of %lld samples are of lib_target_spin",
	   (long long)sums.nr_spinning, (long long)sums.nr);
	ok(pa_profile_stacks(p, end_at_once, &nr_calls) == -ETXTBSY && nr_calls == 1,
	   "a stack callback ends the iteration with its result");
	folded.bytes = realloc(folded.bytes, folded.nr + 1);
	folded.bytes[folded.nr] = '\0';
	ok(strstr(folded.bytes, "lib_target_spin"), "folded stacks come into memory");
	ok(page.nr > 10000 && !memcmp(page.bytes, "<!", 2), "a flame graph comes into memory");
	memcpy(offset_size, perf.bytes + 40,
	       sizeof(offset_size)); /* where the header says the records are */
	ok(perf.nr > 1000 && !memcmp(perf.bytes, "PERFILE2", 8) && offset_size[1] &&
		   offset_size[0] + offset_size[1] <= perf.nr,
	   "perf.data comes into memory with its header, in the order of its bytes");
	ok(pa_profile_parse(pprof.bytes, pprof.nr / 2, "half", NULL, &p, &err) < 0 &&
		   strstr(err.text, "half"),
	   "half a profile is refused by its name: %s", err.text);
	pa_profile_free(p);
	free(pprof.bytes);
	free(folded.bytes);
	free(page.bytes);
	free(perf.bytes);
}

static void fails(struct sink *sink, const char *format, int expected, const char *what)
{
	struct pa_output output = {
		.sz = sizeof(output), .format = format, .write = sink_write, .write_ctx = sink
	};
	struct pa_options o = options(&output, 1);
	struct pa_error err = { 0 };
	int r = capture(&o, &err);

	ok(r == -expected && err.code == expected && err.text[0],
	   "%s ends the %s run with its error: %d, %s", what, format, r, err.text);
	free(sink->bytes);
}

static void test_failing_writes(void)
{
	fails(&(struct sink){ .instead = -ENOSPC }, "pprof", ENOSPC, "a callback that fails");
	fails(&(struct sink){ .instead = -EPIPE, .after = 10, .most = 7 }, "folded", EPIPE,
	      "a callback that fails later");
	fails(&(struct sink){ .instead = -EDQUOT }, "perf.data", EDQUOT, "a callback that fails");
	fails(&(struct sink){ .returns_zero = true }, "pprof", EIO,
	      "a callback that takes nothing");
	fails(&(struct sink){ .instead = 1 << 30 }, "pprof", EIO, "a callback that takes too much");
	fails(&(struct sink){ .instead = -EAGAIN }, "pprof", EIO,
	      "a callback that asks to be called again");
	fails(&(struct sink){ .instead = -1000000 }, "pprof", EIO,
	      "a callback with a number that is not an errno");
}

static void test_descriptors(void)
{
	char path[] = "/tmp/lib_api.XXXXXX";
	int fd = mkstemp(path), read_only = open("/dev/null", O_RDONLY);
	struct pa_output output = {
		.sz = sizeof(output), .format = "pprof", .use_fd = true, .fd = fd
	};
	struct pa_options o = options(&output, 1);
	struct pa_session *s = NULL;
	struct pa_error err = { 0 };
	struct stat st;
	char magic[9];

	must(fd >= 0 && read_only >= 0);
	unlink(path);
	must(write(fd, "before", 6) == 6);
	ok(capture(&o, &err) == 0 && fstat(fd, &st) == 0 && st.st_size > 6 &&
		   lseek(fd, 0, SEEK_CUR) == st.st_size,
	   "an output is appended to a descriptor, which stays open: %s", err.text);
	ok(pread(fd, magic, 8, 0) == 8 && !memcmp(magic, "before\x1f\x8b", 8),
	   "an output comes after what a descriptor has");
	output.format = "perf.data";
	must(ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	ok(capture(&o, &err) == 0 && pread(fd, magic, 8, 0) == 8 && !memcmp(magic, "PERFILE2", 8),
	   "perf.data is written to a descriptor: %s", err.text);
	output.fd = read_only;
	ok(pa_session_new(&o, &s, &err) == -EBADF && !s && strstr(err.text, "file descriptor"),
	   "a descriptor that cannot be written is refused before the capture: %s", err.text);
	output.fd = 9999;
	ok(pa_session_new(&o, &s, &err) == -EBADF, "a closed descriptor is refused");
	output.path = "/tmp/x";
	ok(pa_session_new(&o, &s, &err) == -EINVAL && !strcmp(err.field, "outputs"),
	   "a path and a descriptor exclude each other: %s", err.text);
	output = (struct pa_output){ .sz = sizeof(output), .format = "pprof", .write = sink_write };
	o.modes = PA_MODE_PROFILE | PA_MODE_OFFCPU;
	ok(pa_session_new(&o, &s, &err) == -EINVAL, "a callback takes one kind of event: %s",
	   err.text);
	close(read_only);
	close(fd);
}

static uint64_t sum_of_self(const struct pa_summary *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->nr_functions; i++)
		sum += PA_ITEM(s, pa_function_stat, s->functions, i)->nr_self;
	return sum;
}

static bool counts(const struct pa_summary *s, const char *type, const char *unit)
{
	return !strcmp(s->count_type, type) && !strcmp(s->count_unit, unit);
}

/* What the functions of a capture count, and those of its profile in memory. */
static void test_units(void)
{
	const struct pa_profile_options by_intervals = { .sz = sizeof(by_intervals),
							 .value_type = "intervals" };
	struct sink off = { 0 };
	struct pa_output output = {
		.sz = sizeof(output), .format = "pprof", .write = sink_write, .write_ctx = &off
	};
	struct pa_options o = options(&output, 1);
	struct pa_profile *ns = NULL, *intervals = NULL;
	struct pa_error err = { 0 };
	struct pa_session *s;
	uint64_t sum;

	o.modes = PA_MODE_OFFCPU;
	s = started(&o);
	must(pa_session_wait(s, -1, &err) == 0);
	sum = sum_of_self(pa_session_summary(s));
	ok(counts(pa_session_summary(s), "intervals", "count"),
	   "the functions of an off-CPU capture count intervals, and it says so");
	ok(PA_ITEM(pa_session_summary(s), pa_output_stat, pa_session_summary(s)->outputs, 0)
			   ->format &&
		   !strcmp(PA_ITEM(pa_session_summary(s), pa_output_stat,
				   pa_session_summary(s)->outputs, 0)
				   ->format,
			   "pprof"),
	   "a written output has its format");
	must(pa_profile_parse(off.bytes, off.nr, NULL, NULL, &ns, &err) == 0);
	must(pa_profile_parse(off.bytes, off.nr, NULL, &by_intervals, &intervals, &err) == 0);
	ok(counts(pa_profile_summary(ns), "offcpu", "nanoseconds") &&
		   sum_of_self(pa_profile_summary(ns)) > sum,
	   "the functions of an off-CPU profile count nanoseconds, and it says so");
	ok(counts(pa_profile_summary(intervals), "intervals", "count") && sum &&
		   sum_of_self(pa_profile_summary(intervals)) == sum,
	   "an off-CPU profile can count intervals as its capture does: %llu",
	   (unsigned long long)sum);
	pa_profile_free(ns);
	pa_profile_free(intervals);
	pa_session_free(s);
	free(off.bytes);
}

static void *wait_for_end(void *session)
{
	return (void *)(intptr_t)pa_session_wait(session, -1, NULL);
}

static void test_lifecycle(void)
{
	struct pa_options o = options(NULL, 0);
	struct pa_session *s = NULL;
	struct pa_error err = { 0 };
	pthread_t threads[2];
	void *result[2];

	o.duration_ns = 3000 * MS; /* longer than this thread may wait for a CPU */
	must(pa_session_new(&o, &s, &err) == 0);
	ok(pa_session_wait(s, 0, &err) == -EINVAL && err.code == EINVAL,
	   "wait before start is an error");
	ok(pa_session_stop(s, &err) == -EINVAL, "stop before start is an error: %s", err.text);
	ok(pa_session_request_stop(s) == -EINVAL && pa_session_hurry(s) == -EINVAL,
	   "requests before start are errors");
	ok(!pa_session_summary(s), "there is no summary before start");
	must(pa_session_start(s, &err) == 0);
	ok(pa_session_start(s, &err) == -EALREADY, "start twice is an error: %s", err.text);
	ok(pa_session_wait(s, 1, &err) == -ETIMEDOUT, "waiting takes no longer than asked: %s",
	   err.text);
	for (int i = 0; i < 2; i++)
		must(pthread_create(&threads[i], NULL, wait_for_end, s) == 0);
	ok(pa_session_wait(s, -1, &err) == 0, "the capture ends after its duration: %s", err.text);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], &result[i]);
	ok(!result[0] && !result[1], "several threads may wait");
	ok(pa_session_stop(s, &err) == 0 && pa_session_stop(s, &err) == 0,
	   "stop may be called twice");
	ok(pa_session_request_stop(s) == 0 && pa_session_hurry(s) == 0 && pa_session_cancel(s) == 0,
	   "after stop, more requests have no effect");
	ok(pa_session_start(s, &err) == 0, "start again after stop works: %s", err.text);
	ok(!pa_session_summary(s), "another start drops the old summary");
	ok(pa_session_stop(s, &err) == 0 && pa_session_summary(s) &&
		   !strcmp(pa_session_summary(s)->end_reason, "stopped"),
	   "the second capture is stopped at once, and has a summary of its own: %s", err.text);
	pa_session_free(s);
}

/* A capture that ends by itself, again and again, without a call of pa_session_stop(). */
static void test_start_again(void)
{
	struct pa_options o = options(NULL, 0);
	struct pa_session *s = started(&o);
	struct pollfd end = { .fd = pa_session_event_fd(s), .events = POLLIN };
	struct pa_error err = { 0 };
	uint64_t began_ns;

	must(poll(&end, 1, -1) == 1);
	ok(pa_session_start(s, &err) == -EALREADY && strstr(err.text, "pa_session_wait()"),
	   "a start before the result is known says how to get it: %s", err.text);
	ok(pa_session_wait(s, -1, &err) == 0 && pa_session_summary(s),
	   "the result of an ended capture is there after a start that was too early: %s",
	   err.text);
	began_ns = pa_session_summary(s)->start_time_ns;
	ok(pa_session_start(s, &err) == 0,
	   "start again works after wait has returned the result: %s", err.text);
	ok(pa_session_start(s, &err) == -EALREADY && strstr(err.text, "already been started"),
	   "start again while the second capture runs is an error: %s", err.text);
	ok(pa_session_wait(s, -1, &err) == 0 && pa_session_summary(s)->start_time_ns > began_ns,
	   "the second capture ends by itself and has a summary of its own: %s", err.text);
	pa_session_free(s);
}

struct waiter {
	struct pa_session *s;
	atomic_bool is_over;
	atomic_uint nr_waited;
};

static void *wait_again_and_again(void *waiter)
{
	struct waiter *w = waiter;

	for (; !atomic_load(&w->is_over); atomic_fetch_add(&w->nr_waited, 1))
		(void)pa_session_wait(w->s, -1, NULL);
	return NULL;
}

/* A start that fails, while another thread waits for the end of what it would have begun. */
static void test_failed_start(void)
{
	struct pa_options o = options(NULL, 0);
	struct waiter w = { 0 };
	struct pa_error err = { 0 };
	struct timespec end;
	pthread_t thread;
	int nr_failed = 0;

	o.cpus = "1023";
	must(pa_session_new(&o, &w.s, &err) == 0);
	must(pthread_create(&thread, NULL, wait_again_and_again, &w) == 0);
	while (!atomic_load(&w.nr_waited))
		usleep(1000);
	for (int i = 0; i < FAILED_STARTS; i++)
		nr_failed += pa_session_start(w.s, &err) < 0 && err.text[0];
	ok(nr_failed == FAILED_STARTS, "start fails on a CPU that is not there: %s", err.text);
	atomic_store(&w.is_over, true);
	must(clock_gettime(CLOCK_REALTIME, &end) == 0);
	end.tv_sec += 60;
	must(pthread_timedjoin_np(thread, NULL, &end) == 0);
	ok(true, "a thread that waits for starts that fail returns");
	pa_session_free(w.s);
}

static void test_gone_target(void)
{
	pid_t pid = lib_target_start();
	struct pa_options o = options(NULL, 0);
	struct pa_session *s;
	struct pa_error err = { 0 };

	o.pids = &pid;
	s = started(&o);
	ok(pa_session_stop(s, &err) == 0, "a capture works");
	lib_target_end(pid);
	ok(pa_session_start(s, &err) == -ESRCH && err.text[0],
	   "start again needs a target that still exists: %s", err.text);
	ok(pa_session_start(s, &err) == -ESRCH && !pa_session_summary(s),
	   "a failed start can be tried again");
	ok(pa_session_stop(s, &err) == -ESRCH && err.text[0],
	   "the result is that of the last start: %s", err.text);
	pa_session_free(s);
}

/* Executes a program that a signal kills, as soon as the other end of the pipe is closed. */
static pid_t start_command(int *ret_go_fd)
{
	int go[2];
	pid_t pid;
	char byte;

	must(pipe(go) == 0);
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		close(go[1]);
		(void)!read(go[0], &byte, 1);
		execlp("sh", "sh", "-c", "kill -SEGV $$", NULL);
		_exit(127);
	}
	close(go[0]);
	*ret_go_fd = go[1];
	return pid;
}

/* The caller may be late, on a busy machine, to learn how the program ended. */
static void test_late_caller(void)
{
	struct pa_options o = options(NULL, 0);
	const struct pa_summary *sum;
	struct pa_session *s;
	siginfo_t info;
	pid_t pid;
	int go_fd;

	pid = start_command(&go_fd);
	o.pids = &pid;
	o.start_on_exec = true;
	o.duration_ns = 0;
	s = started(&o);
	close(go_fd);
	must(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0);
	usleep(100000);
	must(waitpid(pid, NULL, 0) == pid);
	(void)pa_session_note_signal(s, PA_SIGNAL_KILLED_COMMAND, SIGSEGV);
	must(pa_session_request_stop(s) == 0 && pa_session_wait(s, -1, NULL) == 0);
	sum = pa_session_summary(s);
	ok(sum->end_signal && !strcmp(sum->end_signal, "SIGSEGV"),
	   "the signal that killed a command is known, though the caller was late: %s, %s",
	   sum->end_reason, sum->end_signal ? sum->end_signal : "no signal");
	pa_session_free(s);
}

static void test_outputs_again(void)
{
	struct sink folded = { 0 };
	struct pa_output output = {
		.sz = sizeof(output), .format = "folded", .write = sink_write, .write_ctx = &folded
	};
	struct pa_options o = options(&output, 1);
	struct pa_session *s = started(&o);
	struct pa_error err = { 0 };
	size_t first;

	must(pa_session_wait(s, -1, &err) == 0 && pa_session_stop(s, &err) == 0);
	first = folded.nr;
	must(pa_session_start(s, &err) == 0);
	ok(pa_session_wait(s, -1, &err) == 0 && pa_session_stop(s, &err) == 0 && first &&
		   folded.nr > first,
	   "each capture of a session writes its outputs: %zu and %zu bytes", first,
	   folded.nr - first);
	pa_session_free(s);
	free(folded.bytes);
}

static double metric(const struct pa_metrics *m, const char *name, const char *label,
		     const char *value)
{
	for (size_t i = 0; i < m->nr_items; i++) {
		const struct pa_metric *x = PA_ITEM(m, pa_metric, m->items, i);
		bool is_it = !strcmp(x->name, name) && (!label || x->nr_labels);

		for (size_t k = 0; is_it && label && k < x->nr_labels; k++)
			if (!strcmp(x->labels[k].key, label) && !strcmp(x->labels[k].value, value))
				return x->value;
		if (is_it && !label)
			return x->value;
	}
	return -1;
}

struct exported {
	unsigned int nr_calls;
	double last_samples;
	int result;
};

static int export_metrics(void *ctx, const struct pa_metrics *m)
{
	struct exported *e = ctx;

	e->nr_calls++;
	e->last_samples = metric(m, "perf_agent_samples_total", "kind", "on-cpu");
	return e->result;
}

static void test_metrics(void)
{
	struct exported e[2] = { { 0 }, { .result = -EIO } };
	int pipe_fds[2];
	struct pa_exporter exporters[] = {
		{ sizeof(*exporters), export_metrics, &e[0], 1000 * MS },
		{ sizeof(*exporters), export_metrics, &e[1], 0 },
		{ sizeof(*exporters), pa_export_text, NULL, 0 },
	};
	struct pa_options o = options(NULL, 0);
	const struct pa_section *ticks;
	struct pa_metrics *m = NULL;
	struct pa_session *s = NULL;
	struct pa_error err = { 0 };
	static char text[65536];
	double first_samples;
	ssize_t n;

	must(pipe2(pipe_fds, O_CLOEXEC) == 0);
	fcntl(pipe_fds[1], F_SETPIPE_SZ, sizeof(text));
	exporters[2].ctx = (void *)(intptr_t)pipe_fds[1];
	o.exporters = exporters;
	o.nr_exporters = 3;
	o.duration_ns = 0;
	o.program_times = true;
	must(pa_session_new(&o, &s, &err) == 0);
	ok(pa_session_metrics(s, &m, &err) == 0 &&
		   metric(m, "perf_agent_sampling", NULL, NULL) == 0 &&
		   metric(m, "perf_agent_cpu_seconds_total", NULL, NULL) > 0,
	   "metrics can be had before start");
	pa_metrics_free(m);
	must(pa_session_start(s, &err) == 0);
	for (int i = 0; i < 600 && !(e[0].nr_calls && e[0].last_samples > 0); i++)
		usleep(100000);
	ok(e[0].nr_calls && e[0].last_samples > 0, "an exporter gets metrics while samples come");
	ok(pa_session_metrics(s, &m, &err) == 0 &&
		   metric(m, "perf_agent_sampling", NULL, NULL) == 1 &&
		   metric(m, "perf_agent_samples_total", "kind", "on-cpu") > 0 &&
		   metric(m, "perf_agent_bpf_runs_total", "program", "pa_oncpu") > 0,
	   "a snapshot has samples and runs of BPF programs");
	pa_metrics_free(m);
	ok(pa_session_stop(s, &err) == 0, "an exporter that fails does not end the capture: %s",
	   err.text);
	must(pa_session_metrics(s, &m, &err) == 0);
	ticks = PA_ITEM(pa_session_summary(s), pa_section, pa_session_summary(s)->sections, 0);
	ok(metric(m, "perf_agent_samples_total", "kind", "on-cpu") == (double)ticks->samples &&
		   metric(m, "perf_agent_events_due_total", "kind", "on-cpu") ==
			   (double)ticks->due &&
		   metric(m, "perf_agent_symbolize_input_ips_total", NULL, NULL) ==
			   (double)pa_session_summary(s)->naming_addresses,
	   "after the end metrics are those of the summary");
	ok(e[0].last_samples == (double)ticks->samples && e[1].nr_calls == 1,
	   "exporters get the last ones, too");
	n = read(pipe_fds[0], text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	ok(strstr(text, "\nperf_agent_lost_total{reason=\"ring_full\",kind=\"on-cpu\"} 0\n"),
	   "the text exporter writes lines");
	ok(pa_export_text(NULL, NULL) == -EINVAL, "the text exporter needs metrics");
	first_samples = (double)ticks->samples;
	pa_metrics_free(m);
	must(pa_session_start(s, &err) == 0 && pa_session_metrics(s, &m, &err) == 0);
	ok(metric(m, "perf_agent_samples_total", "kind", "on-cpu") < first_samples,
	   "metrics of another capture start from zero");
	pa_metrics_free(m);
	pa_metrics_free(NULL);
	pa_session_free(s);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

static void test_cpus(void)
{
	struct pa_options o = options(NULL, 0);
	struct pa_session *s = NULL;
	struct pa_error err = { 0 };
	const struct pa_summary *sum;

	o.cpus = "0";
	s = started(&o);
	ok(pa_session_wait(s, -1, &err) == 0, "a capture of CPU 0 works: %s", err.text);
	sum = pa_session_summary(s);
	ok(sum->nr_cpus == 1 && PA_ITEM(sum, pa_section, sum->sections, 0)->unexplained == 0,
	   "only one CPU was sampled, and its ticks add up");
	pa_session_free(s);
	s = NULL;
	o.cpus = "7000";
	ok(pa_session_new(&o, &s, &err) == 0 && pa_session_start(s, &err) == -EINVAL &&
		   !strcmp(err.field, "cpus"),
	   "CPUs of which none is online are an error: %s", err.text);
	pa_session_free(s);
	o.cpus = "0-";
	ok(pa_session_new(&o, &s, &err) == -EINVAL && !strcmp(err.field, "cpus"),
	   "what is not a list of CPUs is refused: %s", err.text);
	o.cpus = "0";
	o.modes = PA_MODE_OFFCPU;
	ok(pa_session_new(&o, &s, &err) == -EINVAL && !strcmp(err.field, "cpus"),
	   "CPUs cannot be chosen for off-CPU time: %s", err.text);
}

int main(void)
{
	if (geteuid() != 0) {
		tap_skip("needs root to load BPF programs");
		return tap_done();
	}
	target = lib_target_start();
	test_memory();
	test_failing_writes();
	test_descriptors();
	test_lifecycle();
	test_units();
	test_start_again();
	test_failed_start();
	test_gone_target();
	test_late_caller();
	test_outputs_again();
	test_metrics();
	test_cpus();
	lib_target_end(target);
	return tap_done();
}
