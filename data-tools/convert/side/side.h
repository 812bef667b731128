/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One side of a record, the input or the target, put together from the variables of source
 * files: which file and row a sample is in, which channels it gives, which of its values are
 * missing. */
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
	bool labels;                       /* class labels: no channel axis unless asked for */
	const struct like *like;           /* what samples of one file have to be, or NULL */
};

struct side;

/* Opens what the specs name: types and shapes, as stored, are known then. o is borrowed until
 * side_close. */
int side_open(struct side **out, const struct side_options *o);
/* The shape of a sample of the first variable, with its channels, wherever these are. */
const struct shape *side_sample(const struct side *s);
/* Then: compares its files and axes with those of the input (NULL: it is the input), whose order it
 * is read in where the coordinates allow no other. Appends to *said how samples were paired, where
 * that is worth keeping. E_DATA. */
int side_meet(struct side *s, struct side *input, struct buf *said);
/* Then: finds the channels and checks that all fits together. other: a shape of the other side's
 * samples, or its places alone (struct layout_hints). All that follows needs this. */
int side_place(struct side *s, const struct shape *other, bool other_is_places);
/* How its samples are read, for people, in out; nothing where there is but one way. */
void side_reading(const struct side *s, struct buf *out);
/* The shape without channels. */
const struct shape *side_places(const struct side *s);
/* What the files say of the axes of the n samples chosen, and of their places; texts in a. */
int side_axes(struct side *s, struct arena *a, const int64_t *sample, int64_t n,
              struct axes *out);
void side_close(struct side *s);       /* NULL is fine */
int64_t side_samples(const struct side *s);
/* The shape of a sample: (C, ...), or (...) without a channel axis; where a file is a sample, of
 * the first. */
const struct shape *side_shape(const struct side *s);
int64_t side_channels(const struct side *s);
/* A name for each channel: the variable's, with a number if it gives several. */
const char *const *side_channel_names(const struct side *s);
/* The attribute `units` of each channel's variable, "" where it has none; NULL: no one has. */
const char *const *side_channel_units(const struct side *s);
/* Whether the names say no more than what the only file is called. */
bool side_named_by_file(const struct side *s);
/* The type of all variables if they have one; else f32. */
enum dtype side_dtype(const struct side *s);
int side_files(const struct side *s, const char *const **paths);   /* as the user named them */
/* The shape of sample i, whose files it opens: others have other extents of places only where a
 * file is a sample. */
int side_size(struct side *s, int64_t i, struct shape *out);
/* Its file, or the first of several; and what that is called without folders, where a file is a
 * sample; else NULL. */
const char *side_name(const struct side *s, int64_t i);
const char *side_key(const struct side *s, int64_t i);
/* A hash of what distinguishes its files, in their order, from others and from themselves before
 * they were changed (io_stamp), seeded. */
uint64_t side_stamp(struct side *s, uint64_t seed);
/* Where sample i is: its file, or the first of several, and its row there; -1: it is the file. */
struct side_origin { const char *file; int64_t row; };
struct side_origin side_origin(const struct side *s, int64_t i);
/* Some rows of a sample, as stored: of each variable. Its memory serves again. */
struct side_raw;
struct side_raw *side_raw_new(const struct side *s);
void side_raw_free(struct side_raw *r);          /* NULL is fine */
/* `rows` of sample i from `first` on along an axis of its shape (side_size), or all of it where
 * axis is -1. An axis of channels cannot be cut: false of side_cuts. */
bool side_cuts(const struct side *s, int axis);
int side_fetch(struct side *s, int64_t i, int axis, int64_t first, int64_t rows,
               struct side_raw *out);
/* What was fetched as values, missing ones as NaN, channels first. Any thread; *scratch, of *room
 * values, is enlarged if need be and is the caller's. Returns what column_values does. */
int64_t side_values(const struct side *s, const struct side_raw *r, enum dtype to, double *values,
                    double **scratch, int64_t *room);
/* What was fetched, where it is values of the side's type as they are: one variable, channels
 * first, not packed, none missing. NULL: side_values makes them. Any thread. */
const void *side_plain(const struct side *s, const struct side_raw *r);
/* The same side with files of its own, for another thread; s must outlive it. side_close. */
struct side *side_share(const struct side *s);
/* Whether threads may read sides of their own at once, pieces of one sample too (streamed), and
 * whether opening a sample's file reads all of it. */
bool side_is_apart(const struct side *s, bool streamed);
bool side_is_whole(const struct side *s);

#endif
