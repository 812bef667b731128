/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loop nests over strided tensors; see the header. */
#include "op/lib/nest.h"

#include "base/err.h"

void nest_add(struct nest *t, int64_t size, int64_t x, int64_t y)
{
	if (size == 1)
		return;
	BUG_IF(t->n == MAXD, "a nest of more than %d levels", MAXD);
	t->size[t->n] = size;
	t->x[t->n] = x;
	t->y[t->n] = y;
	t->n++;
}

static void swap(int64_t *v, int i, int j)
{
	int64_t t = v[i];
	v[i] = v[j];
	v[j] = t;
}

/* Insertion sort. It is stable, so that axes of equal stride (0 where a tensor is repeated) keep
 * their order. */
static void sort(struct nest *t, const int64_t *key)
{
	for (int i = 1; i < t->n; i++)
		for (int j = i; j > 0 && key[j - 1] < key[j]; j--) {
			swap(t->size, j - 1, j);
			swap(t->x, j - 1, j);
			swap(t->y, j - 1, j);
		}
}

void nest_close(struct nest *t, bool by_y)
{
	int n = 0;
	sort(t, by_y ? t->y : t->x);
	t->count = 1;
	for (int i = 0; i < t->n; i++) {
		bool join = n > 0 && t->x[n - 1] == t->x[i] * t->size[i]
		         && t->y[n - 1] == t->y[i] * t->size[i];
		int64_t size = join ? t->size[n - 1] * t->size[i] : t->size[i];
		t->count *= t->size[i];
		n += !join;
		t->size[n - 1] = size;
		t->x[n - 1] = t->x[i];
		t->y[n - 1] = t->y[i];
	}
	t->n = n;
}

void nest_pop(struct nest *t)
{
	t->n--;
	t->count /= t->size[t->n];
}

void nest_at(const struct nest *t, int64_t i, int64_t *x, int64_t *y)
{
	*x = *y = 0;
	for (int d = t->n - 1; d >= 0; d--) {
		int64_t r = d ? i % t->size[d] : i;
		if (d)
			i /= t->size[d];
		*x += r * t->x[d];
		*y += r * t->y[d];
	}
}

/* Whether l consists of one stride for each axis of s, without blocks or regrouped axes. */
static bool is_strided(const struct layout *l, const struct shape *s)
{
	if (!l->set || l->nblk || l->nd != s->nd)
		return false;
	for (int i = 0; i < s->nd; i++)
		if (l->dims[i] != s->d[i])
			return false;
	return true;
}

struct layout strided_layout(const struct graph *g, tid t)
{
	const struct tensor *x = graph_t(g, t);
	struct layout native = layout_native(&x->shape);
	if (is_strided(&x->layout, &x->shape))
		return x->layout;
	BUG_IF(!layout_equal(&x->layout, &native), "tensor '%s' has an unexpected layout", x->name);
	return native;
}

void strided_choose(const struct kplan *k, struct layout *in, struct layout *out)
{
	const struct shape *x = node_in_shape(k->g, k->n, 0), *y = node_out_shape(k->g, k->n, 0);
	if (!is_strided(in, x))
		*in = layout_native(x);
	if (!is_strided(out, y) || !layout_is_dense(out))
		*out = layout_native(y);
}
