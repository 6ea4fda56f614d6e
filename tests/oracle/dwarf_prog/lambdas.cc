// SPDX-License-Identifier: Apache-2.0
// Lambdas in functions, methods, lambdas, templates, and in none.
#include <algorithm>
#include <cstdio>
#include <vector>
volatile unsigned sink;
namespace shop
{
template <class F> __attribute__((always_inline)) inline unsigned twice(F f, unsigned x)
{
	return f(x) + f(x + 1);
}
struct till {
	unsigned n;
	unsigned ring(unsigned k)
	{
		auto add = [this, k](unsigned v) {
			unsigned s = v;
			for (unsigned i = 0; i < n; i++)
				s = s * 31 + k + sink;
			return s;
		};
		return twice(add, k);
	}
};
} // namespace shop
__attribute__((noinline)) unsigned work(int n)
{
	auto f = [n](unsigned v) {
		unsigned s = v;
		for (int i = 0; i < n; i++)
			s = s * 33 + sink;
		return s;
	};
	auto g = [n](auto v) {
		auto h = [v](unsigned w) { return w * 7 + sink + v; };
		unsigned s = v;
		for (int i = 0; i < n; i++)
			s += h(i);
		return s;
	};
	return shop::twice(f, 1) + shop::twice(g, 2);
}
static auto global_lambda = [](unsigned v) {
	unsigned s = v;
	for (int i = 0; i < 1000; i++)
		s = s * 35 + sink;
	return s;
};
int main(int argc, char **argv)
{
	shop::till t{ 1000 };
	std::vector<unsigned> v(1000);
	for (int i = 0; i < 200 * argc; i++) {
		sink = work(1000) + t.ring(i) + global_lambda(i);
		std::sort(v.begin(), v.end(),
			  [](unsigned a, unsigned b) { return (a ^ sink) < (b ^ sink); });
	}
	printf("%u\n", sink);
}
