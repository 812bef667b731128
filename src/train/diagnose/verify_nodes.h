/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds the first node of the forward pass that computes other values in a sample that is cut than
 * in a whole one. */
#ifndef DLX_TRAIN_VERIFY_NODES_H
#define DLX_TRAIN_VERIFY_NODES_H

#include "train/diagnose/verify_run.h"

struct verify_node {
	bool found;
	tid t;                           /* the node's first output, by which nodes are in order */
	char layer[96];
	const char *op;
	struct loc loc;
	int subdomain;
	bool rows;                       /* whether the subdomain has some rows of the output only */
	struct cut_rows has[CUT_AXES];   /* these rows */
	struct cut_rows off[CUT_AXES];   /* the first to the last row that differs */
	double by;                       /* root of the sum of squares of the differences, relative to
	                                  * that of the output's values in the whole sample */
};

/* Runs the forward pass node by node, without fusion, on whole samples and on cut ones. A node
 * differs where the difference exceeds `tolerance`. found is false if none does. Call it after
 * verify_whole. */
int verify_nodes(struct verify_run *r, double tolerance, struct verify_node *out);

#endif
