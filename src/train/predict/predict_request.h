/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The argument of "--predict" for networks of equations: "grid: {x: 201, t: 101}", "record: FILE"
 * or just FILE, with further keys. */
#ifndef DLX_TRAIN_PREDICT_REQUEST_H
#define DLX_TRAIN_PREDICT_REQUEST_H

#include "yaml/schema.h"

struct predict_request {
	const struct ynode *grid;        /* NULL if there is a record; both NULL: neither is given */
	const char *record, *sensors;
	struct strings network;          /* those to write; none: all */
	int64_t realizations, seed;      /* INT64_MIN: not given */
	bool samples;
};

/* Lists and texts are in arena a. E_USAGE, with the place in the argument of "--predict". */
int predict_request_read(struct arena *a, const char *given, struct predict_request *out);

#endif
