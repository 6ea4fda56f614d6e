/* SPDX-License-Identifier: Apache-2.0 */
#include "debugfiles/kernel_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/build_id.h"
#include "base/cleanup.h"
#include "elf/elf_image.h"

#define NOTES_MAX_BYTES (1u << 20)

/* The kernel release is inserted between the two parts. */
static const struct place {
	const char *before, *after;
} places[] = {
	{ "/usr/lib/debug/boot/vmlinux-", "" },        /* Debian, Ubuntu */
	{ "/usr/lib/debug/lib/modules/", "/vmlinux" }, /* Fedora */
	{ "/usr/lib/debug/boot/vmlinux-", ".debug" },  /* SUSE */
	{ "/lib/modules/", "/build/vmlinux" },         /* built here */
	{ "/boot/vmlinux-", "" },
};

void kernel_file_init(struct kernel_file *v)
{
	*v = (struct kernel_file){ .fd = -1 };
}

void kernel_file_done(struct kernel_file *v)
{
	(void)elf_image_free(v->image);
	closep(&v->fd);
	free(v->path);
	kernel_file_init(v);
}

int kernel_file_build_id(const char *notes_path, struct build_id *ret_id)
{
	_cleanup_(closep) int fd = open(notes_path, O_RDONLY | O_CLOEXEC);
	struct buf notes = BUF_INIT(NOTES_MAX_BYTES);
	int r;

	if (fd < 0)
		return -errno;
	r = buf_read_fd(&notes, fd);
	if (r == 0)
		elf_notes_build_id(notes.data, notes.len, ret_id);
	buf_done(&notes);
	return r == 0 && !ret_id->len ? -ENOENT : r;
}

/* Opens the file at path, if it belongs to this kernel. */
static int try_path(const char *path, const struct build_id *id, struct kernel_file *v)
{
	int r;

	v->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (v->fd < 0)
		return -errno;
	r = elf_image_open_fd(v->fd, &v->image);
	if (r == 0 && !build_id_eq(elf_image_build_id(v->image), id))
		r = -ENOENT;
	if (r < 0)
		kernel_file_done(v);
	return r;
}

int kernel_file_find(const char *root, const char *notes_path, struct kernel_file *v)
{
	struct build_id id = { 0 };
	struct utsname u;
	int r = kernel_file_build_id(notes_path, &id);

	if (r < 0)
		return r;
	if (uname(&u) < 0)
		return -errno;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		_cleanup_(freep) char *path = NULL;

		if (asprintf(&path, "%s%s%s%s", root, places[i].before, u.release,
			     places[i].after) < 0) {
			path = NULL; /* asprintf() leaves it undefined */
			return -ENOMEM;
		}
		r = try_path(path, &id, v);
		if (r == 0)
			v->path = TAKE(path);
		if (r == 0 || r == -ENOMEM)
			return r;
	}
	return -ENOENT;
}
