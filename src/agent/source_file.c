/* SPDX-License-Identifier: Apache-2.0 */
/* Names of code that lies in a file: the file itself, kept open, and the kernel's vDSO. */
#include <errno.h>
#include <sys/stat.h>

#include "agent/source.h"
#include "agent/vdso.h"
#include "base/path.h"
#include "elf/elf_image.h"
#include "proc/roots.h"

/* What addresses without a symbol are named by. Brackets are for code without a file, "[vdso]": a file
 * that is called so has its whole path. */
static const char *label_of(const char *path)
{
	const char *name = path_name(path);

	return name[0] && name[0] != '[' ? name : path;
}

static int open_elf(struct source *s, const char *label)
{
	struct elf_sources src = { .image = s->image,
				   .debug = s->debug.debug.image,
				   .alt = s->debug.alt.image,
				   .opener = s->opener.open ? &s->opener : NULL,
				   .cancel = s->cancel,
				   .max_cpu_ns = s->is_foreign ? s->max_cpu_ns : 0,
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

/* The file and what tells of it elsewhere; what was to be fetched and was not may leave it raw. */
static int open_with_debug(struct capture *c, const struct file *f, struct source *s)
{
	struct debug_set set = DEBUG_SET_NONE;
	int r = c->debug ? debug_files_open(c->debug, f, s->image, s->cancel, &set) : 0;

	if (r < 0)
		return r;
	s->debug = set;
	if (c->debug) {
		s->query = debug_files_query(c->debug, f, s->image);
		s->query.cancel = s->cancel;
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

/* Whose owner is neither root nor who runs this, or whose root may have anybody's debug files. */
static bool is_foreign(const struct file *f)
{
	struct stat st;

	return f->root != ROOT_OWN || fstat(f->fd, &st) < 0 ||
	       (st.st_uid != 0 && st.st_uid != geteuid());
}

int source_open_file(struct capture *c, const struct profile_mapping *m, struct source *s)
{
	const struct file *f = filestore_get(c->files, (uint32_t)m->owner);
	bool is_unchanged;
	int r;

	if (f->fd < 0)
		return open_closed(f, s);
	s->is_foreign = is_foreign(f);
	r = elf_image_open_fd(f->fd, &s->image);
	if (r == 0)
		elf_image_limit(s->image, s->cancel, 0);
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
