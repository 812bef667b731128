/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batch normalisation of several ranks, which are threads here: moments of uneven batches, of
 * batches that do not count and of values far from zero against those of all values; and each op,
 * forward and backward, on the parts of a batch against the op of one rank on the whole. */
#include <math.h>

#include "cases.h"
#include "backend/device.h"
#include "base/err.h"
#include "base/rng.h"
#include "op/lib/sample.h"
#include "op/norm/norm_sync.h"
#include "rank_threads.h"

#define RANKS 4
#define CHANNELS 5
#define BYTES 4096

static const struct reducer_bucket group = { 0, 1 + 2 * CHANNELS, DTYPE_F64,
	"norm: batch statistics" };

/* One rank. */
struct member {
	bool absent;
	/* moments */
	int n;                         /* values of a channel */
	double offset, v[2 * CHANNELS], count;
	/* ops */
	struct side *side;
};

static void together(struct member *m, int ranks,
                     int (*work)(struct reducer *r, int rank, void *members))
{
	rank_threads(ranks, BYTES, &group, 1, work, m);
}

/* --- moments --- */

static double value(const struct member *m, int rank, int channel, int i)
{
	return m->offset * (channel + 1) + (double)(float)rng_normal(7, (uint64_t)rank,
	                                                             (uint64_t)channel, (uint64_t)i);
}

static void own_moments(struct member *m, int rank)
{
	m->count = m->n;
	for (int c = 0; c < CHANNELS; c++) {
		double *mean = &m->v[c], *m2 = &m->v[CHANNELS + c];
		*mean = *m2 = 0;
		for (int i = 0; i < m->n; i++)
			*mean += value(m, rank, c, i) / m->n;
		for (int i = 0; i < m->n; i++)
			*m2 += pow(value(m, rank, c, i) - *mean, 2);
	}
}

static int meet(struct reducer *r, int rank, void *members)
{
	struct member *m = (struct member *)members + rank;
	struct norm_sync t = { r, 0, !m->absent };
	own_moments(m, rank);
	return norm_sync_moments(&t, CHANNELS, m->v, &m->count);
}

/* Over all ranks that count; over all ranks if none does. */
static void check_moments(const struct member *m, double tolerance)
{
	bool nobody = true;
	for (int r = 0; r < RANKS; r++)
		nobody = nobody && m[r].absent;
	for (int c = 0; c < CHANNELS; c++) {
		long double sum = 0, m2 = 0, n = 0;
		for (int r = 0; r < RANKS; r++)
			for (int i = 0; i < m[r].n && (nobody || !m[r].absent); i++, n++)
				sum += value(&m[r], r, c, i);
		for (int r = 0; r < RANKS; r++)
			for (int i = 0; i < m[r].n && (nobody || !m[r].absent); i++)
				m2 += powl(value(&m[r], r, c, i) - sum / n, 2);
		for (int r = 0; r < RANKS; r++) {
			assert_true(m[r].count == (double)n);
			assert_true(fabs(m[r].v[c] - (double)(sum / n)) <= 1e-14 *
			            (1 + fabs((double)(sum / n))));
			assert_true(fabs(m[r].v[CHANNELS + c] - (double)m2) <= tolerance * (double)m2);
		}
	}
	for (int r = 1; r < RANKS; r++)              /* the same bits */
		assert_memory_equal(m[r].v, m[0].v, sizeof m[0].v);
}

static void moments(void **state)
{
	static const struct {
		bool absent[RANKS];
		double offset, tolerance;
	} cases[] = {
		{ { false }, 0, 1e-13 },
		{ { false, true }, 3, 1e-12 },
		{ { true, true, false, true }, 0, 1e-12 },
		{ { true, true, true, true }, -1, 1e-12 },
		{ { false }, 1e4, 1e-6 },
	};
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		struct member m[RANKS] = { { .n = 30 }, { .n = 1 }, { .n = 7 }, { .n = 200 } };
		for (int r = 0; r < RANKS; r++) {
			m[r].absent = cases[k].absent[r];
			m[r].offset = cases[k].offset;
		}
		together(m, RANKS, meet);
		check_moments(m, cases[k].tolerance);
	}
}

