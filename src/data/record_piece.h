/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes samples piece by piece, for writers whose samples are larger than memory or that compress
 * on several threads. A piece becomes one chunk: some rows of an array along its first axis of
 * positions. Pieces are measured and compressed in any order on any threads, each thread with its
 * own coder, and are appended to the file in order: sample by sample, array by array. */
#ifndef DLX_DATA_RECORD_PIECE_H
#define DLX_DATA_RECORD_PIECE_H

#include "data/record.h"

struct record_piece {
	int array;
	int64_t number;                /* index of the chunk within its array */
	struct shape shape;            /* shape of the piece: that of the array except for the rows */
	int axis;                      /* axis that is cut; -1: none */
	int64_t first, rows;           /* rows along that axis: first and number */
	size_t bytes;
};

/* The number of pieces of a sample with these shapes (one for each array), and piece p of them. */
int64_t record_pieces(const struct record_info *i, const struct shape *shape);
struct record_piece record_piece_get(const struct record_info *i, const struct shape *shape,
                                     int64_t p);

/* The number of statistics (nstats) that a writer keeps for array k; the functions below expect it
 * in info. */
int record_statistics(const struct record_info *i, int k);
/* Number of rows of array k, of this shape, in a chunk; 0: it is not cut. */
int64_t record_rows(const struct record_info *i, const struct shape *shape, int k);

struct moments;

/* A compressed piece and its statistics. The pointers are to memory of the coder or of the
 * caller. */
struct record_coded {
	struct record_piece piece;
	const void *raw;
	uint64_t content;              /* the hash of raw */
	uint64_t stored_hash;          /* record_hash_stored */
	struct record_chunk chunk;     /* codec and bytes */
	const void *stored;
	const struct moments *moments; /* moments of its channels */
	int nmoments;
	bool counted;                  /* labels were counted into the members below; else the writer
	                                * counts them */
	bool classes;                  /* all label values can be classes */
	const int64_t *counts;
	int ncounts;
	int64_t ignored;
};

struct record_coder;
struct record_coder *record_coder_new(const struct record_info *i, int level);   /* NULL: E_NOMEM */
void record_coder_free(struct record_coder *c);                                   /* NULL is fine */
/* Measures and compresses a piece. raw: its plain array. *out is valid until the coder's next
 * piece. E_BUG if zstd fails; E_DATA for a label that is not one of info's classes; `sample` is for
 * that message. */
int record_code(struct record_coder *c, const struct record_info *i, const struct record_piece *p,
                const void *raw, int64_t sample, struct record_coded *out);
/* As record_code, but only measures: *out has neither codec nor stored bytes. */
int record_measure_piece(struct record_coder *c, const struct record_info *i,
                         const struct record_piece *p, const void *raw, int64_t sample,
                         struct record_coded *out);
/* The size of a struct moments, for callers that copy what out points to. */
size_t record_moments_bytes(void);

/* Begins a sample. All its pieces must follow by record_put. s: its data are ignored. Errors of
 * record_add. */
int record_begin(struct record_writer *w, const struct record_sample *s);
int record_put(struct record_writer *w, const struct record_coded *c);
/* Used instead of record_put for a piece that an earlier writer of the same file has written:
 * reads, verifies and measures it. *good false: it is damaged or missing, and only record_discard
 * may be called on w. Must precede the first record_put. */
int record_again(struct record_writer *w, const struct record_piece *p,
                 const struct record_chunk *c, bool *good);
/* The index entries of the last sample's chunks, *n of them; valid until the next sample. */
const struct record_chunk *record_last_chunks(const struct record_writer *w, int64_t *n);

#endif
