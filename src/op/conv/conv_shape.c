/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The geometry of convolution nodes. Each of the three ops has two of the tensors x, w and y as
 * inputs; the shape of the third follows from the attributes. Redundant values (y's spatial size in
 * the gradients) must agree. */
#include "op/conv/conv_shape.h"

#include <inttypes.h>

#include "base/err.h"
#include "op/conv/conv.h"

/* The shapes that a message names: those of the first two inputs. */
struct pair {
	char a[SHAPE_TEXT], b[SHAPE_TEXT];
};

static const struct pair *pair_text(const struct graph *g, const struct node *n, struct pair *p)
{
	shape_text(node_in_shape(g, n, 0), p->a);
	shape_text(node_in_shape(g, n, 1), p->b);
	return p;
}

#define MISFIT(fmt, ...)                                                                   \
	ERR(E_SHAPE, &g->cur_loc, "'%s' of %s and %s: " fmt, n->op->name,                  \
	    pair_text(g, n, &(struct pair){ "", "" })->a,                                  \
	    pair_text(g, n, &(struct pair){ "", "" })->b, __VA_ARGS__)

/* Expands a list to one value for each spatial axis. */
static int spread(const struct graph *g, const struct node *n, const char *key, struct ints v,
                  int ns, int64_t dflt, int64_t least, int64_t *out)
{
	if (v.n > 1 && v.n != ns)
		return MISFIT(
			"'%s' has %d values, expected one or one for each of the %d spatial axes",
			key, v.n, ns);
	for (int i = 0; i < ns; i++) {
		out[i] = v.n == 0 ? dflt : v.v[v.n == 1 ? 0 : i];
		if (out[i] < least || out[i] > INT32_MAX)
			return MISFIT("'%s' is %" PRId64 ", expected %" PRId64 " or more", key,
				      out[i], least);
	}
	return 0;
}

static void trivial_axes(struct conv_geom *c)
{
	for (int i = 0; i < CONV_NS; i++) {
		c->in[i] = c->kernel[i] = c->out[i] = c->stride[i] = c->dilation[i] = 1;
		c->pad_lo[i] = c->pad_hi[i] = 0;
	}
}

/* Reads the number of axes, the batch size and the window. */
static int read_window(const struct graph *g, const struct node *n, struct conv_geom *c)
{
	const struct conv_attr *at = n->attr;
	const struct shape *s = node_in_shape(g, n, 0);
	c->ns = s->nd - 2;
	if (c->ns < 1 || c->ns > CONV_NS || node_in_shape(g, n, 1)->nd != s->nd)
		return MISFIT("expected two tensors of equal rank, %d to %d axes", 3, CONV_NS + 2);
	trivial_axes(c);
	c->n = s->d[0];
	c->groups = at->groups ? at->groups : 1;
	TRY(spread(g, n, "stride", at->stride, c->ns, 1, 1, c->stride));
	TRY(spread(g, n, "dilation", at->dilation, c->ns, 1, 1, c->dilation));
	TRY(spread(g, n, "pad_lo", at->pad_lo, c->ns, 0, 0, c->pad_lo));
	return spread(g, n, "pad_hi", at->pad_hi, c->ns, 0, 0, c->pad_hi);
}

static int check_groups(const struct graph *g, const struct node *n, const struct conv_geom *c)
{
	if (c->groups < 1 || c->ci % c->groups || c->co % c->groups)
		return MISFIT("%" PRId64 " input and %" PRId64
			      " output channels cannot be split into %" PRId64 " groups",
			      c->ci, c->co, c->groups);
	return 0;
}

/* oneDNN generates code for each element of a kernel's row: 1,000 elements take a second, 8,000
 * minutes, and at 50,000 oneDNN 2.6 aborts. */
#define MAX_KERNEL 1024

/* If dilated, it generates code for a row of the image: 300,000 elements take three seconds,
 * 1,000,000 minutes. */
#define MAX_DILATED (1 << 18)

/* out = floor((in + lo + hi - dilation (k - 1) - 1) / stride) + 1 */
static int output_size(const struct graph *g, const struct node *n, struct conv_geom *c)
{
	for (int i = 0; i < c->ns; i++) {
		int64_t extent, padded = c->pad_lo[i] + c->pad_hi[i];     /* both below 2^31 */
		if (c->kernel[i] < 1 || c->in[i] < 1)
			return MISFIT("spatial axis %d is empty", i);
		if (c->kernel[i] > MAX_KERNEL)
			return MISFIT("a kernel of %" PRId64 " along spatial axis %d; "
			              "convolutions take up to %d", c->kernel[i], i, MAX_KERNEL);
		if (c->dilation[i] > 1 && c->kernel[i] > 1 && c->in[i] > MAX_DILATED)
			return MISFIT("a dilation of %" PRId64 " along spatial axis %d, which has %" PRId64
			              " elements; dilated convolutions take up to %d", c->dilation[i], i,
			              c->in[i], MAX_DILATED);
		bool wraps = __builtin_mul_overflow(c->dilation[i], c->kernel[i] - 1, &extent);
		wraps |= __builtin_add_overflow(extent, 1, &extent);
		wraps |= __builtin_add_overflow(padded, c->in[i], &padded);
		if (wraps || extent > padded)
			return MISFIT("the kernel covers %" PRId64
				      " elements of spatial axis %d, but the padded "
				      "input has only %" PRId64,
				      wraps ? INT64_MAX : extent, i, padded);
		c->out[i] = (padded - extent) / c->stride[i] + 1;
	}
	return 0;
}

