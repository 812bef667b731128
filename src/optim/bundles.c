/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sorts the parameters in the order in which backward finishes their gradients, and divides them
 * into bundles. One node updates each bundle, so that gradients are used early and their memory
 * becomes free. A parameter larger than a bundle has a bundle of its own. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "optim/optim.h"

struct ready {
	nid together, at;            /* node after which all parameters of its group have their
	                              * gradients; node after which it has its own */
	int kin, i;                  /* index of the first parameter of its group (those that the
	                              * optimizer must see together); own index */
};

static int by_ready(const void *x, const void *y)
{
	const struct ready *a = x, *b = y;
	if (a->together != b->together)
		return a->together > b->together ? 1 : -1;
	if (a->kin != b->kin)
		return a->kin > b->kin ? 1 : -1;
	return a->at != b->at ? (a->at > b->at) - (a->at < b->at) : a->i - b->i;
}

static bool are_kin(const struct variant_value *o, const char *a, const char *b)
{
	size_t n = optim_prefix(o, a);
	return optim_prefix(o, b) == n && strncmp(a, b, n) == 0;
}

/* r: in the network's order, in which kin are near each other but not always side by side. */
static void find_kin(const struct graph *g, const struct variant_value *o, int n, const tid *param,
                     struct ready *r)
{
	for (int i = 0; i < n; i++) {
		const char *name = graph_t(g, param[i])->name;
		r[i].kin = i;
		for (int k = 0; k < i && r[i].kin == i && optim_prefix(o, name) < strlen(name); k++)
			if (r[k].kin == k && are_kin(o, name, graph_t(g, param[k])->name))
				r[i].kin = k;
		struct ready *head = &r[r[i].kin];
		head->together = r[i].at > head->together ? r[i].at : head->together;
	}
	for (int i = 0; i < n; i++)
		r[i].together = r[r[i].kin].together;
}

static int64_t bytes_of(const struct graph *g, tid t)
{
	const struct tensor *x = graph_t(g, t);
	return shape_count(&x->shape) * (int64_t)dtype_size(x->dtype);
}

/* Begins a new bundle before a group that would make the current one too large. */
static void cut(struct bundles *b, const struct graph *g, const struct ready *r, int64_t most)
{
	int64_t sum = 0;
	for (int i = 0, next; i < b->nparam; i = next) {
		int64_t bytes = 0;
		for (next = i; next < b->nparam && r[next].kin == r[i].kin; next++)
			bytes += bytes_of(g, b->param[next]);
		if (i == 0 || sum + bytes > most) {
			b->first[b->n++] = i;
			sum = 0;
		}
		sum += bytes;
	}
	b->first[b->n] = b->nparam;
}

static void sort(struct ready *r, int n, const int *order)
{
	if (!order) {
		qsort(r, (size_t)n, sizeof *r, by_ready);
		return;
	}
	struct ready *given = mem_alloc(((size_t)n + 1) * sizeof *given);
	memcpy(given, r, (size_t)n * sizeof *r);
	for (int i = 0; i < n; i++)
		r[i] = given[order[i]];
	mem_free(given);
}

struct bundles *bundles_new(struct graph *g, const struct variant_value *optimizer, int n,
                            const tid *param, const tid *grad, int64_t most, const int *order)
{
	struct bundles *b = ARENA_NEW(g->arena, struct bundles);
	struct ready *r = mem_alloc(((size_t)n + 1) * sizeof *r);
	b->nparam = n;
	b->network = arena_copy(g->arena, param, (size_t)n * sizeof *param);
	b->param = ARENA_ARRAY(g->arena, tid, n);
	b->grad = ARENA_ARRAY(g->arena, tid, n);
	b->first = ARENA_ARRAY(g->arena, int, n + 1);
	b->order = ARENA_ARRAY(g->arena, int, n);
	b->frozen = ARENA_ARRAY(g->arena, bool, n);
	for (int i = 0; i < n; i++) {
		nid at = graph_t(g, grad[i])->producer;
		r[i] = (struct ready){ at, at, i, i };
	}
	find_kin(g, optimizer, n, param, r);
	sort(r, n, order);
	for (int i = 0; i < n; i++) {
		b->order[i] = r[i].i;
		b->param[i] = param[r[i].i];
		b->grad[i] = grad[r[i].i];
		b->frozen[i] = optimizer && optim_freezes(optimizer, graph_t(g, b->param[i]));
	}
	cut(b, g, r, most);
	mem_free(r);
	return b;
}

void bundles_enter(struct graph *g, const struct bundles *b, int k, const char *what)
{
	const struct tensor *w = graph_t(g, b->param[b->first[k]]);
	int more = b->first[k + 1] - b->first[k] - 1;
	g->cur_name = more ? arena_printf(g->arena, "%s%s and %d more", w->name, what, more)
	                   : arena_printf(g->arena, "%s%s", w->name, what);
	if (w->loc.file)
		g->cur_loc = w->loc;
}

int bundles_state(struct graph *g, tid p, const char *leaf, tid *out)
{
	const struct tensor *t = graph_t(g, p);
	return graph_state(g, arena_printf(g->arena, "%s.%s", t->name, leaf), t->dtype, &t->shape,
	                   (struct init){ INIT_CONSTANT, 0 }, out);
}

int bundles_states(struct graph *g, const struct bundles *b, int n, const char *const *leaf)
{
	tid unused;
	for (int i = 0; i < b->nparam; i++)
		for (int m = 0; m < n; m++)
			TRY(bundles_state(g, b->network[i], leaf[m], &unused));
	return 0;
}

int bundles_squares(struct graph *g, const struct bundles *b, tid *out, int *n)
{
	*n = 0;
	for (int k = 0; k < b->n; k++) {
		tid *grad = ARENA_ARRAY(g->arena, tid, b->first[k + 1] - b->first[k]);
		int moving = 0;
		for (int i = b->first[k]; i < b->first[k + 1]; i++)
			if (!b->frozen[i])
				grad[moving++] = b->grad[i];
		if (moving)
			TRY(graph_emit1(g, "sum_squares", NULL, moving, grad, &out[(*n)++]));
	}
	return 0;
}

static int emit_sum(struct graph *g, struct bundles *b, int k, tid micro)
{
	int first = b->first[k], n = b->first[k + 1] - first;
	tid *in = ARENA_ARRAY(g->arena, tid, 1 + 2 * n);
	in[0] = micro;
	for (int i = 0; i < n; i++) {
		tid *sum = &in[1 + 2 * i];
		TRY(bundles_state(g, b->param[first + i], "gradient_sum", sum));
		graph_t(g, *sum)->grad_of = b->param[first + i];
		graph_t(g, *sum)->use = STATE_OF_STEP;
		in[2 + 2 * i] = b->grad[first + i];
	}
	return graph_emit(g, "accumulate", NULL, 1 + 2 * n, in, n, b->grad + first);
}

int accumulate_emit(struct graph *g, struct bundles *b, tid micro)
{
	struct graph_context saved = { g->cur_name, g->cur_loc, g->cur_phase };
	int rc = bundles_states(g, b, 1, (const char *[]){ "gradient_sum" });
	g->cur_phase = PHASE_BACKWARD;
	for (int k = 0; k < b->n && rc == 0; k++) {
		bundles_enter(g, b, k, ".gradient_sum");
		rc = emit_sum(g, b, k, micro);
	}
	graph_leave(g, saved);
	return rc;
}
