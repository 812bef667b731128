/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The points of a record: all positions of all samples, one after another; or, if samples are
 * realizations, the positions that all of them have. An array is identified by its name, or each of
 * its channels by the channel's name; axes of a gridded record are coordinates too. */
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "data/points_parts.h"
#include "data/record.h"

struct column {
	const char *name;
	int array;                           /* -1: an axis */
	int64_t channel;                     /* or the number of the axis */
};

struct points_table {
	struct arena *a;
	const struct record *record;
	const struct record_info *info;
	const char *sensors;                 /* only these arrays, by what their names have after it */
	int n;
	struct column *column;
	int first;                           /* an array whose places the points are */
};

/* Whether the array is one list of places, of which the record says no channels. */
static bool is_list(const struct record_info *i, int k)
{
	const struct record_array *a = record_array_get(i, k);
	return !a->channels && (a->shape.nd <= 1 || record_channels(i, k) == 1);
}

static int64_t channels(const struct record_info *i, int k)
{
	return is_list(i, k) ? 1 : record_channels(i, k);
}

/* Of an array in a sample of a size. */
static int64_t places(const struct record_info *i, int size, int k)
{
	return shape_count(record_shape(i, size, k)) / channels(i, k);
}

static int find_column(const struct points_table *t, const char *name)
{
	for (int i = 0; i < t->n; i++)
		if (strcmp(t->column[i].name, name) == 0)
			return i;
	return -1;
}

/* The name of a sensor array in the set: F_sensors is called F, F_sensors_x is called x. NULL: it
 * belongs to another field. */
static const char *sensor_name(const char *field, const char *array)
{
	static const char word[] = "_sensors";
	const size_t n = strlen(field), all = n + sizeof word - 1;
	if (strncmp(array, field, n) != 0 || strncmp(array + n, word, sizeof word - 1) != 0)
		return NULL;
	return array[all] == '\0' ? field : array[all] == '_' ? array + all + 1 : NULL;
}

/* The first of a name wins: arrays are added before axes. */
static void add_column(struct points_table *t, const char *name, int array, int64_t channel)
{
	if (name && t->sensors)
		name = sensor_name(t->sensors, name);
	if (name && find_column(t, name) < 0)
		t->column[t->n++] = (struct column){ arena_strdup(t->a, name), array, channel };
}

/* Where its own name says less than theirs. */
static bool is_called_by_channels(const struct record_info *i, int k)
{
	const char *name = record_array_name(i, k);
	return record_array_get(i, k)->channels &&
	       (channels(i, k) > 1 || strcmp(name, "input") == 0 || strcmp(name, "target") == 0);
}

static void list_columns(struct points_table *t)
{
	const struct record_info *i = t->info;
	int64_t most = i->axes.n;
	for (int k = 0; k < record_arrays(i); k++)
		most += channels(i, k);
	t->column = ARENA_ARRAY(t->a, struct column, most + 1);
	for (int k = 0; k < record_arrays(i); k++) {
		const struct record_array *a = record_array_get(i, k);
		const int64_t n = channels(i, k);
		if ((k == 1 && !record_has_target(i)) || (!a->channels && !is_list(i, k)))
			continue;
		for (int64_t c = 0; c < n; c++)
			add_column(t, is_called_by_channels(i, k) ? a->channels[c] :
			           record_array_name(i, k), k, c);
	}
	for (int k = 0; k < i->axes.n && i->nsizes == 1 && !t->sensors; k++)
		if (i->axes.axis[k].values)
			add_column(t, i->axes.axis[k].name, -1, k);
}

/* The value of an axis at each place of a sample: its number among the axes of places says how its
 * coordinates repeat. */
static double axis_value(const struct axes *axes, int64_t k, int64_t sample, int64_t place)
{
	if (k == 0)
		return axes->axis[0].values[sample];
	for (int64_t i = axes->n - 1; i > k; i--)
		place /= axes->axis[i].n;
	return axes->axis[k].values[place % axes->axis[k].n];
}

/* The values of a column in a sample of n places. */
static void take_column(const struct points_table *t, const struct column *c, int64_t sample,
                        const char *raw, int64_t n, double *out)
{
	const int size = record_size_of(t->record, sample);
	if (c->array < 0) {
		for (int64_t i = 0; i < n; i++)
			out[i] = axis_value(&t->info->axes, c->channel, sample, i);
		return;
	}
	const enum dtype type = record_array_get(t->info, c->array)->dtype;
	dtype_convert(DTYPE_F64, out, type, raw + record_array_at(t->info, size, c->array) +
	              (size_t)(c->channel * n) * dtype_size(type), n);
}

/* Whether a column has a value for each point: as many places as the first one. */
static bool fits(const struct points_table *t, const struct column *c)
{
	int64_t grid = 1;
	for (int k = 1; k < t->info->axes.n; k++)
		grid *= t->info->axes.axis[k].n;
	for (int size = 0; size < t->info->nsizes; size++)
		if (places(t->info, size, t->first) !=
		    (c->array < 0 ? grid : places(t->info, size, c->array)))
			return false;
	return true;
}

