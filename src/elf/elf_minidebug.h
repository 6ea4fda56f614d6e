/* SPDX-License-Identifier: Apache-2.0 */
/* MiniDebugInfo: an ELF file with symbols only, compressed with xz in the section .gnu_debugdata of
 * a stripped file. */
#ifndef ELF_ELF_MINIDEBUG_H
#define ELF_ELF_MINIDEBUG_H

#include "base/cleanup.h"

#define ELF_MAX_MINIDEBUG_BYTES (256u << 20) /* decompressed; a browser's is 30 MB */

struct elf_image;
struct elf_minidebug;

/* -ENOENT: img has none; -E2BIG: over the limits; -EBADMSG. The result does not depend on img. */
int elf_minidebug_open(const struct elf_image *img, struct elf_minidebug **ret_minidebug);

struct elf_minidebug *elf_minidebug_free(struct elf_minidebug *m);
DEFINE_CLEANUP(struct elf_minidebug *, elf_minidebug_free)

const struct elf_image *elf_minidebug_image(const struct elf_minidebug *m);

#endif
