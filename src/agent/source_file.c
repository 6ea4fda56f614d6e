/* SPDX-License-Identifier: Apache-2.0 */
/* Names of code that lies in a file: the file itself, kept open, and the kernel's vDSO. */
#include <errno.h>

#include "agent/foreign.h"
#include "agent/source.h"
#include "agent/vdso.h"
#include "base/clock.h"
#include "base/path.h"
#include "dwarf/dwarf.h"
#include "elf/elf_image.h"

/* What addresses without a symbol are named by. Brackets are for code without a file, "[vdso]": a file
 * that is called so has its whole path. */
static const char *label_of(const char *path)
{
	const char *name = path_name(path);

	return name[0] && name[0] != '[' ? name : path;
}

static uint64_t at_most(uint64_t ns)
{
	return ns < DWARF_MAX_CPU_NS ? ns : DWARF_MAX_CPU_NS;
}

/* For what is still to be read of a file's symbols; 0: no limit but its own. */
static uint64_t cpu_left_ns(const struct source *s)
{
	uint64_t now_ns = s->cpu_end_ns ? clock_ns(CLOCK_THREAD_CPUTIME_ID) : 0;
	uint64_t left_ns = s->cpu_end_ns > now_ns ? s->cpu_end_ns - now_ns : 1;

	if (!s->cpu_end_ns)
		return 0;
	return at_most(left_ns);
}

static uint64_t lines_left_ns(const struct source *s)
{
	if (!s->cpu_end_ns)
		return 0;
	return at_most(naming_owners_left_ns(s->owners, NAMING_LINES, s->root, s->user));
}

static int open_elf(struct source *s, const char *label)
{
	struct elf_sources src = { .image = s->image,
				   .debug = s->debug.debug.image,
				   .alt = s->debug.alt.image,
				   .opener = s->opener.open ? &s->opener : NULL,
				   .cancel = s->cancel,
				   .max_cpu_ns = lines_left_ns(s),
				   .lines_cpu_ns = &s->lines_cpu_ns,
				   .label = label };

	source_hold(s, &src);
	return symbolizer_new_elf(&src, &s->symbolizer);
}

/* Whoever has no symbols says so; that there is more to be had elsewhere is known here. */
static void tell_cure(struct source *s)
{
	if (!s->symbolizer->missing_cure)
		return;
	s->symbolizer->missing_cure = "install its debug package, or name a debuginfod server "
				      "(--debuginfod-url)";
	if (!s->debug.why)
		return;
	s->symbolizer->missing_why = s->debug.why;
	s->symbolizer->missing_cure = s->debug.cure;
}

static int open_split(void *query, const char *path)
{
	return debug_search_split(query, path);
}

/* Also of what was fetched, and anew of what was found: looking for it has taken some of the time. */
static void limit_all(struct source *s)
{
	struct elf_image *const images[] = { s->image, s->debug.debug.image, s->debug.alt.image };

	for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++)
		if (images[i])
			elf_image_limit(images[i], s->cancel, cpu_left_ns(s));
}

/* The file and what tells of it elsewhere; what was to be fetched and was not may leave it raw. */
static int open_with_debug(struct capture *c, const struct file *f, struct source *s)
{
	struct debug_set set = DEBUG_SET_NONE;
	struct work_limits limits = { s->cancel, cpu_left_ns(s) };
	int r = c->debug ? debug_files_open(c->debug, f, s->image, &limits, &set) : 0;

	if (r < 0)
		return r;
	s->debug = set;
	limit_all(s);
	if (c->debug) {
		s->query = debug_files_query(c->debug, f, s->image);
		s->query.limits = (struct work_limits){ s->cancel, lines_left_ns(s) };
		s->opener = (struct elf_opener){ .open = open_split, .ctx = &s->query };
	}
	if (set.is_refused)
		return source_open_raw(s, set.why, set.cure);
	r = open_elf(s, label_of(f->path));
	if (r == 0)
		tell_cure(s);
	return r;
}

static int open_closed(const struct file *f, struct source *s)
{
	switch (f->open_error) {
	case EMFILE:
		return source_open_raw(s, "more files are mapped than may be kept open",
				       "raise the limit of open files (ulimit -n)");
	case ETIMEDOUT:
		return source_open_raw(s, "its file system, or its process, did not answer", NULL);
	case EACCES:
	case EPERM:
		return source_open_raw(s, "there is no permission to open the file",
				       "run as a user who may open it (FUSE: mount it with "
				       "allow_other)");
	case EFBIG:
		return source_open_raw(s,
				       "its file system may stop answering, and it is too large "
				       "to be copied",
				       "keep it on a local file system");
	case ENODEV:
		return source_open_raw(s, "it is not a regular file", NULL);
	default:
		return source_open_raw(s, "the file was gone before it could be opened",
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

int source_open_file(struct capture *c, const struct profile_mapping *m, struct source *s)
{
	const struct file *f = filestore_get(c->files, (uint32_t)m->owner);
	bool is_unchanged;
	int r;

	if (f->fd < 0)
		return open_closed(f, s);
	find_owner(s, f);
	r = elf_image_open_fd(f->fd, &s->image);
	if (r == 0)
		elf_image_limit(s->image, s->cancel, cpu_left_ns(s));
	if (r == 0)
		r = open_with_debug(c, f, s);
	if (r == -ECANCELED) {
		source_done(s);
		return r;
	}
	if (source_is_about_size(r))
		return r;
	/* Asked when all is read: half old and half new is as wrong as new. */
	is_unchanged = file_is_unchanged(f);
	if (r == 0 && is_unchanged)
		return 0;
	source_done(s);
	if (is_unchanged)
		return source_open_raw(s, why_unreadable(r), NULL);
	return source_open_raw(s, "the file was changed while it was profiled",
			       "profile again, while it stays as it is");
}

int source_open_vdso(struct source *s)
{
	int r = vdso_open(&s->image);

	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return source_open_raw(s, "this process has no vDSO to read", NULL);
	r = open_elf(s, "[vdso]");
	if (r == 0) {
		s->symbolizer->missing_why = "the kernel's vDSO exports no function there";
		s->symbolizer->missing_cure = NULL;
	}
	return r;
}
