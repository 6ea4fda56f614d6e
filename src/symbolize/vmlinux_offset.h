/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the file that the kernel was linked into with the running kernel. */
#ifndef SYMBOLIZE_VMLINUX_OFFSET_H
#define SYMBOLIZE_VMLINUX_OFFSET_H

#include <stdint.h>

struct elf_image;
struct ksym_table;

/* The KASLR offset, from functions that both have. -ENOENT: they do not agree. -ENOMEM. */
int vmlinux_offset(const struct elf_image *img, const struct ksym_table *running,
		   uint64_t *ret_offset);

#endif
