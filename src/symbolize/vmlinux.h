/* SPDX-License-Identifier: Apache-2.0 */
/* The file that the kernel was linked into, next to the kernel that runs. */
#ifndef SYMBOLIZE_VMLINUX_H
#define SYMBOLIZE_VMLINUX_H

#include <stdint.h>

struct elf_image;
struct ksym_table;

/* How far the kernel was moved from where the file has it, by functions that both know. -ENOENT:
 * they do not agree. -ENOMEM. */
int vmlinux_offset(const struct elf_image *img, const struct ksym_table *running,
		   uint64_t *ret_offset);

#endif
