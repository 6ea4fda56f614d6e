/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel types that a BPF object may need when it is loaded: those that it contains itself, by
 * name. This is an upper bound: extra types do no harm.
 */
#ifndef COLLECT_BTF_NAMES_H
#define COLLECT_BTF_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/idtable.h"

struct btf;

struct name_set {
	struct name {
		const char *text; /* borrowed from the caller */
		size_t len;
	} * names; /* owned */
	uint32_t nr, cap;
	struct idtable index;
};

struct btf_names {
	struct name_set types;   /* without their flavours */
	struct name_set members; /* of any of those types */
};

void btf_names_done(struct btf_names *n);

/* All of an object's own types. Valid as long as `asked`. -ENOMEM: call btf_names_done() in any
 * case. */
int btf_names_of(const struct btf *asked, struct btf_names *ret_names);

int name_set_add(struct name_set *s, const char *text, size_t len);
bool name_set_has(const struct name_set *s, const char *text, size_t len);

/* The significant part of a name: "task_struct___old" is a flavour of "task_struct". As in libbpf.
 * */
size_t btf_essential_len(const char *text, size_t len);

#endif
