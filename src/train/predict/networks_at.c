/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plan evaluates PHYSICS_ROWS points, so places are processed in pieces of this size. The last
 * piece is filled up by repeating its last place. */
#include "train/predict/networks_at.h"

#include <string.h>

#include "base/err.h"
#include "plan/program.h"

#define MOST_VALUES ((int64_t)1 << 28)

void networks_at_names(struct arena *a, const struct physics *p, struct network_values *out)
{
	*out = (struct network_values){ 0 };
	for (int i = 0; i < p->nevaluated; i++)
		out->n += p->evaluated[i].components;
	out->name = ARENA_ARRAY(a, const char *, out->n + 1);
	for (int i = 0, k = 0; i < p->nevaluated; i++)
		for (int c = 0; c < p->evaluated[i].components; c++)
			out->name[k++] = p->evaluated[i].components == 1 ? p->evaluated[i].name :
			                 arena_printf(a, "%s.%d", p->evaluated[i].name, c);
}

/* --- inputs --- */

/* What the plan reads of a piece, and the numbers of all realizations that noise is taken from. */
struct inputs {
	const struct places *places;
	int64_t rows;                    /* of all pieces: the places of one realization after the
	                                  * other */
	int ncoordinates, nnoise;
	struct batch_array *array;
	double **row;                    /* what these have */
	double **noise;                  /* (realizations, components) */
};

static void add_input(struct arena *a, struct inputs *in, int i, const char *name, int64_t each)
{
	in->row[i] = ARENA_ARRAY(a, double, PHYSICS_ROWS * each);
	in->array[i] = (struct batch_array){ arena_printf(a, PHYSICS_AT ".%s", name), DTYPE_F64, each,
		in->row[i] };
}

static void make_inputs(struct arena *a, const struct physics *p, const struct places *places,
                        struct noise_draw draw, struct inputs *in)
{
	*in = (struct inputs){ .places = places, .rows = places->n * draw.realizations,
		.ncoordinates = p->coordinates.n, .nnoise = p->net.nnoise };
	in->array = ARENA_ARRAY(a, struct batch_array, in->ncoordinates + in->nnoise);
	in->row = ARENA_ARRAY(a, double *, in->ncoordinates + in->nnoise);
	in->noise = ARENA_ARRAY(a, double *, in->nnoise + 1);
	for (int k = 0; k < in->ncoordinates; k++)
		add_input(a, in, k, p->coordinates.v[k], 1);
	for (int k = 0; k < in->nnoise; k++) {
		const struct noise_name *n = &p->net.noise[k];
		add_input(a, in, in->ncoordinates + k, n->name, n->components);
		in->noise[k] = noise_at(a, n, draw);
	}
}

/* The rows of a piece. */
static void gather(const struct inputs *in, int64_t first)
{
	for (int64_t i = 0; i < PHYSICS_ROWS; i++) {
		const int64_t at = first + i < in->rows ? first + i : in->rows - 1,
		              place = at % in->places->n, realization = at / in->places->n;
		for (int k = 0; k < in->ncoordinates; k++)
			in->row[k][i] = places_coordinate(in->places, k, place);
		for (int k = 0; k < in->nnoise; k++) {
			const int64_t each = in->array[in->ncoordinates + k].each;
			memcpy(in->row[in->ncoordinates + k] + i * each, in->noise[k] + realization * each,
			       sizeof(double) * (size_t)each);
		}
	}
}

/* --- outputs --- */

static int take(const struct session *s, struct plan *p, int64_t first, double *output,
                struct network_values *out)
{
	const struct physics *physics = s->config->physics;
	const int64_t rest = out->places * out->realizations - first,
	              n = rest < PHYSICS_ROWS ? rest : PHYSICS_ROWS;
	double **to = out->v;
	for (int i = 0; i < physics->nevaluated; i++) {
		const int64_t wide = physics->evaluated[i].components;
		TRY(exec_read(p->exec, plan_out(p, physics->evaluated[i].name), DTYPE_F64, output));
		for (int64_t c = 0; c < wide; c++, to++)
			for (int64_t k = 0; k < n; k++)
				(*to)[first + k] = output[k * wide + c];
	}
	return 0;
}

int networks_at(const struct session *s, struct arena *a, const struct places *places,
                struct noise_draw draw, struct network_values *out)
{
	struct plan *p = session_plan(s, PLAN_PREDICT);
	struct inputs in;
	networks_at_names(a, s->config->physics, out);
	out->places = places->n;
	out->realizations = draw.realizations;
	if (out->n == 0)
		return ERR(E_CONFIG, config_place(s->config, "model", "networks"), "no network is a "
		           "function of coordinates and noise alone, which could be evaluated");
	if (places->n > MOST_VALUES / out->n / draw.realizations)
		return ERR(E_DATA, NULL, "%lld realizations of %d fields at %lld places are more than %lld "
		           "values", (long long)draw.realizations, out->n, (long long)places->n,
		           (long long)MOST_VALUES);
	make_inputs(a, s->config->physics, places, draw, &in);
	out->v = ARENA_ARRAY(a, double *, out->n);
	for (int i = 0; i < out->n; i++)
		out->v[i] = ARENA_ARRAY(a, double, in.rows);
	double *output = ARENA_ARRAY(a, double, (int64_t)PHYSICS_ROWS * out->n);
	const struct batch b = { .n = PHYSICS_ROWS, .more = in.array,
		.nmore = in.ncoordinates + in.nnoise };
	for (int64_t first = 0; first < in.rows; first += PHYSICS_ROWS) {
		gather(&in, first);
		TRY(plan_feed(p, s->config, &b, NULL));
		TRY(exec_run(p->exec, ~0u));
		TRY(take(s, p, first, output, out));
	}
	return 0;
}
