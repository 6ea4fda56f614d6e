/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed sections, honest and not. */
#include <errno.h>

#include "elf_maker.h"
#include "pack.h"

#define PLAIN_BYTES 300000
#define ZSTD 2
#define BUFFER_MAX (64u << 20)

static uint8_t plain[PLAIN_BYTES];

/* Half of it compresses well, half does not. */
static void make_plain(void)
{
	uint32_t state = 1;

	for (size_t i = 0; i < PLAIN_BYTES; i++) {
		state = state * 1664525u + 1013904223u;
		plain[i] = i % 4096 < 2048 ? (uint8_t)(i / 4096) : (uint8_t)(state >> 24);
	}
}

/* Reads the section back. The result of the read; got: its bytes. */
static int read_back(const char *name, uint64_t flags, const struct packed *p, struct buf *got)
{
	struct elf_image *img;
	struct elf_maker m;
	uint64_t bytes = 0;
	bool is_compressed;
	int r, size_r;

	maker_init(&m);
	maker_section(&m, name, SHT_PROGBITS, flags, p->bytes, p->len);
	maker_end(&m);
	img = maker_open(&m);
	size_r = elf_image_section_bytes(img, elf_image_debug_section(img, ".debug_x"), &bytes,
					 &is_compressed);
	r = elf_image_read_section(img, elf_image_debug_section(img, ".debug_x"), got);
	if (r == 0)
		must(size_r == 0 && bytes == got->len);
	elf_image_free(img);
	maker_done(&m);
	return r;
}

static bool is_plain(uint32_t type)
{
	bool is_old = type == PACK_ZDEBUG;
	struct packed p = pack(type, plain, PLAIN_BYTES, PLAIN_BYTES);
	struct buf b = BUF_INIT(BUFFER_MAX);
	bool same = read_back(is_old ? ".zdebug_x" : ".debug_x", is_old ? 0 : SHF_COMPRESSED, &p,
			      &b) == 0 &&
		    b.len == PLAIN_BYTES && memcmp(b.data, plain, PLAIN_BYTES) == 0;

	buf_done(&b);
	free(p.bytes);
	return same;
}

static int result_of(struct packed p, size_t max)
{
	struct buf b = BUF_INIT(max);
	int r = read_back(".debug_x", SHF_COMPRESSED, &p, &b);

	if (r < 0)
		must(b.len == 0);
	buf_done(&b);
	free(p.bytes);
	return r;
}

static struct packed truncated(struct packed p, size_t n)
{
	p.len -= n;
	return p;
}

static struct packed spoiled(struct packed p)
{
	p.bytes[p.len / 2] ^= 0x55;
	p.bytes[p.len / 2 + 1] ^= 0x55;
	return p;
}

static void test_damage(uint32_t type, const char *name)
{
	ok(result_of(pack(type, plain, PLAIN_BYTES, PLAIN_BYTES + 1), BUFFER_MAX) == -EBADMSG,
	   "%s: fewer bytes than the header says is an error", name);
	ok(result_of(truncated(pack(type, plain, PLAIN_BYTES, PLAIN_BYTES), 1000), BUFFER_MAX) ==
		   -EBADMSG,
	   "%s: a truncated section is an error", name);
	ok(result_of(pack(type, plain, PLAIN_BYTES, PLAIN_BYTES), PLAIN_BYTES - 1) == -E2BIG,
	   "%s: the buffer's maximum applies to decompressed bytes", name);
	ok(result_of(pack(type, plain, PLAIN_BYTES, ELF_MAX_SECTION_BYTES + 1), BUFFER_MAX) ==
		   -E2BIG,
	   "%s: the section limit applies to decompressed bytes", name);
}

static void test_bombs(void)
{
	uint8_t *zeroes = calloc(1, 32u << 20);

	must(zeroes);
	ok(result_of(pack(ZSTD, zeroes, 32u << 20, 32u << 20), BUFFER_MAX) == -E2BIG,
	   "zstd: 32 MiB from a few bytes are refused");
	ok(result_of(pack(ELFCOMPRESS_ZLIB, zeroes, 32u << 20, 32u << 20), BUFFER_MAX) == -E2BIG,
	   "zlib: likewise");
	ok(result_of(pack(ZSTD, zeroes, 1u << 20, 1u << 20), BUFFER_MAX) == 0,
	   "zstd: 1 MiB of zeroes is accepted");
	free(zeroes);
}

static void test_headers(void)
{
	struct packed p = pack(ELFCOMPRESS_ZLIB, plain, 100, 100);

	ok(result_of(truncated(p, p.len - 10), BUFFER_MAX) == -EBADMSG,
	   "half a compression header is an error");
	p = pack(ELFCOMPRESS_ZLIB, plain, 100, 100);
	p.bytes[0] = 77;
	ok(result_of(p, BUFFER_MAX) == -EOPNOTSUPP, "an unknown compression is refused");
}

int main(void)
{
	make_plain();
	ok(is_plain(ELFCOMPRESS_ZLIB), "zlib");
	ok(is_plain(ZSTD), "zstd");
	ok(is_plain(PACK_ZDEBUG), ".zdebug_ is found by the new name");
	test_damage(ELFCOMPRESS_ZLIB, "zlib");
	ok(result_of(spoiled(pack(ELFCOMPRESS_ZLIB, plain, PLAIN_BYTES, PLAIN_BYTES)),
		     BUFFER_MAX) != 0,
	   "zlib: corrupt data is an error");
	test_damage(ZSTD, "zstd");
	test_bombs();
	test_headers();
	return tap_done();
}
