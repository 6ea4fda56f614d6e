/* SPDX-License-Identifier: Apache-2.0 */
/* Where the running kernel's file with its debug information lies, if it was installed. */
#ifndef AGENT_VMLINUX_H
#define AGENT_VMLINUX_H

struct build_id;
struct elf_image;

struct vmlinux {
	int fd;                  /* owned; -1: none */
	struct elf_image *image; /* owned; NULL: none */
	char *path;              /* owned */
};

void vmlinux_init(struct vmlinux *v);
void vmlinux_done(struct vmlinux *v);

/* Of the usual places below root ("": this machine's) the first whose file has the build-id that the
 * kernel tells in notes_path ("/sys/kernel/notes"). v was initialised. -ENOENT: none. */
int vmlinux_find(const char *root, const char *notes_path, struct vmlinux *v);

/* The build-id of the kernel that runs. -ENOENT: it tells none. */
int vmlinux_build_id(const char *notes_path, struct build_id *ret_id);

#endif
