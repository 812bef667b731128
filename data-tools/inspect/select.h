/* SPDX-License-Identifier: BSD-3-Clause
 *
 * "--samples SELECTION": "1,4,7:10" chooses, "!1,4" all but those; START:END[:STEP] as in
 * Python, END excluded, either may be left out; negative numbers count from the end. */
#ifndef DLX_DATA_TOOLS_SELECT_H
#define DLX_DATA_TOOLS_SELECT_H

#include <stdint.h>

/* The chosen of 0..n-1, ascending, each once, in *out (mem_free) and *count. text NULL: all.
 * E_USAGE. */
int select_samples(const char *text, int64_t n, int64_t **out, int64_t *count);

/* s split at commas, "" gives none; the pieces live in one allocation: mem_free(*v). */
int split_commas(const char *s, const char ***v);
/* The same, but at commas outside of brackets: "x[i16,4],y" is two. */
int split_names(const char *s, const char ***v);

#endif
