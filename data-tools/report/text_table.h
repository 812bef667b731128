/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A table of text, whose columns are as wide as their widest cell. */
#ifndef DLX_DATA_TOOLS_TEXT_TABLE_H
#define DLX_DATA_TOOLS_TEXT_TABLE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"

struct text_table {
	struct arena *a;
	int rows, columns;           /* number of rows, including the titles; number of columns */
	const char **cell;           /* texts of the cells, row by row */
	bool *left;
	int *width;
};

/* Makes a table in arena a, with empty cells and right-aligned columns. */
struct text_table text_table_new(struct arena *a, int rows, int columns);
/* The width of a text in terminal columns. */
int text_width(const char *text);
/* Moves a text of printable characters to a cell, and clears the buffer. */
void text_table_put(struct text_table *t, int row, int column, struct buf *text);
/* Prints the table to the standard output. */
void text_table_print(const struct text_table *t);

#endif
