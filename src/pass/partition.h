/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes the graph of one subdomain when each sample is partitioned over ranks (pass/cut.h). Each
 * cut tensor has the subdomain's rows only. If a node reads rows of other subdomains, an exchange
 * node before it receives them (halo exchange, op/exchange.h); padding remains only at the borders
 * of the whole sample. A node that needs a whole tensor is computed redundantly by all subdomains,
 * after they have gathered its rows. Sums over positions become all-reduces over a group of ranks,
 * which the pass `statistics` numbers.
 *
 * This runs before differentiation; the gradient of an exchange is an exchange. If a stride skips
 * all rows of a subdomain, a parameter may have no gradient on that rank although it has one on the
 * others: there the gradient is zero. */
#ifndef DLX_PASS_PARTITION_H
#define DLX_PASS_PARTITION_H

#include "pass/cut.h"

struct partition {
	struct cut_grid grid;
	int subdomain;               /* number of the subdomain that the graph is for, from 0 on */
	int first;                   /* rank of subdomain 0; subdomain i is on rank first + i */
	tid input, target, output;   /* as for cut_find */
};

/* Changes g, the graph as its builder made it, into the graph of one subdomain. The order of tensor
 * and node ids is kept, and so are the shapes of params. *c is the plan of the partition of the
 * original graph, for descriptions; its lists are in g's arena. Fails as cut_find does, and with
 * E_UNSUPPORTED at a node that cannot be partitioned. */
int partition_graph(struct graph *g, const struct partition *p, struct cut *c);

/* After partition_graph: emits nodes by which every subdomain gets the whole of tensor t, of which
 * it has rows. *whole is t itself if that is not cut. */
int partition_gather(struct graph *g, const struct partition *p, struct cut *c, tid t, tid *whole);

#endif
