/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads stored values of a side from its files, on one thread at a time, and converts them, on any
 * thread. */
#include "base/err.h"
#include "base/mem.h"
#include "data-tools/convert/side/side_state.h"

struct side_raw {
	int n;
	struct column_raw *of;         /* of each column */
};

struct side_raw *side_raw_new(const struct side *s)
{
	struct side_raw *r = mem_calloc(1, sizeof *r);
	r->n = s->n;
	r->of = mem_calloc((size_t)s->n, sizeof *r->of);
	return r;
}

void side_raw_free(struct side_raw *r)
{
	if (!r)
		return;
	for (int k = 0; k < r->n; k++)
		column_raw_release(&r->of[k]);
	mem_free(r->of);
	mem_free(r);
}

static bool has_channels(const struct side *s)
{
	return s->placed != LAYOUT_NONE;
}

bool side_cuts(const struct side *s, int axis)
{
	return axis >= has_channels(s);
}

/* The axis of a column's sample that is this one of the side's. */
static int axis_of(const struct side *s, const struct column *c, int axis)
{
	struct shape rest;
	const int place = axis - has_channels(s);
	side_split_shape(s, (enum layout)c->layout, &c->sample, &rest);
	return axis < 0 ? -1 : c->layout == LAYOUT_LAST ? place : c->sample.nd - rest.nd + place;
}

int side_fetch(struct side *s, int64_t i, int axis, int64_t first, int64_t rows,
               struct side_raw *out)
{
	for (int k = 0; k < s->n; k++) {
		struct column *c = &s->column[k];

		TRYC(column_fetch(c, i, axis_of(s, c, axis), first, rows, &out->of[k]),
		     "reading sample %lld", (long long)i);
	}
	return 0;
}

int64_t side_values(const struct side *s, const struct side_raw *r, enum dtype to, double *values,
                    double **scratch, int64_t *room)
{
	int64_t lost = 0;
	for (int k = 0; k < s->n; k++) {
		const struct column *c = &s->column[k];
		const struct column_raw *raw = &r->of[k];
		const int64_t points = raw->n / c->channels;
		double *out = values + c->channel * points;

		if (c->transpose && raw->n > *room) {
			*room = raw->n;
			mem_free(*scratch);
			*scratch = mem_alloc((size_t)raw->n * sizeof(double));
		}
		const int64_t rounded = column_values(c, raw, to, c->transpose ? *scratch : out);
		lost = lost ? lost : rounded;
		for (int64_t p = 0; c->transpose && p < points; p++)
			for (int64_t j = 0; j < c->channels; j++)
				out[j * points + p] = (*scratch)[p * c->channels + j];
	}
	return lost;
}

const void *side_plain(const struct side *s, const struct side_raw *r)
{
	const struct column *c = s->column;
	if (s->n > 1 || c->transpose || c->dtype != s->dtype)
		return NULL;
	return column_plain(c, r->of) ? r->of->v : NULL;
}

/* --- several threads --- */

struct side *side_share(const struct side *s)
{
	struct side *out = mem_alloc(sizeof *out);
	*out = *s;
	out->shared = true;
	out->column = mem_calloc((size_t)s->n, sizeof *out->column);
	for (int k = 0; k < s->n; k++)
		out->column[k] = column_share(&s->column[k]);
	return out;
}

/* Of a packed file that all samples are in, threads would unpack the same parts; of a sample in
 * pieces, each would load all. */
bool side_is_apart(const struct side *s, bool streamed)
{
	bool apart = true;
	for (int k = 0; k < s->n; k++) {
		const struct column *c = &s->column[k];
		const struct source_format *f = c->source->format;

		apart &= f->apart && ((f == &source_npy && !c->source->at_once) ||
		                      (!streamed && (c->file_a_sample || c->source->ranges)));
	}
	return apart;
}

bool side_is_whole(const struct side *s)
{
	bool whole = false;
	for (int k = 0; k < s->n; k++)
		whole |= s->column[k].source->format->whole;
	return whole;
}
