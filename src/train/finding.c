/* SPDX-License-Identifier: BSD-3-Clause */
#include "train/finding.h"

#include <inttypes.h>
#include <math.h>

static const char *const phase_names[PHASE_COUNT] = { "forward", "backward", "update" };

/* "nan", "inf" or "-inf": JSON has no such numbers. */
static const char *number(double v)
{
	return isnan(v) ? "nan" : v > 0 ? "inf" : "-inf";
}

static void put_index(const struct finding *f, int64_t at, struct buf *b)
{
	char text[SHAPE_TEXT];
	buf_printf(b, "[%s]", f->shape.nd ? shape_place(&f->shape, at, text) : "");
}

/* --- for people --- */

static void put_origin(const struct finding *f, struct buf *b)
{
	char text[SHAPE_TEXT];
	switch (f->of) {
	case FOUND_OUTPUT:
		buf_printf(b, "the first values that are not finite are made by '%s' of layer '%s'", f->op,
		           f->layer);
		break;
	case FOUND_DATA:
		buf_printf(b, "the data have values that are not finite%s%s, in '%s', which '%s' of layer "
		           "'%s' reads first", *f->rounded ? " once the host has rounded them to " : "",
		           f->rounded, f->tensor, f->op, f->layer);
		break;
	case FOUND_STORED:
		buf_printf(b, "'%s' was not finite before the step, when '%s' of layer '%s' read it",
		           f->tensor, f->op, f->layer);
		break;
	}
	if (*f->place)
		buf_printf(b, " (%s)", f->place);
	buf_printf(b, " in the %s part: %" PRId64 " of %" PRId64 " values, %s", phase_names[f->phase],
	           f->count, shape_count(&f->shape), shape_text(&f->shape, text));
}

static void put_values(const struct finding *f, struct buf *b)
{
	buf_puts(b, "the first of them: ");
	for (int i = 0; i < f->nvalue; i++) {
		buf_puts(b, i ? ", " : "");
		put_index(f, f->value[i].at, b);
		buf_printf(b, " %s", number(f->value[i].v));
	}
	if (f->of != FOUND_OUTPUT || f->largest < 0)
		return;
	buf_printf(b, "; the largest magnitude of what it read is %.4g", f->largest);
	if (f->largest_sample >= 0)
		buf_printf(b, ", of sample %" PRId64, f->largest_sample);
}

static void put_samples(const struct finding *f, struct buf *b)
{
	buf_printf(b, "in %ssample%s ", f->attributed ? "" : "a batch of ", f->samples > 1 ? "s" : "");
	for (int i = 0; i < f->nsample; i++) {
		const struct finding_sample *s = &f->sample[i];
		buf_printf(b, "%s%" PRId64, i ? ", " : "", s->index);
		if (*s->key)
			buf_printf(b, " '%s'", s->key);
		if (s->window)
			buf_printf(b, " (window %" PRId64 ")", s->window);
		if (s->partner >= 0)
			buf_printf(b, " (blended with %" PRId64 ")", s->partner);
	}
	if (f->samples > f->nsample)
		buf_printf(b, " and %" PRId64 " more", f->samples - f->nsample);
	buf_puts(b, " of the training set");
	if (*f->host)
		buf_printf(b, ", on rank %d (host %s)", f->rank, f->host);
}

const char *finding_line(const struct finding *f, int i, struct buf *b)
{
	static void (*const put[])(const struct finding *, struct buf *) = {
		put_origin, put_values, put_samples
	};
	if (i >= (int)(sizeof put / sizeof *put))
		return NULL;
	buf_clear(b);
	put[i](f, b);
	return b->data;
}

/* --- for programs --- */

static void put_text(struct buf *b, const char *key, const char *v)
{
	buf_printf(b, ", \"%s\": ", key);
	buf_json_string(b, v);
}

void finding_json(const struct finding *f, struct buf *b)
{
	static const char *const of[] = { "output", "data", "stored" };
	put_text(b, "of", of[f->of]);
	put_text(b, "op", f->op);
	put_text(b, "layer", f->layer);
	put_text(b, "place", f->place);
	put_text(b, "phase", phase_names[f->phase]);
	if (f->of != FOUND_OUTPUT)
		put_text(b, "tensor", f->tensor);
	if (*f->rounded)
		put_text(b, "rounded", f->rounded);
	buf_printf(b, ", \"rank\": %d, \"micro_batch\": %" PRId64 ", \"shape\": ", f->rank, f->micro);
	buf_putc(b, '[');
	for (int k = 0; k < f->shape.nd; k++)
		buf_printf(b, "%s%" PRId64, k ? ", " : "", f->shape.d[k]);
	buf_printf(b, "], \"count\": %" PRId64 ", \"values\": [", f->count);
	for (int i = 0; i < f->nvalue; i++) {
		buf_puts(b, i ? ", {\"at\": " : "{\"at\": ");
		put_index(f, f->value[i].at, b);
		buf_printf(b, ", \"value\": \"%s\"}", number(f->value[i].v));
	}
	buf_puts(b, "]");
	if (f->of == FOUND_OUTPUT && f->largest >= 0)
		buf_json_member(b, "largest_input", f->largest);
	if (f->of == FOUND_OUTPUT && f->largest >= 0 && f->largest_sample >= 0)
		buf_printf(b, ", \"largest_sample\": %" PRId64, f->largest_sample);
	buf_printf(b, ", \"attributed\": %s, \"samples\": [", f->attributed ? "true" : "false");
	for (int i = 0; i < f->nsample; i++) {
		const struct finding_sample *s = &f->sample[i];
		buf_printf(b, "%s{\"index\": %" PRId64 ", \"window\": %" PRId64, i ? ", " : "", s->index,
		           s->window);
		if (*s->key)
			put_text(b, "key", s->key);
		if (s->partner >= 0)
			buf_printf(b, ", \"partner\": %" PRId64, s->partner);
		buf_putc(b, '}');
	}
	buf_putc(b, ']');
}
