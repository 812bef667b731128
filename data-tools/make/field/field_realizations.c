/* SPDX-License-Identifier: BSD-3-Clause */
#include "data-tools/make/field/field_realizations.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/shown.h"

/* A record's arrays: the fields, the coordinates of points, and the sensors of each field with
 * their coordinates. */
#define NAME_BYTES 32
#define MOST_ARRAYS (MOST_FIELDS + FIELD_AXES + MOST_FIELDS * (1 + FIELD_AXES))

static const char *const axis_name[FIELD_AXES] = { "x", "y" };

struct output {
	struct realizations *r;
	struct record_writer *w;
	enum dtype dtype;
	int64_t scratch;
	/* Coordinates, the same in all samples: of points, of each field's sensors. */
	void *x[FIELD_AXES], *place[MOST_FIELDS][FIELD_AXES];
};

struct realization {
	const struct output *o;
	double *scratch, *field[MOST_FIELDS], *sensor;     /* sensor: of one field */
	void *stored[MOST_FIELDS], *stored_sensors[MOST_FIELDS];
};

static enum dtype dtype_of(const struct realizations *r)
{
	return strcmp(r->dtype, "f64") == 0 ? DTYPE_F64 : DTYPE_F32;
}

/* --- options --- */

int realizations_check(struct realizations *r)
{
	const struct realization_kind *k = r->kind;
	for (int f = 0; f < k->fields; f++) {
		TRY(field_sensors_read(&r->sensors[f], k->sensors[f], r->places[f], &r->grid));
		r->nsensors += r->sensors[f].n;
	}
	if (!(r->noise >= 0 && r->noise <= 100))
		return ERR(E_USAGE, NULL, "--noise: %g is not from 0 to 100", r->noise);
	if (r->noise > 0 && r->nsensors == 0)
		return ERR(E_USAGE, NULL, "--noise is of sensors, of which there are none");
	return 0;
}

/* --- the description --- */

static struct shape shape_of_field(const struct realizations *r)
{
	const int64_t line[] = { 1, r->grid.n[0] }, plane[] = { 1, r->grid.n[1], r->grid.n[0] };
	return r->grid.axes == 1 ? shape_of(2, line) : shape_of(3, plane);
}

static struct record_array describe_array(const struct realizations *r, const char *name,
                                          struct shape shape)
{
	return (struct record_array){ .name = name, .role = RECORD_EXTRA, .dtype = dtype_of(r),
		.shape = shape };
}

/* F_sensors, and with the coordinates of these F_sensors_x. */
static int describe_sensors(const struct realizations *r, int f, struct record_array *out)
{
	static char name[MOST_FIELDS][1 + FIELD_AXES][NAME_BYTES];
	const struct shape shape = shape_of(1, &r->sensors[f].n);
	if (r->sensors[f].n == 0)
		return 0;
	for (int k = 0; k <= r->grid.axes; k++) {
		snprintf(name[f][k], NAME_BYTES, "%s_sensors%s%s", r->kind->name[f], k ? "_" : "",
		         k ? axis_name[k - 1] : "");
		out[k] = describe_array(r, name[f][k], shape);
	}
	return 1 + r->grid.axes;
}

struct record_info realizations_describe(const void *options)
{
	static struct record_array extra[MOST_ARRAYS];
	const struct realizations *r = options;
	const struct realization_kind *k = r->kind;
	const struct shape field = shape_of_field(r);
	int n = 0;
	for (int f = 0; f < k->fields; f++)
		if (f != k->input && f != k->target)
			extra[n++] = describe_array(r, k->name[f], field);
	for (int axis = 0; axis < r->grid.axes; axis++)
		extra[n++] = describe_array(r, axis_name[axis], field);
	for (int f = 0; f < k->fields; f++)
		n += describe_sensors(r, f, extra + n);
	struct record_info info = { .input = describe_array(r, k->name[k->input], field),
		.target = record_no_target(), .mask = -1, .ignore = RECORD_NO_IGNORE, .extra = extra,
		.nextra = n };
	info.input.role = RECORD_INPUT;
	if (k->target >= 0) {
		info.target = describe_array(r, k->name[k->target], field);
		info.target.role = RECORD_TARGET;
	}
	return info;
}

/* --- a realization --- */

static void close_realization(void *slot)
{
	struct realization *v = slot;
	for (int f = 0; f < MOST_FIELDS; f++) {
		mem_free(v->field[f]);
		mem_free(v->stored[f]);
		mem_free(v->stored_sensors[f]);
	}
	mem_free(v->scratch);
	mem_free(v->sensor);
	mem_free(v);
}

static int open_realization(void *user, void *peer, void **slot)
{
	const struct output *o = user;
	const size_t points = (size_t)field_points(&o->r->grid), width = dtype_size(o->dtype);
	struct realization *v = *slot = mem_calloc(1, sizeof *v);
	(void)peer;
	v->o = o;
	v->scratch = mem_calloc((size_t)o->scratch, sizeof(double));
	v->sensor = mem_calloc((size_t)o->r->nsensors, sizeof(double));
	for (int f = 0; f < o->r->kind->fields; f++) {
		v->field[f] = mem_calloc(points, sizeof(double));
		v->stored[f] = mem_calloc(points, width);
		v->stored_sensors[f] = mem_calloc((size_t)o->r->sensors[f].n, width);
	}
	return 0;
}

static void moments(const double *v, int64_t n, double *sum, double *squares)
{
	*sum = *squares = 0;
	for (int64_t i = 0; i < n; i++) {
		*sum += v[i];
		*squares += v[i] * v[i];
	}
}

