/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One variable over all the files of one specification, as samples: rows of one array, one file
 * a sample, or rows of several files one after the other. */
#ifndef DLX_DATA_TOOLS_COLUMN_H
#define DLX_DATA_TOOLS_COLUMN_H

#include "data-tools/source/source.h"
#include "data-tools/source/source_view.h"

/* What --match says of arrays whose axes meet. */
enum match {
	MATCH_STRICT,              /* their coordinates have to be the same */
	MATCH_INDEX,               /* the order counts, whatever the coordinates are */
	MATCH_COORDINATES          /* what both have is joined */
};

struct column_options {
	const char *role;          /* "input" or "target", for messages */
	const char *format;        /* of --format, or NULL */
	bool concatenate;          /* the files of a pattern have an axis of samples each */
	enum match match;
	bool quiet;                /* what was decided about axes is not printed */
	int nmissing;              /* values that mean "missing", of the user; -1: the file's own */
	const long double *missing;
	bool numbers;              /* pictures are numbers of classes, not colours (source_open) */
};

/* What is known of a file, of its array as it is read. */
struct column_file {
	struct source_view view;   /* nd 0: as it is stored */
	struct axes axes;          /* all of the array's; n 0: the file was not looked at */
	char role[MAXD];           /* of each axis (axis_role.h) */
	const char *units;         /* of the values, or NULL */
};

struct column {
	const struct column_options *o;
	struct arena *a;           /* of what follows */
	char **file;               /* sorted */
	struct column_file *of;    /* each */
	int nfiles;
	bool file_a_sample;
	char *variable;            /* as asked for, or NULL */
	struct source *source;     /* the open file */
	int open_file;
	struct shape shape;        /* of its array as it is read */
	char *name;
	bool stem;                 /* the name is the first file's stem */
	enum dtype dtype;
	bool packed;               /* scaled integers, or all are unpacked to floats */
	struct shape sample;       /* without the sample axis; of the first file */
	const char *axis[MAXD];    /* names of its axes, and their roles */
	char kind[MAXD];
	bool repeated;             /* one sample stands for each (side_place.c) */
	int64_t samples;
	int64_t *first;            /* of each file, its first sample; NULL if file_a_sample */
	const int64_t *pick;       /* of each sample, its number in the files; NULL: the same */
	bool turned;               /* it was said that a file is read in another order */
	bool places_differ;        /* and that samples are of several places */
	bool shared;               /* all but the open file is another's (column_share) */
	int64_t channels, channel; /* how many of the side's channels are of it, and the first of them
	                            * (side_place.c) */
	bool transpose;            /* channels are the last axis (side_place.c) */
	int layout;                /* enum layout: what its axes are (side_place.c) */
};

/* path may be a glob. variable NULL: the only one. o is borrowed until column_release. What its
 * files say of their axes and values has to agree: what is turned there is read as in the first. */
int column_open(struct column *c, const char *path, const char *variable,
                const struct column_options *o);
void column_release(struct column *c);      /* a zeroed one is fine */
/* Makes the first file's whole array, without an axis of samples, each of n samples. */
void column_repeat(struct column *c, int64_t n);
/* The number of sample i's file, and its row there. */
int column_file_of(const struct column *c, int64_t i);
int64_t column_row(const struct column *c, int64_t i);
/* Makes sample i the one that was sample[i], of n; in the column's arena. */
void column_pick(struct column *c, const int64_t *sample, int64_t n);
/* Opens this file, if another one is open. */
int column_file(struct column *c, int f);
/* Of one file: makes it one sample, or its first axis that of samples. E_DATA. */
int column_read_as(struct column *c, bool file_a_sample);
/* Opens the file of sample i: the shape of the sample, whose extents are its own where a file is a
 * sample. */
int column_shape(struct column *c, int64_t i, struct shape *out);
/* Takes what is known of the axes of the first file, and counts the samples, after a view has
 * changed. E_DATA. */
int column_settle(struct column *c);

/* --- what is known of its files (column_look.c) --- */

/* What the open file says of its axes and values. */
void column_look(struct column *c);
/* The first file: which axis counts samples, by what is known of its axes. E_DATA. */
int column_find_samples(struct column *c);
/* The open file against the first: the same variable, units and axes; what lies in another order is
 * turned. E_DATA. */
int column_meet_first(struct column *c);
/* Changes how file f is read: axis i is the one that was order[i], or element i of an axis the one
 * that was element[i] of n. */
void column_permute(struct column *c, int f, const int *order);
void column_choose(struct column *c, int f, int axis, const int64_t *element, int64_t n);
/* The elements n - 1, ..., 0, in a. */
const int64_t *column_backwards(struct arena *a, int64_t n);
/* Whether its files say more of their axes than the format does, as all pictures' do. */
bool column_says_axes(const struct column *c);
/* Whether what the formats' files say of axes is known of each. */
bool column_is_known(const struct column *c);

/* Values of a sample as they are stored. A zeroed one is fine. */
struct column_raw {
	void *v;
	size_t room;               /* bytes */
	int64_t n;                 /* values */
	int nmissing;
	long double missing[SOURCE_MISSING];
	double scale, offset;      /* as the file has them */
	int npacking;              /* 0: these hold; else value i has its own, [i % npacking] */
	struct packing *packing;
	bool masked;               /* values that are there have 1 in `valid` */
	uint8_t *valid;
	size_t valid_room;
	enum dtype stored;
};
/* `rows` of sample i from `first` on along one of its axes, or all of it where axis is -1, in the
 * order of the file's axes. */
int column_fetch(struct column *c, int64_t i, int axis, int64_t first, int64_t rows,
                 struct column_raw *out);
void column_raw_release(struct column_raw *raw);
/* The n values, missing ones as NaN, packed ones unpacked. Returns an integer among them that is
 * rounded on its way to f32 or f64 (to; any other type: none is looked for), or 0. Any thread. */
int64_t column_values(const struct column *c, const struct column_raw *raw, enum dtype to,
                      double *values);
/* Whether the values as they were read are those: none is missing, and none packed. Any thread. */
bool column_plain(const struct column *c, const struct column_raw *raw);
/* The same column with files of its own, for another thread; c must outlive it. column_release. */
struct column column_share(const struct column *c);

#endif
