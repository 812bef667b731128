/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bundles on the GPU. Pointers are known when a step is captured. Then the tables are made on the
 * stack, and launches pass them by value. */
#include "op/update/bundle_cuda.h"

#include "base/err.h"
#include "base/round.h"
#include "op/lib/cuda.h"

#ifdef HAVE_CUDA

struct bundle_cuda {
	int n;
	int64_t *count;              /* n entries: elements of each group, padding included */
	enum dtype *type;            /* n entries: element type of the gradient */
	int64_t blocks;
};

static int64_t blocks_of(int64_t count)
{
	return ceil_div(count, K_PIECE);
}

int bundle_cuda_plan(struct kplan *k, struct bundle_form f)
{
	struct bundle_cuda *b = k->state = ARENA_NEW(k->arena, struct bundle_cuda);
	b->n = bundle_groups(k->n, f);
	b->count = ARENA_ARRAY(k->arena, int64_t, b->n);
	b->type = ARENA_ARRAY(k->arena, enum dtype, b->n);
	for (int t = 0; t < b->n; t++) {
		const int first = f.head + t * f.in;
		b->count[t] = kplan_in_elements(k, first);
		b->type[t] = graph_t(k->g, k->n->in[first + f.gradient])->dtype;
		b->blocks += blocks_of(b->count[t]);
	}
	if (b->blocks > INT32_MAX / 2)
		return ERR(E_UNSUPPORTED, &k->n->loc, "'%s' on the GPU takes up to %lld elements",
		           k->n->op->name, (long long)INT32_MAX / 2 * K_PIECE);
	return 0;
}

int64_t bundle_cuda_blocks(const struct kplan *k)
{
	const struct bundle_cuda *b = k->state;
	return b->blocks;
}

int bundle_cuda_run(const struct kplan *k, const struct kargs *a, const struct bundle_launch *how)
{
	const struct bundle_cuda *b = k->state;
	const int most = k_tensors();
	int64_t block = 0;
	for (int group = 0; group < b->n;) {
		struct k_table table = { 0 };
		for (; table.n < most && group + table.n < b->n; table.n++) {
			const int64_t count = b->count[group + table.n];
			table.count[table.n] = count;
			table.type[table.n] = (unsigned char)b->type[group + table.n];
			table.first[table.n + 1] = table.first[table.n] + (int)blocks_of(count);
			how->fill(k, a, &table, table.n, group + table.n);
		}
		TRY(how->launch(k, a, &table, group, block));
		block += table.first[table.n];
		group += table.n;
	}
	return 0;
}

int cuda_wide(const struct kplan *k, int input)
{
	return graph_t(k->g, k->n->in[input])->dtype == DTYPE_I64;
}

#endif
