/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All arrays are in memory before the file is begun, so that it is written completely or not at
 * all. */
#include "train/predict/predict_sampled.h"

#include <inttypes.h>
#include <string.h>

#include "base/ensemble.h"
#include "base/err.h"
#include "base/io.h"
#include "base/suggest.h"
#include "comm/comm.h"
#include "report/csv.h"
#include "report/netcdf_file.h"
#include "report/npy_file.h"
#include "report/zip_file.h"
#include "train/predict/predict_array.h"
#include "train/predict/samples_at.h"

struct written {
	const char *name;
	const struct evaluated *of;      /* has the shape */
	const double *v;                 /* (rows, shape), or of statistics (shape) */
};

struct writing {
	struct arena *a;
	const struct physics *p;
	int64_t rows;                    /* 0: statistics */
	enum dtype type;
	int n;
	struct written *array;
};

#define ARRAYS_OF_ONE 4              /* most arrays of a network: its statistics */

/* --- the request --- */

static int check_request(const struct physics *p, const struct predict_request *r)
{
	const struct loc *at = r->grid ? &r->grid->loc : NULL;
	if (!r->record && !(r->grid && r->grid->kind == Y_MAP && r->grid->n == 0))
		return ERR(E_USAGE, at, "networks of samples are evaluated for 'record: FILE', those of "
		           "noise alone on 'grid: {}'");
	if (r->sensors)
		return ERR(E_USAGE, at, "'sensors' are of points, and the networks take samples");
	if (r->record && r->realizations != INT64_MIN)
		return ERR(E_USAGE, NULL, "'realizations' goes with 'grid: {}'; each sample of a record is "
		           "one");
	if (p->net.nnoise == 0 && (r->realizations != INT64_MIN || r->seed != INT64_MIN || r->samples))
		return ERR(E_USAGE, at, "'realizations', 'seed' and 'samples' are of networks that take "
		           "noise, and these take none");
	if (p->nevaluated == 0)
		return ERR(E_USAGE, at, "no network is a function of noise alone; 'record: FILE' has the "
		           "samples that networks take");
	return 0;
}

static int check_names(struct arena *a, const struct physics *p, const struct strings *names)
{
	for (int i = 0; i < names->n; i++) {
		struct suggest near = { .word = names->v[i] };
		int k = 0;
		while (k < p->nevaluated && strcmp(p->evaluated[k].name, names->v[i]) != 0)
			suggest_offer(&near, p->evaluated[k++].name);
		if (k == p->nevaluated)
			return ERR(E_USAGE, &names->loc[i], "'%s' is no network that can be evaluated here%s",
			           names->v[i], near.best ? arena_printf(a, "; did you mean '%s'?", near.best) :
			           "");
	}
	return 0;
}

static bool is_wanted(const struct strings *names, const char *name)
{
	for (int i = 0; i < names->n; i++)
		if (strcmp(names->v[i], name) == 0)
			return true;
	return names->n == 0;
}

/* --- arrays --- */

static void add(struct writing *w, const struct evaluated *of, const char *what, const double *v)
{
	w->array[w->n++] = (struct written){ arena_printf(w->a, "%s%s", of->name, what), of, v };
}

static void add_statistics(struct writing *w, const struct sample_output *o, int64_t rows)
{
	static const char *const names[] = { "_mean", "_std", "_q05", "_q95" };
	struct ensemble e;
	ensemble_init(&e, o->v, rows, o->of->components);
	const double *const all[] = { e.mean, e.deviation, e.low, e.high };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		add(w, o->of, names[i], arena_copy(w->a, all[i], sizeof **all * (size_t)e.places));
	ensemble_release(&e);
}

static void add_values(struct writing *w, const struct sample_output *o)
{
	const int64_t n = w->rows * o->of->components;
	add(w, o->of, "", o->v);
	if (!o->known)
		return;
	double *error = ARENA_ARRAY(w->a, double, n);
	for (int64_t i = 0; i < n; i++)
		error[i] = o->v[i] - o->known[i];
	add(w, o->of, "_known", o->known);
	add(w, o->of, "_error", error);
}

