/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plan has PHYSICS_ROWS points: places go through it in pieces, of which the last repeats its
 * last one. */
#include "train/networks_at.h"

#include "base/err.h"
#include "plan/program.h"

#define MOST_VALUES ((int64_t)1 << 28)

void networks_at_names(struct arena *a, const struct physics *p, struct network_values *out)
{
	const struct networks_read *net = &p->net;
	*out = (struct network_values){ 0 };
	for (int i = 0; i < net->n; i++)
		out->n += physics_is_field(p, &net->v[i]) ? (int)net->v[i].c.outputs : 0;
	out->name = ARENA_ARRAY(a, const char *, out->n + 1);
	for (int i = 0, k = 0; i < net->n; i++)
		for (int64_t c = 0; c < net->v[i].c.outputs && physics_is_field(p, &net->v[i]); c++)
			out->name[k++] = net->v[i].c.outputs == 1 ? net->v[i].name :
			                 arena_printf(a, "%s.%lld", net->v[i].name, (long long)c);
}

/* The rows of a piece: their coordinates. */
static void gather(const struct places *p, int64_t first, double *const *at)
{
	for (int k = 0; k < p->ncoordinates; k++)
		for (int64_t i = 0; i < PHYSICS_ROWS; i++)
			at[k][i] = places_coordinate(p, k, first + i < p->n ? first + i : p->n - 1);
}

static int take(const struct session *s, struct plan *p, int64_t first, double *output,
                struct network_values *out)
{
	const struct networks_read *net = &s->config->physics->net;
	const int64_t rest = out->places - first, n = rest < PHYSICS_ROWS ? rest : PHYSICS_ROWS;
	double **to = out->v;
	for (int i = 0; i < net->n; i++) {
		const int64_t wide = net->v[i].c.outputs;
		if (!physics_is_field(s->config->physics, &net->v[i]))
			continue;
		TRY(exec_read(p->exec, plan_out(p, net->v[i].name), DTYPE_F64, output));
		for (int64_t c = 0; c < wide; c++, to++)
			for (int64_t k = 0; k < n; k++)
				(*to)[first + k] = output[k * wide + c];
	}
	return 0;
}

int networks_at(const struct session *s, struct arena *a, const struct places *places,
                struct network_values *out)
{
	struct plan *p = session_plan(s, PLAN_PREDICT);
	const struct strings *c = &s->config->physics->coordinates;
	struct batch_array *array = ARENA_ARRAY(a, struct batch_array, c->n);
	double **at = ARENA_ARRAY(a, double *, c->n);
	const struct batch b = { .n = PHYSICS_ROWS, .more = array, .nmore = c->n };
	networks_at_names(a, s->config->physics, out);
	out->places = places->n;
	if (places->n > MOST_VALUES / out->n)
		return ERR(E_DATA, NULL, "%lld values at %lld places are more than %lld", (long long)out->n,
		           (long long)places->n, (long long)MOST_VALUES);
	out->v = ARENA_ARRAY(a, double *, out->n);
	for (int i = 0; i < out->n; i++)
		out->v[i] = ARENA_ARRAY(a, double, places->n);
	for (int k = 0; k < c->n; k++) {
		at[k] = ARENA_ARRAY(a, double, PHYSICS_ROWS);
		array[k] = (struct batch_array){ arena_printf(a, PHYSICS_AT ".%s", c->v[k]), DTYPE_F64, 1,
			at[k] };
	}
	double *output = ARENA_ARRAY(a, double, (int64_t)PHYSICS_ROWS * out->n);
	for (int64_t first = 0; first < places->n; first += PHYSICS_ROWS) {
		gather(places, first, at);
		TRY(plan_feed(p, s->config, &b, NULL));
		TRY(exec_run(p->exec, ~0u));
		TRY(take(s, p, first, output, out));
	}
	return 0;
}
