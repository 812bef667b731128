/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An activation applied to a value z and to derivatives of z ("streams"). All streams have one
 * shape (P, W), and are concatenated to (S P, W). A stream of the output is a sum of terms
 *
 *   coefficient f^(order)(z + bias) s_1 s_2 ...
 *
 * whose factors are streams other than z, as given by the chain rule. Example: with the streams
 * z_x, z_y and l = z_xx + z_yy, the output has y_x = f' z_x, and y_xx + y_yy = f' l + f'' (z_x^2 +
 * z_y^2). Stream 0 is z. Inputs after the bias contain further streams, which are numbered
 * consecutively.
 *
 * The gradient is a node of the same op, with dy among its inputs: the derivative of a term by one
 * of its factors is the term without that factor, times dy; by z it is the term of the next order,
 * times dy. So gradients of any order exist. */
#include "op/taylor.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "graph/op.h"
#include "op/lib/emit.h"
#include "op/lib/simd.h"
#include "op/lib/simd_double.h"
#include "op/lib/walk.h"
#include "op/slope.h"

/* --- attributes --- */

#define MOST_STREAMS 256
#define MOST_INPUTS 8
#define TERM 4               /* numbers that encode a term, before its factors */

static const char *const names[] = { "tanh", "sin", "silu", "gelu", "sigmoid", "softplus", NULL };

struct taylor_attr {
	int of;
	struct ints streams;         /* number of streams in each input except the bias */
	int64_t outputs;
	struct ints terms;
};
static const struct field fields[] = {
	FIELD_ENUM(struct taylor_attr, of, "tanh", names, "the activation"),
	FIELD_INTS(struct taylor_attr, streams, "", 1, MOST_STREAMS, "of each input but the bias"),
	FIELD_INT(struct taylor_attr, outputs, "", 1, MOST_STREAMS, "streams of the result"),
	FIELD_INTS(struct taylor_attr, terms, "", INT32_MIN, INT32_MAX,
	           "of each term: its stream, order, coefficient, number of factors, factors"),
	FIELD_END
};

int taylor_find(const char *activation)
{
	for (int i = 0; names[i]; i++)
		if (strcmp(names[i], activation) == 0)
			return i;
	return NONE;
}

/* --- terms --- */

static void sort(int n, int *v)
{
	for (int i = 1; i < n; i++)
		for (int k = i; k > 0 && v[k] < v[k - 1]; k--) {
			const int t = v[k];
			v[k] = v[k - 1];
			v[k - 1] = t;
		}
}

static bool same_factors(const struct taylor_term *a, const struct taylor_term *b)
{
	return a->out == b->out && a->order == b->order && a->n == b->n &&
	       memcmp(a->factor, b->factor, (size_t)a->n * sizeof *a->factor) == 0;
}

int taylor_add(struct arena *a, struct taylor_terms *terms, const struct taylor_term *term)
{
	struct taylor_term t = *term;
	if (t.n > TAYLOR_FACTORS || t.order > TAYLOR_ORDER)
		return ERR(E_UNSUPPORTED, NULL, "derivatives of activations go up to order %d",
		           TAYLOR_ORDER);
	sort(t.n, t.factor);
	for (int i = 0; i < terms->n; i++)
		if (same_factors(&terms->v[i], &t)) {
			terms->v[i].coefficient += t.coefficient;
			return 0;
		}
	if (terms->n == terms->cap) {
		struct taylor_term *v = ARENA_ARRAY(a, struct taylor_term, 2 * terms->cap + 8);
		if (terms->n)
			memcpy(v, terms->v, (size_t)terms->n * sizeof *v);
		terms->cap = 2 * terms->cap + 8;
		terms->v = v;
	}
	terms->v[terms->n++] = t;
	return 0;
}

/* The order of terms in a kernel: by output stream, then by order of the derivative. */
static bool before(const struct taylor_term *a, const struct taylor_term *b)
{
	return a->out != b->out ? a->out < b->out : a->order < b->order;
}