static void set_spatial(int64_t *to, const struct shape *s)
{
	for (int i = 2; i < s->nd; i++)
		to[i - 2] = s->d[i];
}

/* Checks that dy has the shape of the convolution's result. */
static int check_dy(const struct graph *g, const struct node *n, const struct conv_geom *c, int i)
{
	const struct shape y = conv_y_shape(c);
	char text[SHAPE_TEXT];
	if (shape_equal(node_in_shape(g, n, i), &y))
		return 0;
	return MISFIT("input %d does not fit, expected %s", i, shape_text(&y, text));
}

static int read_forward(const struct graph *g, const struct node *n, struct conv_geom *c)
{
	const struct shape *x = node_in_shape(g, n, 0), *w = node_in_shape(g, n, 1);
	c->ci = x->d[1];
	c->co = w->d[0];
	TRY(check_groups(g, n, c));
	if (w->d[1] != c->ci / c->groups)
		return MISFIT("the weights take %" PRId64 " channels, but the input has %" PRId64
			      " in each of %" PRId64 " groups",
			      w->d[1], c->ci / c->groups, c->groups);
	set_spatial(c->in, x);
	set_spatial(c->kernel, w);
	return output_size(g, n, c);
}

static int read_grad_input(const struct graph *g, const struct node *n, struct conv_geom *c)
{
	const struct conv_attr *at = n->attr;
	const struct shape *dy = node_in_shape(g, n, 0), *w = node_in_shape(g, n, 1);
	c->co = dy->d[1];
	if (__builtin_mul_overflow(w->d[1], c->groups, &c->ci) || w->d[0] != c->co)
		return MISFIT("the weights make %" PRId64
			      " channels, but the gradient has %" PRId64,
			      w->d[0], c->co);
	TRY(check_groups(g, n, c));
	TRY(spread(g, n, "input_size", at->input_size, c->ns, 0, 1, c->in));
	set_spatial(c->kernel, w);
	TRY(output_size(g, n, c));
	return check_dy(g, n, c, 0);
}

static int read_grad_weight(const struct graph *g, const struct node *n, struct conv_geom *c)
{
	const struct conv_attr *at = n->attr;
	const struct shape *x = node_in_shape(g, n, 0), *dy = node_in_shape(g, n, 1);
	c->ci = x->d[1];
	c->co = dy->d[1];
	TRY(check_groups(g, n, c));
	TRY(spread(g, n, "kernel", at->kernel, c->ns, 0, 1, c->kernel));
	set_spatial(c->in, x);
	TRY(output_size(g, n, c));
	return check_dy(g, n, c, 1);
}

/* Checks the bias, the optional input 2: one value for each channel of the result. */
static int check_bias(const struct graph *g, const struct node *n, int64_t channels)
{
	const struct shape want = shape_of(1, &channels);
	char b[SHAPE_TEXT];
	if (n->nin < 3 || n->in[2] == NONE || shape_equal(node_in_shape(g, n, 2), &want))
		return 0;
	return MISFIT("the bias is %s, expected %" PRId64 " values",
	              shape_text(node_in_shape(g, n, 2), b), channels);
}

int conv_geom_read(const struct graph *g, const struct node *n, enum conv_kind kind,
                   struct conv_geom *c)
{
	TRY(read_window(g, n, c));
	switch (kind) {
	case CONV_FORWARD:
		TRY(read_forward(g, n, c));
		return check_bias(g, n, c->co);
	case CONV_BACKWARD_DATA:
		TRY(read_grad_input(g, n, c));
		return check_bias(g, n, c->ci);
	case CONV_BACKWARD_WEIGHTS:
		return read_grad_weight(g, n, c);
	}
	return 0;
}

struct conv_geom conv_geom_get(const struct graph *g, const struct node *n, enum conv_kind kind)
{
	struct conv_geom c;
	int rc = conv_geom_read(g, n, kind, &c);
	BUG_IF(rc < 0, "node %d ('%s') has changed since its shape was checked", n->id, n->name);
	return c;
}

static struct shape make_shape(const struct conv_geom *c, int64_t a, int64_t b,
			       const int64_t *spatial)
{
	struct shape s = { .nd = c->ns + 2, .d = { a, b } };
	for (int i = 0; i < c->ns; i++)
		s.d[i + 2] = spatial[i];
	return s;
}

struct shape conv_x_shape(const struct conv_geom *c)
{
	return make_shape(c, c->n, c->ci, c->in);
}

struct shape conv_w_shape(const struct conv_geom *c)
{
	return make_shape(c, c->co, c->ci / c->groups, c->kernel);
}

struct shape conv_y_shape(const struct conv_geom *c)
{
	return make_shape(c, c->n, c->co, c->out);
}

double conv_macs(const struct conv_geom *c)
{
	double macs = (double)c->n * (double)c->ci * (double)c->co / (double)c->groups;
	for (int i = 0; i < CONV_NS; i++)
		macs *= (double)c->out[i] * (double)c->kernel[i];
	return macs;
}
