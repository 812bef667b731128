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
#define RECORD_CHUNK (4 << 20)           /* target size of a chunk in bytes */

struct channel_stats {
	int64_t count;               /* valid values */
	double min, max, mean, std;  /* of the valid values; std is the population's; NaN if count is
	                              * 0 */
};

enum record_role { RECORD_INPUT, RECORD_TARGET, RECORD_WEIGHT, RECORD_EXTRA, RECORD_ROLES };

struct record_array {
	enum dtype dtype;
	struct shape shape;                   /* shape of a sample: (C, [D,] H, W); of labels: (H, W) or
	                                       * (); with several sizes, the first */
	const char *const *channels;          /* names, shape.d[0] of them, or NULL */
	int nstats;                           /* shape.d[0]; 0 for targets of an integer type */
	const struct channel_stats *stats;
	bool named_by_file;                   /* channel names were only derived from the file's name */
	enum record_role role;                /* for info.extra: weight or extra */
	const char *name;                     /* name; NULL (input and target only): that of the role */
	const char *const *units;             /* units of channels, "" if the source has none; or
	                                       * NULL */
};

/* One of the sizes of samples. Arrays are numbered: 0 the input, 1 the target (also if there is
 * none), from 2 on info.extra. */
struct record_size {
	int64_t samples;
	const struct shape *shape;            /* of each array */
	const int64_t *rows;                  /* for each array, rows in a chunk; 0: it is not cut */
};

/* Value of `pairing` if inputs and targets were paired by index and their coordinates were not
 * compared. */
#define RECORD_BY_INDEX "by index"

struct record_info {
	int64_t samples;
	struct record_array input, target;    /* target: see record_no_target */
	int mask;                             /* number of the mask channel, which is not 0 at valid
	                                       * points; -1: none */
	int64_t ignore;                       /* for integer targets: the value that means "no label" */
	int nclasses;                         /* number of classes of integer targets; 0: unknown */
	const char *const *classes;           /* names, or NULL */
	const int64_t *class_counts;          /* number of occurrences of each class; NULL: not
	                                       * counted */
	int64_t ignored;                      /* number of occurrences of `ignore` */
	int nsources;
	const char *const *sources;           /* the files it was made from */
	const uint64_t *hashes;               /* for each sample, a hash of all its values: equal
	                                       * samples have equal hashes; NULL: not kept. The writer
	                                       * computes them */
	const char *command;                  /* the command that made it, or NULL */
	const char *const *target_names;      /* for each sample, the file that its target comes from,
	                                       * if each has its own file; or NULL */
	const char *pairing;                  /* how inputs and targets with different coordinates were
	                                       * paired: RECORD_BY_INDEX or a text; or NULL */
	struct axes axes;                     /* axes of samples and positions; only if all samples have
	                                       * one size */
	int nextra;
	const struct record_array *extra;     /* further arrays */
	int nsizes;                           /* 0 before anything is written: the shapes above */
	const struct record_size *size;
};

/* The value of `target` if samples have no target, as in data for prediction. */
struct record_array record_no_target(void);
bool record_has_target(const struct record_info *i);
/* Whether a target of this shape and type has a value for each point of the input: its last axes
 * are those of the input after the channels. The one axis of a vector of floats is its channels,
 * however long it is; that of integers is places, as labels have no channels. */
bool record_target_is_map(const struct shape *input, const struct shape *target, enum dtype type);
/* The number of arrays; array k; its name; its shape in the samples of size number `size`. */
int record_arrays(const struct record_info *i);
const struct record_array *record_array_get(const struct record_info *i, int k);
const char *record_array_name(const struct record_info *i, int k);
const struct shape *record_shape(const struct record_info *i, int size, int k);
/* Number of channels of array k: 1 if it has no channel axis. */
int64_t record_channels(const struct record_info *i, int k);
/* Number of channel names that array k has if it has names. */
int64_t record_names(const struct record_info *i, int k);
/* The axis of array k along which chunks are cut, its first axis of positions; -1: it has none. */
int record_axis(const struct record_info *i, int k);
/* Bytes of array k, and its byte offset in a raw sample; bytes of a raw sample, which is all arrays
 * one after another, each at a multiple of 8. */
size_t record_array_bytes(const struct record_info *i, int size, int k);
size_t record_array_at(const struct record_info *i, int size, int k);
size_t record_size_bytes(const struct record_info *i, int size);
/* Bytes of the largest raw sample; bytes of all samples; elements of array k in all samples. */
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
/* As record_create, but the temporary name is the file's name and ".part". If a writer was killed,
 * its file is kept for record_again; keep: the file is also kept when this writer is discarded. */
