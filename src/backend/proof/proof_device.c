/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests a planned kernel of a device with its own memory, in this process: a second process would
 * need its own context on the device, and planning again might choose another engine. The traffic
 * over the bus is bounded: inputs are repeated on the device as on the host (proof_pattern.h), and
 * of a large result only parts and the picked elements are copied back. */
#include "backend/proof/proof.h"

#include <string.h>

#include "backend/device.h"
#include "backend/proof/proof_memory.h"
#include "backend/proof/proof_pattern.h"
#include "backend/proof/proof_spoil.h"
#include "backend/proof/proof_values.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/round.h"

#define EDGE 4096                /* bytes of guard before and after a buffer */
#define ALIGNED 256              /* bytes: the alignment that libraries require of a workspace */
#define SEEN ((size_t)4 << 20)   /* bytes of a result that are looked at, in */
#define PARTS 16                 /* parts, if it has more */

struct place {
	const struct tensor *x;      /* NULL: workspace, or nothing */
	char *p;                     /* in the device's memory */
	size_t bytes;
};

struct trial {
	const struct proof_case *c;
	const struct kplan *k;
	char *memory;
	size_t bytes;
	struct place in[PROOF_IN], out[PROOF_OUT], ws;
	struct proof_pattern pattern[PROOF_IN];
	char *seen[PROOF_OUT];       /* results, or the last part that was looked at */
	uint64_t hash;               /* hash of the elements that were checked */
	struct proof_verdict v;
};

static void fault(struct trial *t, enum proof_fault f)
{
	if (t->v.fault == PROOF_NONE)
		t->v.fault = f;
}

/* --- memory --- */

static void reserve(struct place *p, size_t bytes, size_t *at)
{
	p->bytes = bytes;
	p->p = (char *)(*at + EDGE);     /* an offset until there is memory */
	*at = round_up(*at + EDGE + bytes, ALIGNED) + EDGE;
}

static void reserve_tensors(const struct graph *g, struct place *p, const tid *x, int n, size_t *at)
{
	for (int i = 0; i < n; i++)
		if (x[i] != NONE) {
			p[i].x = graph_t(g, x[i]);
			reserve(&p[i], proof_memory_bytes(p[i].x), at);
		}
}

/* Not counted as memory of the run, since it is freed before the run allocates its own. */
static int place_buffers(struct trial *t)
{
	const struct kplan *k = t->k;
	reserve_tensors(k->g, t->in, k->n->in, k->n->nin, &t->bytes);
	reserve_tensors(k->g, t->out, k->n->out, k->n->nout, &t->bytes);
	reserve(&t->ws, k->ws_bytes, &t->bytes);
	t->memory = k->dev->driver->alloc(k->dev, t->bytes);
	if (!t->memory)
		return ERR(E_NOMEM, NULL, "the device has no %zu bytes to prove a kernel", t->bytes);
	for (int i = 0; i < PROOF_IN; i++)
		t->in[i].p = t->in[i].x ? t->memory + (size_t)t->in[i].p : NULL;
	for (int i = 0; i < PROOF_OUT; i++)
		t->out[i].p = t->out[i].x ? t->memory + (size_t)t->out[i].p : NULL;
	t->ws.p = t->memory + (size_t)t->ws.p;
	return 0;
}

/* The first `period` bytes at `host` again and again. */
static int repeat(const struct trial *t, char *to, size_t bytes, const char *host, size_t period)
{
	const struct device *d = t->k->dev;
	size_t have = bytes < period ? bytes : period;
	TRY(device_put(d, to, host, have));
	for (; have < bytes; have *= 2) {
		const size_t part = bytes - have < have ? bytes - have : have;
		TRY(d->driver->prefetch_copy(d, to + have, to, part));
	}
	return 0;
}

static int fill_inputs(struct trial *t)
{
	for (int i = 0; i < PROOF_IN; i++) {
		const struct place *p = &t->in[i];
		struct proof_pattern *made = &t->pattern[i];
		if (!p->x)
			continue;
		TRY(proof_pattern_make(made, p->x->dtype, p->bytes, i));
		TRY(repeat(t, p->p, p->bytes, made->p, made->period));
	}
	return 0;
}

static int poison(const struct trial *t, const struct place *p, int byte)
{
	char edge[EDGE];
	memset(edge, byte, sizeof edge);
	return p->p ? repeat(t, p->p - EDGE, p->bytes + 2 * EDGE, edge, EDGE) : 0;
}

static int check_guards(struct trial *t, const struct place *p, int byte)
{
	char edge[2][EDGE];
	TRY(device_get(t->k->dev, edge[0], p->p - EDGE, EDGE));
	TRY(device_get(t->k->dev, edge[1], p->p + p->bytes, EDGE));
	for (int i = 0; i < 2; i++)
		if (!proof_memory_is(edge[i], EDGE, byte))
			fault(t, PROOF_OUTSIDE);
	return 0;
}

/* A fault put in by a test. */
static int spoil(const struct trial *t, int run)
{
	const struct device *d = t->k->dev;
	const struct tensor *x = t->out[0].x;
	const size_t size = dtype_size(x->dtype);
	char host[3][8];
	char *const at[] = {
		t->out[0].p + (size_t)layout_offset(&x->layout, shape_count(&x->shape) - 1) * size,
		t->out[0].p + t->out[0].bytes, t->ws.p - 1 };
	if (!proof_spoils(t->c->impl))
		return 0;
	for (int i = 0; i < 3; i++)
		TRY(device_get(d, host[i], at[i], i == 0 ? size : 1));
	proof_spoil(&(struct proof_spoilt){ x->dtype, host[0], host[1], host[2] }, run);
	for (int i = 0; i < 3; i++)
		TRY(device_put(d, at[i], host[i], i == 0 ? size : 1));
	return 0;
}

