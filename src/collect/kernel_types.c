/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/kernel_types.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/quiet_write.h"
#include "collect/btf_names.h"
#include "collect/btf_subset.h"

#define MAX_BYTES (128u << 20) /* 6 MB on 6.18 */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

struct view {
	void *bytes; /* mapped */
	size_t size;
};

static void view_done(struct view *v)
{
	if (v->bytes)
		munmap(v->bytes, v->size);
}

static int read_all(int fd, char *to, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = read(fd, to + done, size - done);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			return -EBADMSG;
		if (n > 0)
			done += (size_t)n;
	}
	return 0;
}

/* Since 6.16 the kernel's types can be mapped. Before that they are read, a page at a time. */
static int view_open(const char *path, struct view *v)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *p;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size <= 0 || (uint64_t)st.st_size > MAX_BYTES)
		return -EBADMSG;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p != MAP_FAILED) {
		*v = (struct view){ p, (size_t)st.st_size };
		return 0;
	}
	p = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		 0);
	if (p == MAP_FAILED)
		return -errno;
	*v = (struct view){ p, (size_t)st.st_size };
	return read_all(fd, p, v->size);
}

int kernel_types_probe(void)
{
	_cleanup_(closep) int fd = open(KERNEL_TYPES_PATH, O_RDONLY | O_CLOEXEC);
	uint16_t magic;

	if (fd < 0)
		return -errno;
	if (read_all(fd, (char *)&magic, sizeof(magic)) < 0 || magic != BTF_MAGIC)
		return -EBADMSG;
	return 0;
}

int kernel_types_file_new(char path[KERNEL_TYPES_FILE_SIZE], int *ret_fd)
{
	int fd = memfd_create("kernel-types", MFD_CLOEXEC | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL) /* the second since 6.3 */
		fd = memfd_create("kernel-types", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	(void)snprintf(path, KERNEL_TYPES_FILE_SIZE, "/proc/self/fd/%d", fd);
	*ret_fd = fd;
	return 0;
}

static int write_subset(const struct btf_names *names, int fd)
{
	_cleanup_(view_done) struct view kernel = { 0 };
	_cleanup_(buf_done) struct buf subset = BUF_INIT(2 * BTF_SUBSET_MAX_BYTES);
	ssize_t n;
	int r = view_open(KERNEL_TYPES_PATH, &kernel);

	if (r == 0)
		r = btf_subset(kernel.bytes, kernel.size, names, &subset);
	if (r < 0)
		return r;
	n = write_quietly(fd, subset.data, subset.len);
	if (n < 0)
		return -errno;
	return (size_t)n == subset.len ? 0 : -EIO;
}

int kernel_types_write(const struct btf *asked, int fd)
{
	_cleanup_(btf_names_done) struct btf_names names = { 0 };
	int r = btf_names_of(asked, &names);

	return r < 0 ? r : write_subset(&names, fd);
}
