/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One array of one foreign file, whatever the format: its type and shape, which values mean
 * "missing", and its rows along the first axis. A format is one source_*.c and one row of the
 * table in source.c. */
#ifndef DLX_DATA_TOOLS_SOURCE_H
#define DLX_DATA_TOOLS_SOURCE_H

#include "base/types.h"
#include "data/axes.h"

#define SOURCE_MISSING 16
#define SOURCE_ATTRIBUTE 12  /* values of an attribute that are read */
#define SOURCE_TEXT_MOST (1 << 16)   /* bytes of a text, which of a projection are thousands */

/* value = stored * scale + offset */
struct packing { double scale, offset; };

struct source {
	const struct source_format *format;
	char *path;
	char *name;                          /* of the variable; the file's stem if it has none */
	bool stem;                           /* it is the stem */
	bool asked;                          /* --format names the format */
	enum dtype dtype;                    /* of the values as read */
	enum dtype stored;                   /* in the file: floats may be read as wider ones */
	bool unsigned32;                     /* as i64, in which values above 2^31 are negative */
	bool unsigned64;                     /* as i64: the upper half of its values is refused */
	struct shape shape;                  /* all axes */
	char *axis[MAXD];                    /* their names where the file has some, else NULL */
	char kind[MAXD];                     /* X, Y, Z or T where it says what they are, else 0 */
	int nmissing;
	/* The file's own: _FillValue, all of missing_value. A long double has all integers of 64 bits;
	 * of those without a sign the upper half is negative, as in the values. */
	long double missing[SOURCE_MISSING];
	bool more_missing;                   /* than there is room for */
	const char *text_missing;            /* one of these attributes that is no number, or NULL */
	double scale, offset;                /* value = stored * scale + offset; else 1 and 0 */
	int npacking;                        /* 0: these hold for all values */
	const struct packing *packing;       /* of each of the last axis, the format's */
	bool numbers;                        /* wanted: a picture's own numbers, not its colours */
	int pages;                           /* axes of a picture's pages, before its height */
	bool masked;                         /* read_valid says which points have values */
	bool ranges;                         /* a row is found without reading those before it */
	bool at_once;                        /* all of the array is read for the first of its values */
	void *handle;                        /* the format's */
	void *whole;                         /* rows in memory, boxes of which are read */
	int64_t whole_first, whole_n;
	size_t whole_room;
};

struct source_format {
	const char *name;                    /* of --format */
	const char *const *extensions;
	/* Opens variable (NULL: the only one) of s->path: sets name, dtype, shape, missing, scale,
	 * offset, handle. */
	int (*open)(struct source *s, const char *variable);
	/* n rows along the first axis from `first`; first = -1: the whole array. Bounds are checked
	 * by the caller. */
	int (*read)(struct source *s, int64_t first, int64_t n, void *out);
	void (*close)(struct source *s);     /* handle may be NULL */
	/* The box from `start` of this many values along each axis, without those around it; NULL: no
	 * way to. Bounds are checked by the caller. */
	int (*read_box)(struct source *s, const int64_t *start, const int64_t *count, void *out);
	/* Coordinates of axis i and their attributes, into out, whose name and n are set; texts in a.
	 * NULL: the format has none. */
	void (*coordinates)(struct source *s, int i, struct arena *a, struct axis *out);
	/* Which values of a box are there, 1 for each that is, where s->masked; else NULL. */
	int (*read_valid)(struct source *s, const int64_t *start, const int64_t *count, uint8_t *out);
	/* A hash of what distinguishes the other files that its values are in from themselves before a
	 * change (io_stamp), seeded; NULL, and the seed itself: there are none. */
	uint64_t (*stamp_parts)(const struct source *s, uint64_t seed);
	const char *const *beside;           /* endings of files next to it that are read, or NULL */
	const char *content;                 /* the one file of a folder that has values; NULL: any */
	/* The attributes of the variable of this name in its group or one around it (NULL: its own),
	 * texts in a; false: there is no such variable. NULL: the format has none. */
	bool (*attributes)(struct source *s, const char *name, struct arena *a,
	                   struct axis_attributes *out);
	bool picture;                        /* a file is one sample, without an axis of samples */
	bool rows;                           /* a file's first axis counts samples, whatever it is */
	bool folder;                         /* a file of the format may be a folder */
	bool apart;                          /* threads may each read a source of their own at once */
	bool whole;                          /* opening a file that is not large reads all of it */
	bool ends;                           /* its reader, which is ours, comes to an end */
};

extern const struct source_format source_netcdf, source_hdf5, source_npy, source_npz, source_idx,
                                  source_png, source_tiff, source_tfrecord, source_zarr,
                                  source_lmdb, source_csv;
