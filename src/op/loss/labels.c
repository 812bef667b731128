/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Class labels and logits: shared by the segmentation loss and the confusion matrix. */
#include "op/loss/labels.h"

#include <stdio.h>

#include "base/err.h"
#include "op/lib/check.h"

int labels_check(struct graph *g, const struct node *n)
{
	struct shape want = { 0 };
	TRY(check_dtype(g, n, 0, DTYPE_F32));
	TRY(check_rank(g, n, 0, 2, 5));
	TRY(check_dtype(g, n, 1, DTYPE_I32));
	const struct shape *x = node_in_shape(g, n, 0);
	for (int a = 0; a < x->nd; a++)
		if (a != 1)
			want.d[want.nd++] = x->d[a];
	return check_shape(g, n, 1, &want);
}

int labels_choose(struct kplan *k, struct layout *in, struct layout *out)
{
	const struct node *n = k->n;
	const struct shape *x = node_in_shape(k->g, n, 0);
	for (int i = 0; i < n->nin; i++) {
		const struct shape *s = n->in[i] == NONE ? NULL : node_in_shape(k->g, n, i);
		bool strided = s && in[i].set && in[i].nblk == 0 && in[i].nd == s->nd;
		if (s && !(i == 1 && strided))
			in[i] = i == 0 ? layout_native(s) : layout_plain(s);
	}
	for (int i = 0; i < n->nout; i++)
		if (n->out[i] != NONE) {
			const struct shape *s = node_out_shape(k->g, n, i);
			out[i] = shape_equal(s, x) ? layout_native(s) : layout_plain(s);
		}
	return 0;
}

void labels_init(struct labels *l, const struct kplan *k, int64_t ignore)
{
	const struct tensor *t = graph_t(k->g, k->n->in[1]);
	*l = (struct labels){ .classes = node_in_shape(k->g, k->n, 0)->d[1], .ignore = ignore };
	l->shape = t->shape;
	l->layout = t->layout;
	l->w = t->shape.d[t->shape.nd - 1];
	l->rows = shape_count(&t->shape) / l->w;
	l->step = t->layout.stride[t->shape.nd - 1];
}

int64_t labels_row(const struct labels *l, int64_t row)
{
	int64_t at = 0;
	for (int a = l->shape.nd - 2; a >= 0; a--) {
		at += row % l->shape.d[a] * l->layout.stride[a];
		row /= l->shape.d[a];
	}
	return at;
}

void bad_labels_add(struct bad_labels *sum, const struct bad_labels *more)
{
	if (sum->count == 0)
		*sum = *more;
	else
		sum->count += more->count;
}

int bad_labels_report(const struct bad_labels *bad, const struct kplan *k, const struct labels *l)
{
	char place[SHAPE_TEXT], ignored[48] = "";
	if (bad->count == 0)
		return 0;
	if (l->ignore != INT64_MIN)
		snprintf(ignored, sizeof ignored, ", nor the ignored value %lld",
		         (long long)l->ignore);
	return ERR(E_DATA, &k->n->loc, "layer '%s': label %d at (%s) is no class 0..%lld%s; such "
	           "labels in this batch: %lld", check_layer(k->n), (int)bad->value,
	           shape_place(&l->shape, bad->at, place), (long long)l->classes - 1, ignored,
	           (long long)bad->count);
}
