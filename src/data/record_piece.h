/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Samples piece by piece, for writers whose samples are larger than memory and for those that code
 * on several threads. A piece is what becomes a chunk: some rows of an array along its first axis
 * of places. Pieces are measured and coded in any order and on any thread, each by a coder of its
 * own, and put into the file in their order: sample by sample, array by array. */
#ifndef DLX_DATA_RECORD_PIECE_H
#define DLX_DATA_RECORD_PIECE_H

#include "data/record.h"

struct record_piece {
	int array;
	int64_t number;                /* of the chunk in its array */
	struct shape shape;            /* of the piece: the array's but for the rows */
	int axis;                      /* that is cut; -1: there is none */
	int64_t first, rows;           /* along it */
	size_t bytes;
};

/* How many pieces a sample of these shapes (of each array) has, and piece p of them. */
int64_t record_pieces(const struct record_info *i, const struct shape *shape);
struct record_piece record_piece_get(const struct record_info *i, const struct shape *shape,
                                     int64_t p);

/* How many statistics of array k a writer keeps: the nstats that the following want it to have. */
int record_statistics(const struct record_info *i, int k);
/* Rows of array k, of this shape, in a chunk; 0: it is not cut. */
int64_t record_rows(const struct record_info *i, const struct shape *shape, int k);

struct moments;

/* A piece as it is to be stored, and what was measured of it. The pointers are to the coder's
 * memory or the caller's. */
struct record_coded {
	struct record_piece piece;
	const void *raw;
	uint64_t content;              /* the hash of raw */
	uint64_t stored_hash;          /* record_hash_stored */
	struct record_chunk chunk;     /* codec and bytes */
	const void *stored;
	const struct moments *moments; /* of its channels */
	int nmoments;
	bool counted;                  /* the labels are in what follows; else the writer counts them */
	bool classes;                  /* all of them can be classes */
	const int64_t *counts;
	int ncounts;
	int64_t ignored;
};

struct record_coder;
struct record_coder *record_coder_new(const struct record_info *i, int level);   /* NULL: E_NOMEM */
void record_coder_free(struct record_coder *c);                                   /* NULL is fine */
/* raw: the piece's plain array. out is good until the coder's next piece. E_BUG where zstd fails,
 * E_DATA for a label that is none of info's classes; `sample` is for its message. */
int record_code(struct record_coder *c, const struct record_info *i, const struct record_piece *p,
                const void *raw, int64_t sample, struct record_coded *out);
/* The part of record_code that measures; out is good without codec and stored bytes. */
int record_measure_piece(struct record_coder *c, const struct record_info *i,
                         const struct record_piece *p, const void *raw, int64_t sample,
                         struct record_coded *out);
/* How many bytes a struct moments has, for callers that keep what out points to. */
size_t record_moments_bytes(void);

/* Begins a sample: its pieces follow, all of them, by record_put. s: without data. E_DATA as
 * record_add's. */
int record_begin(struct record_writer *w, const struct record_sample *s);
int record_put(struct record_writer *w, const struct record_coded *c);
/* In place of record_put, of a piece that an earlier writer of the same file put there: reads,
 * verifies and measures it. False of *good: it is damaged or not there, and w is good for
 * record_discard alone. Before the first record_put. */
int record_again(struct record_writer *w, const struct record_piece *p,
                 const struct record_chunk *c, bool *good);
/* The entries of the last sample's chunks, *n of them; good until the next sample. */
const struct record_chunk *record_last_chunks(const struct record_writer *w, int64_t *n);

#endif
