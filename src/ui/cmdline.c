/*
 * cmdline.c - from the command line to what is wanted
 *
 * Every option and every command is a flag.  Flags are read first, all of them; what they mean
 * together is checked afterwards, in the order in which the reference checks it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/cmdline.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/notify.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "ui/commands.h"
#include "ui/flags.h"
#include "ui/usage.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_CHOICES = 16, MAX_COMMANDS = 64 };

/* The flags, and what they say that is not a member of struct request. */
struct reader {
	struct flag *flags;
	size_t n, cap;
	bool choices[MAX_CHOICES]; /* in the order of the table */
	bool wanted[MAX_COMMANDS]; /* by place in commands[] */
	const char *params[MAX_COMMANDS];
};

static void add_flag(struct reader *r, const char *name, enum option_type type, void *value)
{
	vec_push(r->flags, r->n, r->cap, ((struct flag){ name, type, value }));
}

static void add_options(struct reader *r, const struct option *table, void *base)
{
	size_t nchoices = 0;

	for (const struct option *o = table; o->name; o++) {
		if (option_is_flag(o))
			add_flag(r, o->name, o->type, option_member(o, base));
		for (const struct choice *c = o->choices; c && c->name; c++) {
			if (!choice_is_flag(c))
				continue;
			assert(nchoices < MAX_CHOICES);
			add_flag(r, c->name, OPTION_BOOL, &r->choices[nchoices++]);
		}
	}
}

static void add_commands(struct reader *r)
{
	for (size_t i = 0; commands[i].name; i++) {
		assert(i < MAX_COMMANDS);
		r->params[i] = "";
		if (commands[i].has_param)
			add_flag(r, commands[i].name, OPTION_STRING, &r->params[i]);
		else
			add_flag(r, commands[i].name, OPTION_BOOL, &r->wanted[i]);
	}
}

static void say_usage(struct notify *n)
{
	struct out o;

	out_init(&o, 0);
	usage_write(&o);
	out_char(&o, '\0');
	n->say(n, NOTIFY_INFO, o.p);
	out_release(&o);
}

static int read_flags(struct reader *r, struct request *rq, int argc, const char *const *argv,
		      struct notify *n, struct err *err)
{
	struct err why = { "" };
	int first = argc, rc;

	add_options(r, source_flags, &rq->source);
	add_options(r, config_options, &rq->config);
	add_commands(r);
	add_flag(r, "version", OPTION_BOOL, &rq->version);
	add_flag(r, "dump-options", OPTION_STRING, &rq->dump_options);
	rc = flags_parse(r->flags, r->n, argc, argv, &first, &why);
	if (rc) {
		if (why.msg[0])
			notify_info(n, "%s", why.msg);
		say_usage(n);
		return rc;
	}
	if (rq->version || rq->dump_options[0])
		return 0;
	rq->source.sources = argv + first;
	rq->source.nsources = (size_t)(argc - first);
	if (first < argc)
		return 0;
	say_usage(n);
	return err_set(err, -EINVAL, "no profile source specified");
}

