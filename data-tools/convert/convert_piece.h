/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Converts a piece of a sample from the sources to the record: reads it, converts it to doubles
 * with NaN for missing values, applies validity mask, fill values and classes, converts it to the
 * record's type, and encodes it. */
#ifndef DLX_DATA_TOOLS_CONVERT_PIECE_H
#define DLX_DATA_TOOLS_CONVERT_PIECE_H

#include "data-tools/convert/convert.h"
#include "data/record_piece.h"
#include "data-tools/convert/target_seen.h"

/* Numbers of values that were filled or rounded, for the summary at the end. */
struct piece_counts {
	int64_t filled_input, filled_target, rounded;
};
void piece_counts_add(struct piece_counts *to, const struct piece_counts *n);

struct piece {
	int64_t at, sample;            /* index in c->sample; the sample there */
	bool first;                    /* it is the first piece of its sample */
	struct shape shape[2];         /* of the sample's input and target */
	struct record_piece cut;
	struct record_coded coded;
	struct piece_counts counts;
	/* buffers, which are reused for further pieces */
	struct side_raw *raw[2];
	uint8_t *out, *stored;
	void *moments;
	int64_t *labels;
	size_t out_room, stored_room, moments_room, labels_room;
};

/* Opens the sample's files and gets the shapes of its arrays. E_DATA. */
int piece_shapes(const struct conversion *c, struct side *input, struct side *target,
                 int64_t sample, struct shape shape[2]);
/* Reads the piece from the sources of these sides. Only one thread at a time may use a side. */
int piece_fetch(struct piece *p, const struct conversion *c, struct side *input,
                struct side *target);
void piece_release(struct piece *p);

/* E_USAGE if --fill cannot be represented in type t. */
int piece_check_fill(const struct conversion *c, enum dtype t);

/* Working memory of one thread, for any number of pieces. */
struct maker;
struct maker *maker_new(const struct conversion *c);               /* E_NOMEM: NULL */
void maker_free(struct maker *m);                                  /* NULL is fine */
/* Does all work after piece_fetch, and sets p->coded and p->counts. */
int piece_make(struct piece *p, struct maker *m);
/* Adds the target values that m has converted to *all. */
void maker_add_seen(const struct maker *m, struct target_seen *all);

#endif
