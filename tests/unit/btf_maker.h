/* SPDX-License-Identifier: Apache-2.0 */
/* A small kernel's types, made by libbpf, and what is asked of them. */
#ifndef TESTS_UNIT_BTF_MAKER_H
#define TESTS_UNIT_BTF_MAKER_H

#include <bpf/btf.h>
#include <string.h>

#include "base/buf.h"
#include "collect/btf_names.h"
#include "collect/btf_subset.h"
#include "tap.h"

#define BIG_VALUE 0x123456789aull

__attribute__((unused)) static void add_names(struct name_set *to, const char *const *names)
{
	for (; *names; names++)
		must(name_set_add(to, *names, strlen(*names)) == 0);
}

__attribute__((unused)) static struct btf_names asked_names(void)
{
	static const char *const types[] = { "task_struct", "mm_struct", "bpf_func_id", "big",
					     NULL };
	static const char *const members[] = { "pid",  "tgid",    "mm",        "file",
					       "live", "counter", "comm",      "on_exit",
					       "last", "own",     "in_execve", "start_stack",
					       NULL };
	struct btf_names n = { 0 };

	add_names(&n.types, types);
	add_names(&n.members, members);
	return n;
}

static int add_small_types(struct btf *b, int *ret_ulong)
{
	int number = btf__add_int(b, "int", 4, BTF_INT_SIGNED);

	*ret_ulong = btf__add_int(b, "unsigned long", 8, 0);
	btf__add_enum(b, "bpf_func_id", 4);
	btf__add_enum_value(b, "BPF_FUNC_unspec", 0);
	btf__add_enum_value(b, "BPF_FUNC_task_pt_regs", 175);
	btf__add_enum64(b, "big", 8, false);
	btf__add_enum64_value(b, "BIG", BIG_VALUE);
	return number;
}

/* struct { int secret; int tgid; } in a union, both without a name */
static int add_nameless(struct btf *b, int number)
{
	int inner = btf__add_struct(b, "", 8), outer;

	btf__add_field(b, "secret", number, 0, 0);
	btf__add_field(b, "tgid", number, 32, 0);
	outer = btf__add_union(b, "", 8);
	btf__add_field(b, "", inner, 0, 0);
	btf__add_field(b, "alias", number, 0, 0);
	return outer;
}

static int add_file_pointer(struct btf *b, int number)
{
	int file = btf__add_struct(b, "file", 4);

	btf__add_field(b, "pid", number, 0, 0);
	return btf__add_ptr(b, btf__add_const(b, file));
}

static int add_mm_pointer(struct btf *b, int ulong_id)
{
	int mm = btf__add_struct(b, "mm_struct", 128);

	btf__add_field(b, "secret", ulong_id, 0, 0);
	btf__add_field(b, "start_stack", ulong_id, 512, 0);
	return btf__add_ptr(b, mm);
}

static int add_function_pointer(struct btf *b, int number, int param)
{
	int proto = btf__add_func_proto(b, number);

	btf__add_func_param(b, "of", param);
	btf__add_func(b, "task_struct", BTF_FUNC_STATIC, proto); /* no type, by the same name */
	return btf__add_ptr(b, proto);
}

static int add_atomic(struct btf *b, int number)
{
	int s = btf__add_struct(b, "", 4);

	btf__add_field(b, "counter", number, 0, 0);
	return btf__add_typedef(b, "atomic_t", s);
}

/* By value, of a type that nobody asks for by name: { char more[16]; int own; } */
static int add_part(struct btf *b, int number, int text)
{
	int part = btf__add_struct(b, "part", 20);

	btf__add_field(b, "more", text, 0, 0);
	btf__add_field(b, "own", number, 128, 0);
	return part;
}

__attribute__((unused)) static struct btf *make_whole(void)
{
	struct btf *b = btf__new_empty();
	int ulong_id, number = add_small_types(b, &ulong_id), nameless = add_nameless(b, number);
	int file = add_file_pointer(b, number), mm = add_mm_pointer(b, ulong_id);
	int fn = add_function_pointer(b, number, file), atomic = add_atomic(b, number);
	int text = btf__add_array(b, number, number, 4), part = add_part(b, number, text);

	btf__add_struct(b, "task_struct", 256);
	btf__add_field(b, "pid", number, 64, 0);
	btf__add_field(b, "", nameless, 128, 0);
	btf__add_field(b, "mm", mm, 256, 0);
	btf__add_field(b, "file", file, 320, 0);
	btf__add_field(b, "hidden", number, 384, 0);
	btf__add_field(b, "live", atomic, 448, 0);
	btf__add_field(b, "comm", text, 512, 0);
	btf__add_field(b, "on_exit", fn, 704, 0);
	btf__add_field(b, "last", part, 768, 0);
	btf__add_field(b, "in_execve", number, 1027, 1);
	btf__add_struct(b, "task_struct", 8); /* another driver's */
	must(btf__add_field(b, "pid", number, 0, 0) == 0);
	return b;
}

/* -1: none, also inside those without a name. */
__attribute__((unused)) static long bits_of(const struct btf *b, __u32 id, const char *member,
					    __u32 *ret_type)
{
	const struct btf_type *t = btf__type_by_id(b, id);

	for (__u32 i = 0; btf_is_composite(t) && i < btf_vlen(t); i++) {
		const char *name = btf__name_by_offset(b, btf_members(t)[i].name_off);
		__u32 type = btf_members(t)[i].type;
		long at = btf_member_bit_offset(t, i), inner = -1;

		if (!strcmp(name, member)) {
			*ret_type = type;
			return at;
		}
		if (!*name)
			inner = bits_of(b, type, member, ret_type);
		if (inner >= 0)
			return at + inner;
	}
	return -1;
}

#endif
