/* SPDX-License-Identifier: Apache-2.0 */
/* libperfagent used wrongly: NULL, sizes of structures, callbacks that lie, errors that were not initialized. Each is
 * an error and never a crash. Without root what needs no capture is tested. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include "lib_session.h"

#define NEWER 16 /* bytes that a structure of a later library has in addition */

/* One sample in one function, "main", as a pprof file without compression. */
static const char tiny_profile[] = "\x0a\x04\x08\x01\x10\x02"         /* samples/count */
				   "\x12\x04\x08\x01\x10\x05"         /* 5 at location 1 */
				   "\x22\x06\x08\x01\x22\x02\x08\x01" /* in function 1 */
				   "\x2a\x04\x08\x01\x10\x03"         /* "main" */
				   "\x32\x00\x32\x07samples\x32\x05"
				   "count\x32\x04main";

static int no_stack(void *ctx, const struct pa_stack *stack)
{
	(void)stack;
	++*(int *)ctx;
	return 0;
}

static struct pa_profile *profile(void)
{
	struct pa_profile *p = NULL;
	struct pa_error err = { 0 };

	if (pa_profile_parse(tiny_profile, sizeof(tiny_profile) - 1, "tiny", NULL, &p, &err) < 0)
		printf("# %s\n", err.text);
	must(p);
	return p;
}

static void test_null(void)
{
	struct pa_options o = options(NULL, 0), no_size = o, huge = o;
	struct pa_exporter exporter = { sizeof(exporter), NULL, NULL, 0 };
	struct pa_session *s = NULL;
	struct pa_error err = { 0 };

	no_size.sz = 0;
	huge.sz = SIZE_MAX;
	ok(pa_session_new(NULL, &s, &err) == -EINVAL && pa_session_new(&o, NULL, &err) == -EINVAL &&
		   pa_session_new(&no_size, &s, &err) == -EINVAL &&
		   pa_session_new(&huge, &s, &err) < 0 && !s,
	   "options: NULL and wrong sizes are errors");
	o.exporters = &exporter;
	o.nr_exporters = 1;
	ok(pa_session_new(&o, &s, &err) == -EINVAL && !strcmp(err.field, "exporters"),
	   "an exporter without a function is an error: %s", err.text);
	exporter.sz = 3;
	ok(pa_session_new(&o, &s, &err) == -EINVAL, "an exporter of a wrong size is an error: %s",
	   err.text);
}

static void test_null_session(void)
{
	struct pa_metrics *m = NULL;
	struct pa_error err = { 0 };

	ok(pa_session_start(NULL, &err) == -EINVAL && pa_session_stop(NULL, &err) == -EINVAL &&
		   pa_session_wait(NULL, 0, &err) == -EINVAL &&
		   pa_session_request_stop(NULL) == -EINVAL && pa_session_hurry(NULL) == -EINVAL &&
		   pa_session_cancel(NULL) == -EINVAL && pa_session_event_fd(NULL) == -EINVAL &&
		   !pa_session_summary(NULL) && pa_session_metrics(NULL, &m, &err) == -EINVAL &&
		   pa_session_note_signal(NULL, PA_SIGNAL_STOPPED, 2) == -EINVAL,
	   "a session that is NULL is an error");
	ok(pa_session_progress(NULL, NULL) == -EINVAL, "there is no progress of NULL");
	pa_session_free(NULL);
}

static void test_null_files(void)
{
	struct pa_profile *p = NULL;
	struct pa_diff *d = NULL;
	struct pa_file *f = NULL;
	struct pa_error err = { 0 };
	int calls = 0;

	ok(pa_profile_read(NULL, NULL, &p, &err) == -EINVAL &&
		   pa_profile_read("/dev/null", NULL, NULL, &err) == -EINVAL &&
		   pa_profile_parse(NULL, 1, NULL, NULL, &p, &err) == -EINVAL &&
		   pa_profile_parse(NULL, 0, NULL, NULL, &p, &err) < 0 &&
		   !pa_profile_summary(NULL) &&
		   pa_profile_stacks(NULL, no_stack, &calls) == -EINVAL &&
		   pa_profile_write(NULL, NULL, NULL, &err) == -EINVAL,
	   "a profile that is NULL is an error");
	ok(pa_diff_new(NULL, NULL, &d, &err) == -EINVAL &&
		   pa_diff_write(NULL, NULL, NULL, &err) == -EINVAL,
	   "a difference that is NULL is an error");
	ok(pa_file_open(NULL, NULL, &f, &err) == -EINVAL &&
		   pa_file_save(NULL, "", 0, &err) == -EINVAL,
	   "a file that is NULL is an error");
	ok(pa_doctor(NULL, NULL, NULL) == -EINVAL, "doctor needs a function to report to");
	ok(pa_url_mistake(NULL), "NULL is not a URL");
	pa_profile_free(NULL);
	pa_diff_free(NULL);
	pa_file_free(NULL);
}

