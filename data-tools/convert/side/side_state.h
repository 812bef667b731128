/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A side's state, which side.c, side_place.c and side_axes.c share. */
#ifndef DLX_DATA_TOOLS_SIDE_STATE_H
#define DLX_DATA_TOOLS_SIDE_STATE_H

#include "data-tools/convert/column.h"
#include "data-tools/convert/side/side.h"

struct side {
	struct arena *a;
	const struct side_options *o;
	int n;
	struct column *column;
	int nfiles;
	const char **file;
	struct shape spatial, shape;
	int64_t channels;
	const char **channel_names, **channel_units;
	enum dtype dtype;
	struct layout_hints hints;
	enum layout placed;        /* layout of the first column */
	enum layout alike;         /* with options.like: the layout of all columns */
	bool shared;               /* all memory but the open files belongs to another side
	                            * (side_share) */
};
/* The first column that varies between samples; if none does, the last column. */
struct column *side_first_moving(const struct side *s);
/* The column with the most axes. Columns with one axis less have spatial axes only. */
struct column *side_fullest(const struct side *s);
/* Returns the number of channels of a column's sample with this shape, and sets *rest to the shape
 * without them. */
int64_t side_split_shape(const struct side *s, enum layout l, const struct shape *sample,
                         struct shape *rest);
/* The shape of a sample with these spatial axes and the side's channels. */
struct shape side_with_channels(const struct side *s, const struct shape *places);

#endif
