/* SPDX-License-Identifier: BSD-3-Clause */
#include "train/predict_grid.h"

#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/shown.h"
#include "comm/comm.h"
#include "report/drawing.h"
#include "train/predict_array.h"
#include "train/predicted_fields.h"
#include "yaml/schema.h"

int predict_grid_check(const char *path)
{
	if (predict_is_netcdf(path) || io_ends_in(path, ".npy") || io_ends_in(path, ".csv") ||
	    drawing_is(path))
		return 0;
	return ERR(E_USAGE, NULL, "'-o %s': networks of equations are written as .nc, .h5, .npy or "
	           ".csv, and drawn as .png or .svg", shown(path));
}

/* --- what is asked for --- */

struct request {
	const struct ynode *grid;
	const char *record;
	int64_t realizations, seed;      /* INT64_MIN: not given */
	bool samples;
};

static const struct field request_fields[] = {
	FIELD_NODE(struct request, grid, NULL, "points along each coordinate"),
	FIELD(struct request, record, FT_PATH, .flags = FIELD_NULLABLE, .doc = "a record of points"),
	FIELD(struct request, realizations, FT_INT, .dflt = "null", .min = 1, .max = 1e9,
	      .flags = FIELD_NULLABLE, .doc = "of noise"),
	FIELD(struct request, seed, FT_INT, .dflt = "null", .min = 0, .max = 9e15,
	      .flags = FIELD_NULLABLE, .doc = "of the realizations"),
	FIELD_BOOL(struct request, samples, "false", "the realizations in place of their statistics"),
	FIELD_END
};

/* Keys in one line are a map, also without the braces around it. */
static int read_request(struct arena *a, const struct physics *p, const char *given,
                        struct request *r)
{
	struct ynode *root;
	*r = (struct request){ .record = given, .realizations = INT64_MIN, .seed = INT64_MIN };
	if (io_ends_in(given, ".dlx") || io_exists(given))
		return 0;
	const char *text = *given == '{' ? given : arena_printf(a, "{%s}", given);
	TRY(ytree_parse(a, "--predict", text, &root));
	if (!root || root->kind != Y_MAP || !ytree_find(root, "grid") == !ytree_find(root, "record"))
		return places_of_grid(a, p, NULL, &(struct places){ 0 });
	return schema_read(a, root, request_fields, "'--predict'", &root->loc, r) < 0 ? E_USAGE : 0;
}

static int read_places(struct arena *a, const struct physics *p, const struct request *r,
                       struct places *out)
{
	static const struct loc nowhere;
	const struct point_set *set;
	if (p->net.nnoise == 0 && (r->realizations != INT64_MIN || r->seed != INT64_MIN || r->samples))
		return ERR(E_USAGE, r->grid ? &r->grid->loc : NULL, "'realizations', 'seed' and 'samples' "
		           "are of networks that take noise, and these take none");
	return r->record ? places_of_record(a, p, r->record, p->net.nnoise > 0, &nowhere, &set, out) :
	                   places_of_grid(a, p, r->grid, out);
}

/* --- what is written --- */

/* Its own name and, of a random field, those of its statistics. */
static void add_statistics(struct arena *a, const char *name, const struct ensemble *e,
                           struct predicted_fields *out)
{
	const struct predicted_field all[] = { { "mean", e->mean }, { "std", e->deviation },
		{ "q05", e->low }, { "q95", e->high } };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		out->field[out->n++] = (struct predicted_field){
			arena_printf(a, "%s_%s", name, all[i].name), all[i].v };
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

static int draw(const struct session *s, const struct predicted_fields *p, struct arena *a,
                const char *path)
{
	struct known *known = NULL;
	open_known(s->config, &known);
	int rc = predicted_fields_draw(p, known, a, path);
	known_free(known);
	return rc;
}

static int write_fields(const struct session *s, const struct request *r,
                        const struct network_values *values, struct predicted_fields *out,
                        struct arena *a, const char *path)
{
	const bool random = s->config->physics->net.nnoise > 0 && !r->samples;
	struct ensemble *law = ARENA_ARRAY(a, struct ensemble, values->n);
	out->field = ARENA_ARRAY(a, struct predicted_field, 4 * values->n);
	for (int i = 0; i < values->n; i++) {
		if (random)
			ensemble_init(&law[i], values->v[i], values->realizations, values->places);
		if (random && !drawing_is(path))
			add_statistics(a, values->name[i], &law[i], out);
		else
			out->field[out->n++] = (struct predicted_field){ values->name[i], values->v[i],
				random ? &law[i] : NULL };
	}
	out->realizations = r->samples ? values->realizations : 0;
	int rc = drawing_is(path) ? draw(s, out, a, path) : predicted_fields_write(out, a, path);
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
	struct network_values values;
	struct request r;
	TRY(read_request(a, p, given, &r));
	TRY(read_places(a, p, &r, &out.places));
	if (r.samples && drawing_is(path))
		return ERR(E_USAGE, NULL, "a picture is of statistics; 'samples' are written as .nc, .h5, "
		           ".npy or .csv");
	const struct noise_draw draw = { p->net.nnoise == 0 ? 1 :
		r.realizations == INT64_MIN ? s->config->train.validate.realizations : r.realizations,
		(uint64_t)(r.seed == INT64_MIN ? s->config->run.seed : r.seed) };
	TRY(networks_at(s, a, &out.places, draw, &values));
	*written = out.places.n;
	return comm_first(s->comm) ? write_fields(s, &r, &values, &out, a, path) : 0;
}

int predict_grid(struct session *s, const char *given, const char *path, int64_t *written)
{
	struct arena *a = arena_new();
	int rc = predict_at(s, a, given, path, written);
	arena_free(a);
	return rc;
}
