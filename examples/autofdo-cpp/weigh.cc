// SPDX-License-Identifier: Apache-2.0
// weigh [ROUNDS [RULE]]: adds up what a rule says of 4,096 rows, many times, and prints its own CPU time in seconds.
// The rule is known at run time only, and weigh() is too large to be inlined for no reason: each row costs a call and a
// jump through a table. Who knows that this call is hot inlines it, and decides on the rule once, before the loop.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

struct row {
	std::uint32_t length;
	std::uint64_t key, value;
};

static row rows[4096];

static std::uint64_t weigh(const row &r, unsigned rule, std::uint64_t seed)
{
	std::uint64_t x = r.key ^ seed;

	switch (rule) {
	case 0:
		return x * 0x9e3779b97f4a7c15u + r.value;
	case 1:
		for (std::uint32_t i = 0; i < r.length; i++)
			x = (x << 7 | x >> 57) ^ r.value * i;
		return x;
	case 2:
		return x % (r.value | 1) + r.key / (r.length + 1);
	case 3:
		for (std::uint32_t i = 0; i < r.length; i += 3)
			x += r.key >> (i & 31) ^ x << 3;
		return x;
	case 4:
		return x / 1000003 * (r.value % 1009) + x % 97;
	case 5:
		for (std::uint32_t i = 0; i < 8; i++)
			x = (x ^ x >> 31) * 0xbf58476d1ce4e5b9u;
		return x;
	default:
		return x + rule;
	}
}

[[gnu::noinline]] static std::uint64_t sum(unsigned rule, unsigned rounds)
{
	std::uint64_t total = 0;

	for (unsigned seed = 0; seed < rounds; seed++)
		for (unsigned i = 0; i < 4096; i++)
			total += weigh(rows[i], rule, seed);
	return total;
}

[[gnu::noinline]] static void fill()
{
	std::uint64_t x = 1;

	for (unsigned i = 0; i < 4096; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		rows[i].length = x >> 61;
		rows[i].key = x;
		rows[i].value = x >> 7;
	}
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 60000;
	unsigned rule = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 0;

	fill();
	std::uint64_t total = sum(rule, rounds);
	// The other callers, which are cold.
	for (unsigned i = 1; i < 7; i++)
		total ^= weigh(rows[i], i, total) + weigh(rows[i + 7], 7 - i, rounds);
	std::fprintf(stderr, "total %llu\n", static_cast<unsigned long long>(total));
	std::printf("%.3f\n", static_cast<double>(std::clock()) / CLOCKS_PER_SEC);
}
