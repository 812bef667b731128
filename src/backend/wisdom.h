/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measured choices: the fastest engine of a library for a
 * problem on a device. A text file, a line each:
 *
 *     problem <TAB> device <TAB> library <TAB> engine <TAB> microseconds
 *
 * so that later runs and all ranks use the same engines.
 * Lines of other devices and libraries are kept. */
#ifndef DLX_BACKEND_WISDOM_H
#define DLX_BACKEND_WISDOM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct wisdom {
	struct wisdom_line *line;
	int n, cap;
	bool measure;                /* unknown problems are measured and added */
	bool changed;
	char *kept;                  /* the folder of compiled engines, or NULL; owned */
	bool keep;                   /* newly compiled engines are stored there */
	bool told;                   /* all ranks have received it: no rank measures any more
	                              * (train/run/engines.h) */
	const char *path;            /* the file to which each choice is written at once; NULL: not on
	                              * this rank */
	double seconds, spent;       /* time limit for all measurements, and the time taken so far */
	int left;                    /* number of problems that use the library's first proposal since
	                              * the time limit was reached; a later run measures them */
};

struct wisdom *wisdom_new(void);
void wisdom_free(struct wisdom *w);                      /* NULL is fine */
/* Adds the lines of a text that came from the file `name`. E_DATA with the number of an invalid
 * line. */
int wisdom_parse(struct wisdom *w, const char *text, const char *name);
/* A missing file counts as empty. */
int wisdom_read(struct wisdom *w, const char *path);
/* Writes the file, sorted, so that equal contents give equal files; replaces it atomically. Does
 * nothing if nothing has changed. Lines that other processes have added to the file in the meantime
 * are kept there but not added to w, which must be the same on all ranks. */
int wisdom_write(struct wisdom *w, const char *path);
void wisdom_print(struct wisdom *w, struct buf *out);
/* The engine, or NULL. w may be NULL. */
const char *wisdom_find(const struct wisdom *w, const char *problem, const char *device,
                        const char *library);
void wisdom_add(struct wisdom *w, const char *problem, const char *device, const char *library,
                const char *engine, double microseconds);
/* Adds a new measurement and writes it to w->path at once, so that a run that is ended loses
 * nothing. If writing fails, nothing more is measured, and the next wisdom_write returns the
 * error. */
void wisdom_measured(struct wisdom *w, const char *problem, const char *device,
                     const char *library, const char *engine, double microseconds);
/* Whether another trial may begin. w may be NULL. */
bool wisdom_may_measure(const struct wisdom *w);
/* Counts a problem that uses the library's first proposal in w->left, if the time limit is the
 * reason. */
void wisdom_left(struct wisdom *w);

#endif
