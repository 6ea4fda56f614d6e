/* SPDX-License-Identifier: Apache-2.0 */
/* The extract against the whole: libbpf reads both, and finds the same in them. */
#include <bpf/libbpf.h>
#include <errno.h>

#include "btf_maker.h"
#include "collect/kernel_types.h"

static struct btf *extract(const struct btf *whole, const struct btf_names *names)
{
	struct buf out = BUF_INIT(2 * BTF_SUBSET_MAX_BYTES);
	__u32 size;
	const void *bytes = btf__raw_data(whole, &size);
	struct btf *b;

	must(btf_subset(bytes, size, names, &out) == 0);
	b = btf__new(out.data, (__u32)out.len);
	must(!libbpf_get_error(b));
	buf_done(&out);
	return b;
}

static __u32 struct_id(const struct btf *b, const char *name)
{
	int id = btf__find_by_name_kind(b, name, BTF_KIND_STRUCT);

	return id > 0 ? (__u32)id : 0;
}

static long task_bits(const struct btf *b, const char *member)
{
	__u32 type;

	return bits_of(b, struct_id(b, "task_struct"), member, &type);
}

static const struct btf_type *task_member(const struct btf *b, const char *member)
{
	__u32 type = 0;

	must(bits_of(b, struct_id(b, "task_struct"), member, &type) >= 0);
	return btf__type_by_id(b, type);
}

static void test_members(const struct btf *b)
{
	const struct btf_type *t = btf__type_by_id(b, struct_id(b, "task_struct"));

	ok(task_bits(b, "pid") == 64, "a member keeps its offset");
	ok(task_bits(b, "tgid") == 160,
	   "a member of an unnamed struct in a union keeps its offset");
	ok(task_bits(b, "hidden") < 0 && task_bits(b, "secret") < 0 && task_bits(b, "alias") < 0,
	   "a member that was not asked for is absent");
	ok(t->size == 256, "the struct has its size");
	ok(btf_member_bitfield_size(t, btf_vlen(t) - 1) == 1 && task_bits(b, "in_execve") == 1027,
	   "a bit-field is one");
	t = task_member(b, "comm");
	ok(btf_is_array(t) && btf_array(t)->nelems == 4, "an array has its length");
}

static void test_types_of_members(const struct btf *b)
{
	const struct btf_type *t = btf__type_by_id(b, task_member(b, "mm")->type);
	__u32 type;

	ok(btf_is_struct(t) && t->size == 128, "a pointer leads to a struct that was asked for");
	ok(bits_of(b, struct_id(b, "mm_struct"), "start_stack", &type) == 512,
	   "a struct behind a pointer that was asked for has its members");
	t = btf__type_by_id(b, task_member(b, "file")->type);
	ok(btf_is_fwd(t) && !strcmp(btf__name_by_offset(b, t->name_off), "file") &&
		   !struct_id(b, "file"),
	   "another struct behind a pointer is only declared");
	t = task_member(b, "live");
	ok(btf_is_typedef(t) && bits_of(b, t->type, "counter", &type) == 0,
	   "a typedef leads to its struct");
	t = task_member(b, "last");
	ok(btf_is_struct(t) && t->size == 20 && btf_vlen(t) == 1 &&
		   btf_member_bit_offset(t, 0) == 128,
	   "an embedded struct is present with the members asked for");
	t = btf__type_by_id(b, task_member(b, "on_exit")->type);
	ok(btf_is_func_proto(t) && btf_vlen(t) == 1 &&
		   btf_is_ptr(btf__type_by_id(b, btf_params(t)->type)),
	   "a function has its parameters");
}

static void test_rest(const struct btf *b)
{
	int id = btf__find_by_name_kind(b, "bpf_func_id", BTF_KIND_ENUM);
	const struct btf_type *t = btf__type_by_id(b, (__u32)id);
	unsigned int nr_tasks = 0;

	ok(id > 0 && btf_vlen(t) == 2 && btf_enum(t)[1].val == 175 &&
		   !strcmp(btf__name_by_offset(b, btf_enum(t)[1].name_off),
			   "BPF_FUNC_task_pt_regs"),
	   "an enum has its values");
	id = btf__find_by_name_kind(b, "big", BTF_KIND_ENUM64);
	t = btf__type_by_id(b, (__u32)id);
	ok(id > 0 && btf_enum64_value(btf_enum64(t)) == BIG_VALUE, "a 64-bit enum has its values");
	for (__u32 i = 1; i < btf__type_cnt(b); i++)
		nr_tasks += !strcmp(btf__name_by_offset(b, btf__type_by_id(b, i)->name_off),
				    "task_struct");
	ok(nr_tasks == 2, "both structs of a name are present, and no function");
}

static void test_essential(void)
{
	ok(btf_essential_len("task_struct___old", 17) == 11, "a flavour suffix is ignored");
	ok(btf_essential_len("a___b___c", 9) == 5, "the last flavour suffix is ignored");
	ok(btf_essential_len("___a", 4) == 4 && btf_essential_len("a____b", 6) == 6 &&
		   btf_essential_len("a___", 4) == 4 && btf_essential_len("", 0) == 0,
	   "other underscores are significant");
}

static int result_of(const struct btf *whole, size_t offset, uint8_t value)
{
	static const struct btf_names none;
	struct buf out = BUF_INIT(BTF_SUBSET_MAX_BYTES);
	uint8_t bytes[4096];
	__u32 size;
	const void *from = btf__raw_data(whole, &size);
	int r;

	must(size <= sizeof(bytes));
	memcpy(bytes, from, size);
	bytes[offset] = value;
	r = btf_subset(bytes, size, &none, &out);
	buf_done(&out);
	return r;
}

