/*
 * save.c - keep a copy of what came over the network
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/save.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/gotext.h"
#include "base/notify.h"
#include "base/xalloc.h"
#include "profile/encode.h"
#include "profile/profile.h"

#include <errno.h>
#include <stdlib.h>

static bool is_usable(const char *dir, struct notify *n)
{
	AUTO(freep) char *at = NULL;
	char why[128];
	int rc = file_make_folders(dir, 0755, &at);

	if (rc == 0)
		return true;
	notify_warn(n, "Could not use temp dir %s: mkdir %s: %s", dir, at,
		    errno_text(-rc, why, sizeof(why)));
	return false;
}

/* The folder, which the caller frees, or NULL. */
static char *choose_dir(struct notify *n)
{
	const char *own = getenv("PPROF_TMPDIR"), *home = getenv("HOME"), *tmp = getenv("TMPDIR");
	AUTO(freep) char *below_home = NULL;

	if (own && *own && is_usable(own, n))
		return mem_str(str_of(own));
	if (home && *home) {
		below_home = mem_printf("%s/pprof", home);
		if (is_usable(below_home, n))
			return TAKE(below_home);
	}
	if (!tmp || !*tmp)
		tmp = "/tmp";
	return is_usable(tmp, n) ? mem_str(str_of(tmp)) : NULL;
}

static char *prefix_for(const struct profile *p, const char *dir)
{
	struct arena a;
	struct out o;
	char *prefix;

	out_init(&o, 0);
	arena_init(&a, PROFILE_BUDGET);
	out_str(&o, go_path_join(&a, str_of(dir), STR("pprof.")));
	arena_release(&a);
	if (p->nmappings && p->mappings[0].file) {
		out_str(&o, str_base(profile_str(p, p->mappings[0].file)));
		out_char(&o, '.');
	}
	for (uint32_t i = 0; i < p->ntypes; i++) {
		out_str(&o, profile_str(p, p->types[i].type));
		out_char(&o, '.');
	}
	prefix = mem_str(out_view(&o));
	out_release(&o);
	return prefix;
}

int save_copy(const struct profile *p, struct notify *n, struct err *err)
{
	AUTO(freep) char *dir = choose_dir(n);
	AUTO(freep) char *prefix = NULL;
	AUTO(freep) char *name = NULL;
	struct file_new f;
	struct err why;
	int rc;

	if (!dir)
		return err_set(err, -ENOENT, "failed to identify temp dir");
	prefix = prefix_for(p, dir);
	rc = file_create_numbered(&f, prefix, ".pb.gz", &why);
	if (rc == 0) {
		profile_write(p, &f.out);
		rc = file_commit(&f, &name, &why);
	}
	if (rc)
		notify_warn(n, "Could not save profile: %s", why.msg);
	else
		notify_warn(n, "Saved profile in %s", name);
	return 0;
}
