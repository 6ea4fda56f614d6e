// SPDX-License-Identifier: Apache-2.0
/*
 * demo_workload [SECONDS [THREADS]]: a web shop that only computes, with known shares.
 *
 * Truth: of the CPU time, price_basket has 50 %, search_catalogue 30 %, render_page 15 % and
 * write_audit_log 5 %. The shares come from counted work, not from a clock: every function repeats
 * a chain of dependent multiplications, which costs the same per step in all of them. Each thread
 * goes round through all four every few milliseconds, so the shares hold over any stretch of time,
 * and the length of a round is drawn anew each time, so no sampling rate can fall into step with it.
 * What the threads' own CPU clocks say is printed at the end.
 *
 * It is built with -O2 -fomit-frame-pointer: the case most programs are in.
 */
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <thread>
#include <unistd.h>
#include <vector>

namespace shop
{

std::atomic<bool> closed{ false };

/* Each has a loop of its own, so that the time is spent in the function itself and not in one inlined
 * into it. The factors make them different code, or the compiler would fold them into one. */
[[gnu::noinline]] std::uint64_t price_basket(std::uint64_t x, unsigned nr_steps)
{
	for (unsigned i = 0; i < nr_steps; i++)
		x = x * 6364136223846793005 + i;
	return x;
}

[[gnu::noinline]] std::uint64_t search_catalogue(std::uint64_t x, unsigned nr_steps)
{
	for (unsigned i = 0; i < nr_steps; i++)
		x = x * 3202034522624059733 + i;
	return x;
}

[[gnu::noinline]] std::uint64_t render_page(std::uint64_t x, unsigned nr_steps)
{
	for (unsigned i = 0; i < nr_steps; i++)
		x = x * 2862933555777941757 + i;
	return x;
}

[[gnu::noinline]] std::uint64_t write_audit_log(std::uint64_t x, unsigned nr_steps)
{
	for (unsigned i = 0; i < nr_steps; i++)
		x = x * 3935559000370003845 + i;
	return x;
}

struct task {
	const char *name;
	std::uint64_t (*run)(std::uint64_t, unsigned);
	unsigned percent;
};

const task tasks[] = {
	{ "shop::price_basket", price_basket, 50 },
	{ "shop::search_catalogue", search_catalogue, 30 },
	{ "shop::render_page", render_page, 15 },
	{ "shop::write_audit_log", write_audit_log, 5 },
};
constexpr unsigned nr_tasks = sizeof(tasks) / sizeof(tasks[0]);

struct cashier {
	std::uint64_t state; /* of the random numbers, and the result nobody may optimise away */
	std::uint64_t cpu_ns[nr_tasks] = {};
};

std::uint64_t thread_cpu_ns()
{
	timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return std::uint64_t(ts.tv_sec) * 1000000000u + std::uint64_t(ts.tv_nsec);
}

/* One round: all four tasks, in proportion, some milliseconds in all. */
[[gnu::noinline]] void serve_customer(cashier &c)
{
	const unsigned steps_per_percent = 10000 + unsigned(c.state >> 33) % 20000;
	std::uint64_t before = thread_cpu_ns();

	for (unsigned i = 0; i < nr_tasks; i++) {
		c.state = tasks[i].run(c.state, tasks[i].percent * steps_per_percent);

		const std::uint64_t after = thread_cpu_ns();
		c.cpu_ns[i] += after - before;
		before = after;
	}
}

[[gnu::noinline]] void open_till(cashier &c)
{
	while (!closed.load(std::memory_order_relaxed))
		serve_customer(c);
}

void close_shop(int)
{
	closed.store(true);
}

void print_truth(const std::vector<cashier> &cashiers)
{
	std::uint64_t sums[nr_tasks] = {}, total = 0;

	for (const cashier &c : cashiers)
		for (unsigned i = 0; i < nr_tasks; i++) {
			sums[i] += c.cpu_ns[i];
			total += c.cpu_ns[i];
		}
	for (unsigned i = 0; i < nr_tasks; i++)
		std::printf("truth %6.2f %%  %s\n", 100.0 * double(sums[i]) / double(total),
			    tasks[i].name);
}

} // namespace shop

int main(int argc, char **argv)
{
	const unsigned nr_seconds = argc > 1 ? unsigned(std::atoi(argv[1])) : 0;
	const int nr_threads = argc > 2 ? std::atoi(argv[2]) : 2;
	std::vector<shop::cashier> cashiers;
	std::vector<std::thread> threads;

	std::signal(SIGTERM, shop::close_shop);
	std::signal(SIGINT, shop::close_shop);
	std::signal(SIGALRM, shop::close_shop);
	alarm(nr_seconds);

	for (int i = 0; i < nr_threads; i++)
		cashiers.push_back({ std::uint64_t(i) * 0x9e3779b97f4a7c15 + 1 });
	for (shop::cashier &c : cashiers)
		threads.emplace_back(shop::open_till, std::ref(c));
	std::puts("ready");
	std::fflush(stdout);
	for (std::thread &t : threads)
		t.join();
	shop::print_truth(cashiers);
	return 0;
}
