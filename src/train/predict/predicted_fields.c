/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers have nine digits, from which a float32 can be restored exactly, or seventeen for a
 * float64. */
#include "train/predict/predicted_fields.h"

#include "base/buf.h"
#include "base/io.h"
#include "report/csv.h"
#include "report/netcdf_file.h"
#include "report/npy_file.h"
#include "train/predict/predict_array.h"

static int write_netcdf(const struct predicted_fields *p, struct arena *a, const char *path)
{
	const int naxes = p->places.naxes, ncoordinates = naxes ? 0 : p->coordinates->n,
	          lead = p->realizations > 0, ndimensions = lead + (naxes ? naxes : 1);
	struct netcdf_dimension *dimension = ARENA_ARRAY(a, struct netcdf_dimension, ndimensions);
	struct netcdf_variable *variable = ARENA_ARRAY(a, struct netcdf_variable,
	                                               p->n + ncoordinates + 1);
	int n = 0;
	dimension[0] = (struct netcdf_dimension){ "realization", p->realizations, NULL };
	dimension[ndimensions - 1] = (struct netcdf_dimension){ "point", p->places.n, NULL };
	for (int k = 0; k < naxes; k++) {
		const struct axis *x = &p->places.axis[k].axis;
		dimension[lead + k] = (struct netcdf_dimension){ x->name, x->n, x->values };
	}
	for (int k = 0; k < ncoordinates; k++)
		variable[n++] = (struct netcdf_variable){ p->coordinates->v[k], .nd = 1, .on = { lead },
			.wide = true, .v = p->places.coordinate[k] };
	for (int i = 0; i < p->n; i++) {
		struct netcdf_variable *v = &variable[n++];
		*v = (struct netcdf_variable){ p->field[i].name, .nd = ndimensions, .wide = p->wide,
			.v = p->field[i].v };
		for (int k = 0; k < ndimensions; k++)
			v->on[k] = k;
	}
	return netcdf_write_all(path, dimension, ndimensions, variable, n);
}

static int64_t rows_of(const struct predicted_fields *p)
{
	return (p->realizations ? p->realizations : 1) * p->places.n;
}

/* --- csv --- */

static void put_number(const struct predicted_fields *p, struct buf *out, double v, char end)
{
	buf_printf(out, p->wide ? "%.17g%c" : "%.9g%c", v, end);
}

static void put_table(const struct predicted_fields *p, struct buf *out)
{
	int order[POINTS_DIMS], n = p->places.naxes;
	for (int k = 0; k < n; k++)
		order[k] = p->places.axis[k].coordinate;
	for (; p->places.naxes == 0 && n < p->coordinates->n; n++)
		order[n] = n;
	buf_puts(out, p->realizations ? "realization," : "");
	for (int k = 0; k < n; k++) {
		csv_text(out, p->coordinates->v[order[k]]);
		buf_putc(out, ',');
	}
	for (int i = 0; i < p->n; i++) {
		csv_text(out, p->field[i].name);
		buf_putc(out, i + 1 < p->n ? ',' : '\n');
	}
	for (int64_t i = 0; i < rows_of(p); i++) {
		if (p->realizations)
			buf_printf(out, "%lld,", (long long)(i / p->places.n));
		for (int k = 0; k < n; k++)
			buf_printf(out, "%.9g,", places_coordinate(&p->places, order[k], i % p->places.n));
		for (int k = 0; k < p->n; k++)
			put_number(p, out, p->field[k].v[i], k + 1 < p->n ? ',' : '\n');
	}
}

/* --- npy --- */

/* The extents of the grid, or the number of points, after the fields where there are several, and
 * the realizations. */
static void put_array(const struct predicted_fields *p, struct buf *out)
{
	const enum dtype type = p->wide ? DTYPE_F64 : DTYPE_F32;
	struct shape s = { 0 };
	if (p->n > 1)
		s.d[s.nd++] = p->n;
	if (p->realizations)
		s.d[s.nd++] = p->realizations;
	for (int k = 0; k < p->places.naxes; k++)
		s.d[s.nd++] = p->places.axis[k].axis.n;
	if (p->places.naxes == 0)
		s.d[s.nd++] = p->places.n;
	npy_array_header(out, type, &s);
	for (int i = 0; i < p->n; i++) {
		const size_t bytes = dtype_size(type) * (size_t)rows_of(p);
		buf_reserve(out, bytes);
		dtype_convert(type, out->data + out->len, DTYPE_F64, p->field[i].v, rows_of(p));
		out->len += bytes;
	}
}

int predicted_fields_write(const struct predicted_fields *p, struct arena *a, const char *path)
{
	struct buf out = BUF_INIT;
	if (predict_is_netcdf(path))
		return write_netcdf(p, a, path);
	if (io_ends_in(path, ".csv"))
		put_table(p, &out);
	else
		put_array(p, &out);
	int rc = io_write_file(path, out.data, out.len);
	buf_release(&out);
	return rc;
}
