// SPDX-License-Identifier: Apache-2.0
// main → alpha → beta → work → spin, where beta catches what spin throws now and then.
#include <stdexcept>

static volatile unsigned long sink;

struct level {
	[[gnu::noinline]] static unsigned long spin(unsigned long n)
	{
		for (unsigned long i = 0; i < 2000000; i++)
			n = n * 31 + i / (n | 1);
		if (n % 8 == 0)
			throw std::runtime_error("spin");
		return n;
	}
	[[gnu::noinline]] virtual unsigned long work(unsigned long n)
	{
		sink = spin(n);
		return sink + 1;
	}
	virtual ~level() = default;
};

[[gnu::noinline]] static unsigned long beta(level &l, unsigned long n)
{
	try {
		sink = l.work(n);
	} catch (const std::exception &) {
		sink = n;
	}
	return sink + 1;
}

[[gnu::noinline]] static unsigned long alpha(level &l, unsigned long n)
{
	sink = beta(l, n);
	return sink + 2;
}

int main()
{
	level l;

	for (;;)
		sink = alpha(l, sink);
}
