/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A source: one array of one file in a foreign format. It has the array's type and shape, the
 * values that mean "missing", and functions that read rows along the first axis. A format is one
 * source_*.c and one row of the table in source.c. */
#ifndef DLX_DATA_TOOLS_SOURCE_H
#define DLX_DATA_TOOLS_SOURCE_H

#include "base/types.h"
#include "data/axes.h"

#define SOURCE_MISSING 16
#define SOURCE_ATTRIBUTE 12  /* largest number of values read from an attribute */
#define SOURCE_TEXT_MOST (1 << 16)   /* largest text of an attribute, in bytes; those of projections
                                      * have thousands */

/* value = stored * scale + offset */
struct packing { double scale, offset; };

struct source {
	const struct source_format *format;
	char *path;
	char *name;                          /* name of the variable; the file's name without extension
	                                      * if it has none */
	bool stem;                           /* `name` is the file's name */
	bool asked;                          /* --format gives the format */
	enum dtype dtype;                    /* type of the values after reading */
	enum dtype stored;                   /* type in the file; floats may be widened by reading */
	bool unsigned32;                     /* unsigned 32-bit values are read as i64 */
	bool unsigned64;                     /* unsigned 64-bit values are read as i64; larger ones are
	                                      * refused */
	struct shape shape;                  /* extents of all axes */
	char *axis[MAXD];                    /* names of the axes, if the file has them; else NULL */
	char kind[MAXD];                     /* kinds of the axes, X, Y, Z or T, if the file gives them;
	                                      * else 0 */
	int nmissing;
	/* The file's missing values: _FillValue and all of missing_value. A long double can hold every
	 * 64-bit integer. Unsigned 64-bit values in the upper half are negative here, as in values that
	 * are read. */
	long double missing[SOURCE_MISSING];
	bool more_missing;                   /* the file has more missing values than `missing` has room
	                                      * for */
	const char *text_missing;            /* name of such an attribute that is not a number, or
	                                      * NULL */
	double scale, offset;                /* value = stored * scale + offset; else 1 and 0 */
	int npacking;                        /* entries in packing; 0: scale and offset apply to all
	                                      * values */
	const struct packing *packing;       /* scale and offset of each element of the last axis; owned
	                                      * by the format */
	bool numbers;                        /* requested: read a picture's stored numbers, not its
	                                      * colours */
	int pages;                           /* number of axes that count a picture's pages, before its
	                                      * height */
	bool masked;                         /* read_valid gives the points that have values */
	bool ranges;                         /* a row can be read without reading those before it */
	bool at_once;                        /* the first read reads the whole array */
	void *handle;                        /* private data of the format */
	void *whole;                         /* buffered rows, from which boxes are read */
	int64_t whole_first, whole_n;
	size_t whole_room;
};

struct source_format {
	const char *name;                    /* of --format */
	const char *const *extensions;
	/* Opens variable (NULL: the only one) of s->path: sets name, dtype, shape, missing, scale,
	 * offset, handle. */
	int (*open)(struct source *s, const char *variable);
	/* Reads n rows along the first axis from row `first`; first = -1: the whole array. The caller
	 * checks bounds. */
	int (*read)(struct source *s, int64_t first, int64_t n, void *out);
	void (*close)(struct source *s);     /* s->handle may be NULL */
	/* Reads a box from `start`, with count[i] values along axis i, without reading values around
	 * it; NULL: the format cannot. The caller checks bounds. */
	int (*read_box)(struct source *s, const int64_t *start, const int64_t *count, void *out);
	/* Gets the coordinates of axis i and their attributes. out->name and out->n are already set;
	 * texts are in arena a. NULL: the format has no coordinates. */
	void (*coordinates)(struct source *s, int i, struct arena *a, struct axis *out);
	/* If s->masked, reads a box of the mask: 1 for each value that is not missing. NULL: the format
	 * has no masks. */
	int (*read_valid)(struct source *s, const int64_t *start, const int64_t *count, uint8_t *out);
	/* A seeded hash of the stamps (io_stamp) of further files that contain values, which changes if
	 * one of them is changed. It is the seed if there are no such files; NULL: the format never has
	 * any. */
	uint64_t (*stamp_parts)(const struct source *s, uint64_t seed);
	const char *const *beside;           /* extensions of files in the same folder that are read
	                                      * too, or NULL */
	const char *content;                 /* name of the one file in a folder that contains values;
	                                      * NULL: any file may */
	/* Gets the attributes of the variable of this name, in the source's group or an enclosing one
	 * (name NULL: of the source's variable); texts are in arena a. Returns false if there is no
	 * such variable. NULL: the format has no attributes. */
	bool (*attributes)(struct source *s, const char *name, struct arena *a,
	                   struct axis_attributes *out);
	bool picture;                        /* a file is one sample, without an axis of samples */
	bool rows;                           /* a file's first axis always counts samples */
	bool folder;                         /* a file of the format may be a folder */
	bool apart;                          /* several threads may read at once, each its own source */
	bool whole;                          /* opening a small file reads all of it */
	bool ends;                           /* the reader is part of dlx and always terminates, even on
	                                      * damaged files */
};

