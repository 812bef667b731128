/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plan evaluates physics_rows samples; the last piece is filled up by repeating its last
 * sample. */
#include "train/predict/samples_at.h"

#include <string.h>

#include "base/err.h"
#include "plan/program.h"
#include "train/predict/noise_at.h"

#define MOST_VALUES ((int64_t)1 << 28)

struct piece {
	const struct physics *p;
	int64_t rows, each;              /* of all pieces; of one */
	int narrays;                     /* those of the record; noise follows */
	struct batch_array *array;
	double **row;                    /* what these have */
	double **noise;                  /* (rows, components) */
};

static void add_input(struct arena *a, struct piece *in, int i, const char *name, int64_t columns)
{
	in->row[i] = ARENA_ARRAY(a, double, in->each * columns);
	in->array[i] = (struct batch_array){ arena_printf(a, PHYSICS_RECORD ".%s", name), DTYPE_F64,
		columns, in->row[i] };
}

static void make_inputs(struct arena *a, const struct physics *p, int64_t rows, uint64_t seed,
                        struct piece *in)
{
	const struct noise_draw draw = { rows, seed };
	*in = (struct piece){ .p = p, .rows = rows, .each = physics_rows(p),
		.narrays = p->record ? p->record->nvalues : 0 };
	const int n = in->narrays + p->net.nnoise;
	in->array = ARENA_ARRAY(a, struct batch_array, n + 1);
	in->row = ARENA_ARRAY(a, double *, n + 1);
	in->noise = ARENA_ARRAY(a, double *, p->net.nnoise + 1);
	for (int k = 0; k < in->narrays; k++)
		add_input(a, in, k, p->record->values[k].name, p->record->values[k].each);
	for (int k = 0; k < p->net.nnoise; k++) {
		add_input(a, in, in->narrays + k, p->net.noise[k].name, p->net.noise[k].components);
		in->noise[k] = noise_at(a, &p->net.noise[k], draw);
	}
}

static void gather(const struct piece *in, int64_t first)
{
	for (int64_t i = 0; i < in->each; i++) {
		const int64_t at = first + i < in->rows ? first + i : in->rows - 1;
		for (int k = 0; k < in->narrays; k++) {
			const struct point_values *v = &in->p->record->values[k];
			const size_t bytes = (size_t)v->each * dtype_size(v->dtype);
			dtype_convert(DTYPE_F64, in->row[k] + i * v->each, v->dtype,
			              (const char *)v->raw + (size_t)at * bytes, v->each);
		}
		for (int k = 0; k < in->p->net.nnoise; k++) {
			const int64_t columns = in->p->net.noise[k].components;
			memcpy(in->row[in->narrays + k] + i * columns, in->noise[k] + at * columns,
			       sizeof(double) * (size_t)columns);
		}
	}
}

/* scratch: room for a piece. */
static int take(struct plan *p, const char *name, const struct piece *in, int64_t first,
                int64_t columns, double *scratch, double *out)
{
	const int64_t rest = in->rows - first, n = rest < in->each ? rest : in->each;
	TRY(exec_read(p->exec, plan_out(p, name), DTYPE_F64, scratch));
	memcpy(out + first * columns, scratch, sizeof *out * (size_t)(n * columns));
	return 0;
}

static int run_piece(const struct session *s, struct arena *a, struct piece *in, int64_t first,
                     double *scratch, struct sample_values *out)
{
	struct plan *p = session_plan(s, PLAN_PREDICT);
	const struct batch b = { .n = in->each, .more = in->array,
		.nmore = in->narrays + in->p->net.nnoise };
	gather(in, first);
	TRY(plan_feed(p, s->config, &b, NULL));
	TRY(exec_run(p->exec, ~0u));
	for (int i = 0; i < out->n; i++) {
		const struct sample_output *o = &out->output[i];
		TRY(take(p, o->of->name, in, first, o->of->components, scratch, o->v));
		if (o->known)
			TRY(take(p, arena_printf(a, PHYSICS_KNOWN "%s", o->of->name), in, first,
			         o->of->components, scratch, o->known));
	}
	return 0;
}

/* Returns the components of the widest one. */
static int64_t make_outputs(struct arena *a, const struct physics *p, struct sample_values *out)
{
	int64_t most = 1;
	out->n = p->nevaluated;
	out->output = ARENA_ARRAY(a, struct sample_output, out->n + 1);
	for (int i = 0; i < out->n; i++) {
		const struct evaluated *v = &p->evaluated[i];
		const int64_t n = out->rows * v->components;
		out->output[i] = (struct sample_output){ v, ARENA_ARRAY(a, double, n),
			v->known ? ARENA_ARRAY(a, double, n) : NULL };
		most = v->components > most ? v->components : most;
	}
	return most;
}

static int check_values(const struct physics *p, int64_t rows)
{
	int64_t columns = 0;
	for (int i = 0; i < p->nevaluated; i++)
		columns += p->evaluated[i].components * (p->evaluated[i].known ? 2 : 1);
	if (rows <= MOST_VALUES / (columns ? columns : 1))
		return 0;
	return ERR(E_DATA, NULL, "%lld samples of %lld values each are more than %lld values",
	           (long long)rows, (long long)columns, (long long)MOST_VALUES);
}

int samples_at(const struct session *s, struct arena *a, int64_t rows, uint64_t seed,
               struct sample_values *out)
{
	const struct physics *p = s->config->physics;
	struct piece in;
	*out = (struct sample_values){ .rows = p->record ? p->record->stored : rows };
	TRY(check_values(p, out->rows));
	make_inputs(a, p, out->rows, seed, &in);
	double *scratch = ARENA_ARRAY(a, double, in.each * make_outputs(a, p, out));
	for (int64_t first = 0; first < out->rows; first += in.each)
		TRY(run_piece(s, a, &in, first, scratch, out));
	return 0;
}
