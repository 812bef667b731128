/* SPDX-License-Identifier: BSD-3-Clause
 *
 * "--samples SELECTION": "1,4,7:10" chooses these samples, "!1,4" all but these. START:END[:STEP]
 * is as in Python: END is excluded, START and END are optional, negative numbers count from the
 * end. */
#ifndef DLX_DATA_TOOLS_SELECT_H
#define DLX_DATA_TOOLS_SELECT_H

#include <stdint.h>

/* Sets *out to the chosen indices among 0 .. n - 1, ascending and without repeats, and *count to
 * their number. text NULL: all. Free *out with mem_free. E_USAGE. */
int select_samples(const char *text, int64_t n, int64_t **out, int64_t *count);

/* Splits s at commas and returns the number of pieces; "" gives none. All pieces are in one
 * allocation: mem_free(*v). */
int split_commas(const char *s, const char ***v);
/* The same, but at commas outside of brackets: "x[i16,4],y" is two. */
int split_names(const char *s, const char ***v);

#endif