static int meet_sums(struct reducer *r, int rank, void *members)
{
	struct member *m = (struct member *)members + rank;
	struct norm_sync t = { r, 0, !m->absent };
	m->count = m->n;
	for (int i = 0; i < 2 * CHANNELS; i++)
		m->v[i] = m->absent ? NAN : rank + i;
	return norm_sync_sums(&t, CHANNELS, m->v, &m->count);
}

/* What a rank has that does not count is not even looked at. */
static void sums(void **state)
{
	struct member m[RANKS] = { { .n = 30 }, { .n = 1, .absent = true }, { .n = 7 }, { .n = 200 } };
	together(m, RANKS, meet_sums);
	for (int r = 0; r < RANKS; r++)
		for (int i = 0; i < 2 * CHANNELS; i++) {
			assert_true(m[r].count == 237);
			assert_true(m[r].v[i] == (r == 1 ? 0 : 5 + 3 * i));
		}
}

/* On one rank the sums stay as they are, and no reducer is used. */
static void alone(void **state)
{
	struct norm_sync t = { .present = true };
	double v[2 * CHANNELS] = { 1, 2, 3 }, count = 17;
	assert_int_equal(norm_sync_moments(&t, CHANNELS, v, &count), 0);
	assert_int_equal(norm_sync_sums(&t, CHANNELS, v, &count), 0);
	assert_true(count == 17 && v[2] == 3);
	assert_true(norm_sync_correction(17, 17) == 1 && norm_sync_correction(1, 1) == 1);
	assert_true(fabs(norm_sync_correction(8, 4) * 4 / 3 - 8.0 / 7) < 1e-15);
}

/* --- ops --- */

/* One node on one device, with what it reads and makes. */
struct side {
	struct sample s;
	struct device dev;
	struct links sums;         /* over a team of threads; all NULL: alone */
	struct arena *arena;
	struct kplan k;
	int first;                     /* its samples begin here in the whole batch */
	void *in[SAMPLE_MAX_IN], *out[4];
};

static void place(struct graph *g, tid t, enum backend b, const double *values, void **p)
{
	struct tensor *x = graph_t(g, t);
	x->dtype = b == BACKEND_REFERENCE ? DTYPE_F64 : DTYPE_F32;
	x->layout = b == BACKEND_REFERENCE ? layout_plain(&x->shape) : layout_native(&x->shape);
	*p = calloc((size_t)layout_elements(&x->layout) + 1, sizeof(double));
	if (values)
		layout_pack(&x->layout, &x->shape, x->dtype, *p, DTYPE_F64, values);
}

static void side_init(struct side *d, enum backend b, const char *op, const char *text)
{
	memset(d, 0, sizeof *d);
	assert_int_equal(sample_build(&d->s, op_find(op), text, 1), 0);
	d->dev = (struct device){ .backend = b, .threads = 1 };
	d->arena = arena_new();
	d->k = (struct kplan){ .g = d->s.g, .n = d->s.node, .dev = &d->dev, .arena = d->arena };
}

static bool like_x(const struct side *d, tid t)
{
	return t != NONE && graph_t(d->s.g, t)->shape.nd > 1;
}

/* The part gets the whole's values; its share, which the whole does not have, stays. */
static void take_values(struct side *d, const struct side *whole)
{
	for (int i = 0; i < whole->s.nin; i++)
		if (whole->s.in[i] != NONE) {
			const struct shape *mine = &graph_t(d->s.g, d->s.in[i])->shape;
			int64_t n = shape_count(mine),
			        first = like_x(d, d->s.in[i]) ? d->first * (n / mine->d[0]) : 0;
			memcpy(d->s.value[i], whole->s.value[i] + first, (size_t)n * sizeof(double));
		}
}

static int side_run(struct side *d)
{
	const struct kernel *kernel = &d->s.node->op->kernel[d->dev.backend];
	for (int i = 0; i < d->s.nin; i++)
		if (d->s.in[i] != NONE)
			place(d->s.g, d->s.in[i], d->dev.backend, d->s.value[i], &d->in[i]);
	for (int i = 0; i < d->s.node->nout; i++)
		place(d->s.g, d->s.node->out[i], d->dev.backend, NULL, &d->out[i]);
	if (kernel->plan)
		TRY(kernel->plan(&d->k));
	void *ws = aligned_alloc(64, (d->k.ws_bytes + 64) / 64 * 64);
	int rc = kernel->run(&d->k, &(struct kargs){ d->in, d->out, ws, &d->sums });
	free(ws);
	return rc;
}

