// SPDX-License-Identifier: Apache-2.0
// processes [SECONDS]: CPU time of each process of the whole machine, out of a profile in memory.
// c++ -std=c++17 processes.cc $(pkg-config --cflags --libs perfagent) -o processes
#include <perfagent/perfagent.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <string>

namespace
{

ssize_t Append(void *bytes, const void *more, size_t n)
{
	static_cast<std::string *>(bytes)->append(static_cast<const char *>(more), n);
	return static_cast<ssize_t>(n);
}

using Times = std::map<std::string, int64_t>;

// The second value of a sample is its CPU time.
int AddSample(void *times, const pa_stack *stack)
{
	for (size_t i = 0; i < stack->nr_labels; i++)
		if (!std::strcmp(stack->labels[i].key, "comm"))
			(*static_cast<Times *>(times))[stack->labels[i].value] += stack->values[1];
	return 0;
}

int Fail(const pa_error &err)
{
	std::cerr << "processes: " << err.text << "\n";
	return EXIT_FAILURE;
}

// Whole seconds, up to ten minutes; 0: it is something else.
uint64_t SecondsOf(const char *text)
{
	char *end = nullptr;
	const unsigned long seconds = std::strtoul(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && seconds <= 600 ? seconds : 0;
}

} // namespace

int main(int argc, char *argv[])
{
	const uint64_t seconds = SecondsOf(argc > 1 ? argv[1] : "10");
	if (!seconds || argc > 2) {
		std::cerr
			<< "usage: processes [SECONDS], 1 to 600; it profiles the whole machine\n";
		return EXIT_FAILURE;
	}
	std::cerr << "processes: the whole machine, for " << seconds << " s\n";
	std::string bytes;
	pa_output output{};
	output.sz = sizeof(output);
	output.format = "pprof";
	output.write = Append;
	output.write_ctx = &bytes;

	pa_options options{};
	options.sz = sizeof(options);
	options.all = true;
	options.duration_ns = seconds * 1000000000;
	options.outputs = &output;
	options.nr_outputs = 1;

	pa_error err{};
	pa_session *created = nullptr;
	if (pa_session_new(&options, &created, &err) < 0)
		return Fail(err);
	std::unique_ptr<pa_session, decltype(&pa_session_free)> session(created, pa_session_free);
	if (pa_session_start(session.get(), &err) < 0 ||
	    pa_session_wait(session.get(), -1, &err) < 0)
		return Fail(err);

	pa_profile *parsed = nullptr;
	if (pa_profile_parse(bytes.data(), bytes.size(), nullptr, nullptr, &parsed, &err) < 0)
		return Fail(err);
	std::unique_ptr<pa_profile, decltype(&pa_profile_free)> profile(parsed, pa_profile_free);
	Times times;
	pa_profile_stacks(profile.get(), AddSample, &times);
	for (const auto &[comm, ns] : times)
		std::cout << ns / 1000000 << " ms " << comm << "\n";
	return EXIT_SUCCESS;
}
