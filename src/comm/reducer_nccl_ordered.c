/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All-reduce in the order of comm/sum.h, the same bits on any number of ranks.
 * NCCL adds in an order of its own, so it is used only to send: each rank receives
 * its shard from all others, adds the shards as a tree over the ranks, and sends
 * the sum to all. Each rank sends and receives 2 (n - 1) / n of the bucket, as in a
 * ring. Large buckets are processed in pieces, which bounds the memory. */
#include "base/err.h"
#include "base/round.h"
#include "comm/reducer_nccl_state.h"

#define PIECE (INT64_C(1) << 24)       /* elements */
#define ALIGNMENT 64                   /* alignment of shards, in elements */

static int64_t shard_of(int64_t n, int ranks)
{
	return ceil_div(ceil_div(n, ranks), ALIGNMENT) * ALIGNMENT;
}

static int64_t piece_of(int64_t n)
{
	return n < PIECE ? n : PIECE;
}

size_t reducer_nccl_scratch(const struct reducer_bucket *bucket, int n, int ranks)
{
	int64_t most = 0;
	for (int k = 0; k < n; k++) {
		const struct reducer_bucket *g = &bucket[k];
		BUG_IF(g->ordered && g->dtype != DTYPE_F32, "'%s' has an order, but is not float32",
		       g->name);
		if (g->ordered && ranks > 1 && g->n > most)
			most = g->n;
	}
	return (size_t)(shard_of(piece_of(most), ranks) * ranks) * sizeof(float);
}

static int sum_piece(const struct reducer_nccl *r, float *p, int64_t n)
{
	void *stream = cuda_side_stream(r->side);
	const int64_t each = shard_of(n, r->c->size), first = each * r->c->rank,
	              mine = n - first < each ? n - first : each;
	TRY(nccl_share(r->nccl, p, n, each, r->scratch, stream));
	if (mine > 0)
		TRY(cuda_side_add(r->side, &(struct cuda_parts){ r->c->size, r->c->rank, mine, each,
			r->scratch }, p + first));
	return nccl_collect(r->nccl, p, n, each, stream);
}

int reducer_nccl_ordered(const struct reducer_nccl *r, float *p, int64_t n)
{
	for (int64_t at = 0; at < n; at += PIECE)
		TRY(sum_piece(r, p + at, piece_of(n - at)));
	return 0;
}
