/* SPDX-License-Identifier: Apache-2.0 */
/* Makes call frame information in memory, right or wrong as a test wants it. */
#ifndef TESTS_UNIT_CFI_MAKER_H
#define TESTS_UNIT_CFI_MAKER_H

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "tap.h"
#include "unwind/eh_frame.h"
#include "unwind/full_row.h"
#include "unwind/rule_dict.h"
#include "unwind/table.h"

#define MAKER_ADDR 0x800000u /* of the section */
#define CODE 0x401000u       /* where tests put their code */
#define CODE_END 0x40000000u

struct cfi_maker {
	uint8_t bytes[256 << 10];
	size_t len;
	size_t cie; /* offset of the CIE that FDEs refer to */
	uint8_t encoding;
	bool has_augmentation_size;
	bool is_debug_frame;
	const struct unwind_arch *arch;
};

/* A string literal with zeros in it, and its length. */
#define BYTES(s) (s), sizeof(s) - 1

__attribute__((unused)) static void cfi_put(struct cfi_maker *m, uint64_t v, size_t n)
{
	must(m->len + n <= sizeof(m->bytes));
	memcpy(m->bytes + m->len, &v, n);
	m->len += n;
}

__attribute__((unused)) static void cfi_put_bytes(struct cfi_maker *m, const void *bytes, size_t n)
{
	must(m->len + n <= sizeof(m->bytes));
	memcpy(m->bytes + m->len, bytes, n);
	m->len += n;
}

__attribute__((unused)) static void cfi_begin(struct cfi_maker *m)
{
	m->len = 0;
	m->is_debug_frame = false;
	m->arch = &unwind_arch_x86;
}

static size_t entry_begin(struct cfi_maker *m)
{
	cfi_put(m, 0, 4);
	return m->len;
}

static void entry_end(struct cfi_maker *m, size_t body)
{
	uint32_t length = (uint32_t)(m->len - body);

	memcpy(m->bytes + body - 4, &length, 4);
}

/* A CIE of the given version with augmentation, its data, and initial instructions. */
__attribute__((unused)) static void cfi_cie(struct cfi_maker *m, uint8_t version,
					    const char *augmentation, const void *data,
					    size_t data_bytes, uint8_t ra, const void *program,
					    size_t program_bytes)
{
	size_t body;

	m->cie = m->len;
	m->has_augmentation_size = augmentation[0] == 'z';
	body = entry_begin(m);
	cfi_put(m, m->is_debug_frame ? UINT32_MAX : 0, 4);
	cfi_put(m, version, 1);
	cfi_put_bytes(m, augmentation, strlen(augmentation) + 1);
	if (strcmp(augmentation, "eh") == 0)
		cfi_put(m, 0, 8);
	if (version >= 4)
		cfi_put(m, 8, 2); /* bytes of an address, of a segment */
	cfi_put(m, 0x7801, 2);    /* alignments 1 and -8 */
	cfi_put(m, ra, 1);
	if (m->has_augmentation_size) {
		cfi_put(m, data_bytes, 1);
		cfi_put_bytes(m, data, data_bytes);
	}
	cfi_put_bytes(m, program, program_bytes);
	entry_end(m, body);
}

/* What compilers begin with on x86-64: CFA = rsp + 8, return address at CFA - 8. */
#define X86_INITIAL "\x0c\x07\x08\x90\x01"

__attribute__((unused)) static void cfi_cie_x86(struct cfi_maker *m)
{
	m->encoding = 0x1b;
	cfi_cie(m, 1, "zR", BYTES("\x1b"), 16, BYTES(X86_INITIAL));
}

/* AArch64: CFA = sp. */
__attribute__((unused)) static void cfi_cie_arm64(struct cfi_maker *m)
{
	m->arch = &unwind_arch_arm64;
	m->encoding = 0x1b;
	cfi_cie(m, 1, "zR", BYTES("\x1b"), 30, BYTES("\x0c\x1f\x00"));
}

/* Returns the FDE's offset. */
__attribute__((unused)) static size_t cfi_fde(struct cfi_maker *m, uint64_t start, uint64_t size,
					      const void *program, size_t program_bytes)
{
	size_t at = m->len, body = entry_begin(m);
	size_t n = (m->encoding & 7) == 2 ? 2 : (m->encoding & 7) == 3 ? 4 : 8;
	uint64_t base = (m->encoding & 0x70) == 0x10 ? MAKER_ADDR + m->len + 4 : 0;

	cfi_put(m, m->is_debug_frame ? m->cie : m->len - m->cie, 4);
	cfi_put(m, start - base, n);
	cfi_put(m, size, n);
	if (m->has_augmentation_size)
		cfi_put(m, 0, 1);
	cfi_put_bytes(m, program, program_bytes);
	entry_end(m, body);
	return at;
}

__attribute__((unused)) static struct cfi *cfi_maker_open(const struct cfi_maker *m)
{
	struct cfi_bytes in = {
		.bytes = m->bytes,
		.size = m->len,
		.addr = MAKER_ADDR,
		.is_debug_frame = m->is_debug_frame,
		.arch = m->arch,
		.code_start = 0x1000,
		.code_end = CODE_END,
	};
	struct cfi *cfi;

	must(cfi_open_bytes(&in, &cfi) == 0);
	return cfi;
}

struct compiled {
	struct cfi *cfi;
	struct rule_dict dict;
	struct unwind_table *table;
};

__attribute__((unused)) static struct compiled cfi_compile(const struct cfi_maker *m)
{
	struct compiled c = { .cfi = cfi_maker_open(m) };
	const struct cfi *source = c.cfi;

	must(rule_dict_init(&c.dict) == 0);
	must(unwind_compile(&source, 1, &c.dict, &c.table) == 0);
	return c;
}

__attribute__((unused)) static void compiled_done(struct compiled *c)
{
	unwind_table_free(c->table);
	rule_dict_done(&c->dict);
	cfi_free(c->cfi);
}

__attribute__((unused)) static pa_rule rule_at(const struct compiled *c, uint64_t pc)
{
	return unwind_table_find(c->table, &c->dict, pc);
}

/* Rules as a test writes them. */
static inline pa_rule rule_reg(unsigned int reg, int64_t off)
{
	return PA_CFA_REG | (pa_rule)reg << PA_RULE_REG_SHIFT |
	       ((pa_rule)off & ((1u << PA_RULE_CFA_BITS) - 1)) << PA_RULE_CFA_SHIFT;
}

static inline pa_rule rule_fp_at_cfa(int64_t off)
{
	return (pa_rule)PA_FP_AT_CFA << PA_RULE_FP_SHIFT | (pa_rule)(off / 8) << PA_RULE_SLOT_SHIFT;
}

static inline pa_rule rule_fp(enum pa_fp kind)
{
	return (pa_rule)kind << PA_RULE_FP_SHIFT;
}

static inline pa_rule rule_ra(enum pa_ra kind)
{
	return (pa_rule)kind << PA_RULE_RA_SHIFT;
}

static inline pa_rule rule_slot(int64_t off)
{
	return (pa_rule)(off / 8) << PA_RULE_SLOT_SHIFT;
}

#endif