/* The same structure with the size of a later library, and what is behind the end of ours. */
static void *grown(const void *from, size_t size, char behind)
{
	char *to = calloc(1, size + NEWER);
	size_t sz = size + NEWER;

	must(to);
	memcpy(to, from, size);
	memcpy(to, &sz, sizeof(sz));
	to[size + NEWER - 1] = behind;
	return to;
}

/* of a pointer, and between two members: sizes that a caller sets by mistake */
static const size_t wrong_sizes[] = { 0,       1, 7, sizeof(void *), 15, 17, SIZE_MAX, SIZE_MAX / 2,
				      1u << 20 };
#define NR_WRONG (sizeof(wrong_sizes) / sizeof(wrong_sizes[0]))

/* New, then free. The targets are this process: no capture is begun. */
static int try_options(const struct pa_options *o, struct pa_error *err)
{
	struct pa_session *s = NULL;
	int r = pa_session_new(o, &s, err);

	must((r == 0) == (s != NULL));
	pa_session_free(s);
	return r;
}

static void test_options_sizes(void)
{
	pid_t self = getpid();
	struct pa_options o = options(NULL, 0);
	struct pa_error err = { 0 };
	void *newer;
	int nr = 0;

	o.pids = &self;
	for (size_t i = 0; i < NR_WRONG; i++) {
		o.sz = wrong_sizes[i];
		nr += try_options(&o, &err) == -EINVAL && strstr(err.text, "pa_options.sz is ") &&
		      !strcmp(err.field, "sz") && pa_doctor(&o, NULL, NULL) < 0;
	}
	ok(nr == NR_WRONG, "options of any wrong size are an error: %s", err.text);
	o.sz = 2 * sizeof(void *);
	ok(try_options(&o, &err) == -EINVAL && !strcmp(err.field, "sz"),
	   "options that end before their targets are an error: %s", err.text);
	o.sz = sizeof(o) - 1;
	ok(try_options(&o, &err) == -EINVAL && !strcmp(err.field, "sz"),
	   "options that end within a member are an error: %s", err.text);
	o.sz = sizeof(o);
	newer = grown(&o, sizeof(o), 1);
	ok(try_options(newer, &err) == -E2BIG && strstr(err.text, "newer"),
	   "options that a later library would know are an error: %s", err.text);
	free(newer);
}

static int try_output(struct pa_output *output, struct pa_error *err)
{
	pid_t self = getpid();
	struct pa_options o = options(output, 1);

	o.pids = &self;
	return try_options(&o, err);
}

static void test_output_sizes(void)
{
	struct sink sink = { 0 };
	struct pa_output out = {
		.sz = sizeof(out), .format = "folded", .write = sink_write, .write_ctx = &sink
	};
	struct pa_profile *p = profile();
	struct pa_diff *d = NULL;
	struct pa_error err;
	void *newer = grown(&out, sizeof(out), 0), *unknown = grown(&out, sizeof(out), 1);
	int nr = 0;

	must(pa_diff_new(p, p, &d, &err) == 0);
	for (size_t i = 0; i < NR_WRONG; i++) {
		out.sz = wrong_sizes[i];
		nr += try_output(&out, &err) == -EINVAL && strstr(err.text, "outputs.sz is ") &&
		      pa_profile_write(p, &out, NULL, &err) == -EINVAL &&
		      strstr(err.text, "pa_output.sz is ") &&
		      pa_diff_write(d, &out, NULL, &err) == -EINVAL;
	}
	ok(nr == NR_WRONG && !sink.nr_calls, "an output of any wrong size is an error: %s",
	   err.text);
	ok(pa_profile_write(p, unknown, NULL, &err) == -E2BIG && strstr(err.text, "newer") &&
		   try_output(unknown, &err) == -E2BIG,
	   "an output with members of a later library is an error: %s", err.text);
	ok(pa_profile_write(p, newer, NULL, &err) == 0 && sink.nr == strlen("[unknown];main 5\n") &&
		   !memcmp(sink.bytes, "[unknown];main 5\n", sink.nr),
	   "an output of a later library without more than ours is taken: %.*s", (int)sink.nr,
	   sink.bytes);
	free(newer);
	free(unknown);
	free(sink.bytes);
	pa_diff_free(d);
	pa_profile_free(p);
}

