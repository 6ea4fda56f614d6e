/* SPDX-License-Identifier: Apache-2.0 */
#include "debugfiles/debug_search.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "debugfiles/crc_cache.h"
#include "elf/elf_image.h"
#include "proc/filestore.h"
#include "proc/procfs.h"
#include "proc/roots.h"

#define DEBUG_DIR "/usr/lib/debug"

void debug_file_done(struct debug_file *f)
{
	f->image = elf_image_free(f->image);
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
	free(f->path);
	f->path = NULL;
}

struct debug_query debug_search_query(const struct filestore *files, const struct file *f)
{
	struct debug_query q;

	filestore_lock(files);
	q = (struct debug_query){ .procfs = filestore_procfs(files),
				  .fd = f->is_copy ? -1 : f->fd,
				  .path = f->path,
				  .root = filestore_root(files, f->root),
				  .root_user = filestore_root_user(files, f->root),
				  .own_root = filestore_root(files, ROOT_OWN),
				  .is_own = f->root == ROOT_OWN };
	filestore_unlock(files);
	return q;
}

/* ---- opening files that a binary names ---- */

static bool has_parent_part(const char *path)
{
	for (const char *s = path; (s = strstr(s, "/..")); s += 3)
		if (s[3] == '/' || s[3] == '\0')
			return true;
	return false;
}

static bool is_below_debug_dir(const char *path)
{
	return strncmp(path, DEBUG_DIR "/", strlen(DEBUG_DIR "/")) == 0 && !has_parent_part(path);
}

static uid_t owner_of_binary(const struct debug_query *q)
{
	struct stat st;

	return q->fd >= 0 && fstat(q->fd, &st) == 0 ? st.st_uid : PROC_NO_USER;
}

/* True if the owner of the binary may have referred to a file of that user: their own, root's
 * (ours, or that of the root directory), or our own user's. Anyone can put a file next to a binary
 * in /tmp; below /usr/lib/debug only users who may write there. */
static bool may_be_meant(const struct debug_query *q, uid_t owner, uid_t user)
{
	return user == owner || user == 0 || user == q->root_user || user == geteuid();
}

/* Opens a file that everyone may read, or that the owner of the binary that refers to it may
 * read. */
static int open_named(const struct debug_query *q, const char *path)
{
	bool is_below = is_below_debug_dir(path);
	uid_t owner = owner_of_binary(q);
	_cleanup_(closep) int fd = -1;
	struct reader_file file;

	if (q->root < 0)
		return -ENOENT;
	if (q->is_own && is_below)
		return procfs_open_beneath(q->procfs, q->root, path, NULL);
	fd = procfs_open_readable(q->procfs, q->root, path, owner, &file);
	if (fd >= 0 && !is_below && !may_be_meant(q, owner, file.st.st_uid))
		return -EACCES;
	return fd < 0 ? fd : TAKE_FD(fd);
}

/* Opens a file in our own root, for a process with another root. */
static int open_own(const struct debug_query *q, const char *path)
{
	if (q->is_own || q->own_root < 0 || !is_below_debug_dir(path))
		return -ENOENT;
	return procfs_open_beneath(q->procfs, q->own_root, path, NULL);
}

/* ---- searching ---- */

/* A search in progress. */
struct search {
	const struct debug_query *q;
	struct debug_search_stats *stats;
	const struct build_id *id; /* required build-id; len 0: the CRC counts */
	uint32_t crc;
	bool wants_dwarf_only; /* a symbol table is not enough */
	struct debug_file best;
};

static int is_itself(const struct debug_query *q, int fd, bool *ret_is)
{
	struct stat a, b;

	if (q->fd < 0) {
		*ret_is = false;
		return 0;
	}
	if (fstat(q->fd, &a) < 0 || fstat(fd, &b) < 0)
		return -errno;
	*ret_is = a.st_dev == b.st_dev && a.st_ino == b.st_ino;
	return 0;
}

/* 0: the file belongs to the binary; -ESTALE: it does not. */
static int believe(struct search *s, const struct elf_image *img, int fd)
{
	uint32_t crc;
	int r;

	if (elf_image_machine(img) != elf_image_machine(s->q->image))
		return -ESTALE;
	if (s->id->len) {
		if (build_id_eq(elf_image_build_id(img), s->id))
			return 0;
		s->stats->nr_other_build_id++;
		return -ESTALE;
	}
	r = s->q->crcs ? crc_cache_get(s->q->crcs, img, fd, &crc) : -ESTALE;
	if (r == 0 && crc != s->crc) {
		s->stats->nr_bad_crc++;
		r = -ESTALE;
	}
	return r;
}

/* Keeps the file if it is better than what was found before. 1: no file can be better. */
static int keep_better(struct search *s, struct debug_file *f)
{
	bool has_dwarf = elf_image_has_dwarf(f->image);

	if (!has_dwarf && (s->wants_dwarf_only || s->best.image || !elf_image_has_symtab(f->image)))
		return 0;
	debug_file_done(&s->best);
	s->best = *f;
	*f = DEBUG_FILE_NONE;
	return has_dwarf;
}

/* Takes fd; a negative fd is the reason why there is none. 1: found; 0: continue; -ENOMEM. */
static int try_opened(struct search *s, int fd, const char *path)
{
	_cleanup_(debug_file_done) struct debug_file f = DEBUG_FILE_NONE;
	bool is_same;
	int r;

	f.fd = fd;
	if (f.fd < 0)
		return f.fd == -ENOMEM ? f.fd : 0;
	r = is_itself(s->q, f.fd, &is_same);
	if (r < 0 || is_same)
		return 0;
	r = elf_image_open_fd(f.fd, &f.image);
	if (r == 0)
		elf_image_limit(f.image, s->q->limits.cancel, s->q->limits.max_cpu_ns);
	if (r == 0)
		r = believe(s, f.image, f.fd);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	f.path = strdup(path);
	return f.path ? keep_better(s, &f) : -ENOMEM;
}

