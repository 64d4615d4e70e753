/*
 * unwind-subject.cc - exceptions, destructors and virtual functions, to be stepped through
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdexcept>
#include <string>
#include <vector>

extern "C" void subject_cxx(void);

static volatile int sink;

struct guard {
	std::string name;
	explicit guard(const char *n) : name(n) {}
	~guard() { sink = static_cast<int>(name.size()); }
};

struct shape {
	virtual ~shape() = default;
	virtual int area(int n) const = 0;
};

struct square : shape {
	int area(int n) const override
	{
		guard g("a name that is too long to be kept inside of the string itself");
		if (n > 2)
			throw std::runtime_error("too large");
		return n * n;
	}
};

__attribute__((noinline)) static int call(const shape &s, int n)
{
	guard g("short");
	return s.area(n) + 1;
}

__attribute__((noinline)) static int attempt(const shape &s, int n)
{
	try {
		return call(s, n);
	} catch (const std::exception &e) {
		return -static_cast<int>(std::string(e.what()).size());
	}
}

extern "C" void subject_cxx(void)
{
	square s;
	std::vector<std::string> names;
	int n = sink + 1;

	for (int i = 0; i < 3; i++)
		names.push_back(std::to_string(i));
	sink = attempt(s, n % 3) + attempt(s, n + 5) + static_cast<int>(names.size());
}
