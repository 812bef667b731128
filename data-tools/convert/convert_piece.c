/* SPDX-License-Identifier: BSD-3-Clause */
#include "data-tools/convert/convert_piece.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

void piece_counts_add(struct piece_counts *to, const struct piece_counts *n)
{
	to->filled_input += n->filled_input;
	to->filled_target += n->filled_target;
	to->rounded += n->rounded;
}

struct maker {
	const struct conversion *c;
	struct record_coder *coder;
	double *values, *scratch;      /* of a piece, NaN where missing */
	int64_t room, scratch_room;
	struct target_seen seen;
};

struct maker *maker_new(const struct conversion *c)
{
	struct maker *m = mem_calloc(1, sizeof *m);
	m->c = c;
	m->coder = record_coder_new(&c->info, (int)c->level);
	if (m->coder)
		return m;
	maker_free(m);
	return NULL;
}

void maker_free(struct maker *m)
{
	if (!m)
		return;
	record_coder_free(m->coder);
	mem_free(m->values);
	mem_free(m->scratch);
	mem_free(m);
}

void maker_add_seen(const struct maker *m, struct target_seen *all)
{
	target_seen_merge(all, &m->seen);
}

void piece_release(struct piece *p)
{
	side_raw_free(p->raw[0]);
	side_raw_free(p->raw[1]);
	mem_free(p->out);
	mem_free(p->stored);
	mem_free(p->moments);
	mem_free(p->labels);
}

/* --- reading --- */

/* Samples that have other sizes than the first: where its target is a map all are, and otherwise
 * all targets have the shape of its. */
static int check_sizes(const struct conversion *c, const struct shape shape[2], int64_t sample)
{
	const struct record_info *i = &c->info;
	const enum dtype type = i->target.dtype;
	const bool maps = record_target_is_map(&i->input.shape, &i->target.shape, type);
	char got[SHAPE_TEXT], want[SHAPE_TEXT];
	if (!c->target || (maps ? record_target_is_map(&shape[0], &shape[1], type)
	                        : shape_equal(&shape[1], &i->target.shape)))
		return 0;
	return ERR(E_DATA, NULL, "sample %lld: the target '%s' is %s, but %s %s", (long long)sample,
	           side_name(c->target, sample), shape_text(&shape[1], got),
	           maps ? "the input is" : "the first target",
	           shape_text(maps ? &shape[0] : &i->target.shape, want));
}

int piece_shapes(const struct conversion *c, struct side *input, struct side *target,
                 int64_t sample, struct shape shape[2])
{
	shape[1] = c->info.target.shape;
	TRYC(side_size(input, sample, &shape[0]), "in --input");
	if (target)
		TRYC(side_size(target, sample, &shape[1]), "in --target");
	shape[0].d[0] += c->validity_mask;
	return check_sizes(c, shape, sample);
}

/* Whether the sources give the piece alone; else its whole array is read for it. */
static bool is_cut(const struct piece *p, const struct side *s)
{
	return p->cut.axis >= 0 && side_cuts(s, p->cut.axis);
}

int piece_fetch(struct piece *p, const struct conversion *c, struct side *input,
                struct side *target)
{
	const int k = p->cut.array;
	struct side *s = k ? target : input;
	if (!p->raw[k])
		p->raw[k] = side_raw_new(k ? c->target : c->input);
	TRYC(side_fetch(s, p->sample, is_cut(p, s) ? p->cut.axis : -1, p->cut.first, p->cut.rows,
	                p->raw[k]), k ? "in --target" : "in --input");
	return 0;
}

/* --- values --- */

/* The piece's rows of a whole array, to its front. */
static void keep_rows(const struct piece *p, double *v)
{
	const struct shape *s = &p->shape[p->cut.array];
	int64_t strips = 1, inner = 1;
	for (int a = 0; a < p->cut.axis; a++)
		strips *= s->d[a];
	for (int a = p->cut.axis + 1; a < s->nd; a++)
		inner *= s->d[a];
	for (int64_t k = 0; k < strips; k++)
		memmove(v + k * p->cut.rows * inner, v + (k * s->d[p->cut.axis] + p->cut.first) * inner,
		        (size_t)(p->cut.rows * inner) * sizeof *v);
}

/* By way of doubles: an integer that is rounded on it is one only if the user requests a type of
 * fewer digits. */
static int check_rounded(const struct piece *p, const struct conversion *c, int64_t lost)
{
	const int k = p->cut.array;
	if (lost == 0)
		return 0;
	return ERR(E_DATA, NULL, "sample %lld of the %s has the integer %lld, which is kept only in a "
	           "variable by itself, with nothing missing and no mask, as i64; --%s f32 rounds it",
	           (long long)p->sample, k ? "target" : "input", (long long)lost,
	           k ? "target-dtype" : "dtype");
}

