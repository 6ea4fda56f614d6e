/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <time.h>

#include "symbolize/demangle.h"
#include "tap.h"

static char out[DEMANGLE_MAX_OUT];

static bool gives(const char *symbol, const char *readable)
{
	bool is_mangled = demangle(symbol, out, sizeof(out));

	if (is_mangled && strcmp(out, readable) != 0)
		printf("# %s gives %s\n", symbol, out);
	return is_mangled && strcmp(out, readable) == 0;
}

static bool stays(const char *symbol)
{
	return !demangle(symbol, out, sizeof(out));
}

static void test_cxx(void)
{
	ok(gives("_Z1fv", "f()"), "a C++ function");
	ok(gives("_ZNSt6vectorIiSaIiEE9push_backERKi",
		 "std::vector<int, std::allocator<int> >::push_back(int const&)"),
	   "C++: a member of a template, with its parameters");
	ok(gives("__ZN1a1bEv", "a::b()"), "C++: one more leading underscore");
	ok(gives("_ZN3foo3barEv.cold", "foo::bar() [clone .cold]"), "a clone");
	ok(gives("_GLOBAL__I__Z1fv", "global constructors keyed to f()"),
	   "C++: constructors keyed to a mangled symbol");
	ok(stays("_GLOBAL__I_main"), "C++: constructors keyed to a plain symbol are unchanged");
	ok(stays("_GLOBAL__sub_I_main.cpp"), "C++: constructors keyed to a file are unchanged");
}

static void test_rust(void)
{
	ok(gives("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"),
	   "Rust: a legacy name, without its hash");
	ok(gives("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
		 "3bar17h930b740aa94f1d3aE",
		 "<Test + 'static as foo::Bar<Test>>::bar"),
	   "Rust: a legacy name with escapes");
	ok(gives("_RNvC6_123foo3bar", "123foo::bar"), "Rust: a v0 name");
	ok(gives("_RNvMs_NtC4core3strNtB4_3Str3len", "<core::str::Str>::len"),
	   "Rust: a v0 name with a back reference");
	ok(gives("_RNvC7mycrateu8gdel_5qa", "mycrate::g\xc3\xb6"
					    "del"),
	   "Rust: a v0 name in Punycode");
}

static void test_d(void)
{
	char small[9];

	ok(gives("_Dmain", "D main"), "D: the main function");
	ok(gives("_D4demo3fibFiZi", "demo.fib"), "D: a function of a module");
	ok(gives("_D4demo1S3getMxFNaNbNiNfZi", "demo.S.get"), "D: a method with attributes");
	ok(gives("_D4demo4mainFZ9__lambda1MFiZi", "demo.main.__lambda1"),
	   "D: a lambda in a function");
	ok(gives("_D4demo3runFAyaPG4iDFiZvZ5innerMFZv", "demo.run.inner"),
	   "D: a nested function with an array, a pointer and a delegate");
	ok(gives("_D3std5stdio__T7writelnTAyaZQnFNfQjZv", "std.stdio.writeln!(...)"),
	   "D: a template instance");
	ok(gives("_D3std5stdio17__T7writelnTAyaZ7writelnFAyaZv", "std.stdio.writeln!(...)"),
	   "D: the mangling of compilers before 2.077");
	ok(gives("_D4demo3fooQeFZv", "demo.foo.foo"), "D: a back reference");
	ok(stays("_D") && stays("_D4dem") && stays("_D4demo") && stays("_D4demo3fib") &&
		   stays("_D99999999999999999999x") && stays("_D0") && stays("_Dfoo") &&
		   stays("_D4de-oZ") && stays("_D4demoQzZ1") && stays("_D4demo__T") &&
		   stays("_D4demo__T9x"),
	   "D: an invalid name is unchanged");
	ok(!demangle("_D4demo4fib5FiZi", small, sizeof(small)) &&
		   demangle("_D4demo3fibFiZi", small, sizeof(small)),
	   "D: a name that does not fit is unchanged");
}

static void test_ada(void)
{
	ok(gives("_ada_main", "main") && gives("_ada_chain__spin", "chain.spin"), "Ada");
	ok(stays("_ada_") && stays("_ada_Main") && stays("chain__spin"),
	   "Ada: only what carries the prefix");
}

