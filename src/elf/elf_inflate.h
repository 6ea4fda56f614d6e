/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed sections: SHF_COMPRESSED with zlib or zstd, and the ".zdebug_…" of older tools.
 * Private to elf/. */
#ifndef ELF_ELF_INFLATE_H
#define ELF_ELF_INFLATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct elf_image;
struct elf_section;

enum elf_compression {
	ELF_STORED,
	ELF_ZLIB,
	ELF_ZSTD,
};

/* How a section is stored: its compressed bytes in the file, and their decompressed size. */
struct elf_packed {
	enum elf_compression how;
	uint64_t offset, packed_bytes;
	uint64_t bytes;
};

/* -EBADMSG: outside the file, or an invalid header; -EOPNOTSUPP: another compression; -E2BIG:
 * decompressed more than ELF_MAX_SECTION_BYTES, or an implausible ratio. */
int elf_packed_of(const struct elf_image *img, const struct elf_section *s,
		  struct elf_packed *ret_packed);

/* Appends the decompressed bytes, whose number must match the header. */
int elf_inflate(const struct elf_image *img, const struct elf_packed *p, struct buf *to);

#endif
