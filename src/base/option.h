/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Command-line options as a table: one row has the names, the argument, where the value goes and
 * the documentation. Reading, "--help" and did-you-mean use the same rows. */
#ifndef DLX_BASE_OPTION_H
#define DLX_BASE_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum option_type {
	OPTION_NONE,       /* nothing but its command */
	OPTION_FLAG,       /* bool */
	OPTION_TEXT,       /* const char * */
	OPTION_CHOICE,     /* const char *, one of those in arg: "text|json" */
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
	size_t at;         /* offset of the member of the caller's struct that takes the value */
	const char *arg;   /* the argument's name in --help; NULL: the option takes none */
	const char *absent;            /* the value if none is given, which needs
	                                * "=" then; NULL: one must be */
	int64_t min, max;
	bool empty;        /* "" is a value */
	/* Of the name of what is written: the endings that say in which format, ".npy .csv", or "";
	 * a name with that of another known format (base/file_kind.h) is refused. folder: what a name
	 * without any is taken for, if not for a file of that format. */
	const char *writes, *folder;
	int command;       /* 0, or what this option asks the program to do */
	const char *doc;
};

/* Takes the options out of argv, leaving the other arguments in front and *argc their number.
 * "--name value", "--name=value", "-o value" and "-ovalue" are read; "--" ends the options; a lone
 * "-" is an argument. command: what is asked for, 0 before; NULL if no row has one. E_USAGE, also
 * where two commands are asked for. */
int option_read(const struct option_row *rows, void *to, int *command, int *argc, char **argv);
/* A line for each row. */
void option_help(FILE *out, const struct option_row *rows);

#endif
