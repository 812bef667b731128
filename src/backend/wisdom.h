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
	bool measure;                /* problems that are not known are measured, and added */
	bool changed;
	char *kept;                  /* the folder of what was compiled, or NULL; freed with it */
	bool keep;                   /* what is compiled is added there */
	bool told;                   /* all ranks have it: no rank measures
	                              * any more (train/run/engines.h) */
	const char *path;            /* the file that has each choice at once; NULL: none here */
	double seconds, spent;       /* what measuring may take in all, and took */
	int left;                    /* problems that take the library's first proposal, as there is
	                              * no time left to measure; a later run measures them */
};

struct wisdom *wisdom_new(void);
void wisdom_free(struct wisdom *w);                      /* NULL is fine */
/* Adds the lines of a text, which came from `name`. E_DATA with the line that is none. */
int wisdom_parse(struct wisdom *w, const char *text, const char *name);
/* A file that is not there is empty. */
int wisdom_read(struct wisdom *w, const char *path);
/* In order, so that the same knowledge is the same file;
 * under another name first. Nothing if nothing changed. Lines that other processes have added to
 * the file meanwhile stay there; w does not learn them, since all ranks know the same. */
int wisdom_write(struct wisdom *w, const char *path);
void wisdom_print(struct wisdom *w, struct buf *out);
/* The engine, or NULL. w may be NULL. */
const char *wisdom_find(const struct wisdom *w, const char *problem, const char *device,
                        const char *library);
void wisdom_add(struct wisdom *w, const char *problem, const char *device, const char *library,
                const char *engine, double microseconds);
/* The same of what was measured just now, and writes it to w->path, so that a run that ends in the
 * middle loses nothing. Where that fails nothing more is measured; the next wisdom_write has the
 * error. */
void wisdom_measured(struct wisdom *w, const char *problem, const char *device,
                     const char *library, const char *engine, double microseconds);
/* Whether another trial may begin. w may be NULL. */
bool wisdom_may_measure(const struct wisdom *w);
/* Counts a problem that takes the first proposal, if that is for want of time. */
void wisdom_left(struct wisdom *w);

#endif
