/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Command-line options of the data tools as a table: one row has the name, the argument's name,
 * the documentation and where the value goes. Reading, "--help" and did-you-mean use the same
 * rows. */
#ifndef DLX_DATA_TOOLS_OPTIONS_H
#define DLX_DATA_TOOLS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum option_type {
	OPTION_FLAG,       /* bool */
	OPTION_TEXT,       /* const char * */
	OPTION_TEXTS,      /* struct texts; may be given several times */
	OPTION_INT,        /* int64_t, min .. max */
	OPTION_FLOAT       /* double */
};

struct texts {
	int n;
	const char **v;    /* mem_free */
};

struct option_row {
	const char *name;  /* without the dashes; NULL ends the table */
	char letter;       /* or 0 */
	enum option_type type;
	void *out;
	const char *arg;   /* the argument's name in --help; NULL for a flag */
	long long min, max;
	const char *doc;
};

/* Takes the options out of argv, leaving the other arguments in front and *argc their number.
 * E_USAGE. */
int options_read(const struct option_row *rows, int *argc, char **argv);
/* To stdout: usage, then a line for each row. */
void options_help(const char *usage, const struct option_row *rows);

/* s split at commas, "" gives none; the pieces live in one allocation: mem_free(*v). */
int split_commas(const char *s, const char ***v);

#endif
