/* SPDX-License-Identifier: BSD-3-Clause */
#include "data/record_cut.h"

#include "base/round.h"

struct record_cut record_cut(const struct record_info *i, int size, int k, int64_t c)
{
	const struct shape *s = record_shape(i, size, k);
	const int axis = record_axis(i, k);
	struct record_cut cut = { .strips = 1, .extent = 1, .rows = 1 };
	int64_t rows;
	cut.row = dtype_size(record_array_get(i, k)->dtype);
	if (axis < 0) {
		cut.row *= (size_t)shape_count(s);
		return cut;
	}
	for (int a = 0; a < axis; a++)
		cut.strips *= s->d[a];
	for (int a = axis + 1; a < s->nd; a++)
		cut.row *= (size_t)s->d[a];
	cut.extent = s->d[axis];
	rows = i->size[size].rows[k] ? i->size[size].rows[k] : cut.extent;
	cut.first = c * rows;
	cut.rows = cut.extent - cut.first < rows ? cut.extent - cut.first : rows;
	return cut;
}

int64_t record_cuts(const struct record_info *i, int size, int k)
{
	const int axis = record_axis(i, k);
	if (record_array_bytes(i, size, k) == 0)
		return 0;
	if (axis < 0 || i->size[size].rows[k] == 0)
		return 1;
	return ceil_div(record_shape(i, size, k)->d[axis], i->size[size].rows[k]);
}