/* Whether the file begins like something that holds machine code. */
static bool is_program(const char *path)
{
	static const struct str magic[] = {
		{ "\177ELF", 4 },          { "MZ", 2 },
		{ "\xfe\xed\xfa\xce", 4 }, { "\xfe\xed\xfa\xcf", 4 },
		{ "\xce\xfa\xed\xfe", 4 }, { "\xcf\xfa\xed\xfe", 4 },
		{ "!<arch>\n", 8 },        { "go object ", 10 },
	};
	AUTO(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char start[16];
	ssize_t n = fd >= 0 ? read(fd, start, sizeof(start)) : -1;

	for (size_t i = 0; n > 0 && i < sizeof(magic) / sizeof(magic[0]); i++) {
		if (str_starts((struct str){ start, (size_t)n }, magic[i]))
			return true;
	}
	return false;
}

/*
 * The first of several arguments may be the program, or its build id.  (The reference takes
 * any name of hexadecimal digits for a build id, and then silently leaves out a profile that
 * has such a name.  We look whether there is one.)
 */
static void take_program(struct source_options *so)
{
	const char *first = so->sources[0];

	if (so->nsources < 2)
		return;
	if (is_program(first))
		so->exec_name = first;
	else if (so->build_id[0] == '\0' && access(first, F_OK) != 0 &&
		 first[strspn(first, "0123456789abcdefABCDEF")] == '\0')
		so->build_id = first;
	else
		return;
	so->sources++;
	so->nsources--;
}

static int conflict(const struct option *o, const bool *on, struct err *err)
{
	struct out list;
	int rc;

	out_init(&list, 0);
	for (const struct choice *c = o->choices; c->name; c++) {
		if (choice_is_flag(c) && *on++)
			out_printf(&list, "%s%s", list.n ? " " : "", c->name);
	}
	rc = err_set(err, -EINVAL, "conflicting options set: [%.*s]", STR_ARG(out_view(&list)));
	out_release(&list);
	return rc;
}

static int take_choices(const struct reader *r, struct config *cfg, struct err *err)
{
	const bool *on = r->choices;

	for (const struct option *o = config_options; o->name; o++) {
		const bool *group = on;
		size_t set = 0;

		if (o->type != OPTION_CHOICE)
			continue;
		for (const struct choice *c = o->choices; c->name; c++) {
			if (choice_is_flag(c) && *on++) {
				*(const char **)option_member(o, cfg) = c->name;
				set++;
			}
		}
		if (set > 1)
			return conflict(o, group, err);
	}
	return 0;
}

/* A group whose choices are values, not flags, has not been checked yet. */
static int check_values(const struct config *cfg, struct err *err)
{
	int rc = 0;

	for (const struct option *o = config_options; o->name && rc == 0; o++) {
		if (o->type == OPTION_CHOICE)
			rc = option_check(o, str_of(*(char **)option_member(o, cfg)), err);
	}
	return rc;
}

static int take_command(const struct reader *r, struct request *rq, struct err *err)
{
	for (size_t i = 0; commands[i].name; i++) {
		if (!r->wanted[i] && !(r->params[i] && r->params[i][0]))
			continue;
		if (rq->command)
			return err_set(err, -EINVAL, "must set at most one output format");
		rq->command = &commands[i];
		rq->param = commands[i].has_param ? r->params[i] : NULL;
	}
	if (rq->command && rq->source.http[0])
		return err_set(err, -EINVAL,
			       "-http is not compatible with an output format on "
			       "the command line");
	if (rq->source.no_browser && rq->source.http[0] == '\0')
		return err_set(err, -EINVAL, "-no_browser only makes sense with -http");
	return 0;
}

/* Flags from before there was -sample_index. */
static void take_sample_type(struct request *rq, struct notify *n)
{
	const struct source_options *so = &rq->source;
	const struct {
		bool on;
		const char *type, *flag;
	} old[] = {
		{ so->total_delay, "delay", "total_delay" },
		{ so->mean_delay, "delay", "mean_delay" },
		{ so->contentions, "contentions", "contentions" },
		{ so->inuse_space, "inuse_space", "inuse_space" },
		{ so->inuse_objects, "inuse_objects", "inuse_objects" },
		{ so->alloc_space, "alloc_space", "alloc_space" },
		{ so->alloc_objects, "alloc_objects", "alloc_objects" },
	};

	for (size_t i = 0; i < sizeof(old) / sizeof(old[0]); i++) {
		if (!old[i].on)
			continue;
		if (rq->config.sample_index[0])
			notify_warn(n, "Multiple value selections, ignoring -%s", old[i].flag);
		else
			rq->config.sample_index = old[i].type;
	}
	if (so->mean_delay)
		rq->config.mean = true;
}

static int take_base(struct request *rq, struct err *err)
{
	struct source_options *so = &rq->source;

	so->diff_base = so->diff_base_source[0] != '\0';
	if (so->diff_base && so->plain_base[0])
		return err_set(err, -EINVAL, "-base and -diff_base flags cannot both be specified");
	so->base = so->diff_base ? so->diff_base_source : so->plain_base;
	so->normalize = rq->config.normalize;
	if (so->normalize && so->base[0] == '\0')
		return err_set(err, -EINVAL, "must have base profile to normalize by");
	return 0;
}

int cmdline_parse(struct request *rq, int argc, const char *const *argv, struct notify *n,
		  struct err *err)
{
	struct reader r = { 0 };
	int rc;

	*rq = (struct request){ .dump_options = "" };
	source_options_init(&rq->source);
	config_init(&rq->config);
	err->msg[0] = '\0';
	rc = read_flags(&r, rq, argc, argv, n, err);
	free(r.flags);
	if (rc || rq->version || rq->dump_options[0])
		return rc;
	take_program(&rq->source);
	rc = take_choices(&r, &rq->config, err);
	if (rc == 0)
		rc = check_values(&rq->config, err);
	if (rc == 0)
		rc = take_command(&r, rq, err);
	if (rc)
		return rc;
	take_sample_type(rq, n);
	return take_base(rq, err);
}
