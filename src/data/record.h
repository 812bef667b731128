/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The record file: samples of named arrays (an input, a target, and others), which may have
 * several sizes. Also described in dlx-record(5).
 *
 *   0           magic "DLXREC\r\n" | u32 version (3) | u32 zero               16 bytes
 *   16          the chunks of sample 0, array by array; those of sample 1; ...    back to back
 *   D           description: one JSON object, padded with spaces to a multiple of 8
 *   T           texts: a zero byte, then keys and groups with a zero byte after each; padded with
 *               zeros to a multiple of 8
 *   S           table of samples: n entries of 32 bytes
 *                 u64 its first entry of the index | u64 key | u64 group (bytes of the texts;
 *                 0: none) | u64 number of its size
 *   I           index: m entries of 40 bytes
 *                 u64 offset | u64 stored bytes | u64 raw bytes | u64 codec | u64 hash
 *   size - 72   footer: u64 D | u64 T | u64 S | u64 I | u64 n | u64 m | u64 size of the file |
 *                 u64 XXH3 of (bytes 0-15, D to the footer, first 56 bytes of the footer) |
 *                 magic "DLXEND\r\n"
 *
 * All integers and values are little-endian. A chunk is some rows of an array along its first axis
 * of places, for all of its channels, row-major; an array without places is one chunk. Its hash is
 * that of five integers: the hash of its raw bytes, that of its stored bytes (0 where it is stored
 * raw), sample, array and chunk. So one pass over the values serves this hash and that of the
 * sample's content. The description follows the chunks because it holds the statistics, known only
 * then; the file is still written in one pass and opened by reading its end. There are no gaps:
 * each byte belongs to exactly one part and each part to a hash, so any truncation or flipped bit
 * is found.
 *
 * Statistics count valid values: finite and, where the description names a mask channel, at
 * points where that channel is not 0. (The mask channel itself is counted everywhere.)
 *
 * A reader may be shared by threads; each brings its own decoder. A writer belongs to one
 * thread. */
#ifndef DLX_DATA_RECORD_H
#define DLX_DATA_RECORD_H

#include "base/types.h"
#include "data/axes.h"

#define RECORD_VERSION 3                 /* the only one that is read */
#define RECORD_MAX_CLASSES 65536
#define RECORD_MAX_ARRAYS 64
#define RECORD_NO_IGNORE INT64_MIN
#define RECORD_CHUNK (4 << 20)           /* bytes of a chunk that the writer aims at */

struct channel_stats {
	int64_t count;               /* valid values */
	double min, max, mean, std;  /* of them; std is the population's; NaN if count is 0 */
};

enum record_role { RECORD_INPUT, RECORD_TARGET, RECORD_WEIGHT, RECORD_EXTRA, RECORD_ROLES };

struct record_array {
	enum dtype dtype;
	struct shape shape;                   /* of a sample: (C, [D,] H, W); labels: (H, W), (); of
	                                       * several sizes the first */
	const char *const *channels;          /* names, shape.d[0] of them, or NULL */
	int nstats;                           /* shape.d[0]; 0 for targets of an integer type */
	const struct channel_stats *stats;
	bool named_by_file;                   /* names say what the file was called, no more */
	enum record_role role;                /* of info.extra: weight or extra */
	const char *name;                     /* input and target may have none, NULL: their role's */
	const char *const *units;             /* of channels, "" where the source says none; or NULL */
};

/* One of the sizes of samples. Arrays are counted: 0 the input, 1 the target (also where there is
 * none), 2 and on info.extra. */
struct record_size {
	int64_t samples;
	const struct shape *shape;            /* of each array */
	const int64_t *rows;                  /* of each array in a chunk; 0: it is not cut */
};

/* The pairing of a record whose coordinates were not to be compared. */
#define RECORD_BY_INDEX "by index"

