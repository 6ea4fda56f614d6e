/* SPDX-License-Identifier: Apache-2.0 */
/* The files that a session writes: their names; opened before the capture, written after it. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "agent/pa_file.h"
#include "agent/session.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/path.h"
#include "write/clean_text.h"
#include "write/pmu_text.h"

#define AUTO_NAME_MAX 256
#define HEADING_SIZE 1024

/* True for characters without a special meaning to a shell. */
static bool is_plain(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       (unsigned char)c >= 0x80 || strchr("._+-@,", c);
}

/* Makes a process name usable in a file name that users list and copy into command lines. */
static void make_file_name(char *name, size_t size)
{
	_cleanup_(buf_done) struct buf clean = BUF_INIT(4 * AUTO_NAME_MAX);

	if (text_append_clean(&clean, name) < 0 || buf_append(&clean, "", 1) < 0)
		name[0] = '\0'; /* the name is optional */
	else
		(void)snprintf(name, size, "%s", clean.data);
	for (char *c = name; *c; c++)
		if (!is_plain(*c))
			*c = '_';
}

/* The part of an automatic name that identifies the target. */
static void target_name(const struct pa_session *s, char *to, size_t size)
{
	const struct pa_options *o = &s->settings.o;
	pid_t first = settings_first_target(o);
	char comm[PROC_COMM_SIZE] = "";

	to[0] = '\0';
	if (o->auto_name)
		(void)snprintf(to, size, "%s-", o->auto_name);
	else if (first && procfs_comm(&s->world->procfs, first, comm) == 0)
		(void)snprintf(to, size, "%s-", comm);
	else if (first)
		(void)snprintf(to, size, "pid%d-", first);
	make_file_name(to, size);
}

/* <comm>-YYYYMMDDHHMM-on-cpu.pb.gz, in local time. A leading '.' would hide the file, and a leading
 * '-' would look like an option. */
static char *auto_name(const struct pa_session *s, const struct output *out)
{
	const char *kind = PMU_TEXT_NAME;
	char name[AUTO_NAME_MAX / 2], when[32] = "", *path;
	time_t now = time(NULL);
	struct tm tm;

	if (out->has_all)
		kind = out->writer->name;
	else if (strcmp(out->format, PMU_TEXT_FORMAT) != 0)
		kind = triggers_get(s->triggers, out->origin)->name;
	target_name(s, name, sizeof(name));
	if (name[0] == '.' || name[0] == '-')
		name[0] = '_';
	if (localtime_r(&now, &tm))
		(void)strftime(when, sizeof(when), "%Y%m%d%H%M", &tm);
	return asprintf(&path, "%s%s-%s%s", name, when, kind, out->suffix) < 0 ? NULL : path;
}

/* The profile of the first trigger goes to the given path, those of other triggers to paths next to
 * it. */
static char *wanted_name(const struct pa_session *s, const struct output *out, const char *wanted)
{
	if (out->origin == 0)
		return strdup(wanted);
	return path_beside(wanted, triggers_get(s->triggers, out->origin)->name);
}

static bool is_cancelled(void *session)
{
	const struct pa_session *s = session;

	return atomic_load_explicit(&s->cancel, memory_order_relaxed);
}

/* What cannot be put beside another one: a stream. */
static bool is_single(const struct pa_output *wanted)
{
	return pa_file_has_target(wanted) || (wanted->path && strcmp(wanted->path, "-") == 0);
}

static int open_output(struct pa_session *s, struct output *out, const struct pa_output *from,
		       struct pa_error *err)
{
	const char *wanted = from->path;
	const struct pa_options *o = &s->settings.o;
	struct outfile_options oo = { .unique = !wanted,
				      .set_owner = o->set_owner,
				      .uid = o->owner_uid,
				      .gid = o->owner_gid,
				      .is_patched = strcmp(out->format, PERF_DATA_FORMAT) == 0,
				      .is_cancelled = is_cancelled,
				      .cancel_ctx = s };
	_cleanup_(freep) char *path = NULL;

	if (is_single(from) && !from->kind && out->origin > 0)
		return error_set(err, EINVAL, "pa_options.outputs: %s takes one profile, not %u",
				 wanted ? "standard output" : "a callback or a descriptor",
				 triggers_nr(s->triggers));
	if (pa_file_has_target(from))
		return pa_file_open_output(from, NULL, &oo, &out->file, err);
	if (!wanted)
		path = auto_name(s, out);
	else
		path = from->kind ? strdup(wanted) : wanted_name(s, out, wanted);
	return path ? outfile_open(path, &oo, &out->file, err) : -ENOMEM;
}

