/* SPDX-License-Identifier: Apache-2.0 */
/*
 * V8: "JS:*name /file.js:12:34", where marks before the name give the compiler tier: '~'
 * interpreted, '^' baseline, '+' mid-tier, '*' optimized. Since V8 13 the two optimizing tiers have
 * more marks: "*'" for code specialized to one context, "o*" for on-stack replacement, "o*'" for
 * both. CPython: "py::name:/file.py".
 */
#include "symbolize/jit_name.h"

#include <string.h>

#define TIER_MARKS "~^+*'-"
#define OPTIMIZED_MARKS "+*" /* marks that 'o' may precede and an apostrophe may follow */
#define MAX_LINE (1u << 30)

struct text {
	const char *at;
	size_t len;
};

static bool skip_prefix(struct text *t, const char *prefix)
{
	size_t n = strlen(prefix);

	if (t->len < n || memcmp(t->at, prefix, n) != 0)
		return false;
	t->at += n;
	t->len -= n;
	return true;
}

/* Removes ":<number>" from the end. */
static bool strip_number(struct text *t, uint32_t *ret_value)
{
	size_t digits = 0;
	uint64_t value = 0;

	while (digits < t->len && t->at[t->len - 1 - digits] >= '0' &&
	       t->at[t->len - 1 - digits] <= '9')
		digits++;
	if (digits == 0 || digits > 9 || digits == t->len || t->at[t->len - 1 - digits] != ':')
		return false;
	for (size_t i = t->len - digits; i < t->len; i++)
		value = value * 10 + (uint64_t)(t->at[i] - '0');
	if (value > MAX_LINE)
		return false;
	t->len -= digits + 1;
	*ret_value = (uint32_t)value;
	return true;
}

/* The start of the file after a function's name. Both may contain spaces ("get size"), but a file
 * is mostly a path or a URL. */
static size_t file_start(const struct text *t)
{
	static const char *const marks[] = { " /", " node:", " file:", " http" };
	const char *space;

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		const char *p = memmem(t->at, t->len, marks[i], strlen(marks[i]));

		if (p)
			return (size_t)(p - t->at);
	}
	space = memrchr(t->at, ' ', t->len);
	return space ? (size_t)(space - t->at) : t->len;
}

static bool starts_with_any(const struct text *t, const char *set)
{
	return t->len && t->at[0] && strchr(set, t->at[0]);
}

static void skip_byte(struct text *t)
{
	t->at++;
	t->len--;
}

/* A function keeps one name in all its tiers, so the marks are removed. 'o' is a mark only before
 * another one, since names may begin with that letter. */
static void skip_tier_marks(struct text *t)
{
	struct text after_o = { t->at + 1, t->len ? t->len - 1 : 0 };
	bool is_optimized;

	if (t->len && t->at[0] == 'o' && starts_with_any(&after_o, OPTIMIZED_MARKS))
		skip_byte(t);
	is_optimized = starts_with_any(t, OPTIMIZED_MARKS);
	if (starts_with_any(t, TIER_MARKS))
		skip_byte(t);
	if (is_optimized && starts_with_any(t, "'"))
		skip_byte(t);
}

static void decode_v8(struct text t, const char *nameless, struct jit_name *to)
{
	uint32_t last, before;
	size_t n;

	skip_tier_marks(&t);
	to->is_v8 = true;
	if (strip_number(&t, &last)) { /* "file:line", or "file:line:column" */
		to->line = strip_number(&t, &before) ? before : last;
		n = file_start(&t);
		if (n < t.len) {
			to->file = t.at + n + 1;
			to->file_len = t.len - n - 1;
			t.len = n;
		}
	}
	to->is_nameless = !t.len;
	to->name = t.len ? t.at : nameless;
	to->name_len = t.len ? t.len : strlen(nameless);
}

static bool try_v8(struct text t, struct jit_name *to)
{
	static const struct {
		const char *prefix, *nameless;
	} kinds[] = {
		{ "JS:", "(anonymous)" },       { "LazyCompile:", "(anonymous)" },
		{ "Function:", "(anonymous)" }, { "Script:", "(script)" },
		{ "Eval:", "(script)" },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (skip_prefix(&t, kinds[i].prefix)) {
			decode_v8(t, kinds[i].nameless, to);
			return true;
		}
	return false;
}

/* A qualified name has no colon; a file may have some. */
static bool try_python(struct text t, struct jit_name *to)
{
	const char *colon;

	if (!skip_prefix(&t, "py::"))
		return false;
	colon = memchr(t.at, ':', t.len);
	if (!colon || colon == t.at)
		return false;
	to->name = t.at;
	to->name_len = (size_t)(colon - t.at);
	to->file = colon + 1;
	to->file_len = t.len - to->name_len - 1;
	return true;
}

void jit_name_decode(const char *text, size_t len, struct jit_name *ret_name)
{
	struct text t = { text, len };

	*ret_name = (struct jit_name){ .name = text, .name_len = len };
	if (try_python(t, ret_name) || try_v8(t, ret_name))
		return;
	if (skip_prefix(&t, "Builtin:") && t.len) {
		ret_name->name = t.at;
		ret_name->name_len = t.len;
	}
}
