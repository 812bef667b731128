/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A column: one variable in all files of one specification, as a list of samples. These are the
 * rows of one array, or one file each, or the rows of several files in turn. */
#ifndef DLX_DATA_TOOLS_COLUMN_H
#define DLX_DATA_TOOLS_COLUMN_H

#include "data-tools/source/source.h"
#include "data-tools/source/source_view.h"

/* The value of --match, for arrays that share axes. */
enum match {
	MATCH_STRICT,              /* their coordinates must be equal */
	MATCH_INDEX,               /* elements are matched by index; coordinates are ignored */
	MATCH_COORDINATES          /* only coordinates that both have are kept */
};

struct column_options {
	const char *role;          /* "input" or "target", for messages */
	const char *format;        /* value of --format, or NULL */
	bool concatenate;          /* each file of a pattern has an axis of samples */
	enum match match;
	bool quiet;                /* do not print decisions about axes */
	int nmissing;              /* number of the user's values that mean "missing"; -1: use the
	                            * file's own */
	const long double *missing;
	bool numbers;              /* pixels of pictures are class numbers, not colours (source_open) */
};

/* Information about one file and the view by which its array is read. */
struct column_file {
	struct source_view view;   /* nd 0: the array is read as stored */
	struct axes axes;          /* all axes of the array; n 0: the file was not examined yet */
	char role[MAXD];           /* role of each axis (axis_role.h) */
	const char *units;         /* units of the values, or NULL */
};

struct column {
	const struct column_options *o;
	struct arena *a;           /* arena of the members below */
	char **file;               /* paths of the files, sorted */
	struct column_file *of;    /* information about each file */
	int nfiles;
	bool file_a_sample;
	char *variable;            /* name as given by the user, or NULL */
	struct source *source;     /* the open file */
	int open_file;
	struct shape shape;        /* shape of the open file's array, as read */
	char *name;
	bool stem;                 /* `name` is the first file's name without extension */
	enum dtype dtype;
	bool packed;               /* values are integers that must be scaled */
	struct shape sample;       /* shape of a sample in the first file, without the sample axis */
	const char *axis[MAXD];    /* names of a sample's axes, and their roles */
	char kind[MAXD];
	bool repeated;             /* the one sample of the file is used for all samples
	                            * (side_place.c) */
	int64_t samples;
	int64_t *first;            /* index of each file's first sample; NULL if file_a_sample */
	const int64_t *pick;       /* for each sample, its number in the files; NULL: the same number */
	bool turned;               /* a note that a file is read in another order was printed */
	bool places_differ;        /* a note that samples lie at different places was printed */
	bool shared;               /* all memory but the open file belongs to another column
	                            * (column_share) */
	int64_t channels, channel; /* number of the side's channels that this column provides, and the
	                            * index of the first (side_place.c) */
	bool transpose;            /* channels are the last axis (side_place.c) */
	int layout;                /* enum layout: what its axes are (side_place.c) */
};

/* Opens the column. path may be a glob pattern; variable NULL: the only one in the file. The axes
 * and units of all files must agree; a file in which an axis is reversed or rolled is read in the
 * order of the first file. o is borrowed until column_release. */
int column_open(struct column *c, const char *path, const char *variable,
                const struct column_options *o);
void column_release(struct column *c);      /* a zeroed one is fine */
/* Makes the column n samples, each of which is the first file's whole array, without an axis of
 * samples. */
void column_repeat(struct column *c, int64_t n);
/* The index of sample i's file, and its row there. */
int column_file_of(const struct column *c, int64_t i);
int64_t column_row(const struct column *c, int64_t i);
/* Makes sample i, of n, the former sample sample[i]. The table is in the column's arena. */
void column_pick(struct column *c, const int64_t *sample, int64_t n);
/* Opens file f, if it is not open already. */
int column_file(struct column *c, int f);
/* For a column of one file: makes the file one sample, or makes its first axis the sample axis.
 * E_DATA. */
int column_read_as(struct column *c, bool file_a_sample);
/* Opens the file of sample i and gets the shape of the sample. Shapes may differ if each file is a
 * sample. */
int column_shape(struct column *c, int64_t i, struct shape *out);
/* Call it after a view has changed: updates the axes by the first file, and counts the samples.
 * E_DATA. */
int column_settle(struct column *c);

/* --- information about its files (column_look.c) --- */

/* Reads the open file's description of its axes and values. */
void column_look(struct column *c);
/* Finds the axis of the first file that counts samples, from its axes' roles. E_DATA. */
int column_find_samples(struct column *c);
/* Checks that the open file has the same variable, units and axes as the first, and sets its view
 * if axes are in another order. E_DATA. */
int column_meet_first(struct column *c);
/* Change the view of file f: axis i becomes the former axis order[i]; element i of an axis, of n,
 * becomes the former element element[i]. */
void column_permute(struct column *c, int f, const int *order);
void column_choose(struct column *c, int f, int axis, const int64_t *element, int64_t n);
/* The table n - 1, ..., 0, in arena a. */
const int64_t *column_backwards(struct arena *a, int64_t n);
/* Whether the files describe their axes themselves, beyond what the format implies, as it does for
 * all pictures. */
bool column_says_axes(const struct column *c);
/* Whether every file has a description of its axes. */
bool column_is_known(const struct column *c);

/* Stored values of a sample. Zero it before the first use. */
struct column_raw {
	void *v;
	size_t room;               /* bytes */
	int64_t n;                 /* values */
	int nmissing;
	long double missing[SOURCE_MISSING];
	double scale, offset;      /* the file's scale and offset */
	int npacking;              /* 0: scale and offset apply to all values; else value i has
	                            * packing[i % npacking] */
	struct packing *packing;
	bool masked;               /* `valid` is set: 1 for each value that is not missing */
	uint8_t *valid;
	size_t valid_room;
	enum dtype stored;
};
/* Reads rows first .. first + rows - 1 along an axis of sample i, or the whole sample if axis is
 * -1, in the order of the file's axes. */
int column_fetch(struct column *c, int64_t i, int axis, int64_t first, int64_t rows,
                 struct column_raw *out);
void column_raw_release(struct column_raw *raw);
/* Converts the raw->n values to doubles: missing ones become NaN, packed ones are unpacked. If `to`
 * is f32 or f64, returns an integer among them that this type would round, else 0. Can be called on
 * any thread. */
int64_t column_values(const struct column *c, const struct column_raw *raw, enum dtype to,
                      double *values);
/* Whether the stored values need no conversion: none is missing, and none packed. Can be called on
 * any thread. */
bool column_plain(const struct column *c, const struct column_raw *raw);
/* A copy of the column that opens its own files, for another thread. c must outlive it. Release
 * with column_release. */
struct column column_share(const struct column *c);

#endif
