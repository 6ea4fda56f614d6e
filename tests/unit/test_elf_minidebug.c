/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols that a stripped file keeps in .gnu_debugdata. */
#include <errno.h>
#include <lzma.h>

#include "elf/elf_minidebug.h"
#include "elf_maker.h"
#include "symbolize/symbolizer.h"
#include "symbolize/symbolizer_elf.h"

struct xz {
	uint8_t *bytes; /* owned */
	size_t len;
};

static struct xz pack_xz(const void *bytes, size_t n, uint32_t preset)
{
	size_t room = lzma_stream_buffer_bound(n);
	struct xz x = { malloc(room), 0 };

	must(x.bytes && lzma_easy_buffer_encode(preset, LZMA_CHECK_CRC32, NULL, bytes, n, x.bytes,
						&x.len, room) == LZMA_OK);
	return x;
}

/* An ELF file with one function, "kept" at 0x1000. */
static struct xz make_mini(void)
{
	struct sym_maker *syms = calloc(1, sizeof(*syms));
	struct elf_maker m;
	struct xz x;

	must(syms);
	maker_init(&m);
	maker_section(&m, ".text", SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, NULL, 0);
	sym_add(syms, "kept", 0x1000, 0x10, STB_LOCAL, STT_FUNC, 1);
	sym_end(syms, &m, SHT_SYMTAB);
	maker_end(&m);
	x = pack_xz(m.bytes, m.len, 6);
	maker_done(&m);
	free(syms);
	return x;
}

/* A stripped file around it: only "shown" at 0x2000 is exported. */
static struct elf_image *make_stripped(struct elf_maker *m, const struct xz *x)
{
	struct sym_maker *syms = calloc(1, sizeof(*syms));
	struct elf_image *img;

	must(syms);
	maker_init(m);
	maker_section(m, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, "code", 4);
	sym_add(syms, "shown", 0x2000, 0x10, STB_GLOBAL, STT_FUNC, 1);
	sym_end(syms, m, SHT_DYNSYM);
	maker_section(m, ".gnu_debugdata", SHT_PROGBITS, 0, x->bytes, x->len);
	maker_end(m);
	img = maker_open(m);
	free(syms);
	return img;
}

static void test_names(void)
{
	struct symbol_result r;
	struct symbolizer *s;
	struct elf_image *img;
	struct elf_maker m;
	struct xz x = make_mini();

	img = make_stripped(&m, &x);
	must(symbolizer_new_elf(&(struct elf_sources){ .image = img, .label = "file" }, &s) == 0);
	ok(s->ops->resolve(s, 0x1008, &r) == 0 && strcmp(r.frames[0].name, "kept") == 0 &&
		   r.is_named,
	   "a function only in .gnu_debugdata is found");
	ok(s->ops->resolve(s, 0x2008, &r) == 0 && strcmp(r.frames[0].name, "shown") == 0,
	   "exported functions are found beside .gnu_debugdata");
	symbolizer_free(s);
	elf_image_free(img);
	maker_done(&m);
	free(x.bytes);
}

static int open_result(struct xz x)
{
	struct elf_minidebug *mini = NULL;
	struct elf_maker m;
	struct elf_image *img = make_stripped(&m, &x);
	int r = elf_minidebug_open(img, &mini);

	elf_minidebug_free(mini);
	elf_image_free(img);
	maker_done(&m);
	free(x.bytes);
	return r;
}

static void test_damage(void)
{
	uint8_t *zeroes = calloc(1, 64u << 20);
	struct xz x = make_mini();

	must(zeroes);
	x.bytes[x.len / 2] ^= 0xff;
	ok(open_result(x) == -EBADMSG, "corrupt .gnu_debugdata is refused");
	x = make_mini();
	x.len /= 2;
	ok(open_result(x) == -EBADMSG, "truncated .gnu_debugdata is refused");
	ok(open_result(pack_xz("no ELF file", 11, 6)) == -EBADMSG,
	   ".gnu_debugdata with other contents is refused");
	ok(open_result(pack_xz(zeroes, 64u << 20, 0)) == -E2BIG,
	   "64 MiB from a few bytes are refused");
	free(zeroes);
}

int main(void)
{
	test_names();
	test_damage();
	return tap_done();
}
