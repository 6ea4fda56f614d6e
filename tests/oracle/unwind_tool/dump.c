/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>

#include "elf/elf_image.h"
#include "oracle/unwind_tool/tool.h"
#include "unwind/eh_frame.h"
#include "unwind/known_code.h"
#include "unwind/table.h"

static void print_cfa(pa_rule rule)
{
	unsigned int reg = PA_RULE_CFA_REG(rule);

	switch (PA_RULE_CFA_KIND(rule)) {
	case PA_CFA_REG:
		printf("cfa=r%u%+" PRId64, reg, (int64_t)PA_RULE_CFA_OFF(rule));
		break;
	case PA_CFA_DEREF:
		printf("cfa=*(r%u%+" PRId64 ")%+" PRId64, reg, (int64_t)PA_RULE_DEREF_OFF(rule),
		       (int64_t)PA_RULE_DEREF_ADD(rule));
		break;
	default:
		printf("cfa=plt(%" PRId64 ")", (int64_t)PA_RULE_CFA_OFF(rule));
		break;
	}
}

static void print_fp(pa_rule rule)
{
	int64_t slot = PA_RULE_RA_KIND(rule) == PA_RA_BOTH ? PA_RULE_BOTH_FP(rule)
							   : PA_RULE_SLOT(rule);

	switch (PA_RULE_FP_KIND(rule)) {
	case PA_FP_SAME:
		printf(" fp=same");
		break;
	case PA_FP_AT_CFA:
		printf(" fp=*(cfa%+" PRId64 ")", slot);
		break;
	case PA_FP_AT_FP:
		printf(" fp=*(fp%+" PRId64 ")", slot);
		break;
	default:
		printf(" fp=lost");
		break;
	}
}

static void print_ra(pa_rule rule)
{
	switch (PA_RULE_RA_KIND(rule)) {
	case PA_RA_CFA_MINUS_8:
		printf(" ra=*(cfa-8)");
		break;
	case PA_RA_AFTER_FP:
		printf(" ra=*(cfa%+" PRId64 ")", (int64_t)PA_RULE_SLOT(rule) + 8);
		break;
	case PA_RA_AT_CFA:
		printf(" ra=*(cfa%+" PRId64 ")", (int64_t)PA_RULE_SLOT(rule));
		break;
	case PA_RA_BOTH:
		printf(" ra=*(cfa%+" PRId64 ")", (int64_t)PA_RULE_BOTH_RA(rule));
		break;
	case PA_RA_LR:
		printf(" ra=lr");
		break;
	default:
		printf(" ra=r%u", PA_RULE_RA_REG(rule));
		break;
	}
}

void rule_print(pa_rule rule)
{
	static const char *const whole[] = {
		[PA_CFA_NONE] = "none", [PA_CFA_USER] = "user",     [PA_CFA_SIGNAL] = "signal",
		[PA_CFA_END] = "end",   [PA_CFA_SWITCH] = "switch",
	};
	uint32_t kind = PA_RULE_CFA_KIND(rule);

	if (kind < sizeof(whole) / sizeof(whole[0]) && whole[kind]) {
		printf("%s", whole[kind]);
		return;
	}
	print_cfa(rule);
	print_fp(rule);
	print_ra(rule);
	if (rule & PA_RULE_SIGNED)
		printf(" signed");
	if (rule & PA_RULE_SIGNAL)
		printf(" interrupted");
}

static void print_table(const struct unwind_table *t, const struct rule_dict *dict)
{
	pa_rule last = PA_RULE_WORD_NONE;
	uint64_t pc = t->base;

	if (!t->nr_blocks)
		return;
	do {
		pa_rule rule = unwind_table_find(t, dict, pc);

		if (rule != last) {
			printf("%016" PRIx64 " ", pc);
			rule_print(rule);
			printf("\n");
		}
		last = rule;
	} while ((pc = unwind_table_next(t, pc)));
}

int dump(const struct subject *s, struct rule_dict *dict)
{
	_cleanup_(unwind_table_freep) struct unwind_table *t = NULL;
	_cleanup_(cfi_freep) struct cfi *eh = NULL;
	_cleanup_(cfi_freep) struct cfi *debug = NULL;
	_cleanup_(known_code_done) struct known_code known = { 0 };
	const struct cfi *sources[UNWIND_MAX_SOURCES];
	size_t nr = 0;
	int r;

	if (cfi_open_eh_frame(s->img, &eh) == 0)
		sources[nr++] = eh;
	if (cfi_open_debug_frame(s->img, s->img, &debug) == 0)
		sources[nr++] = debug;
	r = known_code_find(s->img, &known);
	if (r == 0)
		r = nr || known.nr ? unwind_compile_known(sources, nr, &known, dict, &t) : -ENOENT;
	if (r < 0) {
		fprintf(stderr, "%s: %s\n", s->path,
			r == -ENOENT ? "no call frame information" : strerror(-r));
		return r;
	}
	print_table(t, dict);
	printf("# %u FDEs (%u bad, %u outside), %u rows (%u for user space), %u blocks, %u rules\n",
	       t->stats.nr_fdes, t->stats.nr_bad, t->stats.nr_outside, t->nr_rows, t->stats.nr_user,
	       t->nr_blocks, t->nr_rules);
	return 0;
}
