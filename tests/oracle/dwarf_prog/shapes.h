/* SPDX-License-Identifier: Apache-2.0 */
/* Code with everything that makes lines and inlines hard, for the oracle of debug information. */
#ifndef SHAPES_H
#define SHAPES_H

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace shapes
{

struct Point {
	double x, y;
	Point operator+(const Point &o) const
	{
		return { x + o.x, y + o.y };
	}
	double length2() const
	{
		return x * x + y * y;
	}
};

class Shape
{
      public:
	virtual ~Shape() = default;
	virtual double area() const = 0;
	virtual std::string name() const;
	double scaled(double by) const
	{
		return area() * by;
	}
};

class Polygon : public Shape
{
      public:
	explicit Polygon(std::vector<Point> corners) : corners_(std::move(corners))
	{
	}
	double area() const override;
	std::string name() const override;

	struct Walker {
		const Polygon &of;
		double longest() const
		{
			double best = 0;
			for (const Point &p : of.corners_)
				best = p.length2() > best ? p.length2() : best;
			return best;
		}
	};

      private:
	std::vector<Point> corners_;
};

template <typename T, int N> struct Ring {
	T values[N] = {};
	int at = 0;

	__attribute__((always_inline)) void push(T v)
	{
		values[at % N] = v;
		at++;
	}
	T sum() const
	{
		T s{};
		for (int i = 0; i < N; i++)
			s += values[i];
		return s;
	}
};

std::map<std::string, double> tally(const std::vector<std::unique_ptr<Shape>> &all);
int classify(const std::string &word);

} // namespace shapes

#endif