static bool is_for(const struct pa_session *s, const struct pa_output *wanted, uint32_t origin)
{
	return !wanted->kind || strcmp(wanted->kind, triggers_get(s->triggers, origin)->name) == 0;
}

static int check_kind(const struct pa_session *s, const struct pa_output *wanted,
		      struct pa_error *err)
{
	for (uint32_t i = 0; i < triggers_nr(s->triggers); i++)
		if (is_for(s, wanted, i))
			return 0;
	return error_set(err, EINVAL, "pa_options.outputs: '%s' is not sampled", wanted->kind);
}

static struct output *add_output(struct pa_session *s, const char *format, const char *suffix,
				 uint32_t origin)
{
	struct output *out = &s->outputs[s->nr_outputs++];

	out->format = format;
	out->suffix = suffix;
	out->origin = origin;
	return out;
}

/* Samples that were taken but did not reach the sinks, without those that the kernel did not
 * deliver. */
static uint64_t nr_lost_samples(const struct pa_session *s, uint32_t origin)
{
	const struct pipe_stats *pipe = pipe_stats(s->pipe, (uint8_t)origin);
	uint64_t nr = pipe->nr_bad + pipe->nr_no_memory;
	struct trigger_account a = { 0 };

	if (triggers_account(s->triggers, origin, &a) < 0)
		return nr;
	for (uint32_t i = 0; i < a.nr_losses; i++)
		if (strcmp(a.losses[i].name, TRIGGER_NOT_DELIVERED) != 0)
			nr += a.losses[i].count;
	return nr;
}

static uint64_t nr_lost_on_cpu(void *session)
{
	return nr_lost_samples(session, PA_ORIGIN_ONCPU);
}

/* Opens an output that is written while samples come. */
static int open_stream(struct pa_session *s, struct output *out, const struct pa_output *wanted,
		       struct pa_error *err)
{
	const struct pa_options *o = &s->settings.o;
	struct perf_data_config cfg = { .world = s->world,
					.values = triggers_values(s->triggers, PA_ORIGIN_ONCPU),
					.sampling = { .is_cycles = o->event == PA_EVENT_CYCLES,
						      .rate_hz = o->sample_rate_hz,
						      .has_kernel_chains = o->kernel_stacks },
					.nr_lost = nr_lost_on_cpu,
					.ctx = s };
	int r = open_output(s, out, wanted, err);

	cfg.file = out->file;
	if (r == 0)
		r = perf_data_new(&cfg, &out->stream, err);
	return r < 0 ? r : pipe_add_sink(s->pipe, PA_ORIGIN_ONCPU, perf_data_sink(out->stream));
}

/* perf.data has only on-CPU samples: the format has no records for off-CPU time. */
static int open_perf_data(struct pa_session *s, const struct pa_output *wanted,
			  struct pa_error *err)
{
	const struct trigger *on_cpu = &trigger_oncpu;

	if (triggers_nr(s->triggers) == 0 || triggers_get(s->triggers, PA_ORIGIN_ONCPU) != on_cpu ||
	    !is_for(s, wanted, PA_ORIGIN_ONCPU))
		return error_set(err, EINVAL, "pa_options.outputs: '%s' holds %s samples only",
				 PERF_DATA_FORMAT, on_cpu->name);
	return open_stream(s, add_output(s, PERF_DATA_FORMAT, PERF_DATA_SUFFIX, PA_ORIGIN_ONCPU),
			   wanted, err);
}

/* True if one file has all profiles. */
static bool is_for_all(const struct writer *writer, const struct pa_output *wanted)
{
	return writer && writer->write_all && !wanted->kind;
}