/* --- looking --- */

/* n elements from `first` on, which are at p. What is between the pixels of a slice is no element:
 * it stays as it is. */
static void see_part(struct trial *t, const struct tensor *x, const char *p, int64_t first,
                     int64_t n, int byte)
{
	const size_t size = dtype_size(x->dtype);
	struct layout_rows rows;
	const bool sliced = layout_rows(&x->layout, &x->shape, &rows) && rows.stride > rows.c;
	const uint32_t exponent = x->dtype == DTYPE_F32 ? 0x7F800000u :
	                          x->dtype == DTYPE_BF16 ? 0x7F80u : 0x7C00u;
	for (int64_t i = 0; i < n; i++) {
		uint32_t bits = 0;
		memcpy(&bits, p + (size_t)i * size, size);
		if (sliced && (first + i) % rows.stride >= rows.c) {
			if (!proof_memory_is(p + (size_t)i * size, size, byte))
				fault(t, PROOF_OUTSIDE);
			continue;
		}
		if ((bits & exponent) == exponent)
			fault(t, PROOF_UNWRITTEN);
		t->hash = (t->hash ^ bits) * 0x9E3779B97F4A7C15u;
	}
}

static bool is_whole(const struct place *p)
{
	return p->bytes <= SEEN;
}

/* Brings result o here, or parts of it, both ends among them, one after the other. */
static int see(struct trial *t, int o, int byte)
{
	const struct place *p = &t->out[o];
	const int64_t size = (int64_t)dtype_size(p->x->dtype), all = (int64_t)p->bytes / size,
	              parts = is_whole(p) ? 1 : PARTS,
	              part = is_whole(p) ? all : (int64_t)SEEN / PARTS / size;
	if (!t->seen[o])
		t->seen[o] = mem_alloc((size_t)(part * size));
	for (int64_t i = 0; i < parts; i++) {
		const int64_t first = i ? (all - part) * i / (parts - 1) : 0;
		TRY(device_get(t->k->dev, t->seen[o], p->p + first * size, (size_t)(part * size)));
		see_part(t, p->x, t->seen[o], first, part, byte);
	}
	return check_guards(t, p, byte);
}

static int element(void *user, int o, int64_t at, double *value)
{
	const struct trial *t = user;
	const struct place *p = &t->out[o];
	const size_t size = dtype_size(p->x->dtype);
	char one[8];
	if (!is_whole(p))
		TRY(device_get(t->k->dev, one, p->p + (size_t)at * size, size));
	*value = dtype_get(p->x->dtype, is_whole(p) ? t->seen[o] + (size_t)at * size : one, 0);
	return 0;
}

static int check_values(struct trial *t)
{
	void *in[PROOF_IN];
	for (int i = 0; i < PROOF_IN; i++)
		in[i] = t->pattern[i].p;
	const struct proof_made m = { t->c, t->k->g, t->k->n, in, element, t };
	return proof_values_check(&m, &t->v);
}

/* --- running --- */

/* A library that refuses the kernel has run nothing, and the device goes on. */
static int launch(struct trial *t, const struct kargs *a)
{
	const struct kplan *k = t->k;
	const int mark = err_count();
	int rc = k->n->op->kernel[k->dev->backend].run(k, a);
	if (rc == 0)
		return device_finish(k->dev);
	if (rc == E_UNSUPPORTED && !k->dev->driver->failed(k->dev)) {
		err_truncate(mark);
		fault(t, PROOF_REFUSED);
		rc = 0;
	}
	return rc;
}

/* Runs the kernel and looks at what it wrote; leaves a hash of that. */
static int run(struct trial *t, int number)
{
	const struct kplan *k = t->k;
	void *in[PROOF_IN], *out[PROOF_OUT];
	const int byte = number == 1 ? 0x7f : 0xff;
	TRY(poison(t, &t->ws, byte));
	for (int i = 0; i < PROOF_IN; i++)
		in[i] = t->in[i].p;
	for (int i = 0; i < PROOF_OUT; i++) {
		out[i] = t->out[i].p;
		TRY(poison(t, &t->out[i], byte));
	}
	TRY(launch(t, &(struct kargs){ .in = in, .out = out, .ws = k->ws_bytes ? t->ws.p : NULL }));
	if (t->v.fault == PROOF_REFUSED)
		return 0;
	TRY(spoil(t, number));
	t->hash = 0;
	TRY(check_guards(t, &t->ws, byte));
	for (int i = 0; i < PROOF_OUT; i++)
		if (t->out[i].x)
			TRY(see(t, i, byte));
	return 0;
}

static int prove(struct trial *t)
{
	TRY(place_buffers(t));
	TRY(fill_inputs(t));
	TRY(run(t, 0));
	if (t->v.fault == PROOF_REFUSED)
		return 0;
	TRY(check_values(t));
	if (!t->c->deterministic)
		return 0;
	const uint64_t first = t->hash;
	TRY(run(t, 1));
	if (t->hash != first)
		fault(t, PROOF_BITS);
	return 0;
}

int proof_device_run(const struct kplan *k, const struct proof_case *c, struct proof_verdict *out)
{
	struct trial t = { .c = c, .k = k };
	const int rc = prove(&t);
	for (int i = 0; i < PROOF_IN; i++)
		proof_pattern_free(&t.pattern[i]);
	for (int i = 0; i < PROOF_OUT; i++)
		mem_free(t.seen[i]);
	if (t.memory)
		k->dev->driver->free(k->dev, t.memory, t.bytes);
	*out = t.v;
	return rc;
}