struct record_info {
	int64_t samples;
	struct record_array input, target;    /* target: see record_no_target */
	int mask;                             /* input channel, not 0 where others are valid; -1 */
	int64_t ignore;                       /* the "no label" of integer targets */
	int nclasses;                         /* of integer targets; 0: unknown */
	const char *const *classes;           /* names, or NULL */
	const int64_t *class_counts;          /* how often each occurs; NULL: not counted */
	int64_t ignored;                      /* how often `ignore` occurs */
	int nsources;
	const char *const *sources;           /* the files it was made from */
	const uint64_t *hashes;               /* of each sample, of all its values: equal samples have
	                                       * equal ones; NULL: not kept. A writer makes them. */
	const char *command;                  /* the command that made it, or NULL */
	const char *const *target_names;      /* of each sample, the file that its target is from, if
	                                       * each is from its own, or NULL */
	const char *pairing;                  /* RECORD_BY_INDEX, or how inputs and targets were paired
	                                       * that are not of the same coordinates, or NULL */
	struct axes axes;                     /* of samples and their places; of one size alone */
	int nextra;
	const struct record_array *extra;     /* further arrays */
	int nsizes;                           /* 0 where nothing is written yet: the shapes above */
	const struct record_size *size;
};

/* What `target` is where samples have none, as in data to predict: no values. */
struct record_array record_no_target(void);
bool record_has_target(const struct record_info *i);
/* Whether a target of this shape and type has a value for each point of the input: its last axes
 * are those of the input after the channels. The one axis of a vector of floats is its channels,
 * however long it is; that of integers is places, as labels have no channels. */
bool record_target_is_map(const struct shape *input, const struct shape *target, enum dtype type);
/* How many arrays, array k, what it is called, and its shape in samples of a size. */
int record_arrays(const struct record_info *i);
const struct record_array *record_array_get(const struct record_info *i, int k);
const char *record_array_name(const struct record_info *i, int k);
const struct shape *record_shape(const struct record_info *i, int size, int k);
/* Channels of array k: 1 where it has no axis of them. */
int64_t record_channels(const struct record_info *i, int k);
/* Names that array k has if it has some. */
int64_t record_names(const struct record_info *i, int k);
/* The axis of array k that chunks are cut along, its first axis of places; -1: it has none. */
int record_axis(const struct record_info *i, int k);
/* Bytes of array k, and of a raw sample, which is its arrays in a row, each at a multiple of 8; and
 * where array k starts in it. */
size_t record_array_bytes(const struct record_info *i, int size, int k);
size_t record_array_at(const struct record_info *i, int size, int k);
size_t record_size_bytes(const struct record_info *i, int size);
/* Of the largest raw sample; of all, and the elements of array k in all. */
size_t record_raw_bytes(const struct record_info *i);
double record_all_bytes(const struct record_info *i);
int64_t record_elements(const struct record_info *i, int k);
/* Checks what both sides must agree on: ranks, extents, numbers of names, overflow. NULL if all
 * is well, else what is wrong. */
const char *record_info_fault(const struct record_info *i);

/* --- writing --- */

struct record_writer;

/* Starts a file under a temporary name. info: all but samples, sizes, statistics and counts;
 * copied. level: zstd's, 1 to 19; 0: all is stored as it is. */
int record_create(struct record_writer **out, const char *path, const struct record_info *info,
                  int level);
/* The same under the file's name and ".part", where what a killed writer left is kept for
 * record_again; keep: so is what this one leaves if it is discarded. */
int record_create_part(struct record_writer **out, const char *path, const struct record_info *info,
                       int level, bool keep);
/* A sample to write. */
struct record_sample {
	const void *const *data;       /* plain arrays, in the order of their numbers */
	const struct shape *shape;     /* theirs; NULL: those of info */
	const char *key, *group;       /* or NULL */
};
/* Appends one sample. E_DATA if a shape differs from info's in more than the extents of places. */
int record_add(struct record_writer *w, const struct record_sample *s);
/* The same of input and target of info's shapes. */
int record_append(struct record_writer *w, const void *input, const void *target);
/* Where the samples are, in place of info's axes: of all that were written. Copied. */
void record_set_axes(struct record_writer *w, const struct axes *axes);
/* The same of info's target_names. */
void record_set_target_names(struct record_writer *w, const char *const *names);
/* How many samples and bytes are written. */
int64_t record_written(const struct record_writer *w, uint64_t *bytes);
/* Writes all that follows the samples and makes the file visible. Frees w whatever the outcome. */
int record_commit(struct record_writer *w);
/* The same, but the whole file keeps its temporary name until io_commit of *file. */
struct io_file;
int record_finish(struct record_writer *w, struct io_file **file);
/* Frees w and removes the temporary file. NULL is fine. */
void record_discard(struct record_writer *w);

