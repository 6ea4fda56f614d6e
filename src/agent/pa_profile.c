/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pa_profile.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/pa_file.h"
#include "base/buf.h"
#include "base/capabilities.h"
#include "read/pprof_decode.h"
#include "read/pprof_input.h"
#include "write/writer.h"

#define DEFAULT_MAX_FUNCTIONS 100
#define LIST_MAX_BYTES 256

void pa_profile_free(struct pa_profile *p)
{
	if (!p)
		return;
	file_summary_done(&p->summary);
	profile_free(p->profile);
	free(p->path);
	free(p);
}

static void pa_profile_freep(struct pa_profile **p)
{
	pa_profile_free(*p);
}

/* Copies the options that this library knows; the rest must be zero. */
static int take_profile_options(const struct pa_profile_options *from,
				struct pa_profile_options *to, struct pa_error *err)
{
	int r;

	*to = (struct pa_profile_options){ .sz = sizeof(*to) };
	r = sized_copy(to, from, SIZED_UP_TO(struct pa_profile_options, max_functions),
		       sizeof(*to));
	if (r < 0)
		return sized_error(err, r, "opts", "pa_profile_options", from, sizeof(*to));
	if (!to->max_functions)
		to->max_functions = DEFAULT_MAX_FUNCTIONS;
	return 0;
}

/* Opens the file with the user's own privileges. */
static int open_profile(const char *path, struct pa_error *err)
{
	_cleanup_(capabilities_raise) struct capabilities held = CAPABILITIES_HELD;
	struct stat st;
	int fd;

	if (capabilities_lower(&held) < 0)
		return error_set(err, EPERM, "cannot read '%s' without capabilities", path);
	fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
			       : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (fd < 0)
		return error_set(err, errno, "cannot read '%s': %s", path, strerror(errno));
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		close(fd);
		return error_set(err, EISDIR, "'%s' is a directory; give a pprof file", path);
	}
	return fd;
}

/* The descriptor of the bytes: a file, or memory. */
static int read_profile(struct pa_profile *p, int fd, struct pa_error *err)
{
	struct buf bytes = BUF_INIT(PPROF_INPUT_MAX_BYTES);
	int r = pprof_input_read(fd, p->path, &bytes, err);

	if (r == 0)
		r = pprof_decode(bytes.data, bytes.len, PPROF_MAX_MODEL_BYTES, p->path, &p->profile,
				 err);
	buf_done(&bytes);
	return r;
}

/* "samples/count, cpu/nanoseconds" */
static const char *list_value_types(const struct profile *p, char text[LIST_MAX_BYTES])
{
	size_t n = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < p->nr_types && n < LIST_MAX_BYTES; i++)
		n += (size_t)snprintf(text + n, LIST_MAX_BYTES - n, "%s%s", i ? ", " : "",
				      profile_str(p, p->types[i].type));
	return text;
}

static bool type_is(const struct profile *p, uint32_t type, const char *name, const char *unit)
{
	return !strcmp(profile_str(p, p->types[type].type), name) &&
	       !strcmp(profile_str(p, p->types[type].unit), unit);
}

/* The number of the type with this name; nr_types if there is none. */
static uint32_t type_named(const struct profile *p, const char *name)
{
	uint32_t i = 0;

	while (i < p->nr_types && strcmp(profile_str(p, p->types[i].type), name) != 0)
		i++;
	return i;
}

/* True if each sample stands for the same CPU time, as in CPU profiles of this program, of Go and
 * of gperftools: then samples are counted as in a capture. */
static bool have_one_period(const struct profile *p, uint32_t samples)
{
	if (samples == p->nr_types || !type_is(p, samples, "samples", "count") || p->period <= 0 ||
	    !type_is(p, p->default_type, "cpu", "nanoseconds"))
		return false;
	for (uint32_t i = 0; i < p->nr_samples; i++) {
		int64_t ns;

		if (__builtin_mul_overflow(profile_value(p, i, samples), p->period, &ns) ||
		    ns != profile_value(p, i, p->default_type))
			return false;
	}
	return true;
}

