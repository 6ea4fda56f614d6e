/* SPDX-License-Identifier: Apache-2.0 */
#include "shapes.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace
{

inline double cross(const shapes::Point &a, const shapes::Point &b)
{
	return a.x * b.y - a.y * b.x;
}

__attribute__((noinline)) int hidden(int v)
{
	struct Local {
		int base;
		int twice(int n) const
		{
			return 2 * n + base;
		}
	} local{ v % 3 };

	return local.twice(v) - 1;
}

template <typename F> auto apply_twice(F f, int v)
{
	return f(f(v));
}

} // namespace

namespace shapes
{

std::string Shape::name() const
{
	return "shape";
}

double Polygon::area() const
{
	double sum = 0;

	for (size_t i = 0; i < corners_.size(); i++)
		sum += cross(corners_[i], corners_[(i + 1) % corners_.size()]);
	return sum / 2 + Walker{ *this }.longest();
}

std::string Polygon::name() const
{
	return "polygon" + std::to_string(corners_.size());
}

std::map<std::string, double> tally(const std::vector<std::unique_ptr<Shape>> &all)
{
	std::map<std::string, double> sums;
	std::vector<const Shape *> sorted;

	for (const auto &s : all)
		sorted.push_back(s.get());
	std::sort(sorted.begin(), sorted.end(),
		  [](const Shape *a, const Shape *b) { return a->scaled(2) < b->scaled(2); });
	for (const Shape *s : sorted)
		sums[s->name()] += s->area();
	return sums;
}

int classify(const std::string &word)
{
	if (word.empty())
		throw std::invalid_argument("no word");
	switch (word[0]) {
	case 'a':
		return hidden(static_cast<int>(word.size()));
	case 'b':
		return apply_twice([](int v) { return v * 3 + 1; }, 7);
	default:
		return std::accumulate(word.begin(), word.end(), 0,
				       [](int s, char c) { return s * 31 + c; });
	}
}

} // namespace shapes
