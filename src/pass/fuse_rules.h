/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rewrite rules of the pass `fuse`, parsed. fuse_rules.c has the rules as text; fuse.c searches
 * the graph for matches. */
#ifndef DLX_PASS_FUSE_RULES_H
#define DLX_PASS_FUSE_RULES_H

#include "graph/op.h"

/* In a rule each tensor is a letter, stored as a number from 0 on; NO_LETTER stands for a dash (no
 * tensor). */
enum { NO_LETTER = 26, LETTERS = 27, MAX_TENSORS = 10, MAX_TERMS = 4 };

struct fuse_term {
	const char *op;              /* names of the ops that match, separated by '|'; ends at a space
	                              * or slash */
	double slope;                /* the slope that an activation must have; NAN: any */
	int nin, nout;
	unsigned optional;           /* bit i: in[i] may be absent */
	int in[MAX_TENSORS], out[MAX_TENSORS];
};

struct fuse_pattern {
	bool across;                 /* the matched nodes may belong to different phases */
	struct fuse_term given[MAX_TERMS], from[MAX_TERMS], to[1];
	int ngiven, nfrom;
	const struct op *op;         /* the op of the fused node */
};

int fuse_rules(void);
/* Parses rule i into *p. Returns false if the rule is not for this backend. */
bool fuse_rule(struct fuse_pattern *p, int i, enum backend backend);

#endif
