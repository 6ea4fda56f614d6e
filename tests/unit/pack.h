/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed sections as compilers write them. */
#ifndef TESTS_UNIT_PACK_H
#define TESTS_UNIT_PACK_H

#include <elf.h>
#include <endian.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "tap.h"

#define PACK_ZDEBUG 0 /* not a type of the gABI: ".zdebug_…" */

struct packed {
	uint8_t *bytes; /* owned */
	size_t len;
};

/* type: ELFCOMPRESS_ZLIB, 2 for zstd, PACK_ZDEBUG. says: the size in the header. */
__attribute__((unused)) static struct packed pack(uint32_t type, const void *bytes, size_t n,
						  uint64_t says)
{
	size_t head = type == PACK_ZDEBUG ? 12 : sizeof(Elf64_Chdr);
	size_t room = compressBound(n) + ZSTD_compressBound(n);
	struct packed p = { malloc(head + room), 0 };

	must(p.bytes);
	if (type == PACK_ZDEBUG) {
		uint64_t big = htobe64(says);

		memcpy(p.bytes, "ZLIB", 4);
		memcpy(p.bytes + 4, &big, 8);
	} else {
		memcpy(p.bytes,
		       &(Elf64_Chdr){ .ch_type = type, .ch_size = says, .ch_addralign = 1 }, head);
	}
	if (type == 2) {
		room = ZSTD_compress(p.bytes + head, room, bytes, n, 3);
		must(!ZSTD_isError(room));
	} else {
		must(compress2(p.bytes + head, &room, bytes, n, 9) == Z_OK);
	}
	p.len = head + room;
	return p;
}

#endif
