/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A side is the input or the target of a record, assembled from variables of source files. It knows
 * the file and row of each sample, the channels of each variable, and the missing values. */
#ifndef DLX_DATA_TOOLS_SIDE_H
#define DLX_DATA_TOOLS_SIDE_H

#include "base/option.h"
#include "base/types.h"
#include "data-tools/convert/layout.h"
#include "data-tools/convert/like.h"

struct side_options {
	struct column_options read;
	const struct texts *specs;         /* PATH[:NAME[,NAME...]] */
	enum layout layout;
	bool labels;                       /* values are class labels, which have no channel axis unless
	                                    * the layout says so */
	const struct like *like;           /* the record whose inputs the samples must resemble, or
	                                    * NULL */
};

struct side;

/* Opens the variables in o->specs. Afterwards their types and stored shapes are known. o is
 * borrowed until side_close. */
int side_open(struct side **out, const struct side_options *o);
/* The stored shape of a sample of the first variable, with its channels on any axis. */
const struct shape *side_sample(const struct side *s);
/* Call it after side_open: compares the side's files and axes with those of the input (NULL: this
 * is the input). If coordinates require it, the side is then read in the input's order. Appends a
 * text on how samples were paired to *said, if it is not obvious. E_DATA. */
int side_meet(struct side *s, struct side *input, struct buf *said);
/* Call it after side_meet: finds the channels and checks that all variables fit together. other:
 * the shape of the other side's samples, or only of their spatial axes (struct layout_hints). All
 * functions below require it. */
int side_place(struct side *s, const struct shape *other, bool other_is_places);
/* Appends a text on how samples are interpreted; nothing if only one interpretation is possible. */
void side_reading(const struct side *s, struct buf *out);
/* The shape of a sample without channels. */
const struct shape *side_places(const struct side *s);
/* Gets the files' description of the axes and coordinates of the n chosen samples; texts are in
 * arena a. */
int side_axes(struct side *s, struct arena *a, const int64_t *sample, int64_t n,
              struct axes *out);
void side_close(struct side *s);       /* NULL is fine */
int64_t side_samples(const struct side *s);
/* The shape of a sample: (C, ...), or (...) without a channel axis. If each file is a sample, it is
 * that of the first. */
const struct shape *side_shape(const struct side *s);
int64_t side_channels(const struct side *s);
/* A name for each channel: the variable's, with a number if it gives several. */
const char *const *side_channel_names(const struct side *s);
/* The attribute `units` of each channel's variable, "" if it has none; NULL: no variable has
 * any. */
const char *const *side_channel_units(const struct side *s);
/* Whether the channel names are just the name of the only file. */
bool side_named_by_file(const struct side *s);
/* The type of all variables if it is the same; else f32. */
enum dtype side_dtype(const struct side *s);
int side_files(const struct side *s, const char *const **paths);   /* as the user named them */
/* Opens the files of sample i and gets its shape. Spatial extents differ between samples only if
 * each file is a sample. */
int side_size(struct side *s, int64_t i, struct shape *out);
/* side_name: the path of sample i's file, or of the first of several. side_key: the same without
 * folders if each file is a sample, else NULL. */
const char *side_name(const struct side *s, int64_t i);
const char *side_key(const struct side *s, int64_t i);
/* A seeded hash of the files' names and stamps (io_stamp), in order. It changes if a file is
 * replaced or changed. */
uint64_t side_stamp(struct side *s, uint64_t seed);
/* The origin of sample i: its file, or the first of several, and its row there; -1: the sample is
 * the whole file. */
struct side_origin { const char *file; int64_t row; };
struct side_origin side_origin(const struct side *s, int64_t i);
/* Some stored rows of a sample, for each variable. It can be reused for further samples. */
struct side_raw;
struct side_raw *side_raw_new(const struct side *s);
void side_raw_free(struct side_raw *r);          /* NULL is fine */
/* side_fetch reads rows first .. first + rows - 1 of sample i along an axis of its shape
 * (side_size), or the whole sample if axis is -1. side_cuts: whether samples can be read in parts
 * along this axis; false for the axis of channels. */
bool side_cuts(const struct side *s, int axis);
int side_fetch(struct side *s, int64_t i, int axis, int64_t first, int64_t rows,
               struct side_raw *out);
/* Converts the fetched rows to doubles, channels first, with NaN for missing values. *scratch is a
 * buffer of *room values, which is enlarged if necessary; the caller frees it. Returns what
 * column_values does. Can be called on any thread. */
int64_t side_values(const struct side *s, const struct side_raw *r, enum dtype to, double *values,
                    double **scratch, int64_t *room);
/* The fetched rows themselves, if they need no conversion: one variable of the side's type,
 * channels first, not packed, none missing. NULL: use side_values. Can be called on any thread. */
const void *side_plain(const struct side *s, const struct side_raw *r);
/* A copy of the side that opens its own files, for another thread. s must outlive it. Release with
 * side_close. */
struct side *side_share(const struct side *s);
/* side_is_apart: whether several threads may read at once, each its own copy of the side; streamed:
 * also pieces of one sample. side_is_whole: whether opening a sample's file reads all of it. */
bool side_is_apart(const struct side *s, bool streamed);
bool side_is_whole(const struct side *s);

#endif