/* --- reading --- */

struct record;
struct record_decoder;

/* Checks everything but the samples, and keeps all that follows them in memory. E_NOINPUT, E_IO,
 * or E_DATA with file and byte offset. */
int record_open(struct record **out, const char *path);
/* The same for an image in memory, which must outlive the record; name stands for the path in
 * messages. For tests. */
int record_parse(struct record **out, const char *name, const void *image, size_t size);
void record_free(struct record *r);                                   /* NULL is fine */
const struct record_info *record_info(const struct record *r);
const char *record_path(const struct record *r);
/* The footer's hash: identifies the content, samples included. */
uint64_t record_hash(const struct record *r);
uint64_t record_file_bytes(const struct record *r);                         /* of the file */
/* The length of the description and its text (not NUL-terminated). */
const char *record_description(const struct record *r, size_t *n);

/* Sample i: the number of its size, and what it is called and belongs to (NULL: not said). */
int record_size_of(const struct record *r, int64_t i);
const char *record_key(const struct record *r, int64_t i);
const char *record_group(const struct record *r, int64_t i);

enum record_codec { RECORD_RAW, RECORD_ZSTD, RECORD_PLANES, RECORD_CODECS };

struct record_chunk {
	int array;                     /* whose it is */
	int64_t number;                /* in its array */
	uint64_t offset, stored, raw;  /* bytes */
	uint64_t codec;                /* enum record_codec */
	uint64_t hash;
};
/* How many chunks sample i has, and chunk k of them. */
int64_t record_chunks(const struct record *r, int64_t i);
struct record_chunk record_chunk_get(const struct record *r, int64_t i, int64_t k);

/* Where the stored bytes of chunks come from in place of the file. */
struct record_source {
	/* The n bytes from byte `at` on, which are of one chunk, into p; any thread. fresh: what came
	 * before was not as its hash says. E_IO, or another error. */
	int (*read)(void *self, uint64_t at, void *p, size_t n, bool fresh);
	void *self;
};
/* Before r is read. s is borrowed. */
void record_read_from(struct record *r, const struct record_source *s);

struct record_decoder *record_decoder_new(void);
void record_decoder_free(struct record_decoder *d);                   /* NULL is fine */
/* How many stored bytes of samples were read with it so far. */
uint64_t record_decoder_bytes(const struct record_decoder *d);
/* Room for any sample of r, so that record_read need not obtain it. */
void record_decoder_reserve(struct record_decoder *d, const struct record *r);
/* Sample i into raw (record_size_bytes of its size). All hashes are checked; E_DATA with file,
 * sample, array, chunk and byte; E_IO if it cannot be read, or the file was changed since it was
 * opened. Damaged bytes of another source than the file are asked for once more. */
int record_read(const struct record *r, struct record_decoder *d, int64_t i, void *raw);
/* The same of chunk k of record_chunks alone, to its place in raw. */
int record_read_chunk(const struct record *r, struct record_decoder *d, int64_t i, int64_t k,
                      void *raw);
/* Takes values of an array piece by piece in place of memory for all of it: n of them as they are
 * stored, aligned for their type, from the array's element `first` on. Any thread; before the
 * chunk's hash is checked, and again where damaged bytes are asked for once more. */
struct record_taker {
	void (*take)(void *self, int64_t first, const void *values, int64_t n);
	void *self;
};
/* As record_read_chunk, to a taker. */
int record_take_chunk(const struct record *r, struct record_decoder *d, int64_t i, int64_t k,
                      const struct record_taker *taker);
/* n rows of array k of sample i from row `first` on, along record_axis(k), which is not -1: a plain
 * array of n rows. Reads, and checks, the chunks alone that have some of them. For tests: loaders
 * read whole samples. */
int record_read_rows(const struct record *r, struct record_decoder *d, int64_t i, int k,
                     int64_t first, int64_t n, void *out);

#endif
