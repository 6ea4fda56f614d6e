/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a binary of 4 KiB of code without call frame information, and its separate debug file. */
#ifndef TESTS_UNIT_BARE_MAKER_H
#define TESTS_UNIT_BARE_MAKER_H

#include "cfi_maker.h"
#include "elf_maker.h"
#include "fake_proc.h"

#define BARE_BYTES 0x1000 /* from CODE on */
#define BARE_BUILD_ID "\xab\xcd\xef"
#define BARE_DEBUG "usr/lib/debug/.build-id/ab/cdef.debug"

static inline void bare_begin(struct elf_maker *m, const char *build_id)
{
	char note[20] = { 4, 0, 0, 0, 3, 0, 0, 0, NT_GNU_BUILD_ID, 0, 0, 0, 'G', 'N', 'U' };

	maker_init(m);
	if (build_id) {
		memcpy(note + 16, build_id, 3);
		maker_section(m, ".note.gnu.build-id", SHT_NOTE, 0, note, sizeof(note));
	}
}

static inline void bare_end(struct elf_maker *m, const struct fake *root, const char *name)
{
	maker_end(m);
	fake_write_bytes(root, name, m->bytes, m->len);
	maker_done(m);
}

/* Its code, of which nobody says anything. */
static inline void bare_code(struct elf_maker *m)
{
	static const char code[BARE_BYTES];
	unsigned int i = maker_section(m, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, code,
				       sizeof(code));

	m->shdrs[i].sh_addr = CODE;
	maker_segment(m, PT_LOAD, PF_R | PF_X, CODE, m->shdrs[i].sh_offset, BARE_BYTES);
}

/* Rules for functions of 16 bytes from `start` on: CFA = rsp + off. */
static inline void bare_frames(struct elf_maker *m, bool is_debug, uint64_t start, uint64_t size,
			       uint8_t off)
{
	static struct cfi_maker cfi;
	const uint8_t program[] = { 0x0e, off };
	unsigned int i;

	cfi_begin(&cfi);
	cfi.is_debug_frame = is_debug;
	if (is_debug) {
		cfi.encoding = 0;
		cfi_cie(&cfi, 4, "", BYTES(""), 16, BYTES(X86_INITIAL));
	} else {
		cfi_cie_x86(&cfi);
	}
	for (uint64_t at = start; at < start + size; at += 16)
		cfi_fde(&cfi, at, 16, program, sizeof(program));
	i = maker_section(m, is_debug ? ".debug_frame" : ".eh_frame", SHT_PROGBITS, 0, cfi.bytes,
			  cfi.len);
	m->shdrs[i].sh_addr = is_debug ? 0 : MAKER_ADDR;
}

static inline void bare_write(const struct fake *root, const char *name, const char *build_id)
{
	struct elf_maker m;

	bare_begin(&m, build_id);
	bare_code(&m);
	bare_end(&m, root, name);
}

static inline void bare_debug(struct elf_maker *m, const char *build_id, uint8_t off)
{
	bare_begin(m, build_id);
	maker_section(m, ".debug_info", SHT_PROGBITS, 0, "dwarf", 5);
	bare_frames(m, true, CODE, BARE_BYTES, off);
}

/* The debug file, where a build-id leads. */
static inline void bare_write_debug(const struct fake *root, const char *build_id, uint8_t off)
{
	struct elf_maker m;

	bare_debug(&m, build_id, off);
	bare_end(&m, root, BARE_DEBUG);
}

#endif
