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
	OPTION_NONE,       /* no value: only sets `command` */
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
	const char *absent;            /* the value of an option without argument (an argument then
	                                * needs "="); NULL: the argument is required */
	int64_t min, max;
	bool empty;        /* "" is a value */
	/* For options that name an output: writes: the file endings allowed, ".npy .csv", or ""; a name
	 * with the ending of another known format (base/file_kind.h) is refused. folder: what a name
	 * without ending means, if it does not mean a file. */
	const char *writes, *folder;
	int command;       /* 0, or the number of the command that this option selects */
	const char *doc;
};

/* Removes the options from argv; the other arguments move to the front, and *argc becomes their
 * number. "--name value", "--name=value", "-o value" and "-ovalue" are read; "--" ends the options;
 * a lone "-" is an argument. *command: the selected command; must be 0 before. command may be NULL
 * if no row has one. E_USAGE, also if two commands are given. */
int option_read(const struct option_row *rows, void *to, int *command, int *argc, char **argv);
/* A line for each row. */
void option_help(FILE *out, const struct option_row *rows);

#endif
