/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One kernel on random inputs, looked at from all sides. What this costs should stay near to what
 * the kernel's own runs do: values are made and looked at in single passes over memory, and only
 * picked elements are computed again. */
#include "backend/proof/proof.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "backend/device.h"
#include "backend/proof/proof_memory.h"
#include "base/debug.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/round.h"

#define EDGE 4096                /* bytes of guard before and after a buffer */
#define LEAST_PICKS 64
#define MOST_PICKS 1024
#define PICK_TERMS 2e6           /* terms of all picked sums, where that is no fewer picks */

struct proof_bench {
	char *memory;
	size_t bytes;
};

struct place {
	struct tensor *x;            /* NULL: workspace, or nothing */
	char *p;
	size_t bytes;
};

/* One case while it is proven. */
struct trial {
	const struct proof_case *c;
	struct graph *g;
	struct plan_env env;
	struct device *dev;
	struct arena *arena;
	struct kplan k;
	bool planned;
	struct place in[PROOF_IN], out[PROOF_OUT], ws;
	struct proof_verdict v;
};

struct proof_bench *proof_bench_new(void)
{
	return mem_calloc(1, sizeof(struct proof_bench));
}

void proof_bench_free(struct proof_bench *b)
{
	if (b && b->memory)
		mem_unmap(b->memory, b->bytes);
	mem_free(b);
}

/* --- the kernel --- */

static const struct kernel *kernel_of(const struct trial *t)
{
	return &t->g->node[0]->op->kernel[BACKEND_CPU];
}

static void unplan(struct trial *t)
{
	if (t->planned && kernel_of(t)->free)
		kernel_of(t)->free(&t->k);
	t->planned = false;
}

static void use_threads(struct trial *t, int threads)
{
	t->dev->threads = threads;
#ifdef _OPENMP
	omp_set_num_threads(threads);
#endif
}

static int plan(struct trial *t, int threads)
{
	unplan(t);
	use_threads(t, threads);
	t->k = (struct kplan){ .g = t->g, .n = t->g->node[0], .dev = t->dev, .env = &t->env,
		.arena = t->arena };
	TRY(kernel_of(t)->plan(&t->k));
	t->planned = true;
	if (!t->k.choice.impl || strcmp(t->k.choice.impl, t->c->impl) != 0)
		return ERR(E_UNSUPPORTED, NULL, "another implementation was chosen: %s",
		           t->k.choice.impl ? t->k.choice.impl : "none");
	return device_prepare(t->dev);
}

/* --- memory --- */

static void reserve_place(struct place *p, size_t bytes, size_t *at)
{
	p->bytes = bytes;
	p->p = (char *)(*at + EDGE);     /* an offset until there is memory */
	*at = round_up(*at + EDGE + bytes, 64) + EDGE;
}

static void reserve_tensor(struct trial *t, struct place *p, tid x, size_t *at)
{
	if (x == NONE)
		return;
	p->x = graph_t(t->g, x);
	reserve_place(p, proof_memory_bytes(p->x), at);
}

/* All buffers of the case in the bench's memory, which grows. */
static int place_buffers(struct trial *t, struct proof_bench *b)
{
	const struct node *n = t->g->node[0];
	size_t at = 0;
	for (int i = 0; i < n->nin; i++)
		reserve_tensor(t, &t->in[i], n->in[i], &at);
	for (int i = 0; i < n->nout; i++)
		reserve_tensor(t, &t->out[i], n->out[i], &at);
	reserve_place(&t->ws, t->k.ws_bytes, &at);
	if (at > b->bytes) {
		if (b->memory)
			mem_unmap(b->memory, b->bytes);
		b->bytes = at;
		b->memory = mem_map(at);
	}
	if (!b->memory)
		return ERR(E_NOMEM, NULL, "no memory to prove a kernel");
	for (int i = 0; i < PROOF_IN; i++)
		t->in[i].p = t->in[i].x ? b->memory + (size_t)t->in[i].p : NULL;
	for (int i = 0; i < PROOF_OUT; i++)
		t->out[i].p = t->out[i].x ? b->memory + (size_t)t->out[i].p : NULL;
	t->ws.p = b->memory + (size_t)t->ws.p;
	return 0;
}

static void poison(const struct place *p, int byte)
{
	if (p->p)
		proof_memory_poison(p->p - EDGE, p->bytes + 2 * EDGE, byte);
}

static bool is_guarded(const struct place *p, int byte)
{
	if (!p->p)
		return true;
	return proof_memory_is(p->p - EDGE, EDGE, byte) &&
	       proof_memory_is(p->p + p->bytes, EDGE, byte);
}

