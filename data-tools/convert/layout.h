/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which axis of a variable's samples is channels. What follows from the other side's shape,
 * from names of axes or from an axis of at most four is decided; what is left open is an error
 * that shows the readings. */
#ifndef DLX_DATA_TOOLS_LAYOUT_H
#define DLX_DATA_TOOLS_LAYOUT_H

#include "base/buf.h"
#include "data-tools/convert/column.h"

enum layout {
	LAYOUT_AUTO,
	LAYOUT_STACK,      /* each variable is one channel */
	LAYOUT_FIRST,      /* a variable's first axis (after that of the samples) is channels */
	LAYOUT_LAST,       /* its last axis is */
	LAYOUT_NONE        /* the target has no channel axis */
};
extern const char *const layout_names[];

/* What else is known of a column whose layout is to be found. */
struct layout_hints {
	const char *role;                  /* "input" or "target": of the option that chooses */
	bool alone;                        /* the side has no other variable */
	/* The other side's axes: of the input as placed, or of the target's samples as they are;
	 * labels: these are class labels, all axes of which are places. nd 0: nothing is known. */
	struct shape other;
	bool other_is_places;
};

/* Whether c is read as places, but nothing says that it is not channels of a series, (C, L). */
bool layout_may_be_series(const struct column *c, const struct layout_hints *h);
/* The layout of c and, for people, why: "by the target's shape". E_DATA. */
int layout_find(const struct column *c, const struct layout_hints *h, enum layout *out,
                const char **why);
/* "3 channels (the last axis) of 32 x 32" */
void layout_reading(const struct column *c, enum layout l, struct buf *out);

#endif