int record_create_part(struct record_writer **out, const char *path, const struct record_info *info,
                       int level, bool keep);
/* A sample to write. */
struct record_sample {
	const void *const *data;       /* plain arrays, in the order of their numbers */
	const struct shape *shape;     /* shapes of the arrays; NULL: those of info */
	const char *key, *group;       /* or NULL */
};
/* Appends one sample. E_DATA if a shape differs from info's in more than the extents of places. */
int record_add(struct record_writer *w, const struct record_sample *s);
/* Appends a sample of input and target with info's shapes. */
int record_append(struct record_writer *w, const void *input, const void *target);
/* Replaces info's axes, for all samples written. Copied. */
void record_set_axes(struct record_writer *w, const struct axes *axes);
/* Replaces info's target_names. */
void record_set_target_names(struct record_writer *w, const char *const *names);
/* The number of samples and bytes written so far. */
int64_t record_written(const struct record_writer *w, uint64_t *bytes);
/* Writes all that follows the samples and makes the file visible. Frees w whatever the outcome. */
int record_commit(struct record_writer *w);
/* As record_commit, but the complete file keeps its temporary name until io_commit of *file. */
struct io_file;
int record_finish(struct record_writer *w, struct io_file **file);
/* Frees w and removes the temporary file. NULL is fine. */
void record_discard(struct record_writer *w);

/* --- reading --- */

struct record;
struct record_decoder;

/* Opens a file: checks everything but the samples, and keeps all that follows them in memory.
 * E_NOINPUT, E_IO, or E_DATA with file and byte offset. */
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

/* Sample i: the index of its size, its key (name), and its group (NULL: none). */
int record_size_of(const struct record *r, int64_t i);
const char *record_key(const struct record *r, int64_t i);
const char *record_group(const struct record *r, int64_t i);

enum record_codec { RECORD_RAW, RECORD_ZSTD, RECORD_PLANES, RECORD_CODECS };

struct record_chunk {
	int array;                     /* number of the array that it is part of */
	int64_t number;                /* index of the chunk within its array */
	uint64_t offset, stored, raw;  /* bytes */
	uint64_t codec;                /* enum record_codec */
	uint64_t hash;
};
/* The number of chunks of sample i, and chunk k of them. */
int64_t record_chunks(const struct record *r, int64_t i);
struct record_chunk record_chunk_get(const struct record *r, int64_t i, int64_t k);

/* A source of the stored bytes of chunks that replaces the file. */
struct record_source {
	/* Reads n bytes of one chunk, from byte `at` of the file on, into p. Any thread. fresh: the
	 * bytes read before did not match their hash. E_IO, or another error. */
	int (*read)(void *self, uint64_t at, void *p, size_t n, bool fresh);
	void *self;
};
/* Sets the source, before r is read. s is borrowed. */
void record_read_from(struct record *r, const struct record_source *s);

struct record_decoder *record_decoder_new(void);
void record_decoder_free(struct record_decoder *d);                   /* NULL is fine */
/* The number of stored bytes of samples that were read with this decoder so far. */
uint64_t record_decoder_bytes(const struct record_decoder *d);
/* Allocates memory for any sample of r in advance, so that record_read need not. */
void record_decoder_reserve(struct record_decoder *d, const struct record *r);
/* Decodes sample i into raw (record_size_bytes of its size). All hashes are checked. E_DATA with
 * file, sample, array, chunk and byte; E_IO if it cannot be read or the file was changed after it
 * was opened. If bytes from a record_source are damaged, they are requested once more. */
int record_read(const struct record *r, struct record_decoder *d, int64_t i, void *raw);
/* Decodes only chunk k of record_chunks, to its position in raw. */
int record_read_chunk(const struct record *r, struct record_decoder *d, int64_t i, int64_t k,
                      void *raw);
/* Receives the values of an array piece by piece, so that no memory is needed for the whole array:
 * n values as stored, aligned for their type, from the array's element `first` on. Called in any
 * thread, before the chunk's hash is checked; and again if damaged bytes are requested once
 * more. */
struct record_taker {
	void (*take)(void *self, int64_t first, const void *values, int64_t n);
	void *self;
};
/* As record_read_chunk, to a taker. */
int record_take_chunk(const struct record *r, struct record_decoder *d, int64_t i, int64_t k,
                      const struct record_taker *taker);
/* Reads rows first .. first + n - 1 of array k of sample i, along record_axis(k), which must not be
 * -1, into a plain array. It reads and checks only the chunks that contain them. For tests: loaders
 * read whole samples. */
int record_read_rows(const struct record *r, struct record_decoder *d, int64_t i, int k,
                     int64_t first, int64_t n, void *out);

#endif
