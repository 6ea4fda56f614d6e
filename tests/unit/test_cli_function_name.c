/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/function_name.h"
#include "cli/terminal_text.h"
#include "tap.h"

static void check_name(const char *name, uint32_t max_cols, const char *expected, const char *what)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	uint32_t cols;

	must(f);
	cols = function_name_put(f, name, max_cols);
	must(fclose(f) == 0);
	if (!ok(!strcmp(text, expected) && cols == text_columns(text) && cols <= max_cols,
		"name in %u columns: %s", max_cols, what))
		printf("# '%s' instead of '%s'\n", text, expected);
	free(text);
}

static void test_parameters(void)
{
	check_name("ns::f(int, char)", 16, "ns::f(int, char)", "a name that fits is whole");
	check_name("ns::f(int, char)", 15, "ns::f", "parameters are dropped");
	check_name("ns::f(int (*)(char)) const", 10, "ns::f", "nested parameters and a qualifier");
	check_name("ns::f(int) [clone .cold] [clone .isra.0]", 10, "ns::f", "clones");
	check_name("ns::(anonymous namespace)::f(int)", 30, "ns::(anonymous namespace)::f",
		   "an anonymous namespace is not a parameter");
	check_name("S::operator()(int)", 15, "S::operator()", "an operator keeps its parentheses");
	check_name("S::operator()", 10, "...rator()", "an operator without parameters");
	check_name("(anonymous server.js:5)", 15, "...server.js:5)",
		   "JavaScript's anonymous functions");
	check_name("get (anonymous a.js:5)", 15, "...mous a.js:5)", "a word before them");
	check_name("net/http.(*conn).serve", 18, "...p.(*conn).serve", "Go's methods");
	check_name(")))(((", 5, "...((", "parentheses that do not match");
}

static void test_return_type(void)
{
	check_name("std::enable_if<a<b>, c d>::type ns::f<int>(int)", 14, "ns::f<int>",
		   "a return type is dropped with the parameters");
	check_name("R& ns::operator<< <int>(R&, int)", 22, "ns::operator<< <int>",
		   "a return type before an operator with brackets of its own");
	check_name("S::operator unsigned long(int)", 28, "S::operator unsigned long",
		   "a conversion operator keeps its type");
	check_name("R f<decltype (a->b)>(int)", 20, "f<decltype (a->b)>",
		   "an arrow is not a bracket");
	check_name("vtable chunks", 10, "... chunks",
		   "words without parameters are not a return type");
}

static void test_templates(void)
{
	check_name("std::vector<a, std::b<c> >::push_back(int)", 24, "std::vector<>::push_back",
		   "template arguments are dropped next");
	check_name("std::operator< <char, std::b<c> >", 20, "std::operator< <>",
		   "template arguments of an operator that is a bracket");
	check_name("s::operator<<= <char, b>", 18, "s::operator<<= <>", "of one with three signs");
	check_name("s::operator<=><char, b>", 18, "s::operator<=><>",
		   "of the three-way comparison");
	check_name("s::operator><char, b>", 18, "s::operator><>", "of the opposite");
	check_name("s::operator==<char, b>", 18, "s::operator==<>", "of one without brackets");
	check_name("s<a, b>::operator()<char, b>", 18, "s<>::operator()<>", "of a call");
	check_name("a::operator b<char, int>", 18, "a::operator b<>", "of a conversion");
	check_name("<alloc::vec::Vec<T> as core::Trait>::extend", 20, "...e::Trait>::extend",
		   "Rust's implementations keep theirs");
	check_name("a<b", 2, "a<", "a bracket that is not closed");
	check_name("a_very_long_name_of_a_function", 12, "..._function",
		   "last of all, the beginning");
	check_name("name", 2, "na", "no room even for dots");
	check_name("", 0, "", "an empty name");
}

int main(void)
{
	test_parameters();
	test_return_type();
	test_templates();
	return tap_done();
}
