/* SPDX-License-Identifier: BSD-3-Clause */
#include "data-tools/report/text_table.h"

#include <stdio.h>

struct text_table text_table_new(struct arena *a, int rows, int columns)
{
	struct text_table t = { a, rows, columns, ARENA_ARRAY(a, const char *, rows * columns),
		ARENA_ARRAY(a, bool, columns), ARENA_ARRAY(a, int, columns) };
	for (int i = 0; i < rows * columns; i++)
		t.cell[i] = "";
	return t;
}

int text_width(const char *text)
{
	int n = 0;
	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

void text_table_put(struct text_table *t, int row, int column, struct buf *text)
{
	int width = text_width(text->data);
	t->cell[row * t->columns + column] = arena_strdup(t->a, text->data);
	t->width[column] = width > t->width[column] ? width : t->width[column];
	buf_clear(text);
}

void text_table_print(const struct text_table *t)
{
	for (int r = 0; r < t->rows; r++) {
		for (int k = 0; k < t->columns; k++) {
			const char *text = t->cell[r * t->columns + k];
			int pad = t->width[k] - text_width(text);
			bool last = k + 1 == t->columns;
			printf("%s%*s%s%*s", k ? "  " : "", t->left[k] ? 0 : pad, "", text,
			       t->left[k] && !last ? pad : 0, "");
		}
		printf("\n");
	}
}
