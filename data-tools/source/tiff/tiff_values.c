/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads a TIFF file's tags about its values: GDAL's tags of the missing value and of the scale and
 * offset of each band, and ImageJ's calibration. All refer to stored values. */
#include "data-tools/source/tiff/tiff_file.h"

#ifdef HAVE_TIFF
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "data-tools/source/tiff/xml_tag.h"

int tiff_read_number(const struct source *s, const char *name, const char *text, double *out)
{
	char *end;
	*out = strtod(text, &end);
	end += strspn(end, " \t\r\n");
	return end == text || *end || !isfinite(*out) ? source_no_number(s, name) : 0;
}

/* <Item name="SCALE" sample="0" role="scale">0.1</Item>; without a sample: of all. */
static int take_item(const struct source *s, const struct xml_tag *t, struct packing *of, int n)
{
	static const struct { const char *role; size_t member; } roles[] = {
		{ "scale", offsetof(struct packing, scale) },
		{ "offset", offsetof(struct packing, offset) },
	};
	char role[16], sample[16], text[64];
	int from = 0, to = n;

	if (!xml_attribute(t, "role", role, sizeof role))
		return 0;
	if (xml_attribute(t, "sample", sample, sizeof sample)) {
		from = atoi(sample);
		to = from + 1;
	}
	xml_text(t, text, sizeof text);
	for (size_t k = 0; k < sizeof roles / sizeof *roles; k++) {
		double v;

		if (strcmp(role, roles[k].role) != 0)
			continue;
		TRY(tiff_read_number(s, roles[k].role, text, &v));
		for (int i = from; i >= 0 && i < to && i < n; i++)
			*(double *)((char *)&of[i] + roles[k].member) = v;
	}
	return 0;
}

static int take_metadata(const struct source *s, const char *text, struct packing *of, int n)
{
	struct xml_tag t;
	while (xml_next(&text, "Item", &t))
		TRY(take_item(s, &t, of, n));
	return 0;
}

static const char *find_line(const char *text, const char *key)
{
	const size_t n = strlen(key);
	for (; text; text = strchr(text, '\n')) {
		text += *text == '\n';
		if (strncmp(text, key, n) == 0)
			return text + n;
	}
	return NULL;
}

/* ImageJ's function 0 is a straight line, 20 is none; the others are curves. */
static int take_calibration(struct source *s, struct tiff_file *h)
{
	const char *function, *c0, *c1;
	char *text;
	TRY(tiff_turn_to(s, h, 0));
	if (!TIFFGetField(h->file, TIFFTAG_IMAGEDESCRIPTION, &text) || strncmp(text, "ImageJ=", 7) != 0)
		return 0;
	function = find_line(text, "cf=");
	c0 = find_line(text, "c0=");
	c1 = find_line(text, "c1=");
	if (!function || atoi(function) == 20)
		return 0;
	if (atoi(function) != 0 || !c0 || !c1)
		return source_bad(s, "tiff: ImageJ's calibration of its values is a curve, which is not "
		                  "read; save it from ImageJ as 32-bit, with the values that it shows");
	for (int i = 0; i < h->page.channels; i++)
		h->packing[i] = (struct packing){ strtod(c1, NULL), strtod(c0, NULL) };
	return 0;
}

static int read_packing(const struct source *s, TIFF *f, struct packing *of, int n)
{
	char *text;
	for (int i = 0; i < n; i++)
		of[i] = (struct packing){ .scale = 1 };
	return TIFFGetField(f, TIFF_GDAL_METADATA, &text) ? take_metadata(s, text, of, n) : 0;
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : !a && !b;
}

int tiff_values_take(struct source *s, struct tiff_file *h, int i)
{
	const int n = h->page.channels;
	char *nodata = NULL;
	TIFFGetField(h->file, TIFF_GDAL_NODATA, &nodata);
	if (i == 0) {
		h->nodata = nodata ? mem_strdup(nodata) : NULL;
		h->packing = mem_calloc((size_t)n + 1, sizeof *h->packing);
		return read_packing(s, h->file, h->packing, n);
	}
	struct packing *of = mem_calloc((size_t)n + 1, sizeof *of);
	const int rc = read_packing(s, h->file, of, n);
	const bool same = memcmp(of, h->packing, (size_t)n * sizeof *of) == 0;
	mem_free(of);
	TRY(rc);
	return same && same_text(nodata, h->nodata) ? 0 :
	       source_bad(s, "tiff: its pages differ in the missing value, or in scale or offset; save "
	                  "each to a file of its own");
}

/* --- as values are read --- */

/* The value that means "missing", rounded as the others are that are stored. */
static void take_nodata(struct source *s, const struct tiff_file *h)
{
	static const char name[] = "GDAL_NODATA";
	double v, slot;
	char *end;

	if (!h->nodata)
		return;
	v = strtod(h->nodata, &end);
	end += strspn(end, " \t\r\n");
	if (end == h->nodata || *end) {
		s->text_missing = name;
		return;
	}
	if (isnan(v))                      /* is missing without being said */
		return;
	if (dtype_is_float(s->dtype)) {
		dtype_set(s->dtype, &slot, 0, v);
		v = dtype_get(s->dtype, &slot, 0);
	}
	source_add_missing(s, h->slope * v + h->base);
}

int tiff_values_settle(struct source *s, struct tiff_file *h)
{
	bool packed = false, differ = false;
	TRY(tiff_beside_take(s, h));
	take_nodata(s, h);
	TRY(take_calibration(s, h));
	for (int i = 0; i < h->page.channels; i++) {
		struct packing *p = &h->packing[i];

		packed |= p->scale != 1 || p->offset != 0;
		differ |= memcmp(p, h->packing, sizeof *p) != 0;
		p->offset -= h->base / h->slope * p->scale;
		p->scale /= h->slope;
	}
	if (h->colours && (packed || s->nmissing || s->text_missing))
		return ERR(E_DATA, NULL, "'%s': tiff: which numbers of its palette are missing, or what "
		           "they are worth, is lost with its colours; read the numbers: %s:index", s->path,
		           s->path);
	if (!packed)
		return 0;
	if (differ && s->shape.nd > s->pages + 2) {
		s->packing = h->packing;
		s->npacking = h->page.channels;
		return 0;
	}
	s->scale = h->packing->scale;
	s->offset = h->packing->offset;
	return 0;
}
#endif
