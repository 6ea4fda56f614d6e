/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of D (https://dlang.org/spec/abi.html#name_mangling) and of Ada's library procedures, as
 * far as their qualified names go: "demo.main.__lambda1", "std.stdio.writeln!(...)". Parameters and
 * template arguments are left out. libiberty prints those too, but tries readings of a nested name
 * one after another, which takes exponential time for a hostile symbol; this is one pass.
 */
#include "symbolize/demangle_d.h"

#include <stdint.h>
#include <string.h>

struct d_reader {
	const char *symbol; /* NUL-terminated */
	size_t len, at;
	char *to;
	size_t size, out;
};

static char peek(const struct d_reader *d)
{
	return d->at < d->len ? d->symbol[d->at] : '\0';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_identifier(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!is_letter(s[i]) && !is_digit(s[i]) && s[i] != '_' &&
		    (unsigned char)s[i] < 0x80)
			return false;
	return n && !is_digit(s[0]);
}

static bool append_text(struct d_reader *d, const char *text, size_t n)
{
	if (n >= d->size - d->out)
		return false;
	memcpy(d->to + d->out, text, n);
	d->out += n;
	return true;
}

static bool append_part(struct d_reader *d, const char *text, size_t n)
{
	return is_identifier(text, n) && (!d->out || append_text(d, ".", 1)) &&
	       append_text(d, text, n);
}

/* A length and that many bytes, at `at`. */
static bool read_lname(const struct d_reader *d, size_t at, const char **ret_name, size_t *ret_n)
{
	size_t n = 0;

	if (at >= d->len || !is_digit(d->symbol[at]))
		return false;
	for (; at < d->len && is_digit(d->symbol[at]) && n <= d->len; at++)
		n = n * 10 + (size_t)(d->symbol[at] - '0');
	if (!n || n > d->len - at)
		return false;
	*ret_name = d->symbol + at;
	*ret_n = n;
	return true;
}

/* Reads 'Q' and the distance back, in base 26: all digits but the last are upper case. False at the
 * end. */
static bool read_back_reference(struct d_reader *d, size_t *ret_at)
{
	size_t start = d->at++, distance = 0;

	while (d->at < d->len && distance <= d->len) {
		char c = d->symbol[d->at++];

		if (c >= 'a' && c <= 'z') {
			distance = distance * 26 + (size_t)(c - 'a');
			*ret_at = start - distance;
			return distance && distance <= start;
		}
		if (c < 'A' || c > 'Z')
			return false;
		distance = distance * 26 + (size_t)(c - 'A');
	}
	return false;
}

static bool is_template(const char *s, size_t n)
{
	return n > 3 && (memcmp(s, "__T", 3) == 0 || memcmp(s, "__U", 3) == 0);
}

/* Appends the template's name, after "__T". The rest is not read. */
static bool append_template(struct d_reader *d, size_t at)
{
	const char *name;
	size_t n;

	if (!read_lname(d, at, &name, &n))
		return false;
	d->at = (size_t)(name - d->symbol) + n;
	return append_part(d, name, n) && append_text(d, "!(...)", 6);
}

/*
 * Skips the parameters of an enclosing function: "FiAyaZ". Template instances among them, which may
 * contain values that look like lengths, are not skipped.
 */
static bool skip_parameters(struct d_reader *d)
{
	const char *name;
	size_t n, depth = 1;

	while (depth && d->at < d->len) {
		char c = peek(d);

		if (is_digit(c)) {
			if (!read_lname(d, d->at, &name, &n) || is_template(name, n))
				return false;
			d->at = (size_t)(name - d->symbol) + n;
			continue;
		}
		if (!is_letter(c))
			return false;
		d->at++;
		depth += c == 'F';
		depth -= c == 'Z' || c == 'X' || c == 'Y';
		while (c == 'G' && is_digit(peek(d)))
			d->at++;
	}
	return !depth;
}

/* Skips "MxFNaNbiZ" if another name follows, as in "main.lambda". False if the type is that of the
 * symbol. */
static bool enter_function(struct d_reader *d)
{
	size_t start = d->at;

	if (peek(d) == 'M')
		d->at++;
	while (peek(d) == 'x' || peek(d) == 'y' || peek(d) == 'O')
		d->at++;
	if (peek(d) == 'F') {
		d->at++;
		if (skip_parameters(d) && is_digit(peek(d)))
			return true;
	}
	d->at = start;
	return false;
}

/* Reads one part of a qualified name. 1: there may be another; 0: it was the last; -1: invalid. */
static int read_part(struct d_reader *d)
{
	const char *name;
	size_t n, at;

	if (is_template(d->symbol + d->at, d->len - d->at))
		return append_template(d, d->at + 3) ? 0 : -1;
	if (peek(d) == 'Q') {
		if (!read_back_reference(d, &at))
			return -1;
		if (!read_lname(d, at, &name, &n))
			return 0; /* a reference to a type: the name has ended */
		return append_part(d, name, n) ? 1 : -1;
	}
	if (!is_digit(peek(d)))
		return enter_function(d);
	if (!read_lname(d, d->at, &name, &n))
		return -1;
	d->at = (size_t)(name - d->symbol) + n;
	if (is_template(name, n))
		return append_template(d, (size_t)(name - d->symbol) + 3) ? 0 : -1;
	return append_part(d, name, n) ? 1 : -1;
}

bool demangle_d(const char *symbol, char *to, size_t size)
{
	struct d_reader d = {
		.symbol = symbol, .len = strlen(symbol), .at = 2, .to = to, .size = size
	};
	int r;

	if (strcmp(symbol, "_Dmain") == 0)
		return append_text(&d, "D main", 7);
	if (strncmp(symbol, "_D", 2) != 0 || !is_digit(peek(&d)))
		return false;
	do
		r = read_part(&d);
	while (r > 0);
	if (r < 0 || !is_letter(peek(&d))) /* a type follows every name, or 'Z' */
		return false;
	to[d.out] = '\0';
	return true;
}

#define ADA_PREFIX "_ada_"

bool demangle_ada(const char *symbol, char *to, size_t size)
{
	size_t n = 0;

	if (strncmp(symbol, ADA_PREFIX, strlen(ADA_PREFIX)) != 0)
		return false;
	for (const char *s = symbol + strlen(ADA_PREFIX); *s; s++) {
		bool is_dot = s[0] == '_' && s[1] == '_';

		if ((!is_digit(*s) && !(*s >= 'a' && *s <= 'z') && *s != '_') || n + 2 > size)
			return false;
		to[n++] = is_dot ? '.' : *s;
		s += is_dot;
	}
	if (!n)
		return false;
	to[n] = '\0';
	return true;
}
