/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Derives the geographic coordinates of a GeoTIFF picture's rows and columns, from the tags of the
 * model space and the keys of its reference system (OGC 19-008r4). A rotated picture has no
 * coordinates. */
#include "data-tools/source/tiff/tiff_file.h"

#ifdef HAVE_TIFF
#include <string.h>

#include "base/mem.h"

enum { MODEL = 1024, RASTER = 1025, GEOGRAPHIC = 2048, ANGULAR_UNITS = 2054, PROJECTED = 3072,
	LINEAR_UNITS = 3076 };
enum { RASTER_POINT = 2, DEGREE = 9102, OWN = 32767 };

/* place = first + (number of the pixel) * step, of its centre; [0]: rows, [1]: columns. */
struct line { double first, step; };

/* A key's number; 0: it is not there. */
static int find_key(TIFF *f, int key)
{
	uint32_t n = 0;
	uint16_t *v;
	if (!TIFFGetField(f, TIFF_GEO_KEYS, &n, &v))
		return 0;
	for (uint32_t i = 4; i + 3 < n; i += 4)
		if (v[i] == key && v[i + 1] == 0)
			return v[i + 3];
	return 0;
}

/* Of the upper left corner of pixel (0, 0), where pixels are areas, and else of its centre. */
static bool find_lines_within(TIFF *f, struct line out[2])
{
	uint32_t n = 0, ties = 0;
	double *m, *tie;
	if (TIFFGetField(f, TIFF_TRANSFORMATION, &n, &m) && n == 16) {
		out[0] = (struct line){ m[7], m[5] };
		out[1] = (struct line){ m[3], m[0] };
		return m[1] == 0 && m[4] == 0 && m[0] != 0 && m[5] != 0;
	}
	if (!TIFFGetField(f, TIFF_PIXEL_SCALE, &n, &m) || n < 2 || m[0] == 0 || m[1] == 0 ||
	    !TIFFGetField(f, TIFF_TIEPOINT, &ties, &tie) || ties < 6)
		return false;
	out[0] = (struct line){ tie[4] + tie[1] * m[1], -m[1] };
	out[1] = (struct line){ tie[3] - tie[0] * m[0], m[0] };
	return true;
}

bool tiff_has_place(TIFF *f)
{
	uint32_t n;
	void *tag;
	return TIFFGetField(f, TIFF_TRANSFORMATION, &n, &tag) ||
	       TIFFGetField(f, TIFF_TIEPOINT, &n, &tag);
}

/* The centre of pixel (0, 0) first. false: it is not known, or the picture is turned. */
static bool find_lines(const struct tiff_file *h, struct line out[2])
{
	const struct tiff_beside *b = &h->beside;
	const double *v = b->place;
	double centre = 0.5;
	if (b->has_place) {
		out[0] = (struct line){ v[3], v[5] };
		out[1] = (struct line){ v[0], v[1] };
		if (v[2] != 0 || v[4] != 0 || v[1] == 0 || v[5] == 0)
			return false;
	} else if (!find_lines_within(h->file, out)) {
		return false;
	} else if (find_key(h->file, RASTER) == RASTER_POINT) {
		centre = 0;
	}
	for (int k = 0; k < 2; k++)
		out[k].first += centre * out[k].step;
	return true;
}

static int find_model(const struct tiff_file *h)
{
	return h->beside.has_system ? h->beside.model : find_key(h->file, MODEL);
}

/* Whether places are degrees of latitude and longitude. */
static bool is_geographic(const struct tiff_file *h)
{
	const int unit = h->beside.has_system ? 0 : find_key(h->file, ANGULAR_UNITS);
	return find_model(h) == TIFF_GEOGRAPHIC && (unit == 0 || unit == DEGREE);
}

static const char *linear_unit(const struct tiff_file *h)
{
	static const struct { int code; const char *name; } units[] = {
		{ 9001, "m" }, { 9002, "foot" }, { 9003, "US_survey_foot" }, { 9036, "km" },
	};
	const int code = find_key(h->file, LINEAR_UNITS);

	if (h->beside.has_system)
		return h->beside.unit;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (units[i].code == code)
			return units[i].name;
	return NULL;
}

static void rename_axis(struct source *s, int i, const char *name, char kind)
{
	mem_free(s->axis[i]);
	s->axis[i] = mem_strdup(name);
	s->kind[i] = kind;
}

/* The tags are those of the first page. */
void tiff_place_name(struct source *s)
{
	struct tiff_file *h = s->handle;
	struct line line[2];
	if (tiff_turn_to(s, h, 0) != 0 || !find_lines(h, line))
		return;
	const bool degrees = is_geographic(h);
	rename_axis(s, s->pages, degrees ? "lat" : "y", 'Y');
	rename_axis(s, s->pages + 1, degrees ? "lon" : "x", 'X');
}

static void add_text(struct arena *a, struct axis *out, const char *name, const char *text)
{
	struct axis_attribute *all = (struct axis_attribute *)(uintptr_t)out->attribute;
	if (text)
		all[out->nattributes++] = (struct axis_attribute){ arena_strdup(a, name),
		                                                  .text = arena_strdup(a, text) };
}

/* Names as the CF conventions have them; "epsg" is for the reference system of both axes. */
static void describe(const struct tiff_file *h, int column, struct arena *a, struct axis *out)
{
	static const char *const names[2][2] = {
		{ "projection_y_coordinate", "projection_x_coordinate" }, { "latitude", "longitude" },
	};
	static const char *const degrees[] = { "degrees_north", "degrees_east" };
	const int model = find_model(h);
	const bool geographic = is_geographic(h);
	const int code = h->beside.has_system ? h->beside.epsg :
	                 find_key(h->file, model == TIFF_PROJECTED ? PROJECTED : GEOGRAPHIC);

	out->attribute = ARENA_ARRAY(a, struct axis_attribute, 4);
	if (geographic || model == TIFF_PROJECTED)
		add_text(a, out, "standard_name", names[geographic][column]);
	add_text(a, out, "units", geographic ? degrees[column] :
	         model == TIFF_PROJECTED ? linear_unit(h) : NULL);
	if (code > 0 && code != OWN)
		add_text(a, out, "epsg", arena_printf(a, "EPSG:%d", code));
}

void tiff_place_coordinates(struct source *s, int i, struct arena *a, struct axis *out)
{
	struct tiff_file *h = s->handle;
	const int column = i - s->pages;
	struct line line[2];
	if (column < 0 || column > 1 || tiff_turn_to(s, h, 0) != 0 || !find_lines(h, line))
		return;
	double *v = ARENA_ARRAY(a, double, out->n);
	for (int64_t k = 0; k < out->n; k++)
		v[k] = line[column].first + (double)k * line[column].step;
	out->values = v;
	describe(h, column, a, out);
}
#endif
