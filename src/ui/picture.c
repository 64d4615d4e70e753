/*
 * picture.c - have Graphviz lay out and draw a graph
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/picture.h"

#include "base/child.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/out.h"
#include "render/svg.h"
#include "ui/commands.h"

#include <errno.h>
#include <stdio.h>

/* A large drawing is a few MB of SVG; a bitmap has at most 32767 pixels to a side. */
#define LARGEST_PICTURE ((uint64_t)512 << 20)
#define LEAST_MEMORY    ((uint64_t)2 << 30)

static char *find_dot(void)
{
	return child_find("dot", getenv("PATH"));
}

int picture_check(const char *dash, struct err *err)
{
	AUTO(freep) char *dot = find_dot();

	if (dot)
		return 0;
	return err_set(err, -ENOENT,
		       "failed to execute dot. Is Graphviz installed? Error: exec: \"dot\": "
		       "executable file not found in $PATH "
		       "(apt-get install graphviz; %sflamegraph and %sdot need none)",
		       dash, dash);
}

/* Half of what the machine has: the rest of it goes on working while a layout explodes. */
static uint64_t share_of_memory(void)
{
	uint64_t half = (uint64_t)sysconf(_SC_PHYS_PAGES) / 2 * (uint64_t)sysconf(_SC_PAGESIZE);

	return half > LEAST_MEMORY ? half : LEAST_MEMORY;
}

int picture_draw(const struct command *c, struct str graph, unsigned seconds, struct out *o,
		 struct err *err)
{
	struct child_limits limits = { seconds, share_of_memory(), LARGEST_PICTURE };
	AUTO(freep) char *dot = find_dot();
	char type[16];
	const char *const argv[] = { "dot", type, NULL };
	struct file_bytes picture;
	struct err why;
	int rc;

	if (!dot)
		return picture_check("", err);
	snprintf(type, sizeof(type), "-T%s", c->dot);
	rc = child_run(dot, argv, environ, graph, &limits, &picture, &why);
	if (rc == -ETIMEDOUT)
		return err_set(err, rc,
			       "failed to execute dot: %s; try a smaller nodecount, "
			       "or a larger layout_timeout",
			       why.msg);
	if (rc)
		return err_set(err, rc, "failed to execute dot. Error: %s", why.msg);
	if (c->pans)
		render_svg_page((struct str){ picture.p, picture.n }, o);
	else
		out_bytes(o, picture.p, picture.n);
	file_bytes_release(&picture);
	return 0;
}