/* --- a set --- */

static void list_names(struct buf *out, const struct points_table *t)
{
	for (int i = 0; i < t->n; i++)
		buf_printf(out, "%s'%s'", i ? ", " : "", t->column[i].name);
}

static int find_coordinates(const struct points_table *t, struct point_set *s,
                            const struct strings *names, int *column)
{
	struct buf has = BUF_INIT, wants = BUF_INIT;
	int rc = 0;
	for (int i = 0; i < names->n; i++) {
		const int c = find_column(t, names->v[i]);
		buf_printf(&wants, "%s'%s'", i ? ", " : "", names->v[i]);
		if (c < 0 || s->naxes == POINTS_DIMS)
			continue;
		column[s->naxes] = c;
		s->axis[s->naxes++] = names->v[i];
	}
	list_names(&has, t);
	if (s->naxes == 0)
		rc = ERR(E_CONFIG, &s->loc, "'%s' has no array of coordinates: it has %s; expected one of "
		         "%s", s->record, t->n ? has.data : "no named ones", names->n ? wants.data :
		         "the inputs of a network");
	buf_release(&has);
	buf_release(&wants);
	return rc;
}

static int count_points(struct points_table *t, struct point_set *s, const int *column)
{
	t->first = -1;
	for (int k = s->naxes - 1; k >= 0; k--)
		if (t->column[column[k]].array >= 0)
			t->first = t->column[column[k]].array;
	for (int i = 0; i < t->n && t->first < 0; i++)      /* a grid's: any array's */
		if (t->column[i].array >= 0)
			t->first = t->column[i].array;
	if (t->first < 0)
		return ERR(E_CONFIG, &s->loc, "'%s' has no array", s->record);
	for (int k = 0; k < s->naxes; k++)
		if (!fits(t, &t->column[column[k]]))
			return ERR(E_CONFIG, &s->loc, "'%s' of '%s' is not of the same points as '%s'",
			           s->axis[k], s->record, record_array_name(t->info, t->first));
	for (int size = 0; size < t->info->nsizes; size++)
		s->stored += t->info->size[size].samples * places(t->info, size, t->first);
	s->samples = 1;
	if (s->realizations && t->info->nsizes != 1)
		return ERR(E_CONFIG, &s->loc, "'%s' has samples of several sizes, which are no "
		           "realizations at the same points", s->record);
	if (s->realizations) {
		s->samples = t->info->samples;
		s->stored = places(t->info, 0, t->first);
	}
	return 0;
}

/* Checks that the record has enough points for a draw. */
static int check_draw(struct point_set *s)
{
	if (s->count == 0)
		s->count = s->stored;
	if (s->stored == 0 || points_in_draw(s) > s->stored)
		return ERR(E_CONFIG, &s->loc, "'%s' has %lld points%s, and a draw of '%s' has %lld",
		           s->record, (long long)s->stored, s->nwithin ? " within these intervals" : "",
		           s->name, (long long)points_in_draw(s));
	if (s->realizations > s->samples)
		return ERR(E_CONFIG, &s->loc, "'%s' has %lld realizations, and a draw of '%s' has %lld",
		           s->record, (long long)s->samples, s->name, (long long)s->realizations);
	if (s->realizations && s->realizations == s->samples && s->every)
		return ERR(E_CONFIG, &s->by_loc, "'%s' has all realizations of '%s' in each draw: leave "
		           "out 'resample'", s->name, s->record);
	return 0;
}

/* Reads the chosen columns, each to its array of all points. */
static int read_columns(const struct points_table *t, int n, const int *column, double **v)
{
	struct record_decoder *d = record_decoder_new();
	char *raw = mem_alloc(record_raw_bytes(t->info));
	int64_t at = 0;
	int rc = 0;
	for (int64_t i = 0; i < t->info->samples && rc == 0; i++) {
		const int64_t here = places(t->info, record_size_of(t->record, i), t->first);
		rc = record_read(t->record, d, i, raw);
		for (int k = 0; k < n && rc == 0; k++)
			take_column(t, &t->column[column[k]], i, raw, here, v[k] + at);
		at += here;
	}
	mem_free(raw);
	record_decoder_free(d);
	return rc;
}

/* The coordinates of all realizations are those of the first. */
static int check_places(const struct points_table *t, const struct point_set *s, double **v)
{
	for (int k = 0; k < s->naxes; k++)
		for (int64_t r = 1; r < s->samples; r++)
			if (memcmp(v[k], v[k] + r * s->stored, sizeof **v * (size_t)s->stored) != 0)
				return ERR(E_CONFIG, &s->loc, "the realizations of '%s' are at different places: "
				           "'%s' of sample %lld is another than that of the first", s->record,
				           s->axis[k], (long long)r);
	return 0;
}

/* Removes points outside the set's intervals from the columns of all samples; n: number of
 * samples. */