/* Sets the value type to be analyzed. */
static int choose_type(struct pa_profile *p, const char *wanted, bool *ret_are_samples,
		       struct pa_error *err)
{
	struct profile *model = p->profile;
	uint32_t samples = type_named(model, "samples"), type = model->default_type;
	bool have_period = have_one_period(model, samples);
	char list[LIST_MAX_BYTES];

	if (wanted)
		type = type_named(model, wanted);
	else if (have_period)
		type = samples;
	if (type == model->nr_types)
		return error_set(err, EINVAL, "'%s' has no values of type '%s'; it has %s", p->path,
				 wanted, list_value_types(model, list));
	model->count_type = model->shown_type = type;
	if (wanted) /* otherwise a page begins with the default type of the file */
		model->default_type = type;
	*ret_are_samples = have_period && type == samples;
	return 0;
}

/* Counts samples as in the kernel if their innermost frame is kernel code. */
static void count_in_kernel(struct profile *p)
{
	for (uint32_t i = 0; i < p->nr_samples; i++) {
		const struct profile_span *stack = &p->stacks[p->samples[i].stack];
		uint32_t mapping = stack->nr ? p->locations[p->frames[stack->first]].mapping
					     : PROFILE_NONE;

		if (mapping != PROFILE_NONE && p->mappings[mapping].kind == PROFILE_MAPPING_KERNEL)
			profile_count_in_kernel(p, p->samples[i].labels, profile_count(p, i));
	}
}

static int no_such_label(const struct pa_profile *p, const char *label, struct pa_error *err)
{
	const struct pa_summary *s = &p->summary.pub;
	char list[LIST_MAX_BYTES] = "";
	size_t n = 0;

	for (size_t i = 0; i < s->nr_label_keys && n < sizeof(list); i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "",
				      s->label_keys[i]);
	if (!s->nr_label_keys)
		return error_set(err, EINVAL, "'%s' has no label '%s': its samples have no labels",
				 p->path, label);
	return error_set(err, EINVAL, "'%s' has no label '%s'; it has %s", p->path, label, list);
}

static int summarize(struct pa_profile *p, const struct pa_profile_options *o, struct pa_error *err)
{
	struct file_values values = { .path = p->path,
				      .label = o->label,
				      .max_functions = o->max_functions };
	int r = choose_type(p, o->value_type, &values.are_samples, err);

	if (r < 0)
		return r;
	count_in_kernel(p->profile);
	r = file_summary_fill(&p->summary, p->profile, &values);
	if (r == -ENOENT)
		return no_such_label(p, o->label, err);
	return r < 0 ? error_set(err, -r, "out of memory while reading '%s'", p->path) : 0;
}

/* fd: borrowed; -1: the file is to be opened. */
static int new_profile(int fd, const char *path, const struct pa_profile_options *opts,
		       struct pa_profile **ret_profile, struct pa_error *err)
{
	_cleanup_(pa_profile_freep) struct pa_profile *p = calloc(1, sizeof(*p));
	_cleanup_(closep) int opened = -1;
	struct pa_profile_options o;
	int r;

	if (p)
		p->path = strdup(path);
	if (!p || !p->path)
		return error_set(err, ENOMEM, "out of memory while reading '%s'", path);
	r = take_profile_options(opts, &o, err);
	if (r < 0)
		return r;
	if (fd < 0)
		fd = opened = open_profile(path, err);
	r = fd < 0 ? fd : read_profile(p, fd, err);
	if (r == 0)
		r = summarize(p, &o, err);
	if (r < 0)
		return r;
	*ret_profile = TAKE(p);
	return 0;
}

int pa_profile_read(const char *path, const struct pa_profile_options *opts,
		    struct pa_profile **ret_profile, struct pa_error *err)
{
	error_clear(err);
	if (!path || !ret_profile)
		return error_set(err, EINVAL,
				 "pa_profile_read(): a path and ret_profile are required");
	return new_profile(-1, path, opts, ret_profile, err);
}

