/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dlx-convert as another process: it may die of a damaged file, and no library of a foreign format
 * is part of this one. It is found next to this program, else by PATH. What it says is said again:
 * its notes and warnings as they are, and, where it fails, the rest as the error. */
#ifndef DLX_TRAIN_CONVERT_PROGRAM_H
#define DLX_TRAIN_CONVERT_PROGRAM_H

struct buf;

struct convert_program {
	int n;
	char **v;                      /* its words, the first of which is its path */
};

/* convert_program_release. */
void convert_program_new(struct convert_program *c);
void convert_program_add(struct convert_program *c, const char *word);
/* --name=value: its inputs differ from options by '='. */
void convert_program_option(struct convert_program *c, const char *name, const char *value);
/* Until its end. E_USAGE, E_NOINPUT, E_DATA, E_CANTCREATE, E_IO as it says; E_UNAVAILABLE where it
 * cannot be started. */
int convert_program_run(struct convert_program *c);
/* Appends its command as a shell reads it. */
void convert_program_text(const struct convert_program *c, struct buf *out);
void convert_program_release(struct convert_program *c);

#endif
