/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands of perf-agent-unwind share. */
#ifndef ORACLE_UNWIND_TOOL_TOOL_H
#define ORACLE_UNWIND_TOOL_TOOL_H

#include "unwind/rule_dict.h"

struct elf_image;

struct subject {
	const char *path;
	int fd;
	struct elf_image *img;
};

/* The rule in words. */
void rule_print(pa_rule rule);

/* 0, or a negative errno after a message. */
int dump(const struct subject *s, struct rule_dict *dict);

/* 0: libdw agrees with every row; 1: it does not; negative after a message. */
int check(const struct subject *s, struct rule_dict *dict);

#endif
