/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Draws samples: a field's colours span its mean plus and minus 2.5 deviations, so that one
 * outlier does not flatten the rest; points that the mask excludes and ignored labels are grey. */
#include "data-tools/inspect/draw.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "report/png.h"
#include "data-tools/inspect/select.h"

#define GAP 6                /* pixels between panels */
#define PANEL 400            /* pixels that automatic zoom aims at */
#define MAX_PANELS 256       /* of the input, and again of the target */

struct panel {
	bool target, labels;
	int64_t offset;          /* of the slice's first element in its array */
	int64_t h, w;
	double low, high;
};

struct canvas {
	const struct record *r;
	const struct draw_options *o;
	int size;                /* of samples, that it is planned for; -1: none */
	struct panel *panel;
	int n, columns;
	int64_t zoom, h, w;      /* of the largest panel, points */
	int64_t width, height;   /* pixels */
	uint8_t *pixels;
	uint8_t *raw;
	struct record_decoder *decoder;
};

/* --- panels --- */

static void set_range(struct panel *p, const struct channel_stats *s)
{
	if (!s || s->count == 0 || !isfinite(s->mean) || !isfinite(s->std)) {
		p->low = 0;
		p->high = 1;
		return;
	}
	p->low = fmax(s->min, s->mean - 2.5 * s->std);
	p->high = fmin(s->max, s->mean + 2.5 * s->std);
}

/* The panels of an array whose axis `lead` is the first after the channels. */
static void add_panels(struct canvas *c, const struct record_array *a, int lead, bool target)
{
	const struct shape *s = record_shape(record_info(c->r), c->size, target);
	const int nd = s->nd, spatial = nd - lead;
	const int64_t channels = lead ? s->d[0] : 1;
	const bool labels = target && !dtype_is_float(a->dtype);
	if (spatial < 2 || spatial > 3)
		return;
	for (int64_t k = 0; k < channels && c->n < (target ? 2 : 1) * MAX_PANELS; k++) {
		struct panel *p = &c->panel[c->n++];
		const int64_t h = s->d[nd - 2], w = s->d[nd - 1];
		const int64_t d = spatial == 3 ? s->d[lead] : 1;

		*p = (struct panel){ .target = target, .labels = labels, .h = h, .w = w,
		                    .offset = (k * d + d / 2) * h * w };
		if (!labels)
			set_range(p, k < a->nstats ? &a->stats[k] : NULL);
		c->h = h > c->h ? h : c->h;
		c->w = w > c->w ? w : c->w;
	}
}

/* Class maps have no channel axis: as many axes as the input has spatial ones. */
static int target_lead(const struct record_info *i)
{
	return i->target.shape.nd >= i->input.shape.nd ? 1 : 0;
}

/* For samples of a size. */
static int plan_canvas(struct canvas *c, int size)
{
	const struct record_info *i = record_info(c->r);
	c->size = size;
	c->n = 0;
	c->w = c->h = 0;
	add_panels(c, &i->input, 1, false);
	add_panels(c, &i->target, target_lead(i), true);
	if (c->n == 0)
		return ERR(E_DATA, NULL, "'%s': samples have no two-dimensional maps to draw",
		           record_path(c->r));
	c->columns = (int)ceil(sqrt((double)c->n));
	c->zoom = c->o->zoom ? c->o->zoom : c->w < PANEL ? (PANEL + c->w / 2) / c->w : 1;
	c->width = c->columns * (c->w * c->zoom + GAP) + GAP;
	c->height = (c->n + c->columns - 1) / c->columns * (c->h * c->zoom + GAP) + GAP;
	if (c->w > 1 << 20 || c->h > 1 << 20 || c->width > INT32_MAX / 3 / c->height)
		return ERR(E_DATA, NULL, "'%s': a picture of %lld x %lld pixels is too large",
		           record_path(c->r), (long long)c->width, (long long)c->height);
	mem_free(c->pixels);
	c->pixels = mem_alloc((size_t)(3 * c->width * c->height));
	return 0;
}

