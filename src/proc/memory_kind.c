/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/memory_kind.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#ifndef MFD_HUGE_SHIFT
#define MFD_HUGE_SHIFT 26
#endif

/* Sizes of huge pages of x86-64 and AArch64, as powers of two. */
static const unsigned int huge_bits[] = { 16, 21, 25, 29, 30, 34 };

static void add_device(struct memory_devices *d, unsigned int flags)
{
	int fd = memfd_create("", MFD_CLOEXEC | flags);
	struct stat st;

	if (fd < 0)
		return; /* this page size is not supported */
	if (fstat(fd, &st) == 0 && d->nr < MEMORY_MAX_DEVICES)
		d->devices[d->nr++] = st.st_dev;
	close(fd);
}

void memory_devices_init(struct memory_devices *d)
{
	struct stat st;

	*d = (struct memory_devices){ 0 };
	add_device(d, 0);
	for (size_t i = 0; i < sizeof(huge_bits) / sizeof(huge_bits[0]); i++)
		add_device(d, MFD_HUGETLB | huge_bits[i] << MFD_HUGE_SHIFT);
	if (stat("/dev/zero", &st) == 0 && S_ISCHR(st.st_mode)) {
		d->zero_dev = st.st_dev;
		d->zero_ino = st.st_ino;
	}
}

bool memory_has_no_file(const struct file_key *key)
{
	return key->inode == 0 && key->major == 0 && key->minor == 0;
}

static bool is_kernels_own(const struct memory_devices *d, const struct file_key *key)
{
	uint64_t dev = makedev(key->major, key->minor);

	if (key->inode && dev == d->zero_dev && key->inode == d->zero_ino)
		return true;
	for (uint32_t i = 0; i < d->nr; i++)
		if (d->devices[i] == dev)
			return true;
	return false;
}

static bool has_prefix(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* The kind by a path that the kernel writes: no file has such a path. */
static enum mapping_kind kind_by_text(const char *path)
{
	static const char *const anon[] = { "//anon", "[heap]", "[stack",
					    "[anon:", "[anon_shmem:" };

	for (size_t i = 0; i < sizeof(anon) / sizeof(anon[0]); i++)
		if (has_prefix(path, anon[i]))
			return MAPPING_ANON;
	if (path[0] == '\0')
		return MAPPING_ANON;
	if (strcmp(path, "[vdso]") == 0)
		return MAPPING_VDSO;
	return path[0] == '[' ? MAPPING_OTHER : MAPPING_FILE;
}

enum mapping_kind memory_kind(const struct memory_devices *d, const struct file_key *key,
			      const char *path)
{
	if (memory_has_no_file(key))
		return kind_by_text(path);
	/* A memfd may be a program, or code that is mapped twice: it is read like any file. */
	if (is_kernels_own(d, key))
		return has_prefix(path, "/memfd:") ? MAPPING_FILE : MAPPING_ANON;
	return MAPPING_FILE;
}
