/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as code: every instruction ends within them, and every rule is one that a walk can carry out. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/x86_exit.h"
#include "unwind/x86_insn.h"

#define BASE 0x400000ull

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct bytes {
	const uint8_t *at;
	size_t n;
};

static long read_code(void *ctx, uint64_t addr, void *to, size_t n)
{
	const struct bytes *b = ctx;

	if (addr - BASE >= b->n)
		return -1;
	if (n > b->n - (addr - BASE))
		n = b->n - (size_t)(addr - BASE);
	memcpy(to, b->at + (addr - BASE), n);
	return (long)n;
}

static void check_insns(const uint8_t *data, size_t size)
{
	struct x86_insn i;

	for (size_t at = 0; at < size; at++)
		if (x86_insn_decode(data + at, size - at, &i) == 0 &&
		    (i.size == 0 || i.size > size - at || i.size > X86_INSN_MAX_BYTES))
			abort();
}

static bool is_rule(pa_rule rule)
{
	return PA_RULE_CFA_KIND(rule) == PA_CFA_REG &&
	       (PA_RULE_CFA_REG(rule) != PA_REG_X86_SP || PA_RULE_CFA_OFF(rule) >= 8);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes bytes = { data, size };
	struct x86_code code = { read_code, &bytes };
	struct x86_exit e;
	pa_rule rule;

	check_insns(data, size);
	for (size_t at = 0; at < size && at < 64; at++) {
		if (x86_exit_find(&code, BASE + at, &e) == 0 && !is_rule(e.rule))
			abort();
		if (x86_exit_of_call(&code, BASE, BASE + at, &rule) == 0 && !is_rule(rule))
			abort();
		if (x86_first_end(&code, BASE + at, size / 2) - BASE - at > size / 2)
			abort();
		(void)x86_exit_is_none(&code, BASE + at);
	}
	return 0;
}
