/* SPDX-License-Identifier: BSD-3-Clause */
#include "train/predict_grid.h"

#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/shown.h"
#include "comm/comm.h"
#include "report/drawing.h"
#include "train/predict_array.h"
#include "train/predicted_fields.h"
#include "yaml/ytree.h"

int predict_grid_check(const char *path)
{
	if (predict_is_netcdf(path) || io_ends_in(path, ".npy") || io_ends_in(path, ".csv") ||
	    drawing_is(path))
		return 0;
	return ERR(E_USAGE, NULL, "'-o %s': networks of equations are written as .nc, .h5, .npy or "
	           ".csv, and drawn as .png or .svg", shown(path));
}

static int read_places(struct arena *a, const struct physics *p, const char *given,
                       struct places *out)
{
	static const struct loc nowhere;
	const struct point_set *set;
	struct ynode *root;
	if (io_ends_in(given, ".dlx") || io_exists(given))
		return places_of_record(a, p, given, &nowhere, &set, out);
	TRY(ytree_parse(a, "--predict", given, &root));
	return places_of_grid(a, p, root && root->kind == Y_MAP && root->n == 1 ?
	                      ytree_find(root, "grid") : NULL, out);
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

static int write_fields(const struct session *s, const struct predicted_fields *p, struct arena *a,
                        const char *path)
{
	struct known *known = NULL;
	if (!drawing_is(path))
		return predicted_fields_write(p, a, path);
	open_known(s->config, &known);
	int rc = predicted_fields_draw(p, known, a, path);
	known_free(known);
	return rc;
}

static int predict_at(struct session *s, struct arena *a, const char *given, const char *path,
                      int64_t *written)
{
	const struct physics *p = s->config->physics;
	struct predicted_fields out = { .coordinates = &p->coordinates,
		.wide = config_compute(s->config) == DTYPE_F64 };
	struct network_values values;
	TRY(read_places(a, p, given, &out.places));
	TRY(networks_at(s, a, &out.places, &values));
	*written = out.places.n;
	out.n = values.n;
	out.field = ARENA_ARRAY(a, struct predicted_field, values.n);
	for (int i = 0; i < values.n; i++)
		out.field[i] = (struct predicted_field){ values.name[i], values.v[i] };
	return comm_first(s->comm) ? write_fields(s, &out, a, path) : 0;
}

int predict_grid(struct session *s, const char *given, const char *path, int64_t *written)
{
	if (s->config->physics->net.nnoise)
		return ERR(E_UNSUPPORTED, &s->config->physics->net.noise[0].loc, "evaluating networks of "
		           "noise is not there yet");
	struct arena *a = arena_new();
	int rc = predict_at(s, a, given, path, written);
	arena_free(a);
	return rc;
}
