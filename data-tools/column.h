/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One variable over all the files of one specification, as samples: rows of one array, one file
 * a sample, or rows of several files one after the other. */
#ifndef DLX_DATA_TOOLS_COLUMN_H
#define DLX_DATA_TOOLS_COLUMN_H

#include "source.h"

struct column {
	char **file;               /* sorted */
	int nfiles;
	bool file_a_sample;
	const char *format;        /* of --format, or NULL */
	char *variable;            /* as asked for, or NULL */
	int nmissing;              /* values that mean "missing", of the user; -1: the file's own */
	const double *missing;
	struct source *source;     /* the open file */
	int open_file;
	char *name;
	bool stem;                 /* the name is the first file's stem */
	enum dtype dtype;
	bool packed;               /* scaled integers */
	struct shape sample;       /* without the sample axis; of the first file */
	char *axis[MAXD];          /* names of its axes, as struct source has them */
	char kind[MAXD];
	bool repeated;             /* one sample stands for each (side_place.c) */
	int64_t samples;
	int64_t *first;            /* of each file, its first sample; NULL if file_a_sample */
	bool shared;               /* all but the open file is another's (column_share) */
	int64_t channels, channel; /* how many of the side's channels are of it, and the first of them
	                            * (side_place.c) */
	bool transpose;            /* channels are the last axis (side_place.c) */
	int layout;                /* enum layout: what its axes are (side_place.c) */
};

/* path may be a glob. variable NULL: the only one. */
int column_open(struct column *c, const char *path, const char *variable, const char *format,
                bool concatenate, int nmissing, const double *missing);
void column_release(struct column *c);      /* a zeroed one is fine */
/* Makes the first file's whole array, without an axis of samples, each of n samples. */
void column_repeat(struct column *c, int64_t n);
/* The number of sample i's file. */
int column_file_of(const struct column *c, int64_t i);
/* Opens this file, if another one is open. */
int column_file(struct column *c, int f);
/* Of one file: makes it one sample, or its first axis that of samples. E_DATA. */
int column_read_as(struct column *c, bool file_a_sample);
/* Opens the file of sample i: the shape of the sample, whose extents are its own where a file is a
 * sample. */
int column_shape(struct column *c, int64_t i, struct shape *out);

/* Values of a sample as they are stored. A zeroed one is fine. */
struct column_raw {
	void *v;                   /* mem_free */
	size_t room;               /* bytes */
	int64_t n;                 /* values */
	int nmissing;
	double missing[SOURCE_MISSING], scale, offset;      /* as the file has them */
};
/* `rows` of sample i from `first` on along one of its axes, or all of it where axis is -1, in the
 * order of the file's axes. */
int column_fetch(struct column *c, int64_t i, int axis, int64_t first, int64_t rows,
                 struct column_raw *out);
/* The n values, missing ones as NaN, packed ones unpacked. Any thread. */
void column_values(const struct column *c, const struct column_raw *raw, double *values);
/* The same column with files of its own, for another thread; c must outlive it. column_release. */
struct column column_share(const struct column *c);

#endif