/* Opens one file per profile, one for all profiles, or one for the scheduler statistics. */
static int open_wanted(struct pa_session *s, const struct pa_output *wanted, struct pa_error *err)
{
	const struct writer *writer = writer_find(wanted->format);
	uint32_t nr = writer ? triggers_nr(s->triggers) : !!(s->settings.o.modes & PA_MODE_PMU);
	int r = 0;

	if (nr > 0 && is_for_all(writer, wanted))
		nr = 1;
	if (nr == 0)
		return error_set(err, EINVAL,
				 "pa_options.outputs: '%s' is not part of this capture",
				 wanted->format);
	if (writer)
		r = check_kind(s, wanted, err);
	for (uint32_t i = 0; i < nr && r == 0; i++) {
		struct output *out;

		if (writer && !is_for(s, wanted, i))
			continue;
		out = add_output(s, writer ? writer->name : PMU_TEXT_FORMAT,
				 writer ? writer->suffix : PMU_TEXT_SUFFIX, i);
		out->writer = writer;
		out->has_all = is_for_all(writer, wanted);
		r = open_output(s, out, wanted, err);
	}
	return r;
}

/* Of two outputs with one path, the last would replace the first. */
static int check_paths(const struct pa_session *s, struct pa_error *err)
{
	for (unsigned int i = 1; i < s->nr_outputs; i++)
		for (unsigned int k = 0; k < i; k++) {
			const struct output *a = &s->outputs[i], *b = &s->outputs[k];

			if (outfile_is_same(a->file, b->file))
				return error_set(
					err, EINVAL,
					"cannot write '%s' (%s): it is the same file as '%s' "
					"(%s): choose another path",
					outfile_path(a->file), a->format, outfile_path(b->file),
					b->format);
		}
	return 0;
}

int session_open_outputs(struct pa_session *s, struct pa_error *err)
{
	const struct pa_options *o = &s->settings.o;
	int r = 0;

	s->outputs =
		calloc(o->nr_outputs * (triggers_nr(s->triggers) + 1) + 1, sizeof(*s->outputs));
	if (!s->outputs)
		return -ENOMEM;
	for (size_t i = 0; i < o->nr_outputs && r == 0; i++)
		r = strcmp(o->outputs[i].format, PERF_DATA_FORMAT) == 0
			    ? open_perf_data(s, &o->outputs[i], err)
			    : open_wanted(s, &o->outputs[i], err);
	return r < 0 ? r : check_paths(s, err);
}

static int write_pmu_text(struct pa_session *s, struct outfile *file, struct pa_error *err)
{
	char heading[HEADING_SIZE];

	return pmu_text_write(&s->sched_report, session_pmu_heading(s, heading, sizeof(heading)),
			      s->settings.o.per_process, file, err);
}

static int write_all(struct pa_session *s, const struct output *o, struct pa_error *err)
{
	uint32_t nr = triggers_nr(s->triggers);
	_cleanup_(freep) struct flame_view *views = calloc((size_t)nr + 1, sizeof(*views));

	if (!views)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++)
		views[i] = (struct flame_view){ .name = triggers_get(s->triggers, i)->name,
						.profile = s->models[i].now->profile };
	return o->writer->write_all(views, nr, s->target_text, o->file, &s->cancel, err);
}

static int write_profile(struct pa_session *s, const struct output *o, struct pa_error *err)
{
	return o->writer->write(s->models[o->origin].now->profile, o->file, &s->cancel, err);
}

static int write_contents(struct pa_session *s, struct output *o, struct pa_error *err)
{
	if (o->stream)
		return perf_data_finish(o->stream, nr_lost_samples(s, o->origin), err);
	if (o->writer)
		return o->has_all ? write_all(s, o, err) : write_profile(s, o, err);
	return write_pmu_text(s, o->file, err);
}

static int write_output(struct pa_session *s, struct output *o, struct pa_error *err)
{
	int r = write_contents(s, o, err);

	if (r == 0)
		r = outfile_commit(o->file, err);
	return r;
}

/* The first failure is the error of the session; the others are logged. */
int session_write_outputs(struct pa_session *s)
{
	int result = 0;

	for (uint32_t i = 0; i < s->nr_outputs && !atomic_load(&s->cancel); i++) {
		struct pa_error err = { 0 };
		int r = write_output(s, &s->outputs[i], result ? &err : &s->error);

		if (r < 0 && result == 0)
			result = r;
		else if (r < 0 && err.code)
			log_write(&s->log, PA_LOG_ERROR, "%s", err.text);
	}
	return result == 0 && atomic_load(&s->cancel) ? -ECANCELED : result;
}

void session_free_outputs(struct pa_session *s)
{
	for (uint32_t i = 0; i < s->nr_outputs; i++) {
		perf_data_free(s->outputs[i].stream);
		outfile_free(s->outputs[i].file);
	}
	free(s->outputs);
	s->outputs = NULL;
	s->nr_outputs = 0;
}
