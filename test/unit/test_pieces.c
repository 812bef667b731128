/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ops that compute by the place in the whole tensor, on a piece of it: outputs whose inputs the
 * piece has are those of the whole, to the last bit, on the reference device and the CPU. */
#include "cases.h"
#include "base/err.h"
#include "op/lib/sample.h"
#include "op_run.h"

#define TEXT 256

/* Both spatial axes: the piece has inputs from[] to from[] + in[] - 1 of the whole. */
struct box {
	int64_t from[2], in[2];
	int64_t to[2], out[2];           /* its outputs */
};

/* A node and its values, channels first, in doubles. */
struct result {
	struct sample s;
	const struct shape *x, *y;
	double *in, *out;
};

/* in: values of input 0 in place of the sample's; NULL: those. */
static void run(struct result *r, enum backend b, const char *op, const char *text,
                const double *in)
{
	struct op_run o;
	if (sample_build(&r->s, op_find(op), text, 7) < 0)
		fail_msg("%s '%s': %s", op, text, err_get(0)->text);
	r->x = node_in_shape(r->s.g, r->s.node, 0);
	r->y = node_out_shape(r->s.g, r->s.node, 0);
	r->in = r->s.value[0];
	if (in)
		memcpy(r->in, in, sizeof *in * (size_t)shape_count(r->x));
	r->out = ARENA_ARRAY(r->s.g->arena, double, shape_count(r->y));
	op_run_init(&o, r->s.g, b, b == BACKEND_CPU);
	for (int i = 0; i < r->s.nin; i++)
		op_run_set(&o, r->s.in[i], r->s.value[i]);
	op_run_all(&o);
	op_run_get(&o, r->s.node->out[0], r->out);
	op_run_release(&o);
}

/* The part of a tensor from at[] on, of extents d[], along both spatial axes. */
static double *part(const struct result *r, const struct shape *s, const double *v,
                    const int64_t at[2], const int64_t d[2])
{
	const int64_t planes = s->d[0] * s->d[1];
	double *p = ARENA_ARRAY(r->s.g->arena, double, planes * d[0] * d[1] + 1), *to = p;
	for (int64_t c = 0; c < planes; c++)
		for (int64_t i = 0; i < d[0]; i++, to += d[1])
			memcpy(to, v + (c * s->d[2] + at[0] + i) * s->d[3] + at[1],
			       (size_t)d[1] * sizeof *to);
	return p;
}

/* Whether output o of the piece along axis k reads nothing of the whole that the piece lacks. */
static bool complete(const struct result *whole, const struct box *b, int k, int64_t o)
{
	const struct node *n = whole->s.node;
	int64_t lo = b->to[k] + o, hi = lo, last = whole->x->d[k + 2] - 1;
	assert_true(n->op->reads(whole->s.g, n, 0, k + 2, &lo, &hi));
	lo = lo < 0 ? 0 : lo;
	hi = hi > last ? last : hi;
	return lo >= b->from[k] && hi < b->from[k] + b->in[k];
}

/* Compares a piece; returns how many of its outputs it has all inputs of. */
static int64_t compare(const struct result *whole, const struct result *piece, const struct box *b)
{
	const double *want = part(whole, whole->y, whole->out, b->to, b->out);
	int64_t n = 0;
	for (int64_t e = 0; e < shape_count(piece->y); e++) {
		const int64_t j = e % b->out[1], i = e / b->out[1] % b->out[0];
		if (!complete(whole, b, 0, i) || !complete(whole, b, 1, j))
			continue;
		n++;
		if (memcmp(&want[e], &piece->out[e], sizeof *want) != 0)
			fail_msg("%s: output (%d, %d) of a piece is %.17g, and %.17g of the whole",
			         whole->s.node->op->name, (int)i, (int)j, piece->out[e], want[e]);
	}
	return n;
}

/* The piece is the node `text` on these inputs. */
static void check(enum backend backend, const char *op, const char *of_whole, const char *text,
                  const struct box *b)
{
	struct result whole, piece;
	run(&whole, backend, op, of_whole, NULL);
	run(&piece, backend, op, text, part(&whole, whole.x, whole.in, b->from, b->in));
	assert_int_equal(piece.y->d[2], b->out[0]);
	assert_int_equal(piece.y->d[3], b->out[1]);
	if (compare(&whole, &piece, b) == 0)
		fail_msg("%s '%s': no output to compare", op, text);
	sample_release(&whole.s);
	sample_release(&piece.s);
}

