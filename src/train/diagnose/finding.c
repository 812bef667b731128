/* SPDX-License-Identifier: BSD-3-Clause */
#include "train/diagnose/finding.h"

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

static void put_host(const struct finding *f, struct buf *b)
{
	if (*f->host)
		buf_printf(b, ", on rank %d (host %s)", f->rank, f->host);
}

static void put_samples(const struct finding *f, struct buf *b)
{
	if (f->samples == 0) {           /* of equations */
		buf_puts(b, "at the points of this step");
		put_host(f, b);
		return;
	}
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
	put_host(f, b);
}

static void put_kernel(const struct finding *f, struct buf *b)
{
	const struct finding_kernel *k = &f->kernel;
	buf_printf(b, "a wrong kernel made them, neither the rate nor the data: in float64 the same "
	           "inputs, which are of moderate size, give %.4g at ", k->right);
	put_index(f, k->at, b);
	buf_printf(b, "; it is '%s' in %s on %s", k->impl, k->type, k->device);
}

static void put_remedy(const struct finding *f, struct buf *b)
{
	buf_printf(b, "%splease report this with the sample: %s %s",
	           f->kernel.on_cpu ? "DLX_DEBUG=isa=avx2 takes other kernels; " : "", f->op,
	           f->kernel.sample);
}

static void put_unchecked(const struct finding *f, struct buf *b)
{
	buf_printf(b, "whether '%s' is at fault was not checked: it would take minutes in float64",
	           f->op);
}

const char *finding_line(const struct finding *f, int i, struct buf *b)
{
	static void (*const put[][6])(const struct finding *, struct buf *) = {
		[KERNEL_UNCHECKED] = { put_origin, put_values, put_samples },
		[KERNEL_TOO_LARGE] = { put_origin, put_values, put_samples, put_unchecked },
		[KERNEL_UNKNOWN] = { put_origin, put_values, put_samples },
		[KERNEL_RIGHT] = { put_origin, put_values, put_samples },
		[KERNEL_WRONG] = { put_origin, put_values, put_samples, put_kernel, put_remedy }
	};
	if (!put[f->kernel.verdict][i])
		return NULL;
	buf_clear(b);
	put[f->kernel.verdict][i](f, b);
	return b->data;
}

/* --- for programs --- */

static void put_text(struct buf *b, const char *key, const char *v)
{
	buf_printf(b, ", \"%s\": ", key);
	buf_json_string(b, v);
}

static void put_verdict(const struct finding *f, struct buf *b)
{
	static const char *const verdict[] = { "", "unchecked", "unchecked", "right", "wrong" };
	const struct finding_kernel *k = &f->kernel;
	if (k->verdict == KERNEL_UNCHECKED)
		return;
	put_text(b, "kernel", verdict[k->verdict]);
	if (*k->impl)
		put_text(b, "implementation", k->impl);
	if (k->verdict != KERNEL_WRONG)
		return;
	buf_json_member(b, "float64", k->right);
	put_text(b, "device", k->device);
	put_text(b, "op_sample", k->sample);
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
	put_verdict(f, b);
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
