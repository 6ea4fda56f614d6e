/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/kernel_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/capabilities.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/outfile.h"

#define MAGIC "PAKSYMS"
#define FORMAT 1 /* version of the file's format, including struct ksym */

/* Followed by the symbols, then their names, in the byte order of this machine. */
struct header {
	char magic[8];
	uint32_t format;
	uint32_t list;
	struct kernel_key key;
	uint32_t nr;
	uint32_t name_bytes;
	uint64_t checksum; /* over everything that follows, and this header with 0 here */
};
_Static_assert(sizeof(struct header) == 80, "no holes");
_Static_assert(sizeof(struct ksym) == 16, "as FORMAT says");

static uint64_t checksum(const struct header *h, const struct ksym *syms, const char *names)
{
	struct header bare = *h;

	bare.checksum = 0;
	return hash_mix(hash_mix(hash_bytes(&bare, sizeof(bare)),
				 hash_bytes(syms, (size_t)h->nr * sizeof(*syms))),
			hash_bytes(names, h->name_bytes));
}

static int read_at(int fd, void *to, size_t n, uint64_t at)
{
	size_t done = 0;

	while (done < n) {
		ssize_t got = pread(fd, (char *)to + done, n - done, (off_t)(at + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return -EBADMSG;
		done += (size_t)got;
	}
	return 0;
}

/* True if the file is ours, complete, and of this boot; then its sizes are plausible. */
static int check_header(const struct header *h, uint64_t file_bytes, const struct kernel_key *key)
{
	if (memcmp(h->magic, MAGIC, sizeof(MAGIC)) != 0 || h->format != FORMAT)
		return -EBADMSG;
	if (!h->nr || h->nr > KSYM_MAX_SYMBOLS || !h->name_bytes ||
	    h->name_bytes > KSYM_MAX_NAME_BYTES ||
	    file_bytes != sizeof(*h) + (uint64_t)h->nr * sizeof(struct ksym) + h->name_bytes)
		return -EBADMSG;
	if (memcmp(h->key.boot_id, key->boot_id, sizeof(key->boot_id)) != 0)
		return -ENOENT;
	return 0;
}

/* Reads the arrays described by the header. The table owns them even if this fails. */
static int read_arrays(int fd, const struct header *h, struct ksym_table *t)
{
	uint64_t syms_bytes = (uint64_t)h->nr * sizeof(*t->syms);
	int r = ARRAY_RESERVE(t->syms, t->cap, h->nr, KSYM_MAX_SYMBOLS);

	if (r == 0)
		r = buf_reserve(&t->names, h->name_bytes);
	if (r == 0)
		r = read_at(fd, t->syms, syms_bytes, sizeof(*h));
	if (r == 0)
		r = read_at(fd, t->names.data, h->name_bytes, sizeof(*h) + syms_bytes);
	if (r == 0 && h->checksum != checksum(h, t->syms, t->names.data))
		r = -EBADMSG;
	return r;
}

/* A checksum does not prove validity, so everything that the search relies on is checked. */
static bool is_sane(const struct header *h, const struct ksym_table *t)
{
	if (t->names.data[h->name_bytes - 1] != '\0')
		return false;
	for (uint32_t i = 0; i < h->nr; i++)
		if (t->syms[i].name >= h->name_bytes ||
		    (i && t->syms[i - 1].addr >= t->syms[i].addr))
			return false;
	return true;
}

int kernel_cache_read(int fd, const struct kernel_key *key, struct ksym_table *t,
		      uint32_t *ret_list)
{
	struct header h;
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	r = read_at(fd, &h, sizeof(h), 0);
	if (r == 0)
		r = check_header(&h, (uint64_t)st.st_size, key);
	if (r == 0 && h.key.modules != key->modules) {
		*ret_list = h.list;
		return -ESTALE;
	}
	if (r == 0)
		r = read_arrays(fd, &h, t);
	if (r == 0 && !is_sane(&h, t))
		r = -EBADMSG;
	if (r < 0) {
		ksym_table_done(t);
		return r;
	}
	t->nr = t->nr_sorted = h.nr;
	t->names.len = h.name_bytes;
	*ret_list = h.list;
	return 0;
}

int kernel_cache_load(const char *path, const struct kernel_key *key, struct ksym_table *t,
		      uint32_t *ret_list)
{
	_cleanup_(capabilities_raise) struct capabilities held = CAPABILITIES_HELD;
	_cleanup_(closep) int fd = -1;
	struct stat st;
	int r = capabilities_lower(&held);

	if (r < 0)
		return r;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022))
		return -EPERM;
	return kernel_cache_read(fd, key, t, ret_list);
}

static int write_all(struct outfile *f, const struct header *h, const struct ksym_table *t,
		     struct pa_error *err)
{
	int r = outfile_write(f, h, sizeof(*h), err);

	if (r == 0)
		r = outfile_write(f, t->syms, (size_t)h->nr * sizeof(*t->syms), err);
	if (r == 0)
		r = outfile_write(f, t->names.data, h->name_bytes, err);
	return r < 0 ? r : outfile_commit(f, err);
}

int kernel_cache_store(const char *path, const struct kernel_key *key, const struct ksym_table *t,
		       uint32_t list, struct pa_error *err)
{
	struct outfile_options opts = { .is_private = true };
	_cleanup_(outfile_freep) struct outfile *f = NULL;
	struct header h = {
		.magic = MAGIC,
		.format = FORMAT,
		.list = list,
		.key = *key,
		.nr = t->nr,
		.name_bytes = (uint32_t)t->names.len,
	};
	int r;

	h.checksum = checksum(&h, t->syms, t->names.data);
	r = outfile_open(path, &opts, &f, err);
	return r < 0 ? r : write_all(f, &h, t, err);
}
