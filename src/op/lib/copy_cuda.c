/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Strided copies on the GPU. The host sorts the axes by their stride in y and merges axes that are
 * contiguous in both x and y, so that most copies become a few long runs, which are moved in units
 * of up to 16 bytes. */
#include "op/lib/copy_cuda.h"

#include "base/err.h"
#include "op/lib/cuda.h"

#ifdef HAVE_CUDA

const int64_t *cuda_strides(const struct kplan *k, tid t)
{
	return graph_t(k->g, t)->layout.stride;
}

static int check_one(const struct kplan *k, tid t)
{
	const struct tensor *x = t == NONE ? NULL : graph_t(k->g, t);
	if (x && (x->layout.nblk || x->layout.nd != x->shape.nd))
		return ERR(E_UNSUPPORTED, &k->n->loc, "'%s' on the GPU takes no blocked layouts",
		           k->n->op->name);
	return 0;
}

int cuda_check_strided(struct kplan *k)
{
	for (int i = 0; i < k->n->nin; i++)
		TRY(check_one(k, k->n->in[i]));
	for (int i = 0; i < k->n->nout; i++)
		TRY(check_one(k, k->n->out[i]));
	return 0;
}

static void swap(struct k_copy *c, int i, int j)
{
	const int64_t d = c->d[i], in = c->in[i], out = c->out[i];
	c->d[i] = c->d[j], c->in[i] = c->in[j], c->out[i] = c->out[j];
	c->d[j] = d, c->in[j] = in, c->out[j] = out;
}

/* Drops axes of extent 1 and sorts the others, largest stride in y first. */
static void sort_axes(struct k_copy *c, const struct shape *s, const int64_t *in,
                      const int64_t *out)
{
	for (int i = 0; i < s->nd; i++) {
		if (s->d[i] == 1)
			continue;
		c->d[c->nd] = s->d[i];
		c->in[c->nd] = in[i];
		c->out[c->nd] = out[i];
		for (int j = c->nd++; j > 0 && c->out[j] > c->out[j - 1]; j--)
			swap(c, j, j - 1);
	}
}

/* Merges axis i + 1 into axis i if axis i continues it without a gap, in x and in y. */
static void join_axes(struct k_copy *c)
{
	for (int i = c->nd - 2; i >= 0; i--) {
		if (c->in[i] != c->d[i + 1] * c->in[i + 1] || c->out[i] != c->d[i + 1] * c->out[i + 1])
			continue;
		c->d[i] *= c->d[i + 1];
		c->in[i] = c->in[i + 1];
		c->out[i] = c->out[i + 1];
		for (int j = i + 1; j + 1 < c->nd; j++) {
			c->d[j] = c->d[j + 1];
			c->in[j] = c->in[j + 1];
			c->out[j] = c->out[j + 1];
		}
		c->nd--;
	}
}

/* The elements that move as one unit: runs along the last axis whose length, strides and addresses
 * allow it. */
static int64_t unit_of(const struct k_copy *c, size_t size, const void *x, const void *y)
{
	const int last = c->nd - 1;
	int64_t unit = 16 / (int64_t)size;
	if (c->nd == 0 || c->in[last] != 1 || c->out[last] != 1)
		return 1;
	for (; unit > 1; unit /= 2) {
		const uintptr_t bytes = (uintptr_t)unit * size;
		bool fits = c->d[last] % unit == 0 && (uintptr_t)x % bytes == 0 &&
		            (uintptr_t)y % bytes == 0;
		for (int i = 0; i < last; i++)
			fits = fits && c->in[i] % unit == 0 && c->out[i] % unit == 0;
		if (fits)
			break;
	}
	return unit;
}

int cuda_copy(const struct kplan *k, const struct shape *extents, const int64_t *in_stride,
              const int64_t *out_stride, size_t size, const void *x, void *y)
{
	struct k_copy c = { 0 };
	if (shape_count(extents) == 0)
		return 0;
	sort_axes(&c, extents, in_stride, out_stride);
	join_axes(&c);
	const int64_t unit = unit_of(&c, size, x, y);
	for (int i = 0; i < c.nd; i++) {
		if (i == c.nd - 1) {
			c.d[i] /= unit;
		} else {
			c.in[i] /= unit;
			c.out[i] /= unit;
		}
	}
	return cuda_launched(k, k_copy(cuda_stream(k->dev), (int)(size * (size_t)unit), &c, x, y));
}

#endif
