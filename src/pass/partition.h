/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The graph of one subdomain of a sample that is cut over ranks (pass/cut.h). Tensors have the
 * subdomain's rows; a node that reads rows of other subdomains gets them by messages
 * (op/exchange.h) in front of it, and padding stays where the sample ends. What is computed of all
 * of a tensor is computed by all subdomains, of rows that they have gathered. Sums over places get
 * a group of the statistics' reducer, which pass `statistics` numbers. Runs before there are
 * gradients: those of messages are messages. Where strides leave out all rows of a subdomain, a
 * parameter may have no gradient there that others have: it is zero. */
#ifndef DLX_PASS_PARTITION_H
#define DLX_PASS_PARTITION_H

#include "pass/cut.h"

struct partition {
	struct cut_grid grid;
	int subdomain;               /* of this graph, from 0 on */
	int first;                   /* the rank of subdomain 0; the others follow */
	tid input, target, output;   /* as for cut_find */
};

/* Changes g, as its builder made it, into the graph of a subdomain. Tensors and nodes keep their
 * ids' order, and params their shapes. *c, whose lists are in g's arena, is of the graph as it was,
 * for descriptions. Errors of cut_find; E_UNSUPPORTED at a node that cannot be cut. */
int partition_graph(struct graph *g, const struct partition *p, struct cut *c);

#endif