/* A descriptor of memory that has these bytes. */
static int memory_with(const char *bytes, size_t n)
{
	_cleanup_(closep) int fd = memfd_create("perf-agent-profile", MFD_CLOEXEC);

	while (fd >= 0 && n) {
		ssize_t done = write(fd, bytes, n);

		if (done < 0)
			return -errno;
		bytes += done;
		n -= (size_t)done;
	}
	if (fd < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	return fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

int pa_profile_parse(const void *bytes, size_t n, const char *name,
		     const struct pa_profile_options *opts, struct pa_profile **ret_profile,
		     struct pa_error *err)
{
	_cleanup_(closep) int fd = -1;

	error_clear(err);
	if ((!bytes && n) || !ret_profile)
		return error_set(err, EINVAL,
				 "pa_profile_parse(): bytes and ret_profile are required");
	fd = memory_with(bytes, n);
	if (fd < 0)
		return error_set(err, errno, "cannot keep a profile in memory: %s",
				 strerror(errno));
	return new_profile(fd, name ? name : "profile", opts, ret_profile, err);
}

const struct pa_summary *pa_profile_summary(const struct pa_profile *p)
{
	return p ? &p->summary.pub : NULL;
}

/* A structure of an older caller ends before the kind, which is not used; that of a newer caller
 * may have more fields, which must be zero. */
int pa_profile_take_output(const struct pa_output *from, struct pa_output *to,
			   const struct writer **ret_writer, struct pa_error *err)
{
	int r;

	if (!from)
		return error_set(err, EINVAL, "an output is required");
	*to = (struct pa_output){ 0 };
	r = pa_file_copy_output(from, to, "pa_output", err);
	if (r < 0)
		return r;
	if (!to->format || (!to->path && !pa_file_has_target(to)))
		return error_set(err, EINVAL, "pa_output: path and format are required");
	r = pa_file_check_output(to, "pa_output", err);
	if (r < 0)
		return r;
	*ret_writer = writer_find(to->format);
	if (!*ret_writer)
		return error_set(err, EINVAL, "cannot write '%s': there is no format '%s'",
				 to->path ? to->path : "", to->format);
	return 0;
}

int pa_profile_open_output(const struct pa_output *output, const struct pa_file_options *opts,
			   struct outfile **ret_file, struct pa_error *err)
{
	struct outfile_options oo;

	int r = pa_file_take_options(opts, &oo, err);

	return r < 0 ? r : pa_file_open_output(output, output->path, &oo, ret_file, err);
}

const char *pa_profile_title(const struct pa_profile *p)
{
	const char *slash = strrchr(p->path, '/');

	if (p->summary.pub.target_text)
		return p->summary.pub.target_text;
	return strcmp(p->path, "-") ? slash ? slash + 1 : p->path : NULL;
}

/* Passes the title to formats that have one. */
static int write_with(const struct writer *w, const struct pa_profile *p, struct outfile *out,
		      struct pa_error *err)
{
	const struct profile *model = p->profile;
	const struct flame_view view = {
		.name = profile_str(model, model->types[model->default_type].type),
		.profile = model,
	};

	return w->write_all ? w->write_all(&view, 1, pa_profile_title(p), out, NULL, err)
			    : w->write(model, out, NULL, err);
}

int pa_profile_write(const struct pa_profile *p, const struct pa_output *output,
		     const struct pa_file_options *opts, struct pa_error *err)
{
	_cleanup_(outfile_freep) struct outfile *out = NULL;
	const struct writer *w;
	struct pa_output to;
	int r;

	error_clear(err);
	if (!p)
		return error_set(err, EINVAL, "pa_profile_write(): a profile is required");
	r = pa_profile_take_output(output, &to, &w, err);
	if (r == 0)
		r = pa_profile_open_output(&to, opts, &out, err);
	if (r == 0)
		r = write_with(w, p, out, err);
	return r < 0 ? r : outfile_commit(out, err);
}
