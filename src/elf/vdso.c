/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/vdso.h"

#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <sys/auxv.h>

#include "elf/elf_image.h"

/* Size of the image at base: its section headers are last. It is the kernel's, hence trusted. */
static size_t vdso_bytes(const Elf64_Ehdr *base)
{
	return base->e_shoff + (size_t)base->e_shnum * base->e_shentsize;
}

int vdso_open(struct elf_image **ret_image)
{
	const void *base = (const void *)getauxval(AT_SYSINFO_EHDR);

	return base ? elf_image_open_mem(base, vdso_bytes(base), ret_image) : -ENOENT;
}