static void test_other_sizes(void)
{
	struct pa_file_options file = { 0 };
	struct pa_profile_options read = { 0 };
	struct pa_output out = { .sz = sizeof(out), .format = "folded", .path = "/dev/null" };
	struct pa_profile *p = profile(), *other = NULL;
	struct pa_file *f = NULL;
	struct pa_error err;
	int nr_files = 0, nr_profiles = 0;

	for (size_t i = 0; i < NR_WRONG; i++) {
		file.sz = read.sz = wrong_sizes[i];
		nr_files += pa_file_open("/dev/null", &file, &f, &err) == -EINVAL && !f &&
			    strstr(err.text, "sizeof(struct pa_file_options)") &&
			    pa_profile_write(p, &out, &file, &err) == -EINVAL &&
			    strstr(err.text, "sizeof(struct pa_file_options)");
		nr_profiles += pa_profile_parse(tiny_profile, sizeof(tiny_profile) - 1, NULL, &read,
						&other, &err) == -EINVAL &&
			       !other && strstr(err.text, "sizeof(struct pa_profile_options)");
	}
	ok(nr_files == NR_WRONG, "options of a file of any wrong size are an error");
	ok(nr_profiles == NR_WRONG, "options of reading of any wrong size are an error: %s",
	   err.text);
	pa_profile_free(p);
}

/* What the caller has room for is written, and nothing behind it. */
static void test_progress_sizes(struct pa_session *s)
{
	const struct {
		size_t sz;
		int result;
	} sizes[] = { { 0, -EINVAL },
		      { 1, -EINVAL },
		      { sizeof(size_t), -EINVAL },
		      { sizeof(struct pa_progress) - 1, -EINVAL },
		      { offsetof(struct pa_progress, modes), 0 },
		      { sizeof(struct pa_progress), 0 },
		      { sizeof(struct pa_progress) + NEWER, 0 } };
	int nr = 0;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t room = sizes[i].sz < sizeof(size_t) ? sizeof(size_t) : sizes[i].sz;
		unsigned char *p = malloc(room + NEWER);
		size_t behind = room > sizeof(struct pa_progress) ? sizeof(struct pa_progress)
								  : room;
		size_t sz;
		int r;

		must(p);
		memset(p, 0xa5, room + NEWER);
		memcpy(p, &sizes[i].sz, sizeof(sizes[i].sz));
		r = pa_session_progress(s, (struct pa_progress *)(void *)p);
		memcpy(&sz, p, sizeof(sz));
		nr += r == sizes[i].result && sz == sizes[i].sz;
		if (r < 0)
			behind = sizeof(size_t);
		for (size_t k = behind; k < room + NEWER; k++)
			must(p[k] == 0xa5);
		free(p);
	}
	ok(nr == (int)(sizeof(sizes) / sizeof(sizes[0])),
	   "progress fits into what its caller has, or is an error");
	ok(pa_session_progress(s, NULL) == -EINVAL, "progress needs a place");
}

