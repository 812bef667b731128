/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dlx-field: makes random fields, and solutions of equations, as record files for networks that
 * are to obey these equations. Described in dlx-field(1). */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/suggest.h"
#include "config.h"
#include "data-tools/make/field/field_kinds.h"

#define PROGRAM "dlx-field"
#define KINDS 9
static const struct field_kind *const kinds[KINDS] = { &kind_gaussian, &kind_lognormal,
	&kind_elliptic, &kind_stochastic_poisson, &kind_darcy, &kind_burgers, &kind_allen_cahn,
	&kind_heat, &kind_poisson };

static const char *name_of(const struct field_kind *k)
{
	return k->program->name + sizeof PROGRAM;
}

/* The rows of a kind's table that are its own, or all others. */
static void help_rows(const struct field_kind *k, bool own)
{
	struct option_row row[32];
	int n = 0;
	for (const struct option_row *from = k->program->rows; from->name; from++)
		if (generator_is_own(from) == own)
			row[n++] = *from;
	row[n] = (struct option_row){ 0 };
	option_help(stdout, row);
}

static int help(void)
{
	printf("usage: " PROGRAM " KIND [OPTIONS] -o OUT.dlx\n\n"
	       "Makes random fields, and solutions of equations, as record files.\n"
	       "'" PROGRAM " KIND --help' has one kind alone.\n\n"
	       "All kinds, or those that are random:\n");
	help_rows(kinds[0], false);
	for (int i = 0; i < KINDS; i++) {
		printf("\n%s: %s\n", name_of(kinds[i]), kinds[i]->program->about);
		help_rows(kinds[i], true);
	}
	return 0;
}

static int no_kind(const char *word)
{
	const char *names[KINDS + 1] = { 0 };
	char list[256] = "";
	for (int i = 0; i < KINDS; i++) {
		names[i] = name_of(kinds[i]);
		snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", names[i]);
	}
	if (!word)
		return ERR(E_USAGE, NULL, "no kind is given; usage: " PROGRAM " KIND [OPTIONS] -o OUT.dlx; "
		           "kinds: %s", list);
	const char *near = did_you_mean(word, names);
	return ERR(E_USAGE, NULL, "there is no kind '%s'%s%s%s; kinds: %s", word,
	           near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "", list);
}

/* Without a kind. */
static int run(const char *word)
{
	if (word && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0))
		return help();
	if (!word || strcmp(word, "--version") != 0)
		return no_kind(word);
	printf(PROGRAM " %s\n", PACKAGE_VERSION);
	return 0;
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : NULL;
	for (int i = 0; i < KINDS; i++)
		if (word && strcmp(word, name_of(kinds[i])) == 0)
			return generator_main(kinds[i]->program, kinds[i]->options, argc - 1, argv + 1);
	int rc = run(word);
	if (rc == 0 && fflush(stdout) != 0)
		rc = ERR(E_IO, NULL, "cannot write to the standard output: %m");
	if (rc < 0)
		err_print(stderr, PROGRAM);
	return err_exit_status(rc);
}