/* --- faults put in by a test, DLX_DEBUG=spoil=KIND:IMPL --- */

static void spoil(struct trial *t, int run)
{
	const char *kind = debug.spoil, *impl = kind ? strchr(kind, ':') : NULL;
	const struct place *out = &t->out[0];
	if (!impl || strncmp(t->c->impl, impl + 1, strlen(impl + 1)) != 0)
		return;
	const size_t size = dtype_size(out->x->dtype);
	char *last = out->p +
	             (size_t)layout_offset(&out->x->layout, shape_count(&out->x->shape) - 1) * size;
	if (strncmp(kind, "value:", 6) == 0)
		dtype_set(out->x->dtype, last, 0, 3 + 2 * dtype_get(out->x->dtype, last, 0));
	else if (strncmp(kind, "unwritten:", 10) == 0)
		memset(last, run ? 0x7f : 0xff, size);
	else if (strncmp(kind, "bits:", 5) == 0 && run == 1)
		*last ^= 1;
	else if (strncmp(kind, "threads:", 8) == 0 && run == 2)
		*last ^= 1;
	else if (strncmp(kind, "outside:", 8) == 0)
		out->p[out->bytes] ^= 1;
	else if (strncmp(kind, "workspace:", 10) == 0)
		t->ws.p[-1] ^= 1;
	else if (strncmp(kind, "crash:", 6) == 0)
		raise(SIGSEGV);
	while (strncmp(kind, "hang:", 5) == 0)
		pause();
}

/* --- looking --- */

static void fault(struct trial *t, enum proof_fault f)
{
	if (t->v.fault == PROOF_NONE)
		t->v.fault = f;
}

/* Runs the kernel and looks at all that it wrote; *hash: of its results. */
static int run(struct trial *t, int number, uint64_t *hash)
{
	void *in[PROOF_IN], *out[PROOF_OUT];
	const int byte = number == 1 ? 0x7f : 0xff;
	for (int i = 0; i < PROOF_IN; i++)
		in[i] = t->in[i].p;
	for (int i = 0; i < PROOF_OUT; i++) {
		out[i] = t->out[i].p;
		poison(&t->out[i], byte);
	}
	poison(&t->ws, byte);
	TRY(kernel_of(t)->run(&t->k, &(struct kargs){ .in = in, .out = out, .ws = t->ws.p }));
	spoil(t, number);
	*hash = 0;
	if (!is_guarded(&t->ws, byte))
		fault(t, PROOF_OUTSIDE);
	for (int i = 0; i < PROOF_OUT; i++) {
		struct proof_seen seen;
		if (!t->out[i].p)
			continue;
		proof_memory_see(&seen, t->out[i].x, t->out[i].p, byte);
		if (!is_guarded(&t->out[i], byte) || seen.gaps_written)
			fault(t, PROOF_OUTSIDE);
		if (!seen.finite)
			fault(t, PROOF_UNWRITTEN);
		if (!seen.padding_zero)
			fault(t, PROOF_PADDING);
		*hash = hash_bytes(&seen.hash, sizeof seen.hash, *hash);
	}
	return 0;
}

/* --- picked elements --- */