/* The shape of an array in the file. */
static struct shape shape_of_array(const struct writing *w, const struct written *v)
{
	const struct shape *one = &v->of->shape;
	struct shape s = { .nd = 0 };
	if (w->rows)
		s.d[s.nd++] = w->rows;
	for (int k = 0; k < one->nd; k++)
		s.d[s.nd++] = one->d[k];
	return s;
}

/* --- files --- */

static int write_netcdf(const struct writing *w, const char *path)
{
	struct netcdf_dimension *d = ARENA_ARRAY(w->a, struct netcdf_dimension, 1 + MAXD * w->n);
	struct netcdf_variable *v = ARENA_ARRAY(w->a, struct netcdf_variable, w->n);
	int nd = 0, first = 0;
	if (w->rows)
		d[nd++] = (struct netcdf_dimension){ w->p->record ? "sample" : "realization", w->rows,
			NULL };
	for (int i = 0; i < w->n; i++) {
		const struct evaluated *of = w->array[i].of;
		const bool more = i > 0 && of == w->array[i - 1].of;     /* of the same network */
		v[i] = (struct netcdf_variable){ w->array[i].name, .nd = w->rows > 0,
			.wide = w->type == DTYPE_F64, .v = w->array[i].v };
		first = more ? first : nd;
		for (int k = 0; k < of->shape.nd; k++) {
			if (!more)
				d[nd++] = (struct netcdf_dimension){ arena_printf(w->a, "%s_%d", of->name, k),
					of->shape.d[k], NULL };
			v[i].on[v[i].nd++] = first + k;
		}
	}
	return netcdf_write_all(path, d, nd, v, w->n);
}

static void put_values(const struct writing *w, const struct written *v, struct buf *out)
{
	const struct shape s = shape_of_array(w, v);
	const size_t bytes = (size_t)shape_count(&s) * dtype_size(w->type);
	buf_reserve(out, bytes);
	dtype_convert(w->type, out->data + out->len, DTYPE_F64, v->v, shape_count(&s));
	out->len += bytes;
}

static int write_members(const struct writing *w, struct io_file *f)
{
	struct zip_file zip = { .file = f };
	int rc = 0;
	for (int i = 0; i < w->n && rc == 0; i++) {
		struct buf one = BUF_INIT;
		const struct shape s = shape_of_array(w, &w->array[i]);
		npy_array_header(&one, w->type, &s);
		put_values(w, &w->array[i], &one);
		zip.name = arena_printf(w->a, "%s.npy", w->array[i].name);
		zip.size = one.len;
		rc = zip_begin(&zip);
		if (rc == 0)
			rc = zip_write(&zip, one.data, one.len);
		if (rc == 0)
			rc = i + 1 < w->n ? zip_end_member(&zip) : zip_end(&zip);
		buf_release(&one);
	}
	if (rc < 0)
		zip_release(&zip);
	return rc;
}

static int write_archive(const struct writing *w, const char *path)
{
	struct io_file *f;
	TRY(io_create(&f, path));
	int rc = write_members(w, f);
	if (rc == 0)
		return io_commit(f);
	io_discard(f);
	return rc;
}

/* The network that a file of one array has: the only one, or the only one that is compared. */
static const struct evaluated *choose(const struct writing *w)
{
	const struct evaluated *compared = NULL, *any = NULL;
	int ncompared = 0, n = 0;
	for (int i = 0; i < w->n; i++) {
		if (i > 0 && w->array[i].of == w->array[i - 1].of)
			continue;
		any = w->array[i].of;
		n++;
		if (any->known)
			compared = any;
		ncompared += any->known != NULL;
	}
	return n == 1 ? any : ncompared == 1 ? compared : NULL;
}

