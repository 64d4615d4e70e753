/*
 * options.h - everything a person can set, as two tables
 *
 * One entry of config_options is the flag, the shell variable, the URL parameter, the help
 * text, the completion and the line of the manual.  source_flags has the flags that say where
 * a profile comes from: they have no shell variable.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_OPTIONS_H
#define UI_OPTIONS_H

#include "base/str.h"
#include "view/config.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct arena;
struct err;
struct out;

/* Where the profile comes from.  Strings are never NULL ("" is unset) and are borrowed. */
struct source_options {
	const char *const *sources; /* files, URLs, "-" */
	size_t nsources;
	const char *exec_name; /* the program, if one was named before the sources */
	const char *build_id;
	const char *base;      /* of -base or -diff_base */
	bool diff_base;        /* it was -diff_base */
	bool normalize;        /* -normalize, and there is a base */
	bool all_frames;       /* keep what the profile's drop_frames would remove */
	int seconds, timeout;  /* -1: not given */
	const char *symbolize; /* colon-separated, as given */
	const char *comment;   /* to add to the profile */
	const char *tools;
	const char *tls_cert, *tls_key, *tls_ca;
	const char *http; /* host:port of the web interface */
	bool no_browser;
	bool as_pprof;           /* called so: nothing that the reference would do otherwise */
	bool no_cache;           /* of names found in binaries */
	const atomic_bool *stop; /* or NULL; when its owner has set it: give up fetching */

	/* What the flags were, before they became 'base' or config.sample_index. */
	const char *plain_base, *diff_base_source;
	bool total_delay, mean_delay, contentions;
	bool inuse_space, inuse_objects, alloc_space, alloc_objects;
};

enum option_type {
	OPTION_BOOL,
	OPTION_INT,
	OPTION_FLOAT,
	OPTION_STRING,
	OPTION_CHOICE, /* a string that must be one of 'choices' */
};

/* What a value is, for completion. */
enum option_value {
	VALUE_ANY,
	VALUE_FILE,
	VALUE_DIR,
	VALUE_REGEXP, /* of function names */
	VALUE_UNIT,
	VALUE_SAMPLE_TYPE,
	VALUE_SYMBOLIZE,
};

struct choice {
	const char *name; /* also a flag and a shell variable, unless 'value_only' */
	const char *help;
	bool value_only;
};

struct option {
	const char *name;
	enum option_type type;
	enum option_value value;
	size_t offset;                /* of the member of struct config or source_options */
	const char *def;              /* the default, as text */
	const struct choice *choices; /* up to one without a name */
	const char *url;              /* parameter of the web interface, or NULL */
	const char *help; /* first line is the summary; NULL where 'choices' have help */
	bool ours;        /* the reference does not have it */
	bool missing;     /* accepted, but nothing comes of it yet */
};

extern const struct option config_options[]; /* up to one without a name */
extern const struct option source_flags[];

/* The configuration before any flag or assignment. */
void config_init(struct config *cfg);
/* The same for where profiles come from. */
void source_options_init(struct source_options *so);

/* The member of 'base' (a struct config or source_options) that 'o' is about. */
static inline void *option_member(const struct option *o, const void *base)
{
	return (char *)(size_t)base + o->offset;
}

/* Writes the value as text: what option_set() would take to set it. */
void option_get(const struct option *o, const void *base, struct out *to);

/*
 * Sets the member from text.  Strings are copied into 'a'.  On failure returns -EINVAL or
 * -ERANGE with the reference's message, and leaves the member alone.
 */
int option_set(const struct option *o, void *base, struct str value, struct arena *a,
	       struct err *err);

/* Whether 'value' is one of the choices, if the option has choices.  0 or -EINVAL. */
int option_check(const struct option *o, struct str value, struct err *err);

/* Whether the member has its default value. */
bool option_is_default(const struct option *o, const void *base);

/*
 * The entry of config_options that is named 'name', or that has a choice of that name which
 * may stand alone; '*choice' is then that choice, and NULL otherwise.  NULL if there is none.
 */
const struct option *option_find(struct str name, const struct choice **choice);

/* Whether 'name' may be set without a value: a boolean, or a choice. */
bool option_is_switch(struct str name);

/* name=value as the shell understands it; the name may be a choice ("cum=true"). */
int config_assign(struct config *cfg, struct str name, struct str value, struct arena *a,
		  struct err *err);

/* The help text of an option or of a choice, or NULL.  A group has none of its own. */
const char *option_help(struct str name);

/* Whether a choice is written as a flag ("-cum") rather than as a value. */
static inline bool choice_is_flag(const struct choice *c)
{
	return !c->value_only;
}

/* Whether the option itself is a flag: not if its choices are. */
bool option_is_flag(const struct option *o);

#endif /* UI_OPTIONS_H */
