/*
 * sonded.c - sonded: collects profiles, watches memory, keeps dumps
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/args-doc.h"
#include "base/err.h"
#include "base/out.h"
#include "base/str.h"
#include "daemon/command.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static const struct daemon_command *const commands[] = {
	&command_bundle, &command_collect, &command_store, &command_verbs, &command_watch, NULL,
};

static int print_usage(int fd)
{
	struct out o;

	out_init_fd(&o, fd);
	out_text(&o,
		 "usage: sonded command [options] ...\n\n"
		 "Keeps profiles of running programs.  \"sonded command --help\" tells more.\n\n");
	for (size_t i = 0; commands[i]; i++)
		out_printf(&o, "  %-10s %s\n", commands[i]->name, commands[i]->what);
	return daemon_print("help", &o);
}

static int print_version(void)
{
	struct out o;

	out_init_fd(&o, STDOUT_FILENO);
	out_text(&o, "sonded " SONDE_VERSION "\n");
	return daemon_print("version", &o);
}

static int print_help(const struct daemon_command *c)
{
	struct out o;

	out_init_fd(&o, STDOUT_FILENO);
	out_text(&o, c->usage);
	out_text(&o, "\noptions:\n");
	args_help(c->flags, &o);
	return daemon_print(c->name, &o);
}

/* For the manual and for shells, while they are built. */
static int dump(const char *what)
{
	static const struct {
		const char *name, *first; /* line */
		void (*fn)(const struct args_command *c, const char *program, struct out *o);
	} kinds[] = { { "man", "", args_man },
		      { "bash", "# bash completion for sonded\n", args_bash },
		      { "zsh", "#compdef sonded\n", args_zsh },
		      { "fish", "# fish completion for sonded\n", args_fish } };
	struct args_command list[sizeof(commands) / sizeof(commands[0])] = { { 0 } };
	struct out o;

	for (size_t i = 0; commands[i]; i++)
		list[i] = (struct args_command){ commands[i]->name, commands[i]->what,
						 commands[i]->usage, NULL, commands[i]->flags };
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(what, kinds[i].name) != 0)
			continue;
		out_init_fd(&o, STDOUT_FILENO);
		out_text(&o, kinds[i].first);
		kinds[i].fn(list, "sonded", &o);
		return daemon_print("--dump-options", &o);
	}
	return daemon_complain("--dump-options", "man, bash, zsh or fish", STATUS_WRONG_USE);
}

static void on_signal(int sig)
{
	(void)sig;
	atomic_store(&daemon_stop, true); /* lock-free: allowed here */
}

/* A file has become larger than a limit: write() says so, too. */
static void on_limit(int sig)
{
	(void)sig;
}

/* A second signal ends the program at once. */
static void catch_signals(void)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };

	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, on_limit);
}

static int run(const struct daemon_command *c, char **words)
{
	struct args args;
	struct err err;

	if (args_parse(&args, c->flags, words, NULL, &err) < 0)
		return daemon_complain(c->name, err.msg, STATUS_WRONG_USE);
	if (args.help)
		return print_help(c);
	catch_signals();
	return c->run(&args);
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";

	if (argc < 2) { /* a service that was set up so must not look as if all were well */
		(void)print_usage(STDERR_FILENO);
		return STATUS_WRONG_USE;
	}
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0)
		return print_usage(STDOUT_FILENO);
	if (strcmp(word, "--version") == 0 || strcmp(word, "version") == 0)
		return print_version();
	if (strncmp(word, "--dump-options=", 15) == 0)
		return dump(word + 15);
	for (size_t i = 0; commands[i]; i++)
		if (strcmp(commands[i]->name, word) == 0)
			return run(commands[i], argv + 2);
	return daemon_complain(word, "there is no such command; see sonded --help",
			       STATUS_WRONG_USE);
}
