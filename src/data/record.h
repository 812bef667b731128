/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The record file: samples of two arrays, `input` and `target`, each sample one zstd frame.
 * Also described in dlx-record(5).
 *
 *   0           magic "DLXREC\r\n" | u32 version (1) | u32 zero               16 bytes
 *   16          frame 0 | frame 1 | ... | frame n-1     zstd with content checksum, back to back
 *   D           description: one JSON object, padded with spaces so that I is a multiple of 8
 *   I           index: n entries of 40 bytes
 *                 u64 offset | u64 frame bytes | u64 raw bytes |
 *                 u64 XXH3 of the frame | u64 XXH3 of the raw bytes
 *   size - 48   footer: u64 D | u64 I | u64 n | u64 size of the file |
 *                 u64 XXH3 of (bytes 0-15, description, index, first 32 bytes of the footer) |
 *                 magic "DLXEND\r\n"
 *
 * All integers and values are little-endian. Raw bytes of a sample: the input in row-major
 * order, zeros to a multiple of 8, the target. The description follows the frames because
 * it holds the statistics, known only then; the file is still written in one pass and opened by
 * reading its end. There are no gaps: each byte belongs to exactly one part and each part to a
 * hash, so any truncation or flipped bit is found.
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

#define RECORD_VERSION 1
#define RECORD_MAX_CLASSES 65536
#define RECORD_NO_IGNORE INT64_MIN

struct channel_stats {
	int64_t count;               /* valid values */
	double min, max, mean, std;  /* of them; std is the population's; NaN if count is 0 */
};

struct record_array {
	enum dtype dtype;
	struct shape shape;                   /* of a sample: (C, [D,] H, W); labels: (H, W), () */
	const char *const *channels;          /* names, shape.d[0] of them, or NULL */
	int nstats;                           /* shape.d[0]; 0 for targets of an integer type */
	const struct channel_stats *stats;
	bool named_by_file;                   /* names say what the file was called, no more */
};

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
	const char *command;                  /* the command that made it, or NULL */
	struct axes axes;                     /* of samples and their places */
};

/* What `target` is where samples have none, as in data to predict: no values. */
struct record_array record_no_target(void);
bool record_has_target(const struct record_info *i);
/* Bytes of the input, and of a whole raw sample; where the target starts in one. */
size_t record_input_bytes(const struct record_info *i);
size_t record_target_bytes(const struct record_info *i);
size_t record_target_offset(const struct record_info *i);
size_t record_raw_bytes(const struct record_info *i);
/* Checks what both sides must agree on: ranks, extents, numbers of names, overflow. NULL if all
 * is well, else what is wrong. */
const char *record_info_fault(const struct record_info *i);

/* --- writing --- */

struct record_writer;

/* Starts a file under a temporary name. info: all but samples, statistics and counts; copied.
 * level: zstd's, 1 to 19. */
int record_create(struct record_writer **out, const char *path, const struct record_info *info,
                  int level);
/* Compresses and appends one sample, plain arrays of info's shapes and types. */
int record_append(struct record_writer *w, const void *input, const void *target);
/* Writes description, index and footer and makes the file visible. Frees w whatever the outcome. */
int record_commit(struct record_writer *w);
/* Frees w and removes the temporary file. NULL is fine. */
void record_discard(struct record_writer *w);

/* --- reading --- */

struct record;
struct record_decoder;

struct record_entry {
	uint64_t offset, frame_bytes, raw_bytes;
	uint64_t frame_hash, raw_hash;
};

/* Checks everything but the frames, and keeps description and index in memory. E_NOINPUT, E_IO,
 * or E_DATA with file and byte offset. */
int record_open(struct record **out, const char *path);
/* The same for an image in memory, which must outlive the record; name stands for the path in
 * messages. For tests. */
int record_parse(struct record **out, const char *name, const void *image, size_t size);
void record_free(struct record *r);                                   /* NULL is fine */
const struct record_info *record_info(const struct record *r);
const char *record_path(const struct record *r);
struct record_entry record_entry_get(const struct record *r, int64_t i);
/* The footer's hash: identifies the content, frames included. */
uint64_t record_hash(const struct record *r);
uint64_t record_size(const struct record *r);                         /* of the file */
/* The length of the description and its text (not NUL-terminated). */
const char *record_description(const struct record *r, size_t *n);

struct record_decoder *record_decoder_new(void);
void record_decoder_free(struct record_decoder *d);                   /* NULL is fine */
/* Room for any sample of r, so that record_read need not obtain it. */
void record_decoder_reserve(struct record_decoder *d, const struct record *r);
/* Sample i into raw (record_raw_bytes). Both hashes are checked; E_DATA with file, sample and
 * byte; E_IO if it cannot be read, or the file was changed since it was opened. */
int record_read(const struct record *r, struct record_decoder *d, int64_t i, void *raw);

#endif