/* --- pixels --- */

/* Whether the record's mask says that element `at` of an input has no value. */
static bool masked(const struct canvas *c, const uint8_t *input, int64_t at)
{
	const struct record_info *i = record_info(c->r);
	const struct shape *s = record_shape(i, c->size, 0);
	const int64_t points = shape_count(s) / s->d[0];
	return i->mask >= 0 && at / points != i->mask &&
	       dtype_get(i->input.dtype, input, i->mask * points + at % points) == 0;
}

static void point_colour(const struct canvas *c, const struct panel *p, int64_t at, uint8_t rgb[3])
{
	const struct record_info *i = record_info(c->r);
	const uint8_t *data = c->raw + (p->target ? record_array_at(i, c->size, 1) : 0);
	const double v = dtype_get(p->target ? i->target.dtype : i->input.dtype, data, at);
	if (p->labels ? v == (double)i->ignore : !p->target && masked(c, data, at))
		memcpy(rgb, colour_missing, 3);
	else if (p->labels)
		colour_class((int64_t)v, rgb);
	else
		colour_field(p->high > p->low ? (v - p->low) / (p->high - p->low) : v, rgb);
}

static void fill_block(struct canvas *c, int64_t x, int64_t y, const uint8_t rgb[3])
{
	for (int64_t j = 0; j < c->zoom; j++)
		for (int64_t i = 0; i < c->zoom; i++)
			memcpy(c->pixels + 3 * ((y + j) * c->width + x + i), rgb, 3);
}

static void draw_panel(struct canvas *c, int k)
{
	const struct panel *p = &c->panel[k];
	const int64_t left = GAP + k % c->columns * (c->w * c->zoom + GAP);
	const int64_t top = GAP + k / c->columns * (c->h * c->zoom + GAP);
	for (int64_t y = 0; y < p->h; y++) {
		const int64_t row = c->o->north_up ? p->h - 1 - y : y;

		for (int64_t x = 0; x < p->w; x++) {
			uint8_t rgb[3];

			point_colour(c, p, p->offset + row * p->w + x, rgb);
			fill_block(c, left + x * c->zoom, top + y * c->zoom, rgb);
		}
	}
}

static int draw_sample(struct canvas *c, int64_t sample)
{
	const int size = record_size_of(c->r, sample);
	char name[64];
	char *path;
	int rc;
	if (size != c->size)
		TRY(plan_canvas(c, size));
	TRY(record_read(c->r, c->decoder, sample, c->raw));
	memset(c->pixels, 255, (size_t)(3 * c->width * c->height));
	for (int k = 0; k < c->n; k++)
		draw_panel(c, k);
	snprintf(name, sizeof(name), "sample-%05lld.png", (long long)sample);
	path = io_join(c->o->dir, name);
	rc = png_write_rgb(path, c->width, c->height, c->pixels);
	mem_free(path);
	return rc;
}

static int draw_all(struct canvas *c, int *drawn)
{
	int64_t *list, n;
	int rc =
	    select_samples(c->o->samples ? c->o->samples : ":8", record_info(c->r)->samples, &list, &n);
	for (int64_t i = 0; rc == 0 && i < n; i++, (*drawn)++)
		rc = draw_sample(c, list[i]);
	mem_free(list);
	return rc;
}

int draw_samples(const struct record *r, const struct draw_options *o)
{
	struct canvas c = { .r = r, .o = o, .size = -1 };
	int drawn = 0, rc;
	c.panel = mem_calloc(2 * MAX_PANELS, sizeof(*c.panel));
	c.raw = mem_alloc(record_raw_bytes(record_info(r)));
	c.decoder = record_decoder_new();
	rc = plan_canvas(&c, 0);

	if (rc == 0)
		rc = io_mkdirs(o->dir);
	if (rc == 0)
		rc = draw_all(&c, &drawn);
	record_decoder_free(c.decoder);
	mem_free(c.panel);
	mem_free(c.pixels);
	mem_free(c.raw);
	return rc < 0 ? rc : drawn;
}
