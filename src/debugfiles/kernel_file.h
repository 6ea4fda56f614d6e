/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the running kernel's file with debug information, if it is installed. */
#ifndef DEBUGFILES_KERNEL_FILE_H
#define DEBUGFILES_KERNEL_FILE_H

struct build_id;
struct elf_image;

struct kernel_file {
	int fd;                  /* owned; -1: none */
	struct elf_image *image; /* owned; NULL: none */
	char *path;              /* owned */
};

void kernel_file_init(struct kernel_file *v);
void kernel_file_done(struct kernel_file *v);

/* Of the usual places below root ("": this machine's) the first file with the build-id in
 * notes_path ("/sys/kernel/notes"). v was initialised. -ENOENT: none. */
int kernel_file_find(const char *root, const char *notes_path, struct kernel_file *v);

/* The build-id of the running kernel. -ENOENT: it has none. */
int kernel_file_build_id(const char *notes_path, struct build_id *ret_id);

#endif
