/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a file says where its debug information lies: .gnu_debuglink names the separate debug file,
 * .gnu_debugaltlink the one into which dwz has moved what several files share. Not for finding them:
 * the names are as untrusted as the file.
 */
#ifndef ELF_ELF_DEBUGLINK_H
#define ELF_ELF_DEBUGLINK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/build_id.h"

#define ELF_MAX_DEBUGLINK_NAME 255
#define ELF_MAX_ALTLINK_PATH 1023

struct elf_image;

struct elf_debuglink {
	char name[ELF_MAX_DEBUGLINK_NAME + 1]; /* of a file, without any folder */
	uint32_t crc;                          /* elf_image_crc() of it */
};

/* -ENOENT: there is none; -EBADMSG: it is damaged, or its name is no file name. */
int elf_debuglink_read(const struct elf_image *img, struct elf_debuglink *ret_link);

struct elf_altlink {
	char path[ELF_MAX_ALTLINK_PATH + 1]; /* absolute, or from the folder of the file itself */
	struct build_id build_id;            /* of the file it leads to */
};

/* -ENOENT, -EBADMSG. */
int elf_altlink_read(const struct elf_image *img, struct elf_altlink *ret_link);

/* The checksum that a debuglink holds: CRC-32 over the whole file (zlib's). Errors are those of
 * elf_image_read(). */
int elf_image_crc(const struct elf_image *img, uint32_t *ret_crc);

/* What makes a file worth having: DWARF with its lines, a full symbol table. */
bool elf_image_has_dwarf(const struct elf_image *img);
bool elf_image_has_symtab(const struct elf_image *img);

#endif
