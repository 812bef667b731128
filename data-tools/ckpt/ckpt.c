/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dlx-ckpt: the versions of a checkpoint store as something to work with. Described in
 * dlx-ckpt(1). */
#include "data-tools/ckpt/ckpt.h"

#include <stdio.h>
#include <string.h>

#include "base/debug.h"
#include "base/err.h"
#include "base/log.h"
#include "base/option.h"
#include "base/suggest.h"
#include "config.h"

static const char usage[] = "usage: dlx-ckpt [OPTIONS] DIR COMMAND [ARGUMENT...]";

#define AT(m) offsetof(struct ckpt_tool, m)
static const struct option_row rows[] = {
	{ "json", 'j', OPTION_FLAG, AT(json), .doc = "one JSON object instead of text" },
	{ "count", 'n', OPTION_INT, AT(count), "N", .min = 1, .max = INT32_MAX,
	  .doc = "log, search: the newest N versions" },
	{ "config", 'c', OPTION_FLAG, AT(config), .doc = "show: the config alone, as it was" },
	{ "weights", 'w', OPTION_FLAG, AT(weights),
	  .doc = "diff, export: the tensors of the model" },
	{ "state", 's', OPTION_FLAG, AT(state),
	  .doc = "diff, export: the other tensors, such as moments" },
	{ "all", 'a', OPTION_FLAG, AT(all),
	  .doc = "export: both, and what a run needs to go on; log: the whole store" },
	{ "first", 'f', OPTION_FLAG, AT(first), .doc = "diff: how to find where two runs part" },
	{ "delete", 'd', OPTION_FLAG, AT(drop), .doc = "tag, pin: remove it" },
	{ "dry-run", 0, OPTION_FLAG, AT(dry_run), .doc = "gc: remove nothing, say what it would" },
	{ "help", 'h', OPTION_FLAG, AT(help), .doc = "this text" },
	{ "version", 0, OPTION_FLAG, AT(version), .doc = "the version" },
	{ 0 }
};
#undef AT

static const struct command {
	const char *name, *arguments;
	int least, most;               /* arguments */
	const char *options;           /* that it takes besides --json, each followed by a blank */
	int (*run)(struct ckpt_tool *);
	const char *doc;
} commands[] = {
	{ "log", "", 0, 0, "count all ", ckpt_log, "the versions as a tree, newest first" },
	{ "show", "ID", 1, 1, "config ", ckpt_show, "all that is known of a version" },
	{ "verify", "[ID...]", 0, INT32_MAX, "", ckpt_verify, "read every chunk, check every hash" },
	{ "diff", "A B|DIR:B", 2, 2, "weights state first ", ckpt_diff,
	  "how far apart the tensors of two versions are" },
	{ "fork", "ID RUN-FOLDER", 2, 2, "", ckpt_fork,
	  "a new run that goes on from a version; no bytes are copied" },
	{ "tag", "NAME ID | --delete NAME", 1, 2, "delete ", ckpt_tag, "name a version; it stays" },
	{ "pin", "ID | --delete ID", 1, 1, "delete ", ckpt_pin, "a version that stays" },
	{ "search", "EXPRESSION", 1, 1, "count ", ckpt_search,
	  "versions such as \"mean_iou > 0.8 and step < 4000\"" },
	{ "gc", "", 0, 0, "dry-run ", ckpt_gc, "remove what no version needs any more" },
	{ "export", "ID FILE.safetensors|FILE.npz", 2, 2, "weights state all ", ckpt_export,
	  "tensors as a file" },
	{ "import", "FILE.safetensors|FILE.npz [RUN-FOLDER]", 1, 2, "", ckpt_import,
	  "a new run that begins with a file's tensors; without RUN-FOLDER it is in DIR" },
};
#define COMMANDS ((int)(sizeof commands / sizeof *commands))

static void print_help(void)
{
	printf("%s\n\n", usage);
	for (int i = 0; i < COMMANDS; i++)
		printf("  %s%s%s\n        %s\n", commands[i].name, *commands[i].arguments ? " " : "",
		       commands[i].arguments, commands[i].doc);
	printf("\n");
	option_help(stdout, rows);
}

static const struct command *find_command(const char *name)
{
	for (int i = 0; i < COMMANDS; i++)
		if (strcmp(name, commands[i].name) == 0)
			return &commands[i];
	return NULL;
}

static int unknown_command(const char *dir, const char *name)
{
	const char *names[COMMANDS + 1] = { NULL }, *meant;
	if (find_command(dir))
		return ERR(E_USAGE, NULL, "the store comes before the command: dlx-ckpt %s %s", name, dir);
	for (int i = 0; i < COMMANDS; i++)
		names[i] = commands[i].name;
	meant = did_you_mean(name, names);
	if (meant)
		return ERR(E_USAGE, NULL, "unknown command '%s'; did you mean '%s'?", name, meant);
	return ERR(E_USAGE, NULL, "unknown command '%s'; dlx-ckpt --help lists them", name);
}

static bool is_given(const struct ckpt_tool *t, const struct option_row *row)
{
	const char *at = (const char *)t + row->at;
	return row->type == OPTION_INT ? *(const int64_t *)(const void *)at != 0 :
	       *(const bool *)(const void *)at;
}

/* Options are read before the command is known. */
static int check_options(const struct ckpt_tool *t, const struct command *c)
{
	for (const struct option_row *row = rows; row->name; row++) {
		const char *takes = strstr(c->options, row->name);
		if (is_given(t, row) && strcmp(row->name, "json") != 0 &&
		    !(takes && takes[strlen(row->name)] == ' '))
			return ERR(E_USAGE, NULL, "%s has no option '--%s'", c->name, row->name);
	}
	if (t->n < c->least || t->n > c->most)
		return ERR(E_USAGE, NULL, "usage: dlx-ckpt DIR %s %s", c->name, c->arguments);
	return 0;
}

static int run(struct ckpt_tool *t, int argc, char **argv)
{
	const struct command *c;
	int rc;
	TRY(debug_read());
	TRY(option_read(rows, t, NULL, &argc, argv));
	if (t->help)
		print_help();
	if (t->version)
		printf("dlx-ckpt %s\n", PACKAGE_VERSION);
	if (t->help || t->version)
		return 0;
	if (argc < 3)
		return ERR(E_USAGE, NULL, argc < 2 ? "no store given; %s" : "no command given; %s", usage);
	c = find_command(argv[2]);
	if (!c)
		return unknown_command(argv[1], argv[2]);
	t->dir = argv[1];
	t->n = argc - 3;
	t->arg = argv + 3;
	TRY(check_options(t, c));
	t->may_be_new = c->run == ckpt_import && t->n < 2;
	rc = tool_open(t);
	if (rc == 0)
		rc = c->run(t);
	tool_close(t);
	return rc;
}

int main(int argc, char **argv)
{
	struct ckpt_tool t = { .a = arena_new() };
	log_init("dlx-ckpt", 0, 1);
	int rc = run(&t, argc, argv);
	arena_free(t.a);
	if (fflush(stdout) != 0 && rc == 0)
		rc = ERR(E_IO, NULL, "cannot write to the standard output: %m");
	if (rc < 0)
		err_print(stderr, "dlx-ckpt");
	return rc < 0 ? err_exit_status(rc) : t.status;
}
