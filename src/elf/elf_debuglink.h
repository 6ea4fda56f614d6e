/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a file refers to its debug information: .gnu_debuglink names the separate debug file,
 * .gnu_debugaltlink the file into which dwz moved what several files share. This does not search
 * for them: the names are as untrusted as the file.
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
	char name[ELF_MAX_DEBUGLINK_NAME + 1]; /* file name without a directory */
	uint32_t crc;                          /* elf_image_crc() of the debug file */
};

/* -ENOENT: no debuglink; -EBADMSG: malformed, or its name is not a plain file name. */
int elf_debuglink_read(const struct elf_image *img, struct elf_debuglink *ret_link);

struct elf_altlink {
	char path[ELF_MAX_ALTLINK_PATH + 1]; /* absolute, or relative to the file itself */
	struct build_id build_id;            /* of the referenced file */
};

/* -ENOENT, -EBADMSG. */
int elf_altlink_read(const struct elf_image *img, struct elf_altlink *ret_link);

/* The checksum used by debuglinks: CRC-32 over the whole file (zlib's). Errors as in
 * elf_image_read(). */
int elf_image_crc(const struct elf_image *img, uint32_t *ret_crc);

/* What makes a debug file useful: DWARF with lines, a full symbol table. */
bool elf_image_has_dwarf(const struct elf_image *img);
bool elf_image_has_symtab(const struct elf_image *img);

#endif
