/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A piece of a sample on its way from the sources to the record: read, turned into doubles with NaN
 * where values are missing, given its validity mask, fill values and classes, narrowed to its type
 * and coded. */
#ifndef DLX_DATA_TOOLS_CONVERT_PIECE_H
#define DLX_DATA_TOOLS_CONVERT_PIECE_H

#include "data-tools/convert/convert.h"
#include "data/record_piece.h"
#include "data-tools/convert/target_seen.h"

/* What is counted for the words at the end. */
struct piece_counts {
	int64_t filled_input, filled_target, rounded;
};
void piece_counts_add(struct piece_counts *to, const struct piece_counts *n);

struct piece {
	int64_t at, sample;            /* in c->sample, and the sample there */
	bool first;                    /* of its sample */
	struct shape shape[2];         /* of the sample's input and target */
	struct record_piece cut;
	struct record_coded coded;
	struct piece_counts counts;
	/* its memory, which serves again */
	struct side_raw *raw[2];
	uint8_t *out, *stored;
	void *moments;
	int64_t *labels;
	size_t out_room, stored_room, moments_room, labels_room;
};

/* The shapes of the sample's arrays, whose files it opens; E_DATA. */
int piece_shapes(const struct conversion *c, struct side *input, struct side *target,
                 int64_t sample, struct shape shape[2]);
/* Reads what the piece has of the sources, by these sides: one thread at a time for each. */
int piece_fetch(struct piece *p, const struct conversion *c, struct side *input,
                struct side *target);
void piece_release(struct piece *p);

/* E_USAGE if --fill is no value of the type. */
int piece_check_fill(const struct conversion *c, enum dtype t);

/* A thread's own: one for any number of pieces. */
struct maker;
struct maker *maker_new(const struct conversion *c);               /* E_NOMEM: NULL */
void maker_free(struct maker *m);                                  /* NULL is fine */
/* All that follows piece_fetch: sets p->coded and p->counts. */
int piece_make(struct piece *p, struct maker *m);
/* Adds the target's values that were seen. */
void maker_add_seen(const struct maker *m, struct target_seen *all);

#endif