static void sort_terms(int n, struct taylor_term *v)
{
	for (int i = 1; i < n; i++)
		for (int k = i; k > 0 && before(&v[k], &v[k - 1]); k--) {
			const struct taylor_term t = v[k];
			v[k] = v[k - 1];
			v[k - 1] = t;
		}
}

static struct ints encode(struct graph *g, const struct taylor_terms *terms)
{
	int64_t *v = ARENA_ARRAY(g->arena, int64_t, terms->n * (TERM + TAYLOR_FACTORS) + 1);
	int n = 0;
	sort_terms(terms->n, terms->v);
	for (const struct taylor_term *t = terms->v; t < terms->v + terms->n; t++) {
		v[n++] = t->out;
		v[n++] = t->order;
		v[n++] = t->coefficient;
		v[n++] = t->n;
		for (int i = 0; i < t->n; i++)
			v[n++] = t->factor[i];
	}
	return (struct ints){ n, v };
}

static int stream_count(const struct taylor_attr *at)
{
	int64_t n = 0;
	for (int i = 0; i < at->streams.n; i++)
		n += at->streams.v[i];
	return (int)(n < MOST_STREAMS ? n : MOST_STREAMS + 1);
}

/* Decodes one term from v[*i] on; false if it is invalid. */
static bool decode(const struct taylor_attr *at, int *i, struct taylor_term *t)
{
	const int64_t *v = at->terms.v + *i;
	const int left = at->terms.n - *i;
	*t = (struct taylor_term){ 0 };
	if (left < TERM || v[0] < 0 || v[0] >= at->outputs || v[1] < 0 || v[1] > TAYLOR_ORDER ||
	    v[3] < 0 || v[3] > TAYLOR_FACTORS || v[3] > left - TERM)
		return false;
	t->out = (int)v[0];
	t->order = (int)v[1];
	t->coefficient = (int)v[2];
	t->n = (int)v[3];
	for (int k = 0; k < t->n; k++) {
		if (v[TERM + k] < 1 || v[TERM + k] >= stream_count(at))
			return false;
		t->factor[k] = (int)v[TERM + k];
	}
	*i += TERM + t->n;
	return true;
}

/* --- shape --- */

/* The index of the input that entry i of the attribute `streams` describes. */
static int input_of(int i)
{
	return i ? i + 1 : 0;
}

static int check_streams(struct graph *g, const struct node *n, const struct taylor_attr *at,
                         int64_t points, int64_t width)
{
	for (int i = 0; i < at->streams.n; i++) {
		const struct shape *s = node_in_shape(g, n, input_of(i));
		if (s->nd != 2 || s->d[0] != points * at->streams.v[i] || s->d[1] != width)
			return ERR(E_SHAPE, &g->cur_loc, "'taylor': input %d is %s, expected (%lld, %lld)",
			           input_of(i), shape_text(s, (char[SHAPE_TEXT]){ "" }),
			           (long long)(points * at->streams.v[i]), (long long)width);
	}
	if (n->nin > 1 && n->in[1] != NONE) {
		const struct shape *s = node_in_shape(g, n, 1);
		if (s->nd != 1 || s->d[0] != width)
			return ERR(E_SHAPE, &g->cur_loc, "'taylor': the bias is %s, expected %lld values",
			           shape_text(s, (char[SHAPE_TEXT]){ "" }), (long long)width);
	}
	return 0;
}

static int shape(struct graph *g, struct node *n)
{
	const struct taylor_attr *at = n->attr;
	const struct shape *z = node_in_shape(g, n, 0);
	struct taylor_term t;
	if (at->streams.n == 0 || at->streams.n > MOST_INPUTS ||
	    n->nin < (at->streams.n > 1 ? at->streams.n + 1 : 1) || stream_count(at) > MOST_STREAMS)
		return ERR(E_SHAPE, &g->cur_loc, "'taylor' of %d inputs has streams of %d", n->nin,
		           at->streams.n);
	for (int i = 0; i < at->streams.n; i++)
		TRY(node_want_float(g, n, input_of(i), "input"));
	if (z->nd != 2 || z->d[0] % at->streams.v[0])
		return ERR(E_SHAPE, &g->cur_loc, "'taylor' of %s: expected %lld streams as rows",
		           shape_text(z, (char[SHAPE_TEXT]){ "" }), (long long)at->streams.v[0]);
	const struct shape y = { 2, { z->d[0] / at->streams.v[0] * at->outputs, z->d[1] } };
	TRY(check_streams(g, n, at, z->d[0] / at->streams.v[0], z->d[1]));
	for (int i = 0; i < at->terms.n;)
		if (!decode(at, &i, &t))
			return ERR(E_SHAPE, &g->cur_loc, "'taylor' has a term that is none");
	return graph_out(g, n, 0, DTYPE_F32, &y);
}

