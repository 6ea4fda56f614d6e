/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libiberty parses C++ and Rust. Its output can be exponentially longer than the name, so it is
 * taken in pieces as it is produced, and the demangler is left by longjmp() as soon as there is too
 * much.
 */
#include "symbolize/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>

#include "symbolize/demangle_d.h"

#define OPTIONS (DMGL_PARAMS | DMGL_ANSI)

struct output {
	char *to;
	size_t size; /* bytes with the NUL */
	size_t len;
	bool is_full;
	jmp_buf too_long;
};

/*
 * The demanglers keep their state on the stack, with one exception: the Rust one passes an
 * identifier that was in Punycode from a heap buffer, which a jump would leak. Such text is never
 * plain ASCII, and plain ASCII (a separator, a bracket) follows before the next of its kind.
 */
static bool may_jump(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] >= 0x80)
			return false;
	return true;
}

static void take_output(const char *text, size_t n, void *opaque)
{
	struct output *out = opaque;

	if (!out->is_full && n < out->size - out->len) {
		memcpy(out->to + out->len, text, n);
		out->len += n;
		return;
	}
	out->is_full = true;
	if (may_jump(text, n))
		longjmp(out->too_long, 1);
}

static bool has_prefix(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* "_GLOBAL__I_…": constructors and destructors of a file, named after one of its symbols. libiberty
 * also reads them if that symbol is not mangled; such names are kept. */
static bool is_mangled_global(const char *symbol)
{
	return has_prefix(symbol, "_GLOBAL__I__Z") || has_prefix(symbol, "_GLOBAL__D__Z");
}

/*
 * For C++ libiberty keeps arrays on the stack, and by default refuses names of more than 1 KiB,
 * which templates easily exceed. Without its limit the depth is bounded by the length of the name
 * (0.8 MB for the worst of 4 KiB), but one array is not: it has an element of 16 bytes for every
 * pair of a template and a reference to a template parameter, each counted up to twice. So longer
 * names are accepted as long as that array stays below 1 MiB.
 */
static bool is_stack_bounded(const char *symbol)
{
	size_t nr_templates = 0, nr_references = 0;

	for (const char *p = symbol; *p; p++) {
		bool is_reference = *p == 'R' || *p == 'O';

		nr_templates += *p == 'I';
		/* References to T_ itself, or to S_, S0_ … that may stand for it; St, Sa … never
		 * do. */
		nr_references += is_reference &&
				 (p[1] == 'T' || (p[1] == 'S' && !(p[2] >= 'a' && p[2] <= 'z')));
	}
	return nr_templates * nr_references <= (1u << 20) / (16 * 4);
}

static bool run_cxx(const char *symbol, struct output *out)
{
	int options = OPTIONS | (is_stack_bounded(symbol) ? DMGL_NO_RECURSE_LIMIT : 0);

	return cplus_demangle_v3_callback(symbol, options, take_output, out);
}

static bool run_demanglers(const char *symbol, struct output *out)
{
	if (has_prefix(symbol, "__Z"))
		symbol++; /* one underscore more than usual, as on Darwin */
	if (has_prefix(symbol, "_R") || has_prefix(symbol, "_ZN")) {
		if (rust_demangle_callback(symbol, OPTIONS, take_output, out))
			return true;
		out->len = 0; /* discards what a failed attempt left */
		out->is_full = false;
	}
	if (has_prefix(symbol, "_Z") || is_mangled_global(symbol))
		return run_cxx(symbol, out);
	return false;
}

bool demangle(const char *symbol, char *to, size_t size)
{
	struct output out = {
		.to = to,
		.size = size < DEMANGLE_MAX_OUT ? size : DEMANGLE_MAX_OUT,
	};

	if (symbol[0] != '_' || size == 0 || strnlen(symbol, DEMANGLE_MAX_IN + 1) > DEMANGLE_MAX_IN)
		return false;
	if (demangle_d(symbol, to, out.size) || demangle_ada(symbol, to, out.size))
		return true;
	if (setjmp(out.too_long))
		return false;
	if (!run_demanglers(symbol, &out) || out.is_full || out.len == 0)
		return false;
	to[out.len] = '\0';
	return true;
}

#define RUST_HASH_PREFIX "17h" /* the length of what follows, and its first letter */
#define RUST_HASH_DIGITS 16

/* "17h0123456789abcdefE", possibly followed by LLVM's suffix ".llvm.1234". */
static bool is_rust_hash(const char *s)
{
	return has_prefix(s, RUST_HASH_PREFIX) &&
	       strspn(s + strlen(RUST_HASH_PREFIX), "0123456789abcdef") == RUST_HASH_DIGITS &&
	       s[strlen(RUST_HASH_PREFIX) + RUST_HASH_DIGITS] == 'E';
}

bool is_rust_symbol(const char *symbol)
{
	if (has_prefix(symbol, "_R"))
		return (symbol[2] >= 'A' && symbol[2] <= 'Z') ||
		       (symbol[2] >= '0' && symbol[2] <= '9');
	if (!has_prefix(symbol, "_ZN"))
		return false;
	for (const char *at = symbol; (at = strstr(at, RUST_HASH_PREFIX)); at++)
		if (is_rust_hash(at))
			return true;
	return false;
}
