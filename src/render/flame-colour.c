/*
 * flame-colour.c - the colours of frames, and what they stand for
 *
 * The hues are Paul Tol's "light" scheme, made for the background of text; without its grey, which
 * is left for frames that are no function.  A comparison goes from blue over grey to orange: red
 * and green would look the same to one man in twelve.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "render/flame-colour.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

enum { SHADES = 3 };

struct rgb {
	uint8_t r, g, b;
};

static const struct rgb hues[COLOUR_HUES] = {
	{ 0x77, 0xaa, 0xdd }, { 0x99, 0xdd, 0xff }, { 0x44, 0xbb, 0x99 }, { 0xbb, 0xcc, 0x33 },
	{ 0xc4, 0xb5, 0x30 }, { 0xee, 0xdd, 0x88 }, { 0xee, 0x88, 0x66 }, { 0xff, 0xaa, 0xbb },
};

static const struct rgb steps[2 * COLOUR_STEPS + 1] = {
	{ 0x4f, 0x9d, 0xd9 }, { 0x86, 0xbd, 0xe6 }, { 0xb3, 0xd6, 0xf0 },
	{ 0xd6, 0xe9, 0xf6 }, { 0xe3, 0xe3, 0xe3 }, { 0xfb, 0xe6, 0xcc },
	{ 0xfb, 0xcf, 0x9c }, { 0xf7, 0xb2, 0x67 }, { 0xee, 0x90, 0x2e },
};

static struct colour colour(struct rgb c)
{
	struct colour text;

	snprintf(text.text, sizeof(text.text), "#%02x%02x%02x", c.r, c.g, c.b);
	return text;
}

/* ------------------------------------------------------------------ modules */

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

/* "std" of "std::vector<int>::push_back", "core" of "<T as core::fmt::Debug>::fmt". */
static struct str namespace_of(struct str name)
{
	ptrdiff_t colons = str_find(name, STR("::"));
	ptrdiff_t from = colons;

	if (colons <= 0)
		return (struct str){ name.p, 0 };
	while (from > 0 && !strchr(" <>&*()[],", name.p[from - 1]))
		from--;
	return (struct str){ name.p + from, (size_t)(colons - from) };
}

/*
 * "net/http" of "net/http.(*conn).serve", "org.a.b" of "org.a.b.Class.method": what comes before
 * the first part that starts with a capital, but for Go just the first part after the last slash.
 */
static struct str package_of(struct str name)
{
	ptrdiff_t slash = str_rfind_char(name, '/');
	size_t from = slash < 0 ? 0 : (size_t)slash + 1, first = 0;

	for (size_t i = from; i < name.n; i++) {
		char after = i + 1 < name.n ? name.p[i + 1] : '\0';

		if (strchr("<( \t[", name.p[i]))
			break;
		if (name.p[i] != '.')
			continue;
		if (!first)
			first = i;
		if (slash < 0 && is_upper(after))
			return (struct str){ name.p, i };
	}
	return (struct str){ name.p, first };
}

struct str module_of(struct str name, struct str binary)
{
	struct str module = namespace_of(name);

	if (module.n == 0)
		module = package_of(name);
	return module.n ? module : binary;
}

unsigned int colour_hue(struct str module)
{
	return (unsigned int)(hash_bytes(module.p, module.n, 0) % COLOUR_HUES);
}

struct colour colour_of(unsigned int hue, struct str name)
{
	struct rgb c = hues[hue];
	unsigned int shade = name.n ? (unsigned int)(hash_bytes(name.p, name.n, 0) % SHADES) : 0;
	unsigned int white = 14 * shade;

	c.r = (uint8_t)(c.r + (255u - c.r) * white / 100);
	c.g = (uint8_t)(c.g + (255u - c.g) * white / 100);
	c.b = (uint8_t)(c.b + (255u - c.b) * white / 100);
	return colour(c);
}

/* ------------------------------------------------------------------ change */

int colour_step(double more, double less)
{
	/* As a share of both together: what 2%, 10%, 50% and 200% more than before come to. */
	static const double least[COLOUR_STEPS] = { 0.01, 0.048, 0.2, 0.5 };
	double change = more + less > 0 ? (more - less) / (more + less) : 0;
	int step = 0;

	while (step < COLOUR_STEPS && fabs(change) >= least[step])
		step++;
	return change < 0 ? -step : step;
}

struct colour colour_of_step(int step)
{
	return colour(steps[step + COLOUR_STEPS]);
}
