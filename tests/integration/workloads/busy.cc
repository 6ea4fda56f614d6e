// SPDX-License-Identifier: Apache-2.0
// Something for a compiler to think about: templates of the standard library.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <vector>

int main()
{
	std::regex pattern("(a|b)+c");
	std::map<std::string, std::vector<int>> groups;
	std::vector<std::function<int(int)>> steps;

	for (int i = 0; i < 10; i++)
		steps.push_back([i](int x) { return x + i; });
	for (const auto &step : steps)
		groups[std::to_string(step(1))].push_back(step(2));
	for (auto &[name, values] : groups)
		std::sort(values.begin(), values.end());
	std::cout << std::regex_match("abc", pattern) << groups.size();
}
