/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests one kernel on random inputs. The cost should not be much more than that of the kernel's
 * runs: values are made and checked in single passes over memory, and only picked elements are
 * recomputed. */
#include "backend/proof/proof.h"

#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "backend/device.h"
#include "backend/proof/proof_memory.h"
#include "backend/proof/proof_spoil.h"
#include "backend/proof/proof_values.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/round.h"

#define EDGE 4096                /* bytes of guard before and after a buffer */

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

/* A fault put in by a test. */
static void spoil(const struct trial *t, int run)
{
	const struct place *out = &t->out[0];
	const int64_t last = layout_offset(&out->x->layout, shape_count(&out->x->shape) - 1);
	if (proof_spoils(t->c->impl))
		proof_spoil(&(struct proof_spoilt){ out->x->dtype,
			out->p + (size_t)last * dtype_size(out->x->dtype), out->p + out->bytes,
			t->ws.p - 1 }, run);
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

static int element(void *user, int o, int64_t at, double *value)
{
	const struct trial *t = user;
	*value = dtype_get(t->out[o].x->dtype, t->out[o].p, at);
	return 0;
}

static int check_values(struct trial *t)
{
	void *in[PROOF_IN];
	for (int i = 0; i < PROOF_IN; i++)
		in[i] = t->in[i].p;
	const struct proof_made m = { t->c, t->g, t->g->node[0], in, element, t };
	return proof_values_check(&m, &t->v);
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