/* Of the field's values over the grid. */
static double deviation(const double *v, int64_t n)
{
	double sum, squares;
	moments(v, n, &sum, &squares);
	const double mean = sum / (double)n, variance = squares / (double)n - mean * mean;
	return variance > 0 ? sqrt(variance) : 0;
}

/* The noise of a sensor is by its number among those of all fields. */
static void look(struct realization *v, int64_t number)
{
	const struct realizations *r = v->o->r;
	const uint64_t stream = hash_name("field.noise");
	int64_t at = 0;
	for (int f = 0; f < r->kind->fields; f++) {
		const double noise = r->noise > 0 && r->sensors[f].n ?
			r->noise * deviation(v->field[f], field_points(&r->grid)) : 0;

		for (int64_t k = 0; k < r->sensors[f].n; k++, at++) {
			v->sensor[k] = field_sensors_value(&r->sensors[f], k, &r->grid, r->kind->order,
			                                   v->field[f]);
			if (noise > 0)
				v->sensor[k] += noise * rng_normal((uint64_t)r->common.seed, stream,
				                                   (uint64_t)number, (uint64_t)at);
		}
		dtype_convert(v->o->dtype, v->stored_sensors[f], DTYPE_F64, v->sensor, r->sensors[f].n);
	}
}

static int make_realization(void *slot, int64_t number)
{
	struct realization *v = slot;
	const struct output *o = v->o;
	TRY(o->r->kind->make(o->r, number, v->scratch, v->field));
	look(v, number);
	for (int f = 0; f < o->r->kind->fields; f++)
		dtype_convert(o->dtype, v->stored[f], DTYPE_F64, v->field[f], field_points(&o->r->grid));
	return 0;
}

static int write_realization(void *user, void *slot)
{
	const struct output *o = user;
	const struct realization *v = slot;
	struct realizations *r = o->r;
	const struct realization_kind *k = r->kind;
	const void *data[MOST_ARRAYS + 1] = { v->stored[k->input],
		k->target < 0 ? NULL : v->stored[k->target] };
	int n = 2;
	for (int f = 0; f < k->fields; f++) {
		double sum, squares;

		moments(v->field[f], field_points(&r->grid), &sum, &squares);
		r->sum[f] += sum;
		r->squares[f] += squares;
		if (f != k->input && f != k->target)
			data[n++] = v->stored[f];
	}
	for (int axis = 0; axis < r->grid.axes; axis++)
		data[n++] = o->x[axis];
	for (int f = 0; f < k->fields; f++) {
		if (r->sensors[f].n == 0)
			continue;
		data[n++] = v->stored_sensors[f];
		for (int axis = 0; axis < r->grid.axes; axis++)
			data[n++] = o->place[f][axis];
	}
	return record_add(o->w, &(struct record_sample){ .data = data });
}

/* --- all --- */

static void set_coordinates(struct output *o)
{
	const struct realizations *r = o->r;
	const struct field_grid *g = &r->grid;
	const size_t width = dtype_size(o->dtype);
	for (int axis = 0; axis < g->axes; axis++) {
		o->x[axis] = mem_calloc((size_t)field_points(g), width);
		for (int64_t i = 0; i < field_points(g); i++)
			dtype_set(o->dtype, o->x[axis], i,
			          field_at(g, axis, axis ? i / g->n[0] : i % g->n[0]));
		for (int f = 0; f < r->kind->fields; f++) {
			o->place[f][axis] = mem_calloc((size_t)r->sensors[f].n, width);
			for (int64_t k = 0; k < r->sensors[f].n; k++)
				dtype_set(o->dtype, o->place[f][axis], k, r->sensors[f].at[axis][k]);
		}
	}
}

int realizations_make(void *options, struct generator *g, struct record_writer *w)
{
	struct realizations *r = options;
	struct output o = { .r = r, .w = w, .dtype = dtype_of(r) };
	int rc = r->kind->open(r, &o.scratch);
	set_coordinates(&o);
	g->user = &o;
	g->open = open_realization;
	g->close = close_realization;
	g->make = make_realization;
	g->write = write_realization;
	if (rc == 0)
		rc = generator_run(g);
	r->kind->close(r);
	for (int axis = 0; axis < FIELD_AXES; axis++) {
		mem_free(o.x[axis]);
		for (int f = 0; f < MOST_FIELDS; f++)
			mem_free(o.place[f][axis]);
	}
	for (int f = 0; f < MOST_FIELDS; f++)
		field_sensors_release(&r->sensors[f]);
	return rc;
}

void realizations_tell(const void *options)
{
	const struct realizations *r = options;
	const double n = (double)(r->common.n * field_points(&r->grid));
	printf("%s: %lld realizations on %lld", shown(r->common.output), (long long)r->common.n,
	       (long long)r->grid.n[0]);
	if (r->grid.axes > 1)
		printf(" x %lld", (long long)r->grid.n[1]);
	printf(" points");
	for (int f = 0; f < r->kind->fields; f++) {
		const double mean = r->sum[f] / n, variance = r->squares[f] / n - mean * mean;

		printf(", %s: mean %.4g, deviation %.4g", r->kind->name[f], mean,
		       variance > 0 ? sqrt(variance) : 0);
	}
	if (r->nsensors)
		printf("; %lld sensor%s", (long long)r->nsensors, r->nsensors == 1 ? "" : "s");
	printf("\n");
}