int taylor_emit(struct graph *g, enum taylor_of f, tid z, int streams, tid bias, int outputs,
                const struct taylor_terms *terms, tid *y)
{
	const struct taylor_attr at = { (int)f, ints_make(g, 1, &(int64_t){ streams }), outputs,
		encode(g, terms) };
	return graph_emit1(g, "taylor", &at, 2, (tid[]){ z, bias }, y);
}

/* --- grad --- */

/* The terms of the gradient to streams first .. first + count - 1; dy: the number of the first
 * stream of dy. */
static int terms_of_gradient(struct graph *g, const struct taylor_attr *at, int first, int count,
                             int dy, struct taylor_terms *out)
{
	struct taylor_term t;
	for (int i = 0; i < at->terms.n;) {
		if (!decode(at, &i, &t))
			return ERR(E_BUG, &g->cur_loc, "a term of 'taylor' that is none");
		struct taylor_term d = t;
		if (t.n + 1 > TAYLOR_FACTORS)
			return ERR(E_UNSUPPORTED, &g->cur_loc, "a derivative of too high an order");
		d.out = 0;
		d.order = t.order + 1;
		d.factor[d.n++] = dy + t.out;
		if (first == 0)
			TRY(taylor_add(g->arena, out, &d));
		for (int k = 0; k < t.n; k++) {
			if (t.factor[k] < first || t.factor[k] >= first + count)
				continue;
			d = t;
			d.out = t.factor[k] - first;
			d.factor[k] = dy + t.out;
			TRY(taylor_add(g->arena, out, &d));
		}
	}
	return 0;
}

static int gradient_of(struct graph *g, const struct node *n, int which, tid dy, tid *dx)
{
	const struct taylor_attr *at = n->attr;
	struct taylor_terms terms = { 0 };
	int64_t streams[MOST_INPUTS + 1];
	tid in[MOST_INPUTS + 2] = { n->in[0], n->nin > 1 ? n->in[1] : NONE };
	int first = 0;
	if (at->streams.n >= MOST_INPUTS)
		return ERR(E_UNSUPPORTED, &g->cur_loc, "a derivative of too high an order");
	for (int i = 0; i < at->streams.n; i++) {
		first += i < which ? (int)at->streams.v[i] : 0;
		streams[i] = at->streams.v[i];
		in[input_of(i)] = n->in[input_of(i)];
	}
	streams[at->streams.n] = at->outputs;
	in[input_of(at->streams.n)] = dy;
	TRY(terms_of_gradient(g, at, first, (int)at->streams.v[which], stream_count(at), &terms));
	const struct taylor_attr of = { at->of, ints_make(g, at->streams.n + 1, streams),
		at->streams.v[which], encode(g, &terms) };
	return graph_emit1(g, "taylor", &of, at->streams.n + 2, in, dx);
}

/* The gradient to the bias is the gradient to z, summed over the points. */
static int grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	const struct taylor_attr *at = n->attr;
	for (int i = 0; i < n->nin; i++)
		dx[i] = NONE;
	for (int i = 0; i < at->streams.n; i++)
		if (grad_wanted(g, n, input_of(i)) || (i == 0 && grad_wanted(g, n, 1)))
			TRY(gradient_of(g, n, i, dy[0], &dx[input_of(i)]));
	if (!grad_wanted(g, n, 1))
		return 0;
	const struct slice value = { 0, 0, node_in_shape(g, n, 0)->d[0] / at->streams.v[0] };
	tid t;
	TRY(emit_slice(g, dx[0], &value, &t));
	return emit_sum(g, t, 1u, false, &dx[1]);
}

