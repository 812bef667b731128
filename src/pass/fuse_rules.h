/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rows of the pass `fuse` as terms: fuse_rules.c has them as text, fuse.c looks for them. */
#ifndef DLX_PASS_FUSE_RULES_H
#define DLX_PASS_FUSE_RULES_H

#include "graph/op.h"

/* Letters are numbers from 0 on; NO_LETTER is a dash. */
enum { NO_LETTER = 26, LETTERS = 27, MAX_TENSORS = 10, MAX_TERMS = 4 };

struct fuse_term {
	const char *op;              /* names with a bar between them; ends at a space or slash */
	double slope;                /* NAN: any */
	int nin, nout;
	unsigned optional;           /* bit i: in[i] may be absent */
	int in[MAX_TENSORS], out[MAX_TENSORS];
};

struct fuse_pattern {
	bool across;                 /* nodes may be of several phases */
	struct fuse_term given[MAX_TERMS], from[MAX_TERMS], to[1];
	int ngiven, nfrom;
	const struct op *op;         /* of the new node */
};

int fuse_rules(void);
/* Row i; false if it is not for this backend. */
bool fuse_rule(struct fuse_pattern *p, int i, enum backend backend);

#endif
