/* SPDX-License-Identifier: BSD-3-Clause
 *
 * "--like": reads files as inputs of a network that was trained on a given record. The record's
 * channels and number of axes determine how a file's axes are interpreted. */
#ifndef DLX_DATA_TOOLS_LIKE_H
#define DLX_DATA_TOOLS_LIKE_H

#include "base/arena.h"
#include "data/axes.h"
#include "data-tools/convert/layout.h"

struct like {
	int64_t channels;                /* channels that a file must provide */
	struct shape places;             /* extents of the axes other than channels */
	const char *const *names;        /* names of the channels, or NULL */
	bool mask;                       /* a validity mask follows the channels */
	enum dtype dtype;
	const char *name;                /* name of the record or description, for messages */
	struct axes places_of;           /* the record's axes and coordinates */
	bool compared;                   /* dlx-train, which wrote the description, compares the axes
	                                  * itself */
};

/* Reads a record file, or a text file with a record's description. E_NOINPUT, E_DATA. */
int like_read(struct like *out, struct arena *a, const char *path);
/* Checks that the places of an input have the same order as those of l: E_DATA if not. Prints a
 * note if they are other places. */
int like_check_axes(const struct like *l, const struct axes *axes, const char *input,
                    const char *record, bool quiet);
/* Gets the variables to which the names of channels belong (both NAME and NAME[0], NAME[1] ...
 * belong to NAME). Returns their number. */
int like_variables(const struct like *l, struct arena *a, const char ***out);
/* Whether n variables of a file, opened as columns, are exactly its channels, one each. If so,
 * sorts them in its order. */
bool like_sort(const struct like *l, struct column *c, int n);
/* For n columns of one file, decides whether the first axis counts samples, and which axis counts
 * channels, from the shape of s, one of these columns. wanted: the user's layout, or auto. E_DATA
 * if no interpretation fits, or if several do. */
int like_settle(const struct like *l, struct column *c, int n, const struct column *s,
                enum layout wanted, enum layout *out);

#endif