/* --- cost --- */

static void cost(const struct graph *g, const struct node *n, struct cost *c)
{
	const struct taylor_attr *at = n->attr;
	const double elements = (double)shape_count(node_out_shape(g, n, 0)) / (double)at->outputs;
	struct taylor_term t;
	for (int i = 0; i < at->terms.n && decode(at, &i, &t);)
		c->flops += elements * (t.n + 1);
}

/* --- kernels --- */

#define BLOCK 128
#define PIECE 2048           /* elements of a stream; a multiple of BLOCK */
#define SERIAL_PIECES 4

/* The terms as the kernel executes them. */
struct program {
	enum taylor_of f;
	int order, nstream, outputs, nterm;
	bool bias;
	int64_t elements, width;     /* elements of a stream; elements of a row */
	int input[MOST_STREAMS];     /* input that contains each stream */
	int64_t first[MOST_STREAMS]; /* offset of each stream in its input, in elements */
	int *begin;                  /* index of the first term of each output, and the number of
	                              * terms */
	struct taylor_term *term;
};

#define real double
#define NAME(f) f##_reference
#define LOGISTIC(x) (1 / (1 + exp(-(x))))
#define TANH(x) tanh(x)
#define EXP(x) exp(x)
#define DISTRIBUTION(x) (0.5 * erfc(-(x) * SQRT_HALF))
#define SOFTPLUS(x) (fmax(x, 0) + log1p(exp(-fabs(x))))
#define SIN(x) sin(x)
#define COS(x) cos(x)
#include "op/taylor_body.h"

#define real double
#define NAME(f) f##_double
#define LOGISTIC(x) simd_sigmoid_double(x)
#define TANH(x) simd_tanh_double(x)
#define EXP(x) simd_exp_double(x)
#define DISTRIBUTION(x) (0.5 * erfc(-(x) * SQRT_HALF))
#define SOFTPLUS(x) (fmax(x, 0) + log1p(exp(-fabs(x))))
#define SIN(x) sin(x)
#define COS(x) cos(x)
#include "op/taylor_body.h"

#define real float
#define NAME(f) f##_float
#define LOGISTIC(x) simd_sigmoid(x)
#define TANH(x) simd_tanh(x)
#define EXP(x) simd_exp(x)
#define DISTRIBUTION(x) (0.5f + 0.5f * simd_erf((x) * (float)SQRT_HALF))
#define SOFTPLUS(x) (fmaxf(x, 0) + log1pf(expf(-fabsf(x))))
#define SIN(x) simd_sin(x)
#define COS(x) simd_cos(x)
#include "op/taylor_body.h"

typedef void run_block(const struct program *p, void *const *in, void *out, int64_t at, int n);

static void run_reference(const struct program *p, void *const *in, void *out, int64_t at, int n)
{
	block_reference(p, in, out, at, n);
}

SIMD_CLONES(void, run_float,
            (const struct program *p, void *const *in, void *out, int64_t at, int n),
            (p, in, out, at, n))
{
	if (n == BLOCK)              /* loops of a constant length have no remainder */
		block_float(p, in, out, at, BLOCK);
	else
		block_float(p, in, out, at, n);
}

SIMD_CLONES(void, run_double,
            (const struct program *p, void *const *in, void *out, int64_t at, int n),
            (p, in, out, at, n))
{
	block_double(p, in, out, at, n);
}