extern const struct source_format source_netcdf, source_hdf5, source_npy, source_npz, source_idx,
                                  source_png, source_tiff, source_tfrecord, source_zarr,
                                  source_lmdb, source_csv;
/* The names of all formats, for messages: "netcdf, ... or lmdb". */
extern const char source_formats[];

/* Opens a variable of a file. format: its name, or NULL to choose by the extension, then by the
 * first bytes. numbers: of a picture with a palette or grey levels, read the stored numbers, as for
 * labels. E_USAGE, E_NOINPUT, E_DATA. */
int source_open(struct source **out, const char *path, const char *format, const char *variable,
                bool numbers);
void source_close(struct source *s);     /* NULL is fine */
/* Reads rows first .. first + n - 1 of the first axis, in the source's dtype. */
int source_read(struct source *s, int64_t first, int64_t n, void *out);
/* Reads a box, given by start and count of all axes. If the format cannot read boxes, whole rows
 * are read and buffered for the next box. */
int source_read_box(struct source *s, const int64_t *start, const int64_t *count, void *out);
/* The file's description of axis i; texts are in arena a. */
struct axis source_axis(struct source *s, int i, struct arena *a);
/* The text of an attribute of the variable, in a; NULL: there is none. */
const char *source_text(struct source *s, const char *name, struct arena *a);
/* The whole array. */
int source_read_all(struct source *s, void *out);
/* Gets the names of the arrays of an .npz file. The caller frees each name and the list with
 * mem_free. E_NOINPUT, E_IO, E_DATA. */
int source_npz_names(const char *path, char ***names, int *n);

/* Reads the geographic position of a variable's values by the CF conventions, from the variables
 * that its attributes `coordinates` and `grid_mapping` name, to the fields and mappings of *out, in
 * arena a. The axes of fields are numbered as those of s. variable: the name as given to
 * source_open. Names of variables that are missing in the file, or that are not numbers, are
 * ignored, as the conventions allow; variables that are too large are ignored with a warning. */
void source_place(struct source *s, const char *variable, struct arena *a, struct axes *out);

/* --- for formats --- */

/* Whether a file, or data.mdb in a folder, begins as an LMDB database does. */
bool source_is_lmdb(const char *path);
/* Whether a file, compressed or not, begins as a TFRecord file. This can only be recognised by the
 * checksum of its first record's length. */
bool source_is_tfrecord(const char *path);
/* Whether a folder or ZIP file has the metadata of a Zarr array or group. */
bool source_is_zarr(const char *path);

/* Raises the error for a variable that does not exist (wanted: its name), or that was not given
 * although there are several (wanted NULL). */
int source_no_variable(const char *path, const char *wanted, const char *const *names, int n);
int source_bad(const struct source *s, const char *what);      /* E_DATA, names file and variable */
/* Raises the error for a scale_factor or add_offset that is not a single number, without which
 * values cannot be unpacked. */
int source_no_number(const struct source *s, const char *attribute);
/* Raises the error for text_missing: without a number, missing values could not be recognised. */
int source_no_missing(const struct source *s);
void source_add_missing(struct source *s, long double v);
/* Applies the attribute _Unsigned ("true" or "false" in any case) to integers whose type in the
 * file has the other signedness. Changes dtype and the missing values. wide: the type in the file
 * is unsigned 32-bit, read as i64. Integers that become unsigned 32-bit are read as i64 too
 * (unsigned32). Integers that become signed keep their bits. */
void source_obey_unsigned(struct source *s, const char *text, bool wide);
/* Converts only the missing values to the signedness `sign`, for integers of `size` bytes in the
 * file. */
void source_turn_missing(struct source *s, size_t size, bool sign);
/* E_DATA if an array is large but the file, or its stored data, of `have` bytes can contain next to
 * nothing of it. A few bytes of damaged metadata can claim any number of values. */
int source_check_stored(const struct source *s, uint64_t have);
/* Sets the source's shape to n samples of shape *sample, with the sample axis first. */
int source_take_samples(struct source *s, int64_t n, const struct shape *sample);
/* Sets the variable's name to the file's name without folder and extensions. */
void source_take_stem(struct source *s);
/* Checks n values that were read, and converts unsigned 32-bit ones. E_DATA if an unsigned value is
 * above the range of i64 and is not a missing value of the file. */
int source_check(const struct source *s, void *values, int64_t n);
/* Converts n elements of `size` bytes from big to little endian, in place. */
void source_swap(void *p, size_t size, int64_t n);
/* Reads a box as runs of contiguous values, by read_run, which reads n values of the array from
 * value `from` on. */
int source_read_runs(struct source *s, const int64_t *start, const int64_t *count, void *out,
                     int (*read_run)(struct source *s, int64_t from, int64_t n, void *out));
/* Copies rows of an array that is in memory. */
void source_copy_rows(const struct source *s, const void *data, int64_t first, int64_t n,
                      void *out);

/* Whether an array of this shape and element size fits in `have` bytes. The shape comes from a
 * header that may be damaged. */
bool source_fits(const struct shape *shape, size_t size, size_t have);

#endif
