/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/elf_inflate.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <zlib.h>
#include <zstd.h>

#include "elf/elf_class.h"
#include "elf/elf_internal.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2 /* gABI since 2022 */
#endif

/* Small sections may have any compression ratio. */
#define INFLATE_FREE_BYTES (4u << 20)
#define INFLATE_PIECE_BYTES (64u << 10)
#define INFLATE_COST_SHARE 4      /* decompressed bytes that cost as much as one byte read */
#define INFLATE_MAX_WINDOW_LOG 27 /* zstd's own default limit */

static bool is_old_style(const struct elf_section *s)
{
	return strncmp(s->name, ".zdebug_", strlen(".zdebug_")) == 0;
}

/* "ZLIB" and the size, most significant byte first, as objcopy wrote it before the gABI defined a
 * format. */
static int read_old_header(const struct elf_image *img, struct elf_packed *p)
{
	struct {
		char magic[4];
		uint8_t bytes[8];
	} h;
	uint64_t bytes;

	if (p->packed_bytes < sizeof(h) || elf_image_read(img, p->offset, &h, sizeof(h)) < 0 ||
	    memcmp(h.magic, "ZLIB", 4) != 0)
		return -EBADMSG;
	memcpy(&bytes, h.bytes, sizeof(bytes));
	p->how = ELF_ZLIB;
	p->bytes = be64toh(bytes);
	p->offset += sizeof(h);
	p->packed_bytes -= sizeof(h);
	return 0;
}

static int read_header(const struct elf_image *img, struct elf_packed *p)
{
	size_t size = elf_class_sizes(img)->chdr;
	Elf64_Chdr h;

	if (p->packed_bytes < size || elf_class_read_chdr(img, p->offset, &h) < 0)
		return -EBADMSG;
	if (h.ch_type != ELFCOMPRESS_ZLIB && h.ch_type != ELFCOMPRESS_ZSTD)
		return -EOPNOTSUPP;
	p->how = h.ch_type == ELFCOMPRESS_ZLIB ? ELF_ZLIB : ELF_ZSTD;
	p->bytes = h.ch_size;
	p->offset += size;
	p->packed_bytes -= size;
	return 0;
}

static bool is_bomb(const struct elf_packed *p)
{
	return p->bytes > INFLATE_FREE_BYTES && p->bytes / ELF_MAX_PACKED_TIMES > p->packed_bytes;
}

int elf_packed_of(const struct elf_image *img, const struct elf_section *s,
		  struct elf_packed *ret_packed)
{
	struct elf_packed p = { ELF_STORED, s->offset, s->size, s->size };
	int r = 0;

	if (s->type == SHT_NOBITS)
		p.packed_bytes = p.bytes = 0;
	else if (s->offset > img->size || s->size > img->size - s->offset)
		return -EBADMSG;
	else if (s->flags & SHF_COMPRESSED)
		r = read_header(img, &p);
	else if (is_old_style(s))
		r = read_old_header(img, &p);
	if (r < 0)
		return r;
	if (p.how != ELF_STORED && (p.bytes > ELF_MAX_SECTION_BYTES || is_bomb(&p)))
		return -E2BIG;
	*ret_packed = p;
	return 0;
}

/* Decompresses in pieces, so that compressed and decompressed bytes are never both in memory. */
struct packed_reader {
	const struct elf_image *img;
	uint64_t offset, left;
	uint8_t *piece; /* owned */
};

static int next_piece(struct packed_reader *in, size_t *ret_n)
{
	size_t n = in->left < INFLATE_PIECE_BYTES ? in->left : INFLATE_PIECE_BYTES;
	int r = elf_image_read(in->img, in->offset, in->piece, n);

	if (r < 0)
		return r;
	if (n == 0)
		return -EBADMSG; /* the stream wants more bytes than there are */
	in->offset += n;
	in->left -= n;
	*ret_n = n;
	return 0;
}

static void inflate_endp(z_stream *z)
{
	(void)inflateEnd(z); /* fails only for a stream that was never initialized */
}

static int unpack_zlib(struct packed_reader *in, uint8_t *to, size_t n)
{
	_cleanup_(inflate_endp) z_stream z = { 0 };
	uint8_t *end = to + n;
	int r;

	if (inflateInit(&z) != Z_OK)
		return -ENOMEM;
	z.next_out = to;
	while (z.next_out < end) {
		size_t got = z.avail_in, room = (size_t)(end - z.next_out);

		if (got == 0) {
			r = next_piece(in, &got);
			if (r < 0)
				return r;
			z.next_in = in->piece;
			z.avail_in = (uInt)got;
		}
		z.avail_out = room < INT32_MAX ? (uInt)room : INT32_MAX;
		r = inflate(&z, Z_NO_FLUSH);
		if (r == Z_STREAM_END)
			return z.next_out == end ? 0 : -EBADMSG;
		if (r == Z_MEM_ERROR)
			return -ENOMEM;
		if (r != Z_OK)
			return -EBADMSG;
	}
	return 0;
}

static void zstd_freep(ZSTD_DStream **z)
{
	(void)ZSTD_freeDStream(*z);
}

static int unpack_zstd(struct packed_reader *in, uint8_t *to, size_t n)
{
	_cleanup_(zstd_freep) ZSTD_DStream *z = ZSTD_createDStream();
	ZSTD_outBuffer out = { to, n, 0 };

	if (!z)
		return -ENOMEM;
	if (ZSTD_isError(ZSTD_DCtx_setParameter(z, ZSTD_d_windowLogMax, INFLATE_MAX_WINDOW_LOG)))
		return -EOPNOTSUPP;
	while (out.pos < out.size) {
		ZSTD_inBuffer piece = { in->piece, 0, 0 };
		int r = next_piece(in, &piece.size);

		if (r < 0)
			return r;
		while (piece.pos < piece.size && out.pos < out.size)
			if (ZSTD_isError(ZSTD_decompressStream(z, &out, &piece)))
				return -EBADMSG;
	}
	return 0;
}

int elf_inflate(const struct elf_image *img, const struct elf_packed *p, struct buf *to)
{
	_cleanup_(freep) uint8_t *piece = malloc(INFLATE_PIECE_BYTES);
	struct packed_reader in = { img, p->offset, p->packed_bytes, piece };
	int r;

	if (!piece)
		return -ENOMEM;
	r = elf_image_charge(img, p->bytes / INFLATE_COST_SHARE);
	if (r == 0)
		r = buf_reserve(to, p->bytes);
	if (r < 0 || p->bytes == 0)
		return r;
	r = p->how == ELF_ZLIB ? unpack_zlib(&in, (uint8_t *)to->data + to->len, p->bytes)
			       : unpack_zstd(&in, (uint8_t *)to->data + to->len, p->bytes);
	if (r < 0)
		return r;
	to->len += p->bytes;
	return 0;
}
