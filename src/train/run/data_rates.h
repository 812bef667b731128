/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The amount of data that a run has read since it was started, and the time that its steps have
 * waited for data. The first step is not counted, since its wait for the first batch cannot be
 * hidden. */
#ifndef DLX_TRAIN_DATA_RATES_H
#define DLX_TRAIN_DATA_RATES_H

#include "plan/session.h"

struct data_rates {
	int64_t steps;                 /* steps of this rank, seconds in them, and seconds of waiting
	                                * for data; without the first step */
	double seconds, waited;
	/* As of the last data_rates_gather, for all ranks: */
	struct data_bytes bytes;
	int64_t sent;                  /* stored bytes that were sent from rank to rank */
	double share;                  /* the largest share of the steps' time that a rank has waited;
	                                * NaN: there was no second step */
};

void data_rates_step(struct data_rates *r, double seconds, double waited);
/* Gathers the data read for training and validation on all ranks. Collective. */
void data_rates_gather(struct data_rates *r, const struct session *s);
/* Appends "{"read": ..., "sent": ..., "decoded": ..., "waited": ...}". */
void data_rates_json(const struct data_rates *r, struct buf *out);
/* Appends a line for the end of a run. */
void data_rates_text(const struct data_rates *r, struct buf *out);

#endif
