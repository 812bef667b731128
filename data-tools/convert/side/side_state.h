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
	enum layout placed;        /* of the first column */
	enum layout alike;         /* with options.like: of all */
	bool shared;               /* all but open files is another's (side_share) */
};
/* The first column that is no field for all samples, or the last. */
struct column *side_first_moving(const struct side *s);
/* The column with most axes: that of the others which have one less is places alone. */
struct column *side_fullest(const struct side *s);
/* The channels of a column's sample of this shape, and the rest of it. */
int64_t side_split_shape(const struct side *s, enum layout l, const struct shape *sample,
                         struct shape *rest);
/* The shape of a sample with these places. */
struct shape side_with_channels(const struct side *s, const struct shape *places);

#endif
