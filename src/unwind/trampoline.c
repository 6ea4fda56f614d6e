/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/trampoline.h"

#include <stdbool.h>
#include <string.h>

#define BODY_BYTES 11

const struct trampoline trampolines[NR_TRAMPOLINES] = {
	{ 0, 11 },                  /* 3.12 */
	{ 0, 16 },                  /* 3.13 */
	{ 4, 15 },                  /* built for control-flow enforcement */
	{ 4, 16 },    { 0, 0x110 }, /* 3.13, -X perf_jit */
	{ 4, 0x110 },
};

/* True if there is one trampoline at `at`, and nothing else up to the next one. */
static bool is_one(const uint8_t *at, const struct trampoline *t)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const uint8_t body[BODY_BYTES] = { 0x48, 0x83, 0xec, 0x08, 0xff, 0xd1,
						  0x48, 0x83, 0xc4, 0x08, 0xc3 };

	if (memcmp(at, endbr, t->endbr_bytes) != 0 ||
	    memcmp(at + t->endbr_bytes, body, BODY_BYTES) != 0)
		return false;
	for (size_t i = t->endbr_bytes + BODY_BYTES; i < t->stride; i++)
		if (at[i])
			return false;
	return true;
}

int trampoline_find(const uint8_t *code, size_t n)
{
	for (int i = 0; i < NR_TRAMPOLINES; i++) {
		size_t at = 0;

		while (n - at >= trampolines[i].stride && is_one(code + at, &trampolines[i]))
			at += trampolines[i].stride;
		if (at && n - at < trampolines[i].stride)
			return i;
	}
	return -1;
}
