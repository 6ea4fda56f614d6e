/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/path.h"
#include "symbolize/demangle.h"
#include "symbolize/symbolize_internal.h"

#define RAW_NAME_MAX_BYTES (PATH_LABEL_MAX_BYTES + 20) /* "+0x", 16 digits and the end */

#define NAMES_MAX (4u << 20)

struct answer_name {
	const char *symbol;   /* borrowed */
	const char *readable; /* symbol, or one of the strings */
};

int answer_init(struct answer *a)
{
	*a = (struct answer){ 0 };
	return strtab_init(&a->strings);
}

void answer_done(struct answer *a)
{
	strtab_done(&a->strings);
	free(a->names);
	idtable_done(&a->name_index);
}

static void fill_result(struct answer *a, const char *name, const char *system_name, bool is_named,
			struct symbol_result *ret_result)
{
	a->frame = (struct symbol_frame){ .name = name, .system_name = system_name };
	*ret_result = (struct symbol_result){
		.frames = &a->frame,
		.nr_frames = 1,
		.is_named = is_named,
	};
}

/* Demangles the first n bytes of symbol, and keeps the rest. False if nothing is mangled. */
static bool make_readable(const char *symbol, size_t n, char readable[DEMANGLE_MAX_OUT])
{
	char mangled[DEMANGLE_MAX_IN + 1];
	size_t len;

	if (n > DEMANGLE_MAX_IN)
		return false;
	memcpy(mangled, symbol, n);
	mangled[n] = '\0';
	if (!demangle(mangled, readable, DEMANGLE_MAX_OUT))
		return false;
	len = strlen(readable);
	return (size_t)snprintf(readable + len, DEMANGLE_MAX_OUT - len, "%s", symbol + n) <
	       DEMANGLE_MAX_OUT - len;
}

int answer_named(struct answer *a, const char *symbol, size_t symbol_bytes,
		 struct symbol_result *ret_result)
{
	char readable[DEMANGLE_MAX_OUT];
	uint32_t id;
	int r;

	if (symbol[0] != '_' || !make_readable(symbol, symbol_bytes, readable)) {
		fill_result(a, symbol, symbol, true, ret_result);
		return 0;
	}
	r = strtab_intern(&a->strings, readable, &id);
	if (r == -ENOMEM)
		return r;
	/* Beyond the limit of the table the symbol itself is still a valid name. */
	fill_result(a, r < 0 ? symbol : strtab_get(&a->strings, id), symbol, true, ret_result);
	return 0;
}

size_t answer_symbol_bytes(const char *symbol)
{
	size_t n = strlen(symbol), suffix = strlen(PLT_SUFFIX);

	return n > suffix && strcmp(symbol + n - suffix, PLT_SUFFIX) == 0 ? n - suffix : n;
}

static bool is_same_symbol(const void *owner, uint32_t id, const void *key)
{
	return ((const struct answer *)owner)->names[id].symbol == key;
}

static int remember_demangled(struct answer *a, uint64_t hash, const char *symbol,
			      const char *readable)
{
	int r = ARRAY_RESERVE(a->names, a->cap_names, a->nr_names + 1, NAMES_MAX);

	if (r == 0)
		r = idtable_reserve(&a->name_index);
	if (r < 0)
		return r == -ENOMEM ? r : 0; /* beyond the limit it is demangled again each time */
	a->names[a->nr_names] = (struct answer_name){ symbol, readable };
	idtable_insert(&a->name_index, hash, a->nr_names++);
	return 0;
}

int answer_readable(struct answer *a, const char *symbol, const char **ret_name)
{
	uint64_t hash = hash_mix(0, (uintptr_t)symbol);
	struct symbol_result res;
	uint32_t id;
	int r;

	if (symbol[0] != '_') {
		*ret_name = symbol;
		return 0;
	}
	if (idtable_find(&a->name_index, hash, is_same_symbol, a, symbol, &id)) {
		*ret_name = a->names[id].readable;
		return 0;
	}
	r = answer_named(a, symbol, answer_symbol_bytes(symbol), &res);
	if (r < 0)
		return r;
	*ret_name = res.frames[0].name;
	return remember_demangled(a, hash, symbol, *ret_name);
}

int answer_scoped(struct answer *a, const char *scope, size_t mangled_bytes, const char *name,
		  const char **ret_name)
{
	char text[DEMANGLE_MAX_OUT];
	size_t len;
	uint32_t id;
	int r;

	*ret_name = name;
	if (!mangled_bytes || !make_readable(scope, mangled_bytes, text))
		(void)snprintf(text, sizeof(text), "%s", scope);
	len = strlen(text);
	if ((size_t)snprintf(text + len, sizeof(text) - len, "::%s", name) >= sizeof(text) - len)
		return 0; /* longer than names that are shown: its own name suffices */
	r = strtab_intern(&a->strings, text, &id);
	if (r == 0)
		*ret_name = strtab_get(&a->strings, id);
	return r == -ENOMEM ? r : 0;
}

int answer_raw(struct answer *a, const char *label, uint64_t offset,
	       struct symbol_result *ret_result)
{
	char text[RAW_NAME_MAX_BYTES];
	const char *name;
	uint32_t id;

	if (label)
		(void)snprintf(text, sizeof(text), "%.*s+0x%" PRIx64, (int)path_label_bytes(label),
			       label, offset);
	else
		(void)snprintf(text, sizeof(text), "0x%" PRIx64, offset);
	if (strtab_intern(&a->strings, text, &id) < 0)
		return -ENOMEM;
	name = strtab_get(&a->strings, id);
	fill_result(a, name, name, false, ret_result);
	ret_result->is_raw = !label;
	return 0;
}