#define BOTH(...)                                     \
	do {                                              \
		check(BACKEND_REFERENCE, __VA_ARGS__);        \
		check(BACKEND_CPU, __VA_ARGS__);              \
	} while (0)

static const struct { int64_t in, out; } pairs[] = {
	{ 15, 45 }, { 14, 21 }, { 17, 23 }, { 23, 17 }, { 20, 7 }, { 13, 26 }, { 12, 12 }, { 7, 29 }
};
#define NPAIRS ((int)(sizeof pairs / sizeof *pairs))

/* By any factor, of pieces that begin anywhere. */
static void test_resize(void **state)
{
	static const char *const more[] = { "", ", align_corners: true", ", mode: nearest",
		                                ", mode: area" };
	for (int k = 0; k < 4 * NPAIRS; k++) {
		const int64_t h = pairs[k % NPAIRS].in, w = pairs[(k + 3) % NPAIRS].in,
		              y = pairs[k % NPAIRS].out, x = pairs[(k + 3) % NPAIRS].out;
		const struct box b = { { h / 3, w / 4 }, { h / 2 + 1, w - w / 4 },
			{ y / 3, x / 4 }, { y / 2, x - x / 4 } };
		char whole[TEXT], piece[TEXT];
		snprintf(whole, sizeof whole, "2x3x%dx%d; size: [%d, %d]%s", (int)h, (int)w, (int)y,
		         (int)x, more[k / NPAIRS]);
		snprintf(piece, sizeof piece, "2x3x%dx%d; size: [%d, %d]%s, whole: [%d, %d, %d, %d], at: "
		         "[%d, %d, %d, %d]", (int)b.in[0], (int)b.in[1], (int)b.out[0], (int)b.out[1],
		         more[k / NPAIRS], (int)h, (int)w, (int)y, (int)x, (int)b.from[0],
		         (int)b.from[1], (int)b.to[0], (int)b.to[1]);
		BOTH("resize", whole, piece, &b);
	}
}

/* A piece drops what the whole drops there, in each sample, whatever the channels. */
static void test_dropout(void **state)
{
	for (int c = 1; c < 20; c += 3)
		for (int64_t from = 0; from < 4; from++) {
			const struct box b = { { from, 3 - from }, { 5, 6 }, { from, 3 - from }, { 5, 6 } };
			char whole[TEXT], piece[TEXT];
			snprintf(whole, sizeof whole, "3x%dx9x11 3:key; rate: 0.4, stream: 5", c);
			snprintf(piece, sizeof piece, "3x%dx5x6 3:key; rate: 0.4, stream: 5, whole: [9, 11], "
			         "at: [%d, %d]", c, (int)from, (int)(3 - from));
			BOTH("dropout", whole, piece, &b);
			BOTH("relu_dropout", whole, piece, &b);
		}
}

/* Means need no place: padding is an attribute of pieces at the border alone, and is counted there
 * as it is in the whole. */
static void test_average_pool(void **state)
{
	static const struct box first = { { 0, 0 }, { 6, 7 }, { 0, 0 }, { 3, 3 } },
	                        inner = { { 3, 5 }, { 6, 6 }, { 2, 3 }, { 2, 2 } },
	                        last = { { 7, 7 }, { 4, 6 }, { 4, 4 }, { 2, 3 } };
	static const char *const more[] = { "", ", count_padding: false" };
	for (int k = 0; k < 2; k++) {
		char whole[TEXT], text[3][TEXT];
		snprintf(whole, sizeof whole, "2x5x11x13; kernel: 3, stride: 2, pad_lo: 1, pad_hi: 1%s",
		         more[k]);
		snprintf(text[0], TEXT, "2x5x6x7; kernel: 3, stride: 2, pad_lo: 1%s", more[k]);
		snprintf(text[1], TEXT, "2x5x6x6; kernel: 3, stride: 2%s", more[k]);
		snprintf(text[2], TEXT, "2x5x4x6; kernel: 3, stride: 2, pad_hi: 1%s", more[k]);
		BOTH("average_pool", whole, text[0], &first);
		BOTH("average_pool", whole, text[1], &inner);
		BOTH("average_pool", whole, text[2], &last);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_resize),
		cmocka_unit_test(test_dropout),
		cmocka_unit_test(test_average_pool),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
