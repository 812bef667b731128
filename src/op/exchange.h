/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Point-to-point messages between ranks. Sending and waiting are two nodes, so that other nodes run
 * in between:
 *
 *   exchange_send   (x..., [anchor]) -> ticket      sends x[k] to rank to[k]
 *   exchange_wait   (ticket) -> y...                what rank from[j] has sent
 *
 * Both nodes have the same attributes, including both lists, and each ticket has one wait: a rank
 * that only sends or only receives has both nodes, too. A wait that receives nothing outputs a
 * zero. It is neither removed as dead code nor left out of the gradient, because other ranks need
 * the messages of its send. A send with an empty list `to` has a last input, the anchor, which is
 * not sent: it is the tensor of which other ranks send pieces to this rank, and makes the ticket
 * depend on it. The anchor is optional if `to` is not empty. So all ranks emit the same gradient
 * nodes, whatever their lists: the gradient of a wait sends dL/dy to the rank that sent y (zeros if
 * this rank's loss does not depend on y); the gradient of a send waits for dL/dx, and is zero for
 * the anchor.
 *
 * Message numbers (id) are below EXCHANGE_GRADIENT, and unique for each pair of sender and
 * receiver; ranks that exchange messages with each other must emit the nodes for them in the same
 * order. The messages of a gradient are numbered automatically: id plus the smallest multiple of
 * EXCHANGE_GRADIENT that is not taken between these ranks in this direction.
 *
 * The elements of messages are of type `wire` (float64 on a device that computes in float64),
 * whatever the type in which a device stores x and y, so that both ranks agree. With one rank
 * (links.messages is NULL) nothing is sent, and y is zero. */
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
