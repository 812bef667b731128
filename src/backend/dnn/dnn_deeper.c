/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Convolutions with one spatial axis more. */
#include "backend/dnn/dnn_deeper.h"

/* The new axis lies before `ns` others, with the stride that a dense layout has there: oneDNN
 * recognises layouts by all strides. */
static const struct layout *deeper_layout(struct layout *to, const struct layout *from, int ns)
{
	if (!from)
		return NULL;
	const int at = from->nd - ns;
	*to = *from;
	for (int d = to->nd++; d > at; d--) {
		to->dims[d] = from->dims[d - 1];
		to->stride[d] = from->stride[d - 1];
	}
	to->dims[at] = 1;
	to->stride[at] = from->stride[at] * from->dims[at];
	for (int i = 0; i < to->nblk; i++)
		to->blk_dim[i] += to->blk_dim[i] >= at;
	return to;
}

void dnn_deepen(struct dnn_deeper *d, const struct dnn_conv *c)
{
	struct conv_geom *g = &d->c.geom;
	const int ns = c->geom.ns;
	d->c = *c;
	d->c.x = deeper_layout(&d->x, c->x, ns);
	d->c.w = deeper_layout(&d->w, c->w, ns);
	d->c.y = deeper_layout(&d->y, c->y, ns);
	for (int i = g->ns++; i > 0; i--) {
		g->in[i] = g->in[i - 1];
		g->kernel[i] = g->kernel[i - 1];
		g->out[i] = g->out[i - 1];
		g->stride[i] = g->stride[i - 1];
		g->dilation[i] = g->dilation[i - 1];
		g->pad_lo[i] = g->pad_lo[i - 1];
		g->pad_hi[i] = g->pad_hi[i - 1];
	}
	g->in[0] = g->kernel[0] = g->out[0] = g->stride[0] = g->dilation[0] = 1;
	g->pad_lo[0] = g->pad_hi[0] = 0;
}

void dnn_remove_axis(struct layout *l, int at)
{
	l->nd--;
	for (int d = at; d < l->nd; d++) {
		l->dims[d] = l->dims[d + 1];
		l->stride[d] = l->stride[d + 1];
	}
	l->dims[l->nd] = l->stride[l->nd] = 0;
	for (int i = 0; i < l->nblk; i++)
		l->blk_dim[i] -= l->blk_dim[i] > at;
}
