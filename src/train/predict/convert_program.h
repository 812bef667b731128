/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs dlx-convert as a separate process. So a damaged file can at most crash that process, and
 * this program links no library of a foreign format. The program is searched in the folder of this
 * program, then in PATH. Its notes and warnings are printed unchanged; if it fails, its other
 * output becomes the error. */
#ifndef DLX_TRAIN_CONVERT_PROGRAM_H
#define DLX_TRAIN_CONVERT_PROGRAM_H

struct buf;

struct convert_program {
	int n;
	char **v;                      /* number of arguments; the arguments, of which the first is the
	                                * program's path */
};

/* Starts a command line; release it with convert_program_release. */
void convert_program_new(struct convert_program *c);
void convert_program_add(struct convert_program *c, const char *word);
/* Adds --name=value. dlx-convert tells options from inputs by the '='. */
void convert_program_option(struct convert_program *c, const char *name, const char *value);
/* Runs the program to its end. E_USAGE, E_NOINPUT, E_DATA, E_CANTCREATE or E_IO according to its
 * exit status; E_UNAVAILABLE if it cannot be started. */
int convert_program_run(struct convert_program *c);
/* Appends the command line, quoted for a shell. */
void convert_program_text(const struct convert_program *c, struct buf *out);
void convert_program_release(struct convert_program *c);

#endif