/* Values, or all statistics one after another. */
static int put_array(const struct writing *w, struct buf *out)
{
	const struct evaluated *of = choose(w);
	const char *all = "";
	int i = 0;
	for (int k = 0; k < w->n && !of; k++)
		if (k == 0 || w->array[k].of != w->array[k - 1].of)
			all = arena_printf(w->a, "%s%s%s", all, k ? ", " : "", w->array[k].of->name);
	if (!of)
		return ERR(E_USAGE, NULL, "a file .npy has the values of one of %s: say which, as "
		           "'record: FILE, network: %s'; .npz, .nc and .h5 have them all", all,
		           w->array[0].of->name);
	while (w->array[i].of != of)
		i++;
	struct shape s = shape_of_array(w, &w->array[i]);
	if (!w->rows) {
		memmove(s.d + 1, s.d, (size_t)s.nd++ * sizeof *s.d);
		s.d[0] = ARRAYS_OF_ONE;
	}
	npy_array_header(out, w->type, &s);
	for (int k = 0; k < (w->rows ? 1 : ARRAYS_OF_ONE); k++)
		put_values(w, &w->array[i + k], out);
	return 0;
}

/* A line for each sample. */
static void put_table(const struct writing *w, struct buf *out)
{
	const char *format = w->type == DTYPE_F64 ? "%s%.17g" : "%s%.9g";
	if (w->rows)
		buf_puts(out, w->p->record ? "sample" : "realization");
	for (int i = 0; i < w->n; i++)
		for (int k = 0; k < w->array[i].of->components; k++) {
			buf_puts(out, i || k || w->rows ? "," : "");
			csv_text(out, w->array[i].of->components == 1 ? w->array[i].name :
			         arena_printf(w->a, "%s.%d", w->array[i].name, k));
		}
	buf_putc(out, '\n');
	for (int64_t r = 0; r < (w->rows ? w->rows : 1); r++) {
		if (w->rows)
			buf_printf(out, "%" PRId64, r);
		for (int i = 0; i < w->n; i++)
			for (int k = 0; k < w->array[i].of->components; k++)
				buf_printf(out, format, i || k || w->rows ? "," : "",
				           w->array[i].v[r * w->array[i].of->components + k]);
		buf_putc(out, '\n');
	}
}

static int write_text(const struct writing *w, const char *path)
{
	struct buf out = BUF_INIT;
	int rc = 0;
	if (io_ends_in(path, ".csv"))
		put_table(w, &out);
	else
		rc = put_array(w, &out);
	if (rc == 0)
		rc = io_write_file(path, out.data, out.len);
	buf_release(&out);
	return rc;
}

static int write_file(const struct writing *w, const char *path)
{
	if (predict_is_netcdf(path))
		return write_netcdf(w, path);
	return io_ends_in(path, ".npz") ? write_archive(w, path) : write_text(w, path);
}

int predict_sampled(struct session *s, struct arena *a, const struct predict_request *r,
                    const char *path, int64_t *written)
{
	const struct physics *p = s->config->physics;
	const int64_t rows = r->realizations == INT64_MIN ? s->config->train.validate.realizations :
	                     r->realizations;
	struct sample_values values;
	TRY(check_request(p, r));
	TRY(check_names(a, p, &r->network));
	TRY(samples_at(s, a, rows, (uint64_t)(r->seed == INT64_MIN ? s->config->run.seed : r->seed),
	               &values));
	*written = values.rows;
	if (!comm_first(s->comm))
		return 0;
	struct writing w = { .a = a, .p = p, .rows = p->record || r->samples ? values.rows : 0,
		.type = config_compute(s->config) == DTYPE_F64 ? DTYPE_F64 : DTYPE_F32,
		.array = ARENA_ARRAY(a, struct written, ARRAYS_OF_ONE * values.n) };
	for (int i = 0; i < values.n; i++) {
		if (!is_wanted(&r->network, values.output[i].of->name))
			continue;
		if (w.rows)
			add_values(&w, &values.output[i]);
		else
			add_statistics(&w, &values.output[i], values.rows);
	}
	return write_file(&w, path);
}