static int leave_out(struct point_set *s, int n, double **v)
{
	const int64_t all = s->stored;
	int axis[POINTS_DIMS];
	if (s->nwithin == 0)
		return 0;
	for (int i = 0; i < s->nwithin; i++) {
		axis[i] = 0;
		while (axis[i] < s->naxes && strcmp(s->axis[axis[i]], s->within[i].axis) != 0)
			axis[i]++;
		if (axis[i] == s->naxes)
			return ERR(E_CONFIG, &s->within[i].loc, "'%s' is no coordinate of the points of '%s'",
			           s->within[i].axis, s->record);
	}
	s->stored = 0;
	for (int64_t i = 0; i < all; i++) {
		bool inside = true;
		for (int k = 0; k < s->nwithin; k++)
			inside &= v[axis[k]][i] >= s->within[k].low && v[axis[k]][i] <= s->within[k].high;
		s->stored += inside;
		for (int k = s->naxes; inside && k < n; k++)
			for (int64_t r = 0; r < s->samples; r++)
				v[k][r * all + s->stored - 1] = v[k][r * all + i];
		for (int k = 0; inside && k < s->naxes; k++)
			v[k][s->stored - 1] = v[k][i];
	}
	for (int k = s->naxes; k < n; k++)
		for (int64_t r = 1; r < s->samples; r++)
			memmove(v[k] + r * s->stored, v[k] + r * all, sizeof **v * (size_t)s->stored);
	return 0;
}

static int read_points(struct points_table *t, struct point_set *s, const struct strings *names)
{
	int *column = ARENA_ARRAY(t->a, int, POINTS_DIMS + t->n + 1), n;
	double **v = ARENA_ARRAY(t->a, double *, POINTS_DIMS + t->n + 1);
	struct point_values *values = ARENA_ARRAY(t->a, struct point_values, t->n + 1);
	TRY(find_coordinates(t, s, names, column));
	TRY(count_points(t, s, column));
	n = s->naxes;
	for (int i = 0; i < t->n; i++) {
		bool taken = t->column[i].array < 0 || !fits(t, &t->column[i]);
		for (int k = 0; k < s->naxes; k++)
			taken |= column[k] == i;
		if (!taken)
			column[n++] = i;
	}
	for (int k = 0; k < n; k++)
		v[k] = ARENA_ARRAY(t->a, double, s->stored * s->samples);
	TRY(read_columns(t, n, column, v));
	TRY(check_places(t, s, v));
	TRY(leave_out(s, n, v));
	TRY(check_draw(s));
	for (int k = 0; k < s->naxes; k++)
		s->coordinate[k] = v[k];
	for (int k = s->naxes; k < n; k++)
		values[s->nvalues++] = (struct point_values){ .name = t->column[column[k]].name,
			.v = v[k], .each = 1 };
	s->values = values;
	return 0;
}

static int open_set(struct arena *a, struct point_set *s, const struct strings *names)
{
	struct points_table t = { .a = a, .sensors = s->sensors };
	struct record *r;
	int rc = record_open(&r, s->record);
	if (rc < 0)
		return err_locate(rc, &s->loc);
	t.record = r;
	t.info = record_info(r);
	list_columns(&t);
	if (t.n == 0 && s->sensors)
		rc = ERR(E_CONFIG, &s->loc, "'%s' has no arrays '%s_sensors', '%s_sensors_x' and so on",
		         s->record, s->sensors, s->sensors);
	else
		rc = read_points(&t, s, names);
	record_free(r);
	return rc;
}

/* --- all sets --- */

/* Sets of one record that draw as many realizations are to have the same ones in each step. */
static int check_realizations(const struct points *p, int i)
{
	const struct point_set *s = &p->set[i];
	for (int k = 0; k < i && s->record && s->realizations; k++) {
		const struct point_set *o = &p->set[k];
		if (o->record && strcmp(o->record, s->record) == 0 && o->realizations == s->realizations &&
		    o->every != s->every)
			return ERR(E_CONFIG, &s->loc, "'%s' and '%s' have the same number of realizations of "
			           "'%s', and would have other ones in the same step: give both the same "
			           "'resample'", o->name, s->name, s->record);
	}
	return 0;
}

int points_open(struct arena *a, struct points *p, const struct strings *inputs)
{
	const struct strings axes = points_axes(a, p);
	const char **v = ARENA_ARRAY(a, const char *, axes.n + inputs->n + 1);
	struct strings names = { .v = v };
	int rc = 0;
	for (; names.n < axes.n; names.n++)
		v[names.n] = axes.v[names.n];
	for (int i = 0; i < inputs->n; i++) {
		int same = 0;
		while (same < names.n && strcmp(v[same], inputs->v[i]) != 0)
			same++;
		if (same == names.n)
			v[names.n++] = inputs->v[i];
	}
	for (int i = 0; i < p->n; i++)
		if (p->set[i].record) {
			const int bad = p->set[i].whole ? points_open_samples(a, &p->set[i]) :
			                open_set(a, &p->set[i], &names);
			rc = rc < 0 ? rc : bad;
		}
	for (int i = 0; i < p->n && rc == 0; i++)
		rc = check_realizations(p, i);
	return rc;
}