static double *output(const struct side *d, int i)
{
	const struct tensor *x = graph_t(d->s.g, d->s.node->out[i]);
	double *v = malloc((size_t)shape_count(&x->shape) * sizeof *v);
	layout_unpack(&x->layout, &x->shape, DTYPE_F64, v, x->dtype, d->out[i]);
	return v;
}

static void side_release(struct side *d)
{
	for (int i = 0; i < SAMPLE_MAX_IN; i++)
		free(d->in[i]);
	for (int i = 0; i < 4; i++)
		free(d->out[i]);
	arena_free(d->arena);
	sample_release(&d->s);
}

static int run_side(struct reducer *r, int rank, void *members)
{
	struct side *d = ((struct member *)members)[rank].side;
	d->sums.statistics = r;
	return side_run(d);
}

static void assert_near(double have, double want, double scale, enum backend b)
{
	assert_true(fabs(have - want) <= (b == BACKEND_CPU ? 3e-6 : 1e-13) * (scale + fabs(want)));
}

/* Output i of each rank, which has the shape of x, must be the rank's part of the whole. */
static void compare_parts(const struct side *whole, const struct member *m, int i)
{
	double *want = output(whole, i);
	for (int r = 0; r < RANKS; r++) {
		const struct side *d = m[r].side;
		const struct shape *s = &graph_t(d->s.g, d->s.node->out[i])->shape;
		double *have = output(d, i);
		int64_t n = shape_count(s), first = d->first * (n / s->d[0]);
		for (int64_t k = 0; k < n && !m[r].absent; k++)
			assert_near(have[k], want[first + k], 1, whole->dev.backend);
		free(have);
	}
	free(want);
}

static double unbiased(int64_t n)
{
	return (double)n / (double)(n - 1);
}

/* Forward, each rank has the whole's statistics; backward,
 * a summand of its parameters' gradients. */
static void compare_vectors(const struct side *whole, const struct member *m, int i, bool forward,
                            int64_t points)
{
	double *want = output(whole, i), sum[CHANNELS] = { 0 };
	int64_t all = graph_t(whole->s.g, whole->s.in[0])->shape.d[0] * points;
	for (int r = 0; r < RANKS; r++) {
		double *have = output(m[r].side, i);
		int64_t own = graph_t(m[r].side->s.g, m[r].side->s.in[0])->shape.d[0] * points;
		double factor = i == 3 ? unbiased(own) / unbiased(all) : 1;
		for (int c = 0; c < CHANNELS; c++) {
			sum[c] += m[r].absent ? 0 : have[c];
			if (forward)
				assert_near(have[c] * factor, want[c], 1, whole->dev.backend);
		}
		free(have);
	}
	for (int c = 0; c < CHANNELS && !forward; c++)
		assert_near(sum[c], want[c], 10, whole->dev.backend);
	free(want);
}

struct form {
	const char *op, *inputs, *more, *attr;      /* of one rank: inputs after x by letters */
	bool forward;
};

/* x: of x's shape; v: a vector; p: a positive one; -: absent. */
static void sample_text(char *out, size_t room, const char *inputs, const char *attr, int samples,
                        const char *share)
{
	int n = 0;
	for (const char *p = inputs; *p; p++) {
		if (*p == 'x')
			n += snprintf(out + n, room - (size_t)n, "%s%dx5x3x4", p > inputs ? " " : "", samples);
		else
			n += snprintf(out + n, room - (size_t)n,
			              *p == '-' ? " -" : *p == 'p' ? " 5:positive" : " 5");
	}
	snprintf(out + n, room - (size_t)n, "%s%s%s", share, attr,
	         *share ? *attr ? ", group: 0" : "; group: 0" : "");
}