/* The type up to which integers are to be kept; that of DTYPE_COUNT: the user has them rounded. */
static enum dtype exact_type(const struct conversion *c, int k)
{
	const enum dtype t = record_array_get(&c->info, k)->dtype;
	const bool asked = k ? c->target_dtype != NULL : c->dtype != NULL;
	if (!dtype_is_float(t) || t == DTYPE_F64)
		return DTYPE_F64;
	return asked ? DTYPE_COUNT : t;
}

static int get_values(const struct piece *p, struct maker *m)
{
	const struct conversion *c = m->c;
	const int k = p->cut.array;
	const struct side *s = k ? c->target : c->input;
	const bool cut = is_cut(p, s);
	const int64_t n = shape_count(cut ? &p->cut.shape : &p->shape[k]);
	if (n > m->room) {
		mem_free(m->values);
		m->values = mem_alloc((size_t)n * sizeof(double));
		m->room = n;
	}
	TRY(check_rounded(p, c, side_values(s, p->raw[k], exact_type(c, k), m->values, &m->scratch,
	                                    &m->scratch_room)));
	if (!cut && p->cut.axis >= 0 && p->cut.rows < p->shape[k].d[p->cut.axis])
		keep_rows(p, m->values);
	return 0;
}

/* Which value of the sample the piece's value is, for messages. */
static const char *place(const struct piece *p, int64_t at, char *text)
{
	const struct shape *s = &p->shape[p->cut.array];
	const int axis = p->cut.axis;
	int64_t inner = 1;
	if (axis < 0)
		return shape_place(s, at, text);
	for (int a = axis + 1; a < s->nd; a++)
		inner *= s->d[a];
	const int64_t strip = at / (p->cut.rows * inner), rest = at % (p->cut.rows * inner);
	return shape_place(s, (strip * s->d[axis] + p->cut.first) * inner + rest, text);
}

/* The last channel: 1 where all others have a value. */
static void add_mask(const struct shape *s, double *v)
{
	const int64_t channels = s->d[0] - 1, points = shape_count(s) / s->d[0];
	double *mask = v + channels * points;
	for (int64_t i = 0; i < points; i++)
		mask[i] = 1;
	for (int64_t c = 0; c < channels; c++)
		for (int64_t i = 0; i < points; i++)
			if (isnan(v[c * points + i]))
				mask[i] = 0;
}

int piece_check_fill(const struct conversion *c, enum dtype t)
{
	uint64_t slot;
	dtype_set(t, &slot, 0, c->fill);
	const double is = dtype_get(t, &slot, 0);
	if (dtype_is_float(t) ? isinf(is) == isinf(c->fill) : is == c->fill && is < 0x1p63)
		return 0;
	return ERR(E_USAGE, NULL, "--fill: %g is no %s, as which the values are stored; say another "
	           "value, or another type by --%s", c->fill, dtype_name(t),
	           dtype_is_float(t) && c->target && !c->labels ? "target-dtype" : "dtype");
}

static int64_t fill(double *v, int64_t n, double value)
{
	int64_t filled = 0;
#pragma omp simd reduction(+ : filled)
	for (int64_t i = 0; i < n; i++)
		filled += v[i] != v[i];
	for (int64_t i = 0; filled && i < n; i++)
		v[i] = isnan(v[i]) ? value : v[i];
	return filled;
}

/* Class k has edge[k-1] <= v < edge[k]. */
static double class_of(const struct conversion *c, double v)
{
	int k = 0;
	while (k < c->nedges && v >= c->edges[k])
		k++;
	return k;
}

/* A label is a class or the value that is ignored; nothing else could ever be trained with. */
static int check_label(const struct piece *p, const struct conversion *c, int64_t at, double v)
{
	const int64_t most = c->info.nclasses ? c->info.nclasses : RECORD_MAX_CLASSES;
	char text[SHAPE_TEXT];
	if ((v >= 0 && v < (double)most) || (c->ignore != RECORD_NO_IGNORE && v == (double)c->ignore))
		return 0;
	return ERR(E_DATA, NULL, "sample %lld of the target has the label %.19g at (%s), which is no "
	           "class 0..%lld; a label that counts as none is named by --ignore",
	           (long long)p->sample, v, place(p, at, text), (long long)most - 1);
}

static int make_labels(const struct piece *p, const struct conversion *c, double *v, int64_t n)
{
	const bool part = p->cut.axis >= 0 && p->cut.rows < p->shape[1].d[p->cut.axis];
	int64_t missing = 0;
	for (int64_t i = 0; i < n; i++) {
		if (isnan(v[i])) {
			missing++;
			v[i] = (double)c->ignore;
		} else if (c->nedges) {
			v[i] = class_of(c, v[i]);
		} else {
			TRY(check_label(p, c, i, v[i]));
		}
	}
	if (missing && c->ignore == RECORD_NO_IGNORE)
		return ERR(E_DATA, NULL,
		           "sample %lld of the target has %s%lld missing values; say what label they "
		           "get, as in --ignore 255", (long long)p->sample, part ? "at least " : "",
		           (long long)missing);
	return 0;
}