/* The names of all formats as a sentence has them: "netcdf, ... or lmdb". */
extern const char source_formats[];

/* format: a name, or NULL: by the extension, then by the first bytes. numbers: of a picture's
 * palette or grey the numbers that are stored, as labels are. E_USAGE, E_NOINPUT, E_DATA. */
int source_open(struct source **out, const char *path, const char *format, const char *variable,
                bool numbers);
void source_close(struct source *s);     /* NULL is fine */
/* Rows first .. first+n of the first axis, in the source's dtype. */
int source_read(struct source *s, int64_t first, int64_t n, void *out);
/* A box, one of all axes: rows of the array at least are read where the format has no way to read
 * less, and kept for the next box. */
int source_read_box(struct source *s, const int64_t *start, const int64_t *count, void *out);
/* What the file says of axis i; texts in a. */
struct axis source_axis(struct source *s, int i, struct arena *a);
/* The text of an attribute of the variable, in a; NULL: there is none. */
const char *source_text(struct source *s, const char *name, struct arena *a);
/* The whole array. */
int source_read_all(struct source *s, void *out);
/* The names of the arrays of an .npz file; each and the list are the caller's to mem_free.
 * E_NOINPUT, E_IO, E_DATA. */
int source_npz_names(const char *path, char ***names, int *n);

/* Where a variable's values lie on the earth, as the CF conventions have it, by the variables that
 * its attributes `coordinates` and `grid_mapping` name: into fields and mappings of *out, in a; the
 * axes that fields lie on are those of s. variable: as it was opened. Names of variables that the
 * file has not, or that are no numbers, are passed over, as the conventions allow for a part of a
 * file; what is too large is, with a warning. */
void source_place(struct source *s, const char *variable, struct arena *a, struct axes *out);

/* --- for formats --- */

/* Whether a file, or data.mdb in a folder, begins as an LMDB database does. */
bool source_is_lmdb(const char *path);
/* Whether the first bytes are those of a TFRecord file, compressed or not, by their checksum:
 * nothing else tells. */
bool source_is_tfrecord(const char *path);
/* Whether a folder or ZIP file has the metadata of a Zarr array or group. */
bool source_is_zarr(const char *path);

/* The error for a variable that is not there (wanted), or not said although there are several
 * (wanted NULL). */
int source_no_variable(const char *path, const char *wanted, const char *const *names, int n);
int source_bad(const struct source *s, const char *what);      /* E_DATA, names file and variable */
/* The error for scale_factor or add_offset that is no single number: values would stay packed. */
int source_no_number(const struct source *s, const char *attribute);
/* The error for text_missing: missing values would be taken for others. */
int source_no_missing(const struct source *s);
void source_add_missing(struct source *s, long double v);
/* Obeys the attribute _Unsigned, "true" or "false" in letters of any case, of integers that the
 * file's type has otherwise: with a sign, or without one. Changes dtype and the missing values.
 * wide: they have 32 bits and no sign, and are read as i64. Those that become so are read as i64
 * too (unsigned32), whatever is in the upper half; those that get a sign, bit by bit. */
void source_obey_unsigned(struct source *s, const char *text, bool wide);
/* The missing values alone, of integers of this many bytes in the file. */
void source_turn_missing(struct source *s, size_t size, bool sign);
/* E_DATA if an array is large and a file, or what it stores, of `have` bytes has next to nothing of
 * it: metadata of a few bytes promise any number of values. */
int source_check_stored(const struct source *s, uint64_t have);
/* Takes the shape of n samples, whose axis comes first. */
int source_take_samples(struct source *s, int64_t n, const struct shape *sample);
/* Takes the file's name without folder and extensions for that of the variable. */
void source_take_stem(struct source *s);
/* n values as read, made unsigned where 32 bits are: E_DATA where one is unsigned and above the
 * range of i64, unless the file says that it is missing. */
int source_check(const struct source *s, void *values, int64_t n);
/* n elements of `size` bytes from big to little endian, in place. */
void source_swap(void *p, size_t size, int64_t n);
/* A box as runs of values that lie one after the other: n of the array, from value `from` on. */
int source_read_runs(struct source *s, const int64_t *start, const int64_t *count, void *out,
                     int (*read_run)(struct source *s, int64_t from, int64_t n, void *out));
/* Rows of an array that is in memory. */
void source_copy_rows(const struct source *s, const void *data, int64_t first, int64_t n,
                      void *out);

/* Whether an array of that shape and element size is within `have` bytes: headers promise
 * anything. */
bool source_fits(const struct shape *shape, size_t size, size_t have);

#endif
