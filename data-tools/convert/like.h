/* SPDX-License-Identifier: BSD-3-Clause
 *
 * "--like": files are read as inputs of a network that was trained on some record. Its channels
 * and its number of axes decide what a file's axes are. */
#ifndef DLX_DATA_TOOLS_LIKE_H
#define DLX_DATA_TOOLS_LIKE_H

#include "base/arena.h"
#include "data/axes.h"
#include "data-tools/convert/layout.h"

struct like {
	int64_t channels;                /* that a file has to give */
	struct shape places;             /* axes besides channels */
	const char *const *names;        /* of the channels, or NULL */
	bool mask;                       /* a validity mask follows them */
	enum dtype dtype;
	const char *name;                /* what it is read from, for messages */
	struct axes places_of;           /* what is known of its places */
	bool compared;                   /* by dlx-train, whose description it is */
};

/* Of a record file, or of the text of a record's description. E_NOINPUT, E_DATA. */
int like_read(struct like *out, struct arena *a, const char *path);
/* Whether places of an input have the order of those of l: E_DATA; a note where they are others. */
int like_check_axes(const struct like *l, const struct axes *axes, const char *input,
                    const char *record, bool quiet);
/* The variables that the names of channels stand for, NAME of NAME and of NAME[0], NAME[1] ...;
 * returns their number. */
int like_variables(const struct like *l, struct arena *a, const char ***out);
/* Whether n variables of a file, columns of side_open, have its channels, one each: puts them in
 * its order then. */
bool like_sort(const struct like *l, struct column *c, int n);
/* Decides for n columns of one file whether the first axis counts samples, and where channels are,
 * by the shape of s, one of theirs; wanted: a layout, or auto. E_DATA if nothing fits, or several
 * readings do. */
int like_settle(const struct like *l, struct column *c, int n, const struct column *s,
                enum layout wanted, enum layout *out);

#endif
