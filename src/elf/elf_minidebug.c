/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/elf_minidebug.h"

#include <errno.h>
#include <lzma.h>

#include "base/buf.h"
#include "elf/elf_image.h"

#define MAX_PACKED_BYTES (64u << 20)
#define MAX_DECODER_BYTES (80ull << 20) /* what xz -9, its highest level, needs to decompress */
#define MAX_RATIO 256                   /* symbols shrink to a fifth; see elf_inflate.c */
#define FREE_BYTES (4u << 20)
#define PIECE_BYTES (256u << 10)

struct elf_minidebug {
	struct buf bytes;      /* owned */
	struct elf_image *img; /* owned; borrows the bytes */
};

struct elf_minidebug *elf_minidebug_free(struct elf_minidebug *m)
{
	if (m) {
		m->img = elf_image_free(m->img);
		buf_done(&m->bytes);
		free(m);
	}
	return NULL;
}

const struct elf_image *elf_minidebug_image(const struct elf_minidebug *m)
{
	return m->img;
}

static int error_of(lzma_ret r)
{
	switch (r) {
	case LZMA_MEM_ERROR:
		return -ENOMEM;
	case LZMA_MEMLIMIT_ERROR:
		return -E2BIG;
	case LZMA_OPTIONS_ERROR:
		return -EOPNOTSUPP;
	default:
		return -EBADMSG;
	}
}

static void lzma_endp(lzma_stream *z)
{
	lzma_end(z);
}

static int unpack(const struct elf_image *img, const struct buf *packed, struct buf *to)
{
	_cleanup_(lzma_endp) lzma_stream z = LZMA_STREAM_INIT;
	lzma_ret r = lzma_stream_decoder(&z, MAX_DECODER_BYTES, 0);

	if (r != LZMA_OK)
		return error_of(r);
	z.next_in = (const uint8_t *)packed->data;
	z.avail_in = packed->len;
	while (r == LZMA_OK) {
		int room = elf_image_charge(img, PIECE_BYTES);

		if (room == 0)
			room = buf_reserve(to, PIECE_BYTES);
		if (room < 0)
			return room;
		z.next_out = (uint8_t *)to->data + to->len;
		z.avail_out = PIECE_BYTES;
		r = lzma_code(&z, LZMA_FINISH);
		to->len += PIECE_BYTES - z.avail_out;
	}
	return r == LZMA_STREAM_END ? 0 : error_of(r);
}

static size_t max_bytes(size_t packed)
{
	uint64_t most = (uint64_t)packed * MAX_RATIO;

	if (most < FREE_BYTES)
		most = FREE_BYTES;
	return most < ELF_MAX_MINIDEBUG_BYTES ? most : ELF_MAX_MINIDEBUG_BYTES;
}

static int load_minidebug(const struct elf_image *img, const struct elf_section *s,
			  struct elf_minidebug *m)
{
	struct buf packed = BUF_INIT(MAX_PACKED_BYTES);
	int r = elf_image_read_section(img, s, &packed);

	m->bytes = BUF_INIT(max_bytes(packed.len));
	if (r == 0)
		r = unpack(img, &packed, &m->bytes);
	buf_done(&packed);
	return r < 0 ? r : elf_image_open_mem(m->bytes.data, m->bytes.len, &m->img);
}

int elf_minidebug_open(const struct elf_image *img, struct elf_minidebug **ret_minidebug)
{
	_cleanup_(elf_minidebug_freep) struct elf_minidebug *m = NULL;
	const struct elf_section *s = elf_image_section(img, ".gnu_debugdata");
	int r;

	if (!s)
		return -ENOENT;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	r = load_minidebug(img, s, m);
	if (r < 0)
		return r == -ENOEXEC ? -EBADMSG : r;
	*ret_minidebug = TAKE(m);
	return 0;
}
