/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages to other ranks and from them, as two nodes, so that others run in between:
 *
 *   exchange_send   (x..., [anchor]) -> ticket      sends x[k] to rank to[k]
 *   exchange_wait   (ticket) -> y...                what rank from[j] has sent
 *
 * Both nodes have the same attributes, both lists among them, and each ticket has one wait: a rank
 * that only sends, or only receives, has both nodes too. A wait for nothing (its output is a zero
 * then) is not dead code, and is differentiated: its ticket is of value to other ranks. A send of
 * nothing says by its last input, the anchor, which is not sent, what the ticket depends on: the
 * tensor of which other ranks send pieces to this one. Where to is not empty the anchor may be left
 * off. So the messages of a gradient depend on no rank's own lists: the gradient of a wait sends
 * dL/dy to where y came from (zeros where this rank's loss does not depend on y), that of a send
 * waits for dL/dx, and adds nothing for the anchor.
 *
 * The numbers (id) of messages are below EXCHANGE_GRADIENT, and different among those from one rank
 * to another; ranks that exchange messages with each other must emit the nodes for them in the same
 * order. Gradients get numbers by themselves: id plus the smallest multiple of EXCHANGE_GRADIENT
 * that is not taken between these ranks in this direction.
 *
 * Messages are of element type `wire` (float64 on a device that computes in it), whatever a
 * device stores x and y in: both ends agree. Without an exchange (one rank, links.messages is
 * NULL) nothing is sent, and y is zero. */
#ifndef DLX_OP_EXCHANGE_H
#define DLX_OP_EXCHANGE_H

#include "graph/op.h"

#define EXCHANGE_GRADIENT ((int64_t)1 << 24)

struct exchange_attr {
	struct ints to, to_id;       /* what is sent: the receiving ranks of the plan's team, the
	                              * message numbers, */
	struct strings to_name;      /* names for reports: "conv3: row 64", */
	struct ints to_shape;        /* shapes, one after another, each preceded by its axes:
	                              * 4, 1, 8, 1, 66 for (1, 8, 1, 66) */
	struct ints from, from_id;   /* what is received: the same lists */
	struct strings from_name;
	struct ints from_shape;
	int wire;                    /* element type of messages, an index in all_reduce_wires: f32 bf16
	                              * fp16 */
	int64_t depth;               /* messages that may be in flight between two ranks at a time, 1 or
	                              * more */
};

/* The element type of the messages that node n sends or receives. */
enum dtype exchange_wire(const struct device *dev, const struct node *n);
/* The attributes of n if it is an exchange_send (an exchange_wait); else NULL. */
const struct exchange_attr *exchange_sends(const struct node *n);
const struct exchange_attr *exchange_waits(const struct node *n);

#endif