static void test_bad(const struct btf *whole)
{
	size_t first_kind = sizeof(struct btf_header) + 7;

	ok(result_of(whole, 0, 0) == -EBADMSG, "another file is refused");
	ok(result_of(whole, 2, 2) == -EOPNOTSUPP, "another version is refused");
	ok(result_of(whole, first_kind, 31) == -EOPNOTSUPP, "an unknown BTF kind is refused");
	ok(result_of(whole, first_kind - 1, 1) == -EOPNOTSUPP, "an unknown flag bit is refused");
	ok(result_of(whole, first_kind, 0) == -EBADMSG, "kind 0 is invalid");
	ok(result_of(whole, 15, 1) == -EBADMSG, "types beyond the end are invalid");
	ok(result_of(whole, first_kind, BTF_KIND_INT) == 0, "the unchanged BTF is valid");
}

/* Every member of that name in every type of that name: as many, and the same. */
static unsigned int nr_wrong_members(const struct btf *kernel, __u32 whole_id,
				     const struct btf *part, __u32 part_id,
				     const struct btf_names *names, unsigned int *nr_right)
{
	unsigned int nr = 0;

	for (uint32_t i = 0; i < names->members.nr; i++) {
		const char *name = names->members.names[i].text;
		__u32 a = 0, b = 0;
		long whole_at = bits_of(kernel, whole_id, name, &a);
		long part_at = bits_of(part, part_id, name, &b);
		bool is_same = whole_at == part_at &&
			       (whole_at < 0 ||
				btf__resolve_size(kernel, a) == btf__resolve_size(part, b));

		if (!is_same)
			printf("# %s.%s: %ld, not %ld\n",
			       btf__name_by_offset(kernel,
						   btf__type_by_id(kernel, whole_id)->name_off),
			       name, part_at, whole_at);
		nr += !is_same;
		*nr_right += is_same && whole_at >= 0;
	}
	return nr;
}

static bool is_same_enum(const struct btf_type *a, const struct btf_type *b)
{
	if (btf_kind(a) != btf_kind(b) || btf_vlen(a) != btf_vlen(b))
		return false;
	for (__u32 i = 0; btf_is_enum(a) && i < btf_vlen(a); i++)
		if (btf_enum(a)[i].val != btf_enum(b)[i].val)
			return false;
	return true;
}

/* The next type after id that the object has too, of a kind that is relocated; 0: none. */
static __u32 next_asked(const struct btf *b, const struct btf_names *names, __u32 id)
{
	while (++id < btf__type_cnt(b)) {
		const struct btf_type *t = btf__type_by_id(b, id);
		const char *name = btf__name_by_offset(b, t->name_off);

		if (*name && (btf_is_composite(t) || btf_is_any_enum(t)) &&
		    name_set_has(&names->types, name, btf_essential_len(name, strlen(name))))
			return id;
	}
	return 0;
}

static void compare(const struct btf *kernel, const struct btf *part, const struct btf_names *names)
{
	unsigned int nr_types = 0, nr_right = 0, nr_wrong = 0;
	__u32 a = next_asked(kernel, names, 0), b = next_asked(part, names, 0);

	for (; a && b; a = next_asked(kernel, names, a), b = next_asked(part, names, b)) {
		const struct btf_type *whole = btf__type_by_id(kernel, a);
		const struct btf_type *small = btf__type_by_id(part, b);

		nr_types++;
		nr_wrong += strcmp(btf__name_by_offset(kernel, whole->name_off),
				   btf__name_by_offset(part, small->name_off)) != 0;
		nr_wrong += whole->size != small->size;
		if (btf_is_composite(whole))
			nr_wrong += nr_wrong_members(kernel, a, part, b, names, &nr_right);
		else
			nr_wrong += !is_same_enum(whole, small);
	}
	printf("# %u types of %u, %u members\n", nr_types, btf__type_cnt(kernel) - 1, nr_right);
	ok(!a && !b, "the running kernel: all types that the programs know are in the extract");
	ok(nr_types >= 6 && nr_right >= 20 && nr_wrong == 0,
	   "the running kernel: every member has its offset and size");
}

/* What the programs ask for, of the running kernel. */
static void test_kernel(const char *object)
{
	struct btf *kernel, *asked = btf__parse(object, NULL), *part;
	struct btf_names names = { 0 };

	must(!libbpf_get_error(asked));
	kernel = btf__parse(KERNEL_TYPES_PATH, NULL);
	if (libbpf_get_error(kernel)) {
		tap_skip("no " KERNEL_TYPES_PATH);
	} else {
		must(btf_names_of(asked, &names) == 0);
		part = extract(kernel, &names);
		compare(kernel, part, &names);
		btf__free(part);
		btf__free(kernel);
	}
	btf_names_done(&names);
	btf__free(asked);
}

int main(int argc, char **argv)
{
	struct btf *whole = make_whole(), *part;
	struct btf_names names = asked_names();

	must(argc == 2);
	part = extract(whole, &names);
	test_members(part);
	test_types_of_members(part);
	test_rest(part);
	test_essential();
	test_bad(whole);
	test_kernel(argv[1]);
	btf__free(part);
	btf__free(whole);
	btf_names_done(&names);
	return tap_done();
}
