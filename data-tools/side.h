/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One side of a record, the input or the target, put together from the variables of source
 * files: which file and row a sample is in, which channels it gives, which of its values are
 * missing. */
#ifndef DLX_DATA_TOOLS_SIDE_H
#define DLX_DATA_TOOLS_SIDE_H

#include "base/option.h"
#include "base/types.h"

enum layout {
	LAYOUT_AUTO,
	LAYOUT_STACK,      /* each variable is one channel */
	LAYOUT_FIRST,      /* a variable's first axis (after that of the samples) is channels */
	LAYOUT_LAST,       /* its last axis is */
	LAYOUT_NONE        /* the target has no channel axis */
};
extern const char *const layout_names[];

struct side_options {
	const char *role;                  /* "input" or "target", for messages */
	const struct texts *specs;         /* PATH[:NAME[,NAME...]] */
	const char *format;                /* or NULL */
	enum layout layout;
	bool labels;                       /* class labels: no channel axis unless asked for */
	bool concatenate;                  /* the files of a glob have a sample axis each */
	int nmissing;                      /* of the user, instead of the files' own; -1: not given */
	const double *missing;
};

struct side;

/* Opens what the specs name and checks that it fits together. */
int side_open(struct side **out, const struct side_options *o);
void side_close(struct side *s);       /* NULL is fine */
int64_t side_samples(const struct side *s);
/* The shape of a sample: (C, ...), or (...) without a channel axis. */
const struct shape *side_shape(const struct side *s);
int64_t side_channels(const struct side *s);
/* A name for each channel: the variable's, with a number if it gives several. */
const char *const *side_channel_names(const struct side *s);
/* The type of all variables if they have one; else f32. */
enum dtype side_dtype(const struct side *s);
int side_files(const struct side *s, const char *const **paths);   /* as the user named them */
/* Sample i, missing values as NaN, channels first. */
int side_read(struct side *s, int64_t i, double *values);

#endif