/* Batches of 2, 1, 2 and 1 samples; a batch of 6 on one rank. */
static void check_form(const struct form *f, enum backend b)
{
	static const int first[RANKS] = { 0, 2, 3, 5 }, samples[RANKS] = { 2, 1, 2, 1 };
	struct member m[RANKS] = { { .n = 0 } };
	struct side whole, part[RANKS];
	char text[200], all[16];
	snprintf(all, sizeof all, "%s%s", f->inputs, f->more);
	sample_text(text, sizeof text, f->inputs, f->attr, 6, "");
	side_init(&whole, b, f->op, text);
	for (int r = 0; r < RANKS; r++) {
		m[r].side = &part[r];
		sample_text(text, sizeof text, all, f->attr, samples[r], " s:one");
		side_init(&part[r], b, f->op, text);
		part[r].first = first[r];
		take_values(&part[r], &whole);
	}
	assert_int_equal(side_run(&whole), 0);
	together(m, RANKS, run_side);
	for (int i = 0; i < whole.s.node->nout; i++) {
		if (like_x(&whole, whole.s.node->out[i]))
			compare_parts(&whole, m, i);
		else
			compare_vectors(&whole, m, i, f->forward, 12);
	}
	side_release(&whole);
	for (int r = 0; r < RANKS; r++)
		side_release(&part[r]);
}

static void ops(void **state)
{
	static const struct form forms[] = {
		{ "batch_norm", "xpv", "-", "; eps: 0.001", true },
		{ "batch_norm", "xpv", "-", "; slope: 0.3", true },
		{ "batch_norm", "xpvx", "", "; slope: 0", true },
		{ "batch_norm_grad", "xxvvp", "----", "", false },
		{ "batch_norm_grad", "xxvvp-x", "--", "", false },
		{ "batch_norm_grad", "xxvvpv", "---", "; slope: 0.3", false },
		{ "batch_norm_grad", "xxvvpvx", "--", "; slope: 0", false },
		{ "batch_norm_grad", "xxvvp--x", "-", "; slope: 0", false },
		{ "batch_norm_grad", "xxvvp--xx", "", "; slope: 0.3", false },
	};
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		for (int b = BACKEND_REFERENCE; b <= BACKEND_CPU; b++)
			check_form(&forms[i], (enum backend)b);
}

/* A rank whose batch does not count (absent) changes nothing on the other ranks, and gets no
 * gradient through their statistics. */
static void absent(void **state)
{
	for (int b = BACKEND_REFERENCE; b <= BACKEND_CPU; b++) {
		struct member m[2] = { { .n = 0 }, { .absent = true } };
		struct side whole, part[2];
		side_init(&whole, (enum backend)b, "batch_norm_grad", "3x5x3x4 3x5x3x4 5 5 5:positive");
		for (int r = 0; r < 2; r++) {
			m[r].side = &part[r];
			side_init(&part[r], (enum backend)b, "batch_norm_grad",
			          r ? "3x5x3x4 3x5x3x4 5 5 5:positive - - - - s:zero; group: 0"
			            : "3x5x3x4 3x5x3x4 5 5 5:positive - - - - s:one; group: 0");
			take_values(&part[r], &whole);
		}
		assert_int_equal(side_run(&whole), 0);
		together(m, 2, run_side);
		double *want = output(&whole, 0), *have = output(&part[0], 0), *none = output(&part[1], 0);
		for (int i = 0; i < 180; i++) {
			int c = i / 12 % 5;
			const double *dy = whole.s.value[1], *gamma = whole.s.value[2],
			             *rstd = whole.s.value[4];
			assert_near(have[i], want[i], 1, (enum backend)b);
			assert_near(none[i], dy[i] * gamma[c] * rstd[c], 1, (enum backend)b);
		}
		free(want);
		free(have);
		free(none);
		side_release(&whole);
		side_release(&part[0]);
		side_release(&part[1]);
	}
}

/* A rank with one value a channel has no variance; its team has one. */
static void one_value(void **state)
{
	struct sample s;
	assert_int_equal(sample_build(&s, op_find("batch_norm"), "1x5 5 5 - s:one; group: 0", 1), 0);
	sample_release(&s);
	assert_int_equal(sample_build(&s, op_find("batch_norm"), "1x5 5 5", 1), E_SHAPE);
	sample_release(&s);
	err_clear();
	assert_int_equal(sample_build(&s, op_find("batch_norm"), "2x5 5 5; group: 0", 1), E_SHAPE);
	assert_string_equal(err_get(0)->text,
	                    "'batch_norm' has a share as input 4 if and only if it has a group");
	sample_release(&s);
	err_clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moments),
		cmocka_unit_test(sums),
		cmocka_unit_test(alone),
		cmocka_unit_test(ops),
		cmocka_unit_test(absent),
		cmocka_unit_test(one_value),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
