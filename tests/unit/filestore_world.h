/* SPDX-License-Identifier: Apache-2.0 */
/* A filestore over a fake /proc, in which process 10 maps one file. */
#ifndef FILESTORE_WORLD_H
#define FILESTORE_WORLD_H

#include "fake_proc.h"

static const struct build_id id_a = { .bytes = { 0xaa }, .len = 1 };
static const struct file_hint hint_10 = { .pid = 10, .start = 0x1000, .end = 0x2000 };

static inline const struct file *add(struct filestore *s, struct file_key key, const char *path,
				     const struct file_hint *hint)
{
	uint32_t id;

	must(filestore_add(s, &key, path, NULL, hint, &id) == 0);
	return filestore_get(s, id);
}

static inline struct filestore *new_store(const struct fake *f, unsigned int max_fds)
{
	struct filestore *s;

	must(filestore_new(&f->procfs, max_fds, &s) == 0);
	return s;
}

static inline void map_file(const struct fake *f, const char *name)
{
	char path[PATH_MAX];

	fake_link(f, "10/map_files/1000-2000", fake_path(f, name, path));
}

/* The first byte of a file; '?' if it is not open. */
static inline char content(const struct file *file)
{
	char byte = '?';

	if (file->fd < 0 || pread(file->fd, &byte, 1, 0) != 1)
		return '?';
	return byte;
}

#endif
