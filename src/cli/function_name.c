/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/function_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "cli/scope.h"
#include "cli/terminal_text.h"

#define OPERATOR "operator"
#define OPERATOR_LEN (sizeof(OPERATOR) - 1)

static bool ends_with(const char *s, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && strncmp(s + len - n, end, n) == 0;
}

/* The length without what a demangler appends to the parameters: "f(int) const [clone .cold]". */
static size_t length_without_qualifiers(const char *s)
{
	static const char *const qualifiers[] = { " const", " volatile", " &", " &&" };
	size_t len = strlen(s);
	bool is_shorter;

	do {
		is_shorter = false;
		if (len && s[len - 1] == ']') {
			const char *clone = memrchr(s, '[', len);

			if (clone && clone > s + 1 && clone[-1] == ' ' &&
			    !strncmp(clone, "[clone ", 7)) {
				len = (size_t)(clone - s) - 1;
				is_shorter = true;
			}
		}
		for (size_t i = 0; i < sizeof(qualifiers) / sizeof(qualifiers[0]); i++)
			if (ends_with(s, len, qualifiers[i])) {
				len -= strlen(qualifiers[i]);
				is_shorter = true;
			}
	} while (is_shorter);
	return len;
}

/* The parenthesis that matches the last of len bytes; NULL if there is none. */
static char *opening_parenthesis(char *s, size_t len)
{
	size_t depth = 0;

	for (size_t i = len; i > 0; i--) {
		if (s[i - 1] == ')')
			depth++;
		else if (s[i - 1] == '(' && --depth == 0)
			return s + i - 1;
	}
	return NULL;
}

/* A list of parameters follows a name immediately, unlike "(anonymous server.js:5)" of JavaScript. */
static bool drop_parameters(char *s)
{
	size_t len = length_without_qualifiers(s), name_len;
	char *open = len && s[len - 1] == ')' ? opening_parenthesis(s, len) : NULL;

	if (!open || open == s || open[-1] == ' ')
		return false;
	name_len = (size_t)(open - s);
	if (ends_with(s, name_len, OPERATOR))
		return false;
	*open = '\0';
	return true;
}

static bool is_identifier(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* From here on, spaces and angle brackets belong to the operator: "operator<< <char>", "operator
 * new". */
static bool is_operator(const char *s, const char *at)
{
	return !strncmp(at, OPERATOR, OPERATOR_LEN) && (at == s || !is_identifier(at[-1])) &&
	       !is_identifier(at[OPERATOR_LEN]);
}

/* How a character of a name changes the depth of brackets; "->" does not. */
static int depth_change(const char *s, const char *at)
{
	if (strchr("<([{", *at))
		return 1;
	if (*at == '>' && at > s && at[-1] == '-')
		return 0;
	return strchr(">)]}", *at) ? -1 : 0;
}

/* "R<int> ns::f<int>": removes everything before the last space outside of brackets. */
static void drop_return_type(char *s)
{
	char *name = s;
	int depth = 0;

	for (char *at = s; *at && !is_operator(s, at); at++) {
		depth += depth_change(s, at);
		if (*at == ' ' && depth == 0)
			name = at + 1;
	}
	memmove(s, name, strlen(name) + 1);
}

/* The end of the operator at `at`: behind its sign, where template arguments may begin, as in
 * "operator< <char>" and "operator==<char>". */
static const char *operator_end(const char *at)
{
	at += OPERATOR_LEN;
	if (*at == '<') {
		at += at[1] == '<' ? 2 : 1;
		at += *at == '=';
		return at + (*at == '>' && at[-1] == '=');
	}
	return at + strspn(at, "=!+-*/%^&|~,>()[]");
}

/* "list<a<b>, c>::push" becomes "list<>::push". A name that begins with '<' is Rust's "<T as
 * Trait>::f", whose brackets hold the relevant part. */
static void empty_templates(char *s)
{
	char *to = s, *at = s;
	int depth = 0;

	if (*s == '<')
		return;
	while (*at) {
		bool is_angle = *at == '<' || (*at == '>' && depth_change(s, at));

		if (depth == 0 && is_operator(s, at)) {
			for (const char *end = operator_end(at); at < end;)
				*to++ = *at++;
			continue;
		}
		if (is_angle && *at == '>')
			depth--;
		if (depth <= 0)
			*to++ = *at;
		if (is_angle && *at == '<')
			depth++;
		at++;
	}
	*to = '\0';
}

uint32_t function_name_put(FILE *out, const char *name, uint32_t max_cols)
{
	_cleanup_(freep) char *s = NULL;

	if (text_columns(name) <= max_cols)
		return text_put(out, name, max_cols);
	s = strdup(name);
	if (!s)
		return text_put_end(out, name, max_cols);
	if (drop_parameters(s))
		drop_return_type(s);
	if (text_columns(s) > max_cols)
		empty_templates(s);
	return text_put_end(out, s, max_cols);
}
