// SPDX-License-Identifier: Apache-2.0
// Fibers of boost.context: alpha → beta → work → spin, each turn on a stack of its own.
#include <boost/context/fiber.hpp>

static volatile unsigned long sink;

[[gnu::noinline]] static unsigned long spin(unsigned long n)
{
	for (unsigned long i = 0; i < 2000000; i++)
		n = n * 31 + i / (n | 1);
	return n;
}

[[gnu::noinline]] static unsigned long work(unsigned long n)
{
	sink = spin(n);
	return sink + 1;
}

[[gnu::noinline]] static unsigned long beta(unsigned long n)
{
	sink = work(n);
	return sink + 2;
}

[[gnu::noinline]] static unsigned long alpha(unsigned long n)
{
	sink = beta(n);
	return sink + 3;
}

int main()
{
	for (;;) {
		boost::context::fiber f([](boost::context::fiber &&back) {
			sink = alpha(sink);
			return std::move(back);
		});
		std::move(f).resume();
	}
}