static int order(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

/* n of the places 0 .. extent - 1: both ends, the rest at random, ascending. */
static void pick_axis(int64_t extent, int n, uint64_t stream, int64_t *at)
{
	int have = 0;
	if (n == extent) {
		for (int i = 0; i < n; i++)
			at[i] = i;
		return;
	}
	at[have++] = 0;
	if (n > 1)
		at[have++] = extent - 1;
	for (uint64_t draw = 0; have < n; draw++) {
		const int64_t v = (int64_t)(rng_uniform(7, stream, 0, draw) * (double)extent);
		bool is_new = v < extent;
		for (int i = 0; i < have; i++)
			is_new = is_new && at[i] != v;
		if (is_new)
			at[have++] = v;
	}
	qsort(at, (size_t)n, sizeof *at, order);
}

/* At least `least` elements: two places of each axis, then more of the axis that has most left for
 * each. */
static void pick(struct picks *p, const struct shape *s, int64_t least)
{
	*p = (struct picks){ .nd = s->nd };
	for (int d = 0; d < s->nd; d++)
		p->n[d] = s->d[d] < 2 ? (int)s->d[d] : 2;
	while (picks_count(p) < least) {
		int best = -1;
		double most = 1;
		for (int d = 0; d < s->nd; d++)
			if (p->n[d] < PICK_MOST && (double)s->d[d] / p->n[d] > most) {
				most = (double)s->d[d] / p->n[d];
				best = d;
			}
		if (best < 0)
			break;
		p->n[best]++;
	}
	for (int d = 0; d < s->nd; d++)
		pick_axis(s->d[d], p->n[d], (uint64_t)d, p->at[d]);
}

static int64_t flat_of(const struct shape *s, const int64_t *index)
{
	int64_t at = 0;
	for (int d = 0; d < s->nd; d++)
		at = at * s->d[d] + index[d];
	return at;
}

/* Of the sum without signs; kernels that are right had up to 9e-7. */
#define SINGLE_ERROR 1e-5
#define MEAN_PRODUCT 0.25        /* of two inputs, without its sign */

/* Half a unit in the last place, for a value of 1. */
static double rounding_of(enum dtype t)
{
	return t == DTYPE_BF16 ? 0x1p-8 : 0x1p-23;
}

/* usual: the size of a sum without padding. Winograd's errors are relative to that of a whole tile,
 * also where an element's own sum is of padding alone. */
static void compare(struct trial *t, const struct place *out, const struct picks *p,
                    const struct expected *e, double usual)
{
	const int64_t n = picks_count(p);
	for (int64_t i = 0; i < n; i++) {
		int64_t index[MAXD];
		picks_index(p, i, index);
		const int64_t at = layout_offset(&out->x->layout, flat_of(&out->x->shape, index));
		const double v = dtype_get(out->x->dtype, out->p, at),
		             rounded = fabs(e[i].value) + e[i].rounded,
		             tolerance = SINGLE_ERROR * fmax(e[i].size, usual) + 1e-30 +
		                         rounding_of(out->x->dtype) * rounded,
		             error = fabs(v - e[i].value) / tolerance;
		t->v.of++;
		t->v.worst = error > t->v.worst ? error : t->v.worst;
		t->v.wrong += !(error <= 1);
	}
	if (t->v.wrong)
		fault(t, PROOF_VALUE);
}

static int check_values(struct trial *t)
{
	const struct node *n = t->g->node[0];
	const struct cost cost = op_cost(t->g, n);
	void *in[PROOF_IN];
	int rc = 0;
	for (int i = 0; i < PROOF_IN; i++)
		in[i] = t->in[i].p;
	for (int o = 0; o < n->nout && rc == 0; o++) {
		struct picks p;
		if (!t->out[o].p)
			continue;
		const struct shape *s = &t->out[o].x->shape;
		const double terms = fmax(1, cost.flops / 2 / (double)shape_count(s)),
		             picks = fmin(MOST_PICKS, fmax(LEAST_PICKS, PICK_TERMS / terms));
		pick(&p, s, (int64_t)picks);
		struct expected *e = mem_calloc((size_t)picks_count(&p), sizeof *e);
		rc = n->op->expect(t->g, n, in, o, &p, e);
		if (rc == 0)
			compare(t, &t->out[o], &p, e, o == 0 && cost.flops > 0 ? MEAN_PRODUCT * terms : 0);
		mem_free(e);
	}
	return rc;
}

static int prove(struct trial *t, struct proof_bench *b)
{
	uint64_t first, second, one;
	TRY(plan(t, t->c->threads));
	TRY(place_buffers(t, b));
	for (int i = 0; i < PROOF_IN; i++)
		if (t->in[i].p)
			proof_memory_fill(t->in[i].x, t->in[i].p, (uint64_t)i);
	TRY(run(t, 0, &first));
	TRY(check_values(t));
	TRY(run(t, 1, &second));
	if (first != second)
		fault(t, PROOF_BITS);
	if (!t->c->any_threads)
		return 0;
	const size_t ws = t->ws.bytes;
	TRY(plan(t, 1));
	if (t->k.ws_bytes > ws)
		return ERR(E_UNSUPPORTED, NULL, "one thread needs more workspace");
	TRY(run(t, 2, &one));
	if (first != one)
		fault(t, PROOF_THREADS);
	return 0;
}

int proof_bench_run(struct proof_bench *b, struct device *dev, const struct proof_case *c,
                    struct proof_verdict *out)
{
	struct trial t = { .c = c, .dev = dev, .arena = arena_new() };
	int rc = proof_case_graph(c, &t.g, &t.env);
	if (rc == 0) {
		rc = prove(&t, b);
		unplan(&t);
		graph_free(t.g);
	}
	use_threads(&t, c->threads);
	arena_free(t.arena);
	*out = t.v;
	return rc;
}
