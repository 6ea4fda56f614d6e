/* SPDX-License-Identifier: Apache-2.0 */
/* CPython's trampolines: known by their bytes, and how each of their addresses is left. */
#include <string.h>
#include <unistd.h>

#include "fake_proc.h"
#include "proc/tracker.h"
#include "stacks/compile_file.h"
#include "stacks/unwinder.h"
#include "tap.h"
#include "unwind/trampoline.h"

#define ENDBR "\xf3\x0f\x1e\xfa"
#define BODY "\x48\x83\xec\x08\xff\xd1\x48\x83\xc4\x08\xc3"

static int find(const char *text, size_t n)
{
	uint8_t code[TRAMPOLINE_LOOK_BYTES] = { 0 };

	for (size_t at = 0; at < sizeof(code); at++)
		code[at] = (uint8_t)text[at % n];
	return trampoline_find(code, sizeof(code));
}

static int find_padded(const char *text, size_t n, size_t stride)
{
	uint8_t code[TRAMPOLINE_LOOK_BYTES] = { 0 };

	for (size_t at = 0; at + n <= sizeof(code); at += stride)
		memcpy(code + at, text, n);
	return trampoline_find(code, sizeof(code));
}

static void test_find(void)
{
	uint8_t code[TRAMPOLINE_LOOK_BYTES] = { 0 };

	ok(find(BODY, 11) == 0, "CPython 3.12's trampolines, packed");
	ok(find(BODY "\0\0\0\0\0", 16) == 1, "CPython 3.13's, aligned");
	ok(find(ENDBR BODY, 15) == 2 && find(ENDBR BODY "\0", 16) == 3, "trampolines with endbr64");
	ok(find_padded(BODY, 11, 0x110) == 4 && find_padded(ENDBR BODY, 15, 0x110) == 5,
	   "CPython 3.13's trampolines for -X perf_jit, with 256 bytes of padding");
	ok(find_padded(BODY, 11, 0x120) == -1, "another padding size is other code");
	ok(find(BODY "\x90\x90\x90\x90\x90", 16) == -1, "other padding bytes are other code");
	ok(find("\x55\x48\x89\xe5\xff\xd1\x5d\xc3\0\0\0\0\0\0\0\0", 16) == -1,
	   "trampolines with a frame pointer need no rule");
	ok(trampoline_find(code, sizeof(code)) == -1 && trampoline_find(code, 0) == -1,
	   "no bytes are not a trampoline");
	memcpy(code, BODY, 11);
	ok(trampoline_find(code, sizeof(code)) == -1, "a single trampoline is not enough");
}

/* What the instructions do to the stack pointer, by offset. */
static uint64_t cfa_at(const struct trampoline *t, uint64_t offset)
{
	uint64_t in = offset % TRAMPOLINE_ARENA_BYTES % t->stride;

	if (offset % TRAMPOLINE_ARENA_BYTES / t->stride == TRAMPOLINE_ARENA_BYTES / t->stride ||
	    in >= t->endbr_bytes + 11u)
		return 0; /* filling */
	return in >= t->endbr_bytes + 4u && in < t->endbr_bytes + 10u ? 16 : 8;
}

static void test_rules(const struct trampoline *t)
{
	struct compiled_file f;
	struct rule_dict dict;
	uint32_t nr_wrong = 0;

	must(rule_dict_init(&dict) == 0);
	compile_trampolines(t, &dict, &f);
	must(f.table);
	for (uint64_t at = 0; at < 3 * TRAMPOLINE_ARENA_BYTES; at++) {
		pa_rule rule = unwind_table_find(f.table, &dict, at);
		uint64_t cfa = cfa_at(t, at);

		nr_wrong += cfa ? PA_RULE_CFA_KIND(rule) != PA_CFA_REG ||
					    PA_RULE_CFA_OFF(rule) != (int64_t)cfa ||
					    PA_RULE_FP_KIND(rule) != PA_FP_SAME ||
					    PA_RULE_RA_KIND(rule) != PA_RA_CFA_MINUS_8
				: rule != PA_RULE_WORD_NONE;
	}
	ok(nr_wrong == 0, "endbr %u, stride %u: %u of %u addresses have another rule",
	   t->endbr_bytes, t->stride, nr_wrong, 3 * TRAMPOLINE_ARENA_BYTES);
	compiled_file_done(&f);
	rule_dict_done(&dict);
}

static void test_tracker(void)
{
#if defined(__x86_64__)
	char mem[0x1000 + TRAMPOLINE_LOOK_BYTES + 11] = { 0 };
	struct filestore *files;
	struct tracker *t;
	struct fake f;
	const struct mapping *m;

	for (size_t i = 0; i < TRAMPOLINE_LOOK_BYTES; i += 11)
		memcpy(mem + 0x1000 + i, BODY, 11);
	fake_init(&f);
	fake_write_bytes(&f, "7/mem", mem, sizeof(mem));
	fake_write(&f, "7/maps",
		   "00001000-00011000 r-xp 00000000 00:00 0 \n"
		   "00020000-00030000 r-xp 00000000 00:00 0 \n");
	must(filestore_new(&f.procfs, 4, &files) == 0 && tracker_new(&f.procfs, files, &t) == 0);
	tracker_set_recognizer(t, unwinder_recognizer());
	must(tracker_scan(t, 5, 7) == 0);
	m = process_mapping(tracker_find(t, 7, 10), 0x1000, 10);
	ok(m && m->kind == MAPPING_KNOWN && m->file == 0, "a mapping is recognized by its bytes");
	m = process_mapping(tracker_find(t, 7, 10), 0x20000, 10);
	ok(m && m->kind == MAPPING_ANON, "an unreadable mapping is not recognized");
	tracker_free(t);
	filestore_free(files);
	fake_done(&f);
#endif
}

int main(void)
{
	test_find();
	for (int i = 0; i < NR_TRAMPOLINES; i++)
		test_rules(&trampolines[i]);
	test_tracker();
	return tap_done();
}