static int try_path(struct search *s, const char *path)
{
	int r = try_opened(s, open_named(s->q, path), path);

	return r ? r : try_opened(s, open_own(s->q, path), path);
}

__attribute__((format(printf, 2, 3))) static int try_printf(struct search *s, const char *fmt, ...)
{
	char path[DEBUG_PATH_SIZE];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	return n > 0 && (size_t)n < sizeof(path) ? try_path(s, path) : 0;
}

static int try_build_id(struct search *s)
{
	char hex[BUILD_ID_HEX_SIZE];

	if (s->id->len < 2)
		return 0;
	build_id_hex(s->id, hex);
	return try_printf(s, DEBUG_DIR "/.build-id/%.2s/%s.debug", hex, hex + 2);
}

/* Tries the binary's directory, .debug/ in it, and the same directory below /usr/lib/debug. */
static int try_debuglink(struct search *s)
{
	_cleanup_(freep) char *dir = NULL;
	struct elf_debuglink link;
	int r = elf_debuglink_read(s->q->image, &link);

	if (r < 0 || s->q->path[0] != '/')
		return r == -ENOMEM ? r : 0;
	dir = path_dir(s->q->path);
	if (!dir)
		return -ENOMEM;
	s->crc = link.crc;
	r = try_printf(s, "%s/%s", dir, link.name);
	if (r == 0)
		r = try_printf(s, "%s/.debug/%s", dir, link.name);
	if (r == 0)
		r = try_printf(s, DEBUG_DIR "%s/%s", dir, link.name);
	return r;
}

static int end_search(struct search *s, int r, struct debug_file *ret_file)
{
	if (r >= 0 && s->best.image) {
		*ret_file = s->best;
		return 0;
	}
	debug_file_done(&s->best);
	return r < 0 ? r : -ENOENT;
}

int debug_search(const struct debug_query *q, struct debug_search_stats *stats,
		 struct debug_file *ret_file)
{
	struct search s = {
		.q = q, .stats = stats, .id = elf_image_build_id(q->image), .best = DEBUG_FILE_NONE
	};
	int r = try_build_id(&s);

	if (r == 0)
		r = try_debuglink(&s);
	return end_search(&s, r, ret_file);
}

/* Resolves the path relative to the directory of the file with the link, beginning with its "../":
 * files below /usr/lib/debug are recognized by their path. */
static int try_alt_path(struct search *s, const char *path, const char *from_path)
{
	_cleanup_(freep) char *dir = NULL;

	if (path[0] == '/')
		return try_path(s, path);
	if (!from_path)
		return 0;
	dir = path_dir(from_path);
	if (!dir)
		return -ENOMEM;
	while (strncmp(path, "../", 3) == 0) {
		char *slash = strrchr(dir, '/');

		if (slash)
			*slash = '\0';
		path += 3;
	}
	return try_printf(s, "%s/%s", dir, path);
}

int debug_search_alt(const struct debug_query *q, const struct elf_altlink *link,
		     const char *from_path, struct debug_search_stats *stats,
		     struct debug_file *ret_file)
{
	struct search s = { .q = q,
			    .stats = stats,
			    .id = &link->build_id,
			    .wants_dwarf_only = true,
			    .best = DEBUG_FILE_NONE };
	int r = try_alt_path(&s, link->path, from_path);

	if (r == 0)
		r = try_build_id(&s);
	if (r == 0)
		r = try_printf(&s, DEBUG_DIR "/.dwz/%s", path_name(link->path));
	return end_search(&s, r, ret_file);
}

static int open_in_roots(const struct debug_query *q, const char *path)
{
	int fd = open_named(q, path);

	return fd >= 0 ? fd : open_own(q, path);
}

static bool has_suffix(const char *s, const char *suffix)
{
	size_t len = strlen(s), n = strlen(suffix);

	return len > n && strcmp(s + len - n, suffix) == 0;
}

int debug_search_split(const struct debug_query *q, const char *path)
{
	_cleanup_(freep) char *dir = NULL;
	char full[DEBUG_PATH_SIZE];
	int n;

	/* With -gsplit-dwarf=single it is the object file. */
	if (path && !has_suffix(path, ".dwo") && !has_suffix(path, ".o"))
		return -EPERM;
	if (path && path[0] == '/')
		return open_in_roots(q, path);
	dir = path_dir(q->path);
	if (!dir)
		return -ENOMEM;
	if (path)
		n = snprintf(full, sizeof(full), "%s/%s", dir, path);
	else
		n = snprintf(full, sizeof(full), "%s.dwp", q->path);
	return n > 0 && (size_t)n < sizeof(full) ? open_in_roots(q, full) : -ENAMETOOLONG;
}

int debug_file_open(int fd, const struct build_id *id, struct debug_file *ret_file)
{
	struct elf_image *img;
	int r = elf_image_open_fd(fd, &img);

	if (r < 0)
		return r;
	if (!build_id_eq(elf_image_build_id(img), id)) {
		elf_image_free(img);
		return -ESTALE;
	}
	*ret_file = (struct debug_file){ .image = img, .fd = fd };
	return 0;
}
