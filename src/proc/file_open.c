/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/file_open.h"

#include <errno.h>
#include <limits.h>
#include <sys/sysmacros.h>

#include "proc/procfs.h"

#define DELETED_SUFFIX " (deleted)"

enum proof { PROOF_NONE, PROOF_SAME, PROOF_OTHER };

/* Compares the kernel's key with fstat(): equality is proof, a difference proves nothing, because
 * overlayfs and btrfs report another device to programs than they use internally. */
static enum proof prove_by_inode(const struct reader_file *f, const struct file_key *key)
{
	const struct stat *st = &f->st;

	if (key->inode == 0 || st->st_ino != key->inode || major(st->st_dev) != key->major ||
	    minor(st->st_dev) != key->minor)
		return PROOF_NONE;
	/* A removed file's inode number is soon reused; its generation is not. */
	if (key->has_generation && f->has_generation && f->generation != (uint32_t)key->generation)
		return PROOF_OTHER;
	return PROOF_SAME;
}

static enum proof prove(const struct file_opener *o, const struct file_request *rq,
			const struct reader_file *f)
{
	enum proof by_inode = prove_by_inode(f, rq->key);
	struct build_id found;

	if (by_inode != PROOF_NONE)
		return by_inode;
	if (!o->verify || rq->build_id->len == 0 || o->verify(o->verify_ctx, f->fd, &found) < 0)
		return PROOF_NONE;
	return build_id_eq(&found, rq->build_id) ? PROOF_SAME : PROOF_OTHER;
}

size_t path_len_bare(const char *path)
{
	size_t len = strlen(path), n = strlen(DELETED_SUFFIX);

	if (len > n && strcmp(path + len - n, DELETED_SUFFIX) == 0)
		return len - n;
	return len;
}

static bool has_same_base_name(const char *a, const char *b)
{
	size_t len_a = path_len_bare(a), len_b = path_len_bare(b);
	const char *slash_a = memrchr(a, '/', len_a), *slash_b = memrchr(b, '/', len_b);

	if (slash_a) {
		len_a -= (size_t)(slash_a + 1 - a);
		a = slash_a + 1;
	}
	if (slash_b) {
		len_b -= (size_t)(slash_b + 1 - b);
		b = slash_b + 1;
	}
	return len_a == len_b && memcmp(a, b, len_a) == 0;
}

/* The range may have been mapped to another file since. Roots may differ between the process and
 * us, base names do not. */
static bool is_renamed_or_replaced(const struct file_opener *o, const struct file_request *rq)
{
	const struct file_hint *h = rq->hint;
	char now[PATH_MAX + sizeof(DELETED_SUFFIX)];

	if (procfs_mapped_path(o->procfs, h->pid, h->start, h->end, now, sizeof(now)) < 0)
		return false;
	return !has_same_base_name(now, rq->path);
}

static int open_mapped(const struct file_opener *o, const struct file_request *rq,
		       struct reader_file *ret_file)
{
	_cleanup_(closep) int fd = -1;
	enum proof proof;

	fd = procfs_open_mapped(o->procfs, rq->hint->pid, rq->hint->start, rq->hint->end, ret_file);
	if (fd < 0)
		return fd;
	proof = prove(o, rq, ret_file);
	if (proof == PROOF_OTHER || (proof == PROOF_NONE && is_renamed_or_replaced(o, rq)))
		return -ESTALE;
	return TAKE_FD(fd);
}

static int open_proven(const struct file_opener *o, const struct file_request *rq, pid_t root_pid,
		       const char *path, struct reader_file *ret_file)
{
	_cleanup_(closep) int fd = procfs_open_in_root(o->procfs, root_pid, path, ret_file);

	if (fd < 0)
		return fd;
	return prove(o, rq, ret_file) == PROOF_SAME ? TAKE_FD(fd) : -ESTALE;
}

/* A file may really be called "… (deleted)", so the literal name comes first. */
static int open_in_root(const struct file_opener *o, const struct file_request *rq, pid_t root_pid,
			struct reader_file *ret_file)
{
	size_t len = path_len_bare(rq->path);
	int r = open_proven(o, rq, root_pid, rq->path, ret_file);
	char bare[PATH_MAX];

	if (r >= 0 || rq->path[len] == '\0' || len >= sizeof(bare))
		return r;
	memcpy(bare, rq->path, len);
	bare[len] = '\0';
	return open_proven(o, rq, root_pid, bare, ret_file);
}

int file_open(const struct file_opener *o, const struct file_request *rq,
	      struct reader_file *ret_file)
{
	const pid_t roots[] = { rq->hint->pid, rq->hint->ppid, 0 };
	int first, r;

	first = open_mapped(o, rq, ret_file);
	if (first >= 0 || first == -ETIMEDOUT || first == -EFBIG)
		return first;
	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		bool is_own = i + 1 == sizeof(roots) / sizeof(roots[0]);

		if (roots[i] <= 0 && !is_own)
			continue;
		r = open_in_root(o, rq, roots[i], ret_file);
		if (r >= 0)
			return r;
		if (r == -ESTALE)
			first = r;
	}
	return first;
}
