/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Text in columns, as wide as their widest cell. */
#ifndef DLX_DATA_TOOLS_TEXT_TABLE_H
#define DLX_DATA_TOOLS_TEXT_TABLE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"

struct text_table {
	struct arena *a;
	int rows, columns;           /* rows with the titles */
	const char **cell;           /* rows of columns */
	bool *left;
	int *width;
};

/* In a; cells are empty, columns to the right. */
struct text_table text_table_new(struct arena *a, int rows, int columns);
/* Characters, of which a terminal shows one a column. */
int text_width(const char *text);
/* Takes the text, which is visible, into a cell, and clears it. */
void text_table_put(struct text_table *t, int row, int column, struct buf *text);
/* To the standard output. */
void text_table_print(const struct text_table *t);

#endif
