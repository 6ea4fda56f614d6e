/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols of code in a file that was kept open, and of the vDSO. */
#include <errno.h>

#include "base/clock.h"
#include "base/path.h"
#include "debugfiles/foreign.h"
#include "dwarf/dwarf.h"
#include "elf/elf_image.h"
#include "elf/vdso.h"
#include "names/source.h"

/* The label of addresses without a symbol. Brackets are reserved for code without a file, such as
 * "[vdso]": a file with such a name is shown with its full path. */
static const char *label_of(const char *path)
{
	const char *name = path_name(path);

	return name[0] && name[0] != '[' ? name : path;
}

static uint64_t at_most(uint64_t ns)
{
	return ns < DWARF_MAX_CPU_NS ? ns : DWARF_MAX_CPU_NS;
}

/* CPU time left for the file's symbols; 0: no limit except the default ones. */
static uint64_t cpu_left_ns(const struct source *s)
{
	uint64_t now_ns = s->cpu_end_ns ? clock_ns(CLOCK_THREAD_CPUTIME_ID) : 0;
	uint64_t left_ns = s->cpu_end_ns > now_ns ? s->cpu_end_ns - now_ns : 1;

	return s->cpu_end_ns ? at_most(left_ns) : 0;
}

static uint64_t lines_left_ns(const struct source *s)
{
	if (!s->cpu_end_ns)
		return 0;
	return at_most(naming_owners_left_ns(s->owners, NAMING_LINES, s->root, s->user));
}

static struct elf_sources elf_sources_of(const struct source *s)
{
	return (struct elf_sources){ .image = s->image,
				     .debug = s->debug.debug.image,
				     .alt = s->debug.alt.image };
}

/* Finds the file's debug files. */
static int find_debug_files(struct naming_job *job, struct source *s)
{
	struct work_limits limits = { s->cancel, cpu_left_ns(s) };
	struct debug_set set = DEBUG_SET_NONE;
	int r;

	if (!job->debug)
		return 0;
	r = debug_files_open(job->debug, &s->file, s->image, &limits, &set);
	if (r < 0)
		return r;
	s->debug = set;
	s->query = debug_files_query(job->debug, &s->file, s->image);
	s->query.limits = (struct work_limits){ s->cancel, lines_left_ns(s) };
	return 0;
}

static void fill_job(const struct naming_job *job, struct source *s)
{
	struct elf_sources src = elf_sources_of(s);

	source_hold(s, &src);
	s->job.kind = SYMBOL_JOB_FILE;
	s->job.fd = s->file.fd;
	s->job.debug_fd = s->debug.debug.fd;
	s->job.alt_fd = s->debug.alt.fd;
	s->job.has_split_files = job->debug != NULL;
	s->job.symbols_cpu_ns = cpu_left_ns(s);
	s->job.lines_cpu_ns = lines_left_ns(s);
	s->job.label = label_of(s->file.path);
}

/* Explains why a file is not open. */
static void explain_closed(struct source *s)
{
	switch (s->file.open_error) {
	case EMFILE:
		source_make_raw(s, "more files are mapped than may be kept open",
				"raise the limit of open files (ulimit -n)");
		break;
	case ETIMEDOUT:
		source_make_raw(s, "its file system, or its process, did not answer", NULL);
		break;
	case EACCES:
	case EPERM:
		source_make_raw(s, "there is no permission to open the file",
				"run as a user who may open it (FUSE: mount it with allow_other)");
		break;
	case EFBIG:
		source_make_raw(s,
				"its file system may stop answering, and it is too large to be "
				"copied",
				"keep it on a local file system");
		break;
	case ENODEV:
		source_make_raw(s, "it is not a regular file", NULL);
		break;
	default:
		source_make_raw(s, "the file was gone before it could be opened",
				"keep it in place, or profile for longer");
	}
}

static const char *why_unreadable(int r)
{
	switch (r) {
	case -ENOEXEC:
		return "it is not an ELF file of this machine";
	case -EBADMSG:
		return "its ELF headers are damaged";
	default:
		return "it could not be read";
	}
}

static void find_owner(struct source *s, const struct file *f)
{
	s->root = f->root;
	s->is_foreign = file_is_foreign(f, &s->user);
	if (s->is_foreign && s->owners)
		s->cpu_end_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) +
				naming_owners_left_ns(s->owners, NAMING_SYMBOLS, s->root, s->user);
}

int source_prepare_file(struct naming_job *job, const struct profile_mapping *m, struct source *s)
{
	int r;

	filestore_take(job->files, (uint32_t)m->owner, &s->file);
	if (s->file.fd < 0) {
		explain_closed(s);
		return 0;
	}
	find_owner(s, &s->file);
	r = elf_image_open_fd(s->file.fd, &s->image);
	if (r == 0) {
		elf_image_limit(s->image, s->cancel, cpu_left_ns(s));
		r = find_debug_files(job, s);
	}
	if (r == -ECANCELED || source_is_about_size(r))
		return r;
	if (r < 0)
		(void)source_drop_file(s, r);
	else if (s->debug.is_refused)
		source_make_raw(s, s->debug.why, s->debug.advice);
	else
		fill_job(job, s);
	return 0;
}

/* Checked after everything is read: a mix of old and new bytes is as wrong as new bytes. */
bool source_drop_file(struct source *s, int r)
{
	bool is_unchanged = file_is_unchanged(&s->file);

	if (r == -ECANCELED || source_is_about_size(r) || (r == 0 && is_unchanged))
		return false;
	if (is_unchanged)
		source_make_raw(s, why_unreadable(r), NULL);
	else
		source_make_raw(s, "the file was changed while it was profiled",
				"profile again without changing it");
	return true;
}

int source_prepare_vdso(struct source *s)
{
	struct elf_sources src;
	int r = vdso_open(&s->image);

	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		source_make_raw(s, "this process has no vDSO to read", NULL);
		return 0;
	}
	src = elf_sources_of(s);
	source_hold(s, &src);
	s->job.kind = SYMBOL_JOB_VDSO;
	s->job.label = "[vdso]";
	s->note.why = "the kernel's vDSO exports no function there";
	return 0;
}
