/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds the axis of a variable's samples that counts channels. It is derived from the other side's
 * shape, from names of axes, or from an axis of at most four elements. If several interpretations
 * remain, the error shows them. */
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

/* Further information about a column whose layout must be found. */
struct layout_hints {
	const char *role;                  /* "input" or "target", the prefix of the option that sets
	                                    * the layout */
	bool alone;                        /* the side has no other variable */
	/* The other side's axes: those of the input after its layout was found, or those of the
	 * target's samples as stored. nd 0: not known. other_is_places: these are class labels, so all
	 * axes are spatial. */
	struct shape other;
	bool other_is_places;
};

/* Whether c is read as a field with two spatial axes, but could also be a series with channels, (C,
 * L). */
bool layout_may_be_series(const struct column *c, const struct layout_hints *h);
/* Finds the layout of c, and the reason as text for people: "by the target's shape". E_DATA. */
int layout_find(const struct column *c, const struct layout_hints *h, enum layout *out,
                const char **why);
/* Appends "3 channels (the last axis) of 32 x 32". */
void layout_reading(const struct column *c, enum layout l, struct buf *out);

#endif