static int plan(struct kplan *k)
{
	const struct taylor_attr *at = k->n->attr;
	const struct shape *z = node_in_shape(k->g, k->n, 0);
	struct program *p = k->state = ARENA_NEW(k->arena, struct program);
	int *begin = ARENA_ARRAY(k->arena, int, at->outputs + 1), n = 0;
	p->f = (enum taylor_of)at->of;
	p->outputs = (int)at->outputs;
	p->bias = k->n->nin > 1 && k->n->in[1] != NONE;
	p->width = z->d[1];
	p->elements = shape_count(z) / at->streams.v[0];
	p->order = 1;
	for (int i = 0; i < at->streams.n; i++)
		for (int s = 0; s < at->streams.v[i]; s++, p->nstream++) {
			p->input[p->nstream] = input_of(i);
			p->first[p->nstream] = s * p->elements;
		}
	p->term = ARENA_ARRAY(k->arena, struct taylor_term, at->terms.n / TERM + 1);
	for (int i = 0; i < at->terms.n && decode(at, &i, &p->term[n]);)
		n++;
	sort_terms(n, p->term);
	for (int i = 0; i < n; i++)
		p->order = p->term[i].order > p->order ? p->term[i].order : p->order;
	for (int s = 0, i = 0; s <= p->outputs; s++) {
		while (i < n && p->term[i].out < s)
			i++;
		begin[s] = i;
	}
	p->begin = begin;
	return 0;
}

static void run_piece(const struct program *p, const struct kargs *a, run_block *run, int64_t lo,
                      int64_t hi)
{
	for (int64_t i = lo; i < hi; i += BLOCK)
		run(p, a->in, a->out[0], i, (int)(hi - i < BLOCK ? hi - i : BLOCK));
}

static int run_all(const struct kplan *k, const struct kargs *a, run_block *run)
{
	const struct program *p = k->state;
	const int64_t pieces = (p->elements + PIECE - 1) / PIECE;
#pragma omp parallel for schedule(static) if (pieces > SERIAL_PIECES)
	for (int64_t i = 0; i < pieces; i++)
		run_piece(p, a, run, i * PIECE, i + 1 < pieces ? (i + 1) * PIECE : p->elements);
	return 0;
}

static int reference(const struct kplan *k, const struct kargs *a)
{
	const struct program *p = k->state;
	run_piece(p, a, run_reference, 0, p->elements);
	return 0;
}

static int cpu(const struct kplan *k, const struct kargs *a)
{
	return run_all(k, a, run_float);
}

static int cpu_double(const struct kplan *k, const struct kargs *a)
{
	return run_all(k, a, run_double);
}

/* --- samples --- */

/* Stream 0 is z, 1 is z_x, 2 is z_y, and 3 is z_xx + z_yy. */
#define STREAMS_OF_SECOND "streams: [4], outputs: 4, terms: [0, 0, 1, 0, 1, 1, 1, 1, 1, " \
	"2, 1, 1, 1, 2, 3, 1, 1, 1, 3, 3, 2, 1, 2, 1, 1, 3, 2, 1, 2, 2, 2]"

static const char *const samples[] = {
	"8x3 3!; " STREAMS_OF_SECOND,
	"12x131 131!; " STREAMS_OF_SECOND,
	"8x3 -; of: sin, " STREAMS_OF_SECOND,
	"8x3 3!; of: silu, " STREAMS_OF_SECOND,
	"8x3 3!; of: gelu, " STREAMS_OF_SECOND,
	"8x3 3!; of: sigmoid, " STREAMS_OF_SECOND,
	"8x3 3!; of: softplus, " STREAMS_OF_SECOND,
	"4x7 7! 2x7; streams: [2, 1], outputs: 2, terms: [1, 3, -6, 4, 1, 1, 1, 2]",
	"6x5; streams: 3, outputs: 1, terms: [0, 2, 1, 2, 1, 2, 0, 4, 2, 5, 1, 1, 1, 2, 2]",
	NULL
};

/* --- record --- */

static const struct op op_taylor = {
	.name = "taylor",
	.doc = "an activation of a value and of its derivatives, which are more rows",
	.min_in = 1, .max_in = MOST_INPUTS + 1, .nout = 1,
	.attr_size = sizeof(struct taylor_attr), .attrs = fields,
	.shape = shape, .grad = grad, .cost = cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .plan = plan, .run = reference },
		[BACKEND_CPU] = { .layouts = KL_PLAIN, .plan = plan, .run = cpu },
		[BACKEND_DOUBLE] = { .layouts = KL_PLAIN, .plan = plan, .run = cpu_double },
	},
	.samples = samples,
};

OPSET(taylor, &op_taylor);
