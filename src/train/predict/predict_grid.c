/* SPDX-License-Identifier: BSD-3-Clause */
#include "train/predict/predict.h"

#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/shown.h"
#include "comm/comm.h"
#include "report/drawing.h"
#include "train/predict/predict_array.h"
#include "train/predict/predict_request.h"
#include "train/predict/predict_sampled.h"
#include "train/predict/predicted_fields.h"

int predict_grid_check(const struct physics *p, const char *path)
{
	const bool samples = physics_has_samples(p);
	if (samples && io_ends_in(path, ".npz"))
		return 0;
	if (predict_is_netcdf(path) || io_ends_in(path, ".npy") || io_ends_in(path, ".csv") ||
	    (drawing_is(path) && !samples))
		return 0;
	if (samples)
		return ERR(E_USAGE, NULL, "'-o %s': values of samples are written as .nc, .h5, .npz, .npy "
		           "or .csv", shown(path));
	return ERR(E_USAGE, NULL, "'-o %s': networks of equations are written as .nc, .h5, .npy or "
	           ".csv, and drawn as .png or .svg", shown(path));
}

/* --- what is requested --- */

/* set: the record's; NULL of a grid. */
static int read_places(struct arena *a, const struct physics *p, const struct predict_request *r,
                       const struct point_set **set, struct places *out)
{
	*set = NULL;
	if (p->net.nnoise == 0 && (r->realizations != INT64_MIN || r->seed != INT64_MIN || r->samples))
		return ERR(E_USAGE, r->grid ? &r->grid->loc : NULL, "'realizations', 'seed' and 'samples' "
		           "are of networks that take noise, and these take none");
	if (!r->record && r->sensors)
		return ERR(E_USAGE, &r->grid->loc, "'sensors' are those of a 'record'");
	return r->record ? places_of_record(a, p, &(struct places_file){ .path = r->record,
		.sensors = r->sensors, .random = p->net.nnoise > 0 }, set, out) :
	                   places_of_grid(a, p, r->grid, out);
}

/* --- what is written --- */

static void add(struct arena *a, const char *name, const char *what, const double *v,
                struct predicted_fields *out)
{
	out->field[out->n++] = (struct predicted_field){ arena_printf(a, "%s%s", name, what), v };
}

static void add_statistics(struct arena *a, const char *name, const double *v,
                           int64_t realizations, struct predicted_fields *out)
{
	static const char *const names[] = { "_mean", "_std", "_q05", "_q95" };
	struct ensemble e;
	ensemble_init(&e, v, realizations, out->places.n);
	const double *const all[] = { e.mean, e.deviation, e.low, e.high };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		add(a, name, names[i], memcpy(ARENA_ARRAY(a, double, e.places), all[i],
		                              sizeof(double) * (size_t)e.places), out);
	ensemble_release(&e);
}

static const double *find_values(const struct point_set *set, const char *name)
{
	for (int i = 0; set && i < set->nvalues; i++)
		if (strcmp(set->values[i].name, name) == 0)
			return set->values[i].v;
	return NULL;
}

/* What the record says at its places: values and the network's error, or statistics. */
static void add_known(struct arena *a, const struct point_set *set, const char *name,
                      const double *v, struct predicted_fields *out)
{
	const double *known = find_values(set, name);
	if (known && set->realizations) {
		add_statistics(a, arena_printf(a, "%s_known", name), known, set->samples, out);
	} else if (known) {
		double *error = ARENA_ARRAY(a, double, out->places.n);
		for (int64_t i = 0; i < out->places.n; i++)
			error[i] = v[i] - known[i];
		add(a, name, "_known", known, out);
		add(a, name, "_error", error, out);
	}
}

static int write_file(const struct network_values *values, const struct point_set *set,
                      bool statistics, struct predicted_fields *out, struct arena *a,
                      const char *path)
{
	for (int i = 0; i < values->n; i++) {
		if (statistics)
			add_statistics(a, values->name[i], values->v[i], values->realizations, out);
		else
			add(a, values->name[i], "", values->v[i], out);
		if (out->realizations == 0)
			add_known(a, set, values->name[i], values->v[i], out);
	}
	return predicted_fields_write(out, a, path);
}

/* What is drawn next to the networks, where it is there. */
static void open_known(const struct run_config *c, struct known **known)
{
	const int mark = err_count();
	if (c->data.validation.n == 0 || known_open(known, c) == 0)
		return;
	note("the picture is without known values: '%s' cannot be read as such",
	     shown(c->data.validation.v[0]));
	err_truncate(mark);
	known_free(*known);
	*known = NULL;
}

static int draw_file(const struct session *s, const struct network_values *values, bool random,
                     struct predicted_fields *out, struct arena *a, const char *path)
{
	struct known *known = NULL;
	struct ensemble *law = ARENA_ARRAY(a, struct ensemble, values->n);
	for (int i = 0; i < values->n; i++) {
		if (random)
			ensemble_init(&law[i], values->v[i], values->realizations, values->places);
		out->field[out->n++] = (struct predicted_field){ values->name[i], values->v[i],
			random ? &law[i] : NULL };
	}
	open_known(s->config, &known);
	int rc = predicted_fields_draw(out, known, a, path);
	known_free(known);
	for (int i = 0; i < values->n; i++)
		ensemble_release(&law[i]);
	return rc;
}

static int predict_at(struct session *s, struct arena *a, const char *given, const char *path,
                      int64_t *written)
{
	const struct physics *p = s->config->physics;
	struct predicted_fields out = { .coordinates = &p->coordinates,
		.wide = config_compute(s->config) == DTYPE_F64 };
	const bool random = p->net.nnoise > 0;
	const struct point_set *set;
	struct network_values values;
	struct predict_request r;
	TRY(predict_request_read(a, given, &r));
	if (physics_has_samples(p))
		return predict_sampled(s, a, &r, path, written);
	if (!r.grid && !r.record)
		return places_of_grid(a, p, NULL, &(struct places){ 0 });
	if (r.network.n)
		return ERR(E_USAGE, &r.network.loc[0], "'network' is for networks of samples; here all "
		           "are written");
	TRY(read_places(a, p, &r, &set, &out.places));
	if (r.samples && drawing_is(path))
		return ERR(E_USAGE, NULL, "a picture is of statistics; 'samples' are written as .nc, .h5, "
		           ".npy or .csv");
	const struct noise_draw draw = { !random ? 1 :
		r.realizations == INT64_MIN ? s->config->train.validate.realizations : r.realizations,
		(uint64_t)(r.seed == INT64_MIN ? s->config->run.seed : r.seed) };
	TRY(networks_at(s, a, &out.places, draw, &values));
	*written = out.places.n;
	out.realizations = r.samples ? values.realizations : 0;
	out.field = ARENA_ARRAY(a, struct predicted_field, 8 * values.n);
	if (!comm_first(s->comm))
		return 0;
	return drawing_is(path) ? draw_file(s, &values, random, &out, a, path) :
	                          write_file(&values, set, random && !r.samples, &out, a, path);
}

int predict_grid(struct session *s, const char *given, const char *path, int64_t *written)
{
	struct arena *a = arena_new();
	int rc = predict_at(s, a, given, path, written);
	arena_free(a);
	return rc;
}