static int unfit(const struct piece *p, const struct record_array *a, double v, int64_t at)
{
	const bool target = p->cut.array == 1;
	char text[SHAPE_TEXT];
	return ERR(E_DATA, NULL, "sample %lld of the %s has a value %g at (%s), which does not fit %s; "
	           "see %s", (long long)p->sample, target ? "target" : "input", v, place(p, at, text),
	           dtype_name(a->dtype), target ? "--target-dtype" : "--dtype");
}

/* Most are: the loop that finds the others takes ten times as long. */
static bool all_fit_f32(const double *v, const float *is, int64_t n)
{
	int64_t unfit = 0;
#pragma omp simd reduction(+ : unfit)
	for (int64_t i = 0; i < n; i++)
		unfit += (fabsf(is[i]) > FLT_MAX) & (v[i] == v[i]);
	return unfit == 0;
}

/* Whole numbers of the sources' own type, which nothing has changed, fit. */
static bool is_same(const struct piece *p, const struct conversion *c, const struct record_array *a)
{
	const struct side *s = p->cut.array ? c->target : c->input;
	return !dtype_is_float(a->dtype) && side_dtype(s) == a->dtype &&
	       (p->cut.array ? c->nedges == 0 : p->counts.filled_input == 0);
}

/* Converts values to a narrower type: rounding is counted, another number is an error. */
static int narrow(struct piece *p, const struct conversion *c, const struct record_array *a,
                  const double *v, int64_t n)
{
	const bool integer = !dtype_is_float(a->dtype), labels = integer && p->cut.array == 1;
	dtype_convert(a->dtype, p->out, DTYPE_F64, v, n);
	if (is_same(p, c, a))
		return 0;
	if (a->dtype == DTYPE_F32 && all_fit_f32(v, (const float *)(const void *)p->out, n))
		return 0;
	for (int64_t i = 0; i < n; i++) {
		const double is = dtype_get(a->dtype, p->out, i);
		const bool beyond = a->dtype == DTYPE_I64 && v[i] >= 0x1p63;

		if ((is == v[i] && !beyond) || isnan(v[i]))
			continue;
		if (isinf(is) || (integer && (is != rint(v[i]) || labels || beyond)))
			return unfit(p, a, v[i], i);
		p->counts.rounded += integer;
	}
	return 0;
}

/* --- the whole way --- */

static void *with_room(void *v, size_t *room, size_t n)
{
	if (n <= *room)
		return v;
	mem_free(v);
	*room = n;
	return mem_alloc(n);
}

/* Coded bytes and counts are the coder's until its next piece. */
static void keep_coded(struct piece *p)
{
	struct record_coded *d = &p->coded;
	const size_t moments = (size_t)d->nmoments * record_moments_bytes(),
	             labels = (size_t)d->ncounts * sizeof *p->labels;
	if (d->stored != d->raw) {
		p->stored = with_room(p->stored, &p->stored_room, d->chunk.stored);
		memcpy(p->stored, d->stored, d->chunk.stored);
		d->stored = p->stored;
	}
	p->moments = with_room(p->moments, &p->moments_room, moments);
	if (d->nmoments)
		memcpy(p->moments, d->moments, moments);
	d->moments = p->moments;
	p->labels = with_room(p->labels, &p->labels_room, labels);
	if (d->ncounts)
		memcpy(p->labels, d->counts, labels);
	d->counts = p->labels;
}

/* The piece's values, where they are to be stored as they were read; else NULL. */
static const void *as_read(const struct piece *p, const struct conversion *c)
{
	if (p->cut.array != 0 || c->validity_mask || side_dtype(c->input) != c->info.input.dtype)
		return NULL;
	if (!is_cut(p, c->input) && !shape_equal(&p->cut.shape, &p->shape[0]))
		return NULL;
	return side_plain(c->input, p->raw[0]);
}

/* The piece's values to p->out, by way of doubles. */
static int make_values(struct piece *p, struct maker *m)
{
	const struct conversion *c = m->c;
	const int k = p->cut.array;
	const struct record_array *a = record_array_get(&c->info, k);
	const int64_t n = shape_count(&p->cut.shape);
	TRY(get_values(p, m));
	if (k == 0) {
		if (c->validity_mask)
			add_mask(&p->cut.shape, m->values);
		p->counts.filled_input = fill(m->values, n, c->fill);
		if (p->counts.filled_input > 0)
			TRY(piece_check_fill(c, a->dtype));
	} else {
		target_seen_add(&m->seen, m->values, n);
		if (dtype_is_float(a->dtype))
			p->counts.filled_target = fill(m->values, n, c->fill);
		else
			TRY(make_labels(p, c, m->values, n));
	}
	p->out = with_room(p->out, &p->out_room, p->cut.bytes);
	return narrow(p, c, a, m->values, n);
}

int piece_make(struct piece *p, struct maker *m)
{
	const void *raw = as_read(p, m->c);
	p->counts = (struct piece_counts){ 0 };
	if (!raw) {
		TRY(make_values(p, m));
		raw = p->out;
	}
	TRY(record_code(m->coder, &m->c->info, &p->cut, raw, p->sample, &p->coded));
	keep_coded(p);
	return 0;
}
