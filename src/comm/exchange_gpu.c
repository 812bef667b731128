/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages between GPUs. What a node sends is read where it is, and what it receives is written to
 * a block of the exchange, by one group of NCCL's in the compute stream. A node's group ends when
 * those of its peers have begun; ranks that exchange messages have their nodes in the same order,
 * so all groups end. A later message of an edge overwrites this one only after the node that takes
 * this one, since both are in the compute stream: so the depth is 1. */
#include <string.h>

#include "backend/device.h"
#include "base/err.h"
#include "base/mem.h"
#include "comm/exchange_state.h"
#include "comm/nccl.h"
#include "comm/reducer_nccl.h"

struct exchange_gpu {
	const struct device *dev;
	struct nccl *nccl;
	struct reducer_nccl *marks;  /* by node */
	int *received, *first;       /* the receiving edges, node after node; by node: its first one */
	void *block;                 /* of received messages */
	size_t bytes;
};

static int64_t apart(const struct exchange_edge *e)
{
	return e->sends ? 0 : (e->bytes + 255) & ~INT64_C(255);
}

static int64_t block_bytes(const struct exchange_edge *edge, int n)
{
	int64_t bytes = 0;
	for (int k = 0; k < n; k++)
		bytes += apart(&edge[k]);
	return bytes;
}

int64_t exchange_gpu_bytes(const struct exchange_edge *edge, int n, int nodes)
{
	return nodes ? block_bytes(edge, n) + (int64_t)reducer_nccl_bytes(0, NULL, 0, 1) : 0;
}

/* --- set-up --- */

static int obtain(struct exchange *x, struct exchange_gpu *gpu)
{
	char *at;
	if (gpu->bytes == 0)
		return 0;
	at = gpu->block = device_alloc(gpu->dev, gpu->bytes);
	if (!at)
		return ERR(E_NOMEM, NULL, "the GPU has no room for %.1f MB of messages; make "
		           "'train.batch_size' smaller", (double)gpu->bytes / 1e6);
	for (int k = 0; k < x->n; k++) {
		x->end[k].place = at;
		at += apart(&x->end[k].edge);
	}
	return 0;
}

/* Lists the receiving edges of each node, in the order in which their senders send. */
static void list_received(const struct exchange *x, struct exchange_gpu *gpu, int nodes)
{
	int n = 0;
	gpu->received = mem_calloc((size_t)x->n + 1, sizeof *gpu->received);
	gpu->first = mem_calloc((size_t)nodes + 1, sizeof *gpu->first);
	for (int node = 0; node < nodes; node++) {
		gpu->first[node] = n;
		for (int k = 0; k < x->n; k++) {
			const struct exchange_edge *e = &x->end[x->order[k]].edge;
			if (!e->sends && e->node == node)
				gpu->received[n++] = x->order[k];
		}
	}
	gpu->first[nodes] = n;
}

static int open_marks(struct exchange *x, const struct reducer_place *where, int nodes)
{
	struct reducer_bucket *b = mem_calloc((size_t)nodes + 1, sizeof *b);
	for (int k = 0; k < nodes; k++)
		b[k] = (struct reducer_bucket){ .dtype = DTYPE_F32, .name = "?" };
	for (int k = x->n; k-- > 0;)
		b[x->end[k].edge.node].name = x->end[k].edge.name;
	int rc = reducer_nccl_new_marks(&x->gpu->marks, where, b, nodes);
	mem_free(b);
	return rc;
}

int exchange_new_gpu(struct exchange **out, const struct reducer_place *where,
                     const struct exchange_edge *edge, int n, int nodes)
{
	struct exchange *x = exchange_allocate(where->comm, edge, n);
	int rc = exchange_compare(x);
	x->gpu = mem_calloc(1, sizeof *x->gpu);
	*x->gpu = (struct exchange_gpu){ .dev = where->dev, .nccl = where->nccl,
		.bytes = (size_t)block_bytes(edge, n) };
	list_received(x, x->gpu, nodes);
	if (rc == 0 && nodes)
		rc = comm_agree(where->comm, obtain(x, x->gpu), "memory for messages");
	if (rc == 0 && nodes)
		rc = open_marks(x, where, nodes);
	if (rc < 0) {
		exchange_free(x);
		x = NULL;
	}
	*out = x;
	return rc;
}

void exchange_gpu_free(struct exchange_gpu *gpu)
{
	if (!gpu)
		return;
	if (gpu->marks)
		reducer_nccl_free(gpu->marks);
	device_free(gpu->dev, gpu->block, gpu->bytes);
	mem_free(gpu->received);
	mem_free(gpu->first);
	mem_free(gpu);
}

/* --- in a step --- */

struct swap {
	struct exchange *x;
	int node, n;
	const int *edge;
	const void *const *from;
};

static int enqueue(void *argument, void *stream)
{
	const struct swap *s = argument;
	const struct exchange_gpu *gpu = s->x->gpu;
	struct nccl *nccl = gpu->nccl;
	int rc = 0;
	TRY(nccl_begin(nccl));
	for (int i = 0; i < s->n && rc == 0; i++) {
		const struct exchange_edge *e = &s->x->end[s->edge[i]].edge;
		rc = nccl_send(nccl, e->peer, s->from[i], e->bytes / (int64_t)sizeof(float), stream);
	}
	for (int k = gpu->first[s->node]; k < gpu->first[s->node + 1] && rc == 0; k++) {
		const struct exchange_end *e = &s->x->end[gpu->received[k]];
		rc = nccl_receive(nccl, e->edge.peer, e->place, e->edge.bytes / (int64_t)sizeof(float),
		                  stream);
	}
	const int ended = nccl_end(nccl);
	return rc < 0 ? rc : ended;
}

int exchange_swap(struct exchange *x, int node, const int *edge, const void *const *from, int n)
{
	struct swap s = { x, node, n, edge, from };
	int64_t bytes = 0;
	for (int i = 0; i < n; i++)
		bytes += x->end[edge[i]].edge.bytes;
	x->stats.bytes += (double)bytes;
	x->stats.messages += n;
	return reducer_nccl_mark(x->gpu->marks, node, enqueue, &s, bytes);
}

const void *exchange_received(const struct exchange *x, int k)
{
	return x->end[k].place;
}