/* err is an output: whatever was in it before. */
static void test_old_errors(void)
{
	struct pa_output out = { .sz = sizeof(out),
				 .format = "no such format",
				 .path = "/dev/null" };
	struct pa_profile *p = profile();
	struct pa_diff *d = NULL;
	struct pa_file *f = NULL;
	struct pa_session *s = NULL;
	struct pa_error err;

#define SAYS(call, word)                                                                           \
	(memset(&err, 'x', sizeof(err)),                                                           \
	 (call) < 0 && err.code > 0 && strstr(err.text, word) &&                                   \
		 strnlen(err.field, sizeof(err.field)) < sizeof(err.field))
	ok(SAYS(pa_profile_write(p, &out, NULL, &err), "no such format") &&
		   SAYS(pa_profile_read("/nowhere", NULL, &p, &err), "/nowhere") &&
		   SAYS(pa_profile_parse("x", 1, "junk", NULL, &p, &err), "junk"),
	   "profiles: an error replaces what was there: %s", err.text);
	ok(SAYS(pa_diff_new(NULL, p, &d, &err), "two profiles") &&
		   SAYS(pa_diff_write(NULL, &out, NULL, &err), "difference"),
	   "differences: an error replaces what was there: %s", err.text);
	ok(SAYS(pa_file_open("/nowhere/x", NULL, &f, &err), "/nowhere/x") &&
		   SAYS(pa_file_save(NULL, "", 1, &err), "file"),
	   "files: an error replaces what was there: %s", err.text);
	ok(SAYS(pa_session_new(NULL, NULL, &err), "ret_session") &&
		   SAYS(pa_session_new(NULL, &s, &err), "opts is NULL") &&
		   SAYS(pa_session_start(NULL, &err), "the session is NULL") &&
		   SAYS(pa_session_stop(NULL, &err), "the session is NULL") &&
		   SAYS(pa_session_wait(NULL, 0, &err), "the session is NULL") &&
		   SAYS(pa_session_metrics(NULL, NULL, &err), "ret_metrics"),
	   "sessions: an error replaces what was there: %s", err.text);
	memset(&err, 'x', sizeof(err));
	ok(pa_diff_new(p, p, &d, &err) == 0 && err.code == 0 && !err.text[0],
	   "success leaves no error");
	pa_diff_free(d);
	pa_profile_free(p);
}

