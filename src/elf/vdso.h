/* SPDX-License-Identifier: Apache-2.0 */
/* The vDSO: the kernel maps the same one into every 64-bit process, so our own serves for all. */
#ifndef ELF_VDSO_H
#define ELF_VDSO_H

struct elf_image;

/* -ENOENT: this process has none. */
int vdso_open(struct elf_image **ret_image);

#endif