static void test_plain_names_stay(void)
{
	static const char *const names[] = { "f",  "i",     "St", "main", "_Zebra", "_Rust",
					     "_",  "",      "_Z", "__Z",  "_R",     "Z1fv",
					     "1f", "_init", "v",  "PKc",  "_ZN",    "_ZN3foo" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		ok(stays(names[i]), "'%s' stays", names[i]);
}

static void test_limits(void)
{
	char name[DEMANGLE_MAX_IN + 16] = "_Z4000", small[5];

	memset(name + 6, 'a', 4000);
	memcpy(name + 4006, "v", 2);
	ok(demangle(name, out, sizeof(out)) && strlen(out) == 4002, "a long name is demangled");
	memset(name, 'a', sizeof(name));
	memcpy(name, "_Z4090", 6);
	memcpy(name + 6 + 4090, "v", 2);
	ok(stays(name), "a name beyond the limit is not demangled");
	ok(demangle("_Z2ffv", small, 5) && strcmp(small, "ff()") == 0, "an exact fit is demangled");
	ok(!demangle("_Z3fffv", small, 5), "one byte too many is not demangled");
	ok(!demangle("_Z1fv", small, 0), "an empty buffer takes nothing");
}

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* void f(P<A, A>, P<P<A, A>, P<A, A>> …): every parameter doubles the one before. */
static void make_doubling_cxx(char *to, size_t size, int depth)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t n = (size_t)snprintf(to, size, "_Z1f1PI1AS0_E");

	for (int i = 0; i < depth; i++) {
		char last = digits[i];

		n += (size_t)snprintf(to + n, size - n, "S_IS%c_S%c_E", last, last);
	}
}

/* f::<(T, T)>, where T is the tuple before, by back reference. */
static void make_doubling_rust(char *to, size_t size, int depth)
{
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t n = (size_t)snprintf(to, size, "_RINvC1a1f"), before = 0;

	for (int i = 0; i < depth; i++) {
		size_t at = n - 2; /* positions count behind "_R" */

		if (i == 0)
			n += (size_t)snprintf(to + n, size - n, "TmmE");
		else if (before < 63)
			n += (size_t)snprintf(to + n, size - n, "TB%c_B%c_E", digits[before - 1],
					      digits[before - 1]);
		else
			n += (size_t)snprintf(to + n, size - n, "TB%c%c_B%c%c_E",
					      digits[(before - 1) / 62], digits[(before - 1) % 62],
					      digits[(before - 1) / 62], digits[(before - 1) % 62]);
		before = at;
	}
	(void)snprintf(to + n, size - n, "E");
}

static void test_exponential_names(void)
{
	char name[DEMANGLE_MAX_IN];
	double before;

	make_doubling_cxx(name, sizeof(name), 3);
	ok(demangle(name, out, sizeof(out)), "a C++ name that doubles three times is demangled: %s",
	   out);
	make_doubling_cxx(name, sizeof(name), 34);
	before = cpu_s();
	ok(stays(name), "a C++ name that doubles 34 times is refused");
	ok(cpu_s() - before < 1, "a C++ name that doubles 34 times is refused at once");
	make_doubling_rust(name, sizeof(name), 4);
	ok(demangle(name, out, sizeof(out)), "a Rust name that doubles four times is demangled: %s",
	   out);
	make_doubling_rust(name, sizeof(name), 60);
	before = cpu_s();
	ok(stays(name), "a Rust name that doubles 60 times is refused");
	ok(cpu_s() - before < 1, "a Rust name that doubles 60 times is refused at once");
	ok(gives("_Z1fv", "f()"), "after refused names, others are demangled");
}

static void test_whose_symbol(void)
{
	ok(is_rust_symbol("_RNvC1a1b") && is_rust_symbol("_R0NvC1a1b"),
	   "Rust's v0 mangling is recognized");
	ok(is_rust_symbol("_ZN1a1b17h0123456789abcdefE") &&
		   is_rust_symbol("_ZN1a317hE17h0123456789abcdefE.llvm.1"),
	   "Rust's legacy mangling is recognized by its hash");
	ok(!is_rust_symbol("_ZN1a1b17h0123456789abcdeE") &&
		   !is_rust_symbol("_ZN1a1b17h0123456789abcdefa") && !is_rust_symbol("_ZN1a1bEv"),
	   "C++ is not taken for Rust");
	ok(!is_rust_symbol("_Reserve") && !is_rust_symbol("_R") && !is_rust_symbol("17h"),
	   "a similar prefix is not taken for Rust");
}

int main(void)
{
	test_cxx();
	test_rust();
	test_whose_symbol();
	test_d();
	test_ada();
	test_plain_names_stay();
	test_limits();
	test_exponential_names();
	return tap_done();
}