static void test_file_twice(void)
{
	char dir[] = "/tmp/lib_misuse.XXXXXX", path[64];
	struct pa_file *f = NULL;
	struct pa_error err;

	must(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/f", dir);
	must(pa_file_open(path, NULL, &f, &err) == 0);
	ok(pa_file_save(f, NULL, 1, &err) == -EINVAL, "bytes that are NULL are an error: %s",
	   err.text);
	ok(pa_file_save(f, "one", 3, &err) == 0, "a file is saved: %s", err.text);
	ok(pa_file_save(f, "two", 3, &err) == -EALREADY, "a file can be saved once: %s", err.text);
	pa_file_free(f);
	ok(unlink(path) == 0 && rmdir(dir) == 0, "the file stays, and nothing else");
}

static void test_callbacks(void)
{
	static const struct {
		struct sink sink;
		int result;
		const char *what;
	} cases[] = {
		{ { .most = 1 }, 0, "one byte at a time" },
		{ { .instead = -EPIPE }, -EPIPE, "-EPIPE" },
		{ { .instead = INT_MIN }, -EIO, "no errno" },
		{ { .instead = SSIZE_MAX }, -EIO, "far too much" },
		{ { .returns_zero = true }, -EIO, "nothing" },
	};
	static const char *const formats[] = { "pprof", "folded", "flamegraph" };
	struct pa_profile *p = profile();

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (int k = 0; k < 3; k++) {
			struct sink sink = cases[i].sink;
			struct pa_output out = { .sz = sizeof(out),
						 .format = formats[k],
						 .write = sink_write,
						 .write_ctx = &sink };
			struct pa_error err = { 0 };
			int r = pa_profile_write(p, &out, NULL, &err);

			ok(r == cases[i].result && err.code == -r && (r == 0) == (sink.nr > 0) &&
				   (r != -EIO || strstr(err.text, "the write callback ")),
			   "%s: a callback that takes %s gives %d: %s", formats[k], cases[i].what,
			   r, err.text);
			free(sink.bytes);
		}
	pa_profile_free(p);
}

/* One byte more than it was offered. */
static ssize_t take_one_more(void *ctx, const void *bytes, size_t n)
{
	(void)ctx, (void)bytes;
	return (ssize_t)n + 1;
}

static void test_one_more(void)
{
	struct pa_output out = { .sz = sizeof(out), .format = "pprof", .write = take_one_more };
	struct pa_profile *p = profile();
	struct pa_error err;

	ok(pa_profile_write(p, &out, NULL, &err) == -EIO && strstr(err.text, "got only"),
	   "a callback that takes a byte more than there is is an error: %s", err.text);
	out.path = "/dev/null";
	ok(pa_profile_write(p, &out, NULL, &err) == -EINVAL,
	   "a path and a callback are an error: %s", err.text);
	out = (struct pa_output){ .sz = sizeof(out), .format = "pprof", .use_fd = true, .fd = -1 };
	ok(pa_profile_write(p, &out, NULL, &err) == -EBADF, "a descriptor below 0 is an error: %s",
	   err.text);
	out.format = NULL;
	ok(pa_profile_write(p, &out, NULL, &err) == -EINVAL, "no format is an error: %s", err.text);
	ok(pa_profile_write(p, NULL, NULL, &err) == -EINVAL, "no output is an error: %s", err.text);
	ok(pa_profile_stacks(p, NULL, NULL) == -EINVAL, "no function for stacks is an error");
	ok(pa_diff_new(p, NULL, NULL, &err) == -EINVAL && pa_diff_new(p, p, NULL, &err) == -EINVAL,
	   "a difference without a place for it is an error");
	pa_profile_free(p);
}

static void test_session_sizes(void)
{
	struct pa_options o = options(NULL, 0), *newer = grown(&o, sizeof(o), 0);
	struct sink sink = { .most = 1 };
	struct pa_output out = {
		.sz = sizeof(out), .format = "folded", .write = sink_write, .write_ctx = &sink
	};
	struct pa_session *s = NULL;
	struct pa_error err;

	ok(try_options(newer, &err) == 0,
	   "options of a later library without more than ours are taken: %s", err.text);
	/* what folded.py gives: the first members */
	o.sz = offsetof(struct pa_options, auto_name);
	o.outputs = &out;
	o.nr_outputs = 1;
	memset((char *)&o + o.sz, 0xff, sizeof(o) - o.sz);
	ok(pa_session_new(&o, &s, &err) == 0, "options of an earlier library are taken: %s",
	   err.text);
	must(s);
	test_progress_sizes(s);
	must(pa_session_start(s, &err) == 0);
	ok(pa_session_wait(s, -1, &err) == 0 && sink.nr > 100 && sink.nr == sink.nr_calls,
	   "a session ends with a callback that takes one byte at a time: %s", err.text);
	pa_session_free(s);
	free(sink.bytes);
	free(newer);
}

static void test_requests_before_start(void)
{
	struct pa_options o = options(NULL, 0);
	struct pa_session *s = NULL;
	struct pa_error err;

	o.duration_ns = 100 * MS;
	must(pa_session_new(&o, &s, &err) == 0);
	ok(pa_session_cancel(s) == -EINVAL && pa_session_hurry(s) == -EINVAL &&
		   pa_session_request_stop(s) == -EINVAL && pa_session_stop(s, &err) == -EINVAL,
	   "requests before the start are errors");
	ok(pa_session_start(s, &err) == 0 && pa_session_wait(s, -1, &err) == 0 &&
		   !strcmp(pa_session_summary(s)->end_reason, "duration"),
	   "requests before the start have no effect on it: %s", err.text);
	must(pa_session_stop(s, &err) == 0);
	ok(pa_session_metrics(s, NULL, &err) == -EINVAL, "metrics need a place: %s", err.text);
	ok(pa_session_note_signal(s, (enum pa_signal_role)2, 2) == -EINVAL &&
		   pa_session_note_signal(s, PA_SIGNAL_STOPPED, 0) == -EINVAL &&
		   pa_session_note_signal(s, PA_SIGNAL_STOPPED, 1000) == -EINVAL,
	   "a signal or role that does not exist is an error");
	pa_session_free(s);
}

int main(void)
{
	test_null();
	test_null_session();
	test_null_files();
	test_options_sizes();
	test_output_sizes();
	test_other_sizes();
	test_old_errors();
	test_file_twice();
	test_callbacks();
	test_one_more();
	if (geteuid() != 0) {
		tap_skip("needs root to load BPF programs");
		return tap_done();
	}
	target = lib_target_start();
	test_session_sizes();
	test_requests_before_start();
	lib_target_end(target);
	return tap_done();
}
