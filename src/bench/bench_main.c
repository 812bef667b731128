/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dlx-bench: measurements of what dlx's parts cost on this machine. The first argument selects
 * one. */
#include <stdio.h>
#include <string.h>

#include "base/debug.h"
#include "base/err.h"
#include "base/log.h"
#include "base/suggest.h"
#include "bench/links.h"
#include "bench/metg.h"
#include "config.h"

static const struct {
	const char *name, *doc;
	int (*main)(int argc, char **argv);
} commands[] = {
	{ "metg", "how small a task may be: Task Bench's graphs on dlx's executor", metg_main },
	{ "links", "what links take: writes the description of a cluster", links_main },
};
#define NCOMMAND ((int)(sizeof commands / sizeof *commands))

static void help(void)
{
	printf("usage: dlx-bench COMMAND [OPTIONS]\n\nCommands:\n");
	for (int i = 0; i < NCOMMAND; i++)
		printf("    %-8s %s\n", commands[i].name, commands[i].doc);
	printf("\nOptions:\n  --help                     this text\n"
	       "  --version                  the version\n\n");
	metg_help(stdout);
	printf("\n");
	links_help(stdout);
}

static int unknown(const char *name)
{
	const char *names[NCOMMAND + 1] = { 0 };
	for (int i = 0; i < NCOMMAND; i++)
		names[i] = commands[i].name;
	const char *near = did_you_mean(name, names);
	return ERR(E_USAGE, NULL, "unknown command '%s'%s%s%s; see dlx-bench --help", name,
	           near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static int fail(int rc)
{
	err_print(stderr, "dlx-bench");
	return err_exit_status(rc);
}

int main(int argc, char **argv)
{
	log_init("dlx-bench", 0, 1);
	int rc = debug_read();
	if (rc < 0)
		return fail(rc);
	if (argc < 2)
		return fail(ERR(E_USAGE, NULL, "no command given; usage: dlx-bench COMMAND [OPTIONS]"));
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		help();
		return 0;
	}
	if (strcmp(argv[1], "--version") == 0) {
		printf("dlx-bench %s\n", PACKAGE_VERSION);
		return 0;
	}
	for (int i = 0; i < NCOMMAND; i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].main(argc - 1, argv + 1);
	return fail(unknown(argv[1]));
}
