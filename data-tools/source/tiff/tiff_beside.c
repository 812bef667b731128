/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads companion files in a picture's folder. FILE.aux.xml has metadata that GDAL could not or
 * should not write to the TIFF file; as in GDAL it takes precedence over the file's own. A world
 * file (.tfw, .tifw, .wld) is used if neither gives a geographic place. */
#include "data-tools/source/tiff/tiff_file.h"

#ifdef HAVE_TIFF
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "data-tools/source/tiff/xml_tag.h"

/* Six numbers with blanks or commas between. */
static bool read_six(const char *text, double *out)
{
	for (int i = 0; i < 6; i++) {
		char *end;

		text += strspn(text, " \t\r\n,");
		out[i] = strtod(text, &end);
		if (end == text || !isfinite(out[i]))
			return false;
		text = end;
	}
	return true;
}

static void take_transform(struct tiff_beside *b, const double *of)
{
	memcpy(b->place, of, sizeof b->place);
	b->has_place = true;
}

/* --- a world file --- */

/* The steps of x and y by column, of x and y by row, and the centre of pixel (0, 0). */
static bool read_world(struct tiff_beside *b, const char *path)
{
	struct buf text = BUF_INIT;
	const int mark = err_count();
	double v[6];
	const bool ok = io_exists(path) && io_read_text(path, &text) == 0 && read_six(text.data, v);
	if (ok)
		take_transform(b, (double[]){ v[4] - v[0] / 2 - v[2] / 2, v[0], v[2],
		                              v[5] - v[1] / 2 - v[3] / 2, v[1], v[3] });
	err_truncate(mark);
	buf_release(&text);
	return ok;
}

/* FILE.tfw, FILE.wld and, for FILE.tif, FILE.tifw. */
static void find_world(struct source *s, struct tiff_beside *b)
{
	const char *dot = strrchr(s->path, '.'), *slash = strrchr(s->path, '/');
	const bool ends = dot && (!slash || dot > slash);
	const int stem = (int)(ends ? (size_t)(dot - s->path) : strlen(s->path));
	struct buf path = BUF_INIT;
	static const char *const endings[] = { ".tfw", ".wld" };
	bool found = false;
	for (size_t i = 0; i < 2 && !found; i++) {
		buf_clear(&path);
		buf_printf(&path, "%.*s%s", stem, s->path, endings[i]);
		found = read_world(b, path.data);
	}
	buf_clear(&path);
	buf_printf(&path, "%sw", s->path);
	if (!found && ends)
		read_world(b, path.data);
	buf_release(&path);
}

/* --- FILE.aux.xml --- */

/* The code of the whole system is the last one that a text in WKT has. */
static void take_system(struct tiff_beside *b, const char *wkt)
{
	const char *last = NULL, *unit = NULL;
	for (const char *p = wkt; (p = strstr(p, "\"EPSG\""));)
		last = p += 6;
	for (const char *p = wkt; (p = strstr(p, "UNIT[\""));)
		unit = p += 6;
	b->epsg = last ? atoi(last + strcspn(last, "0123456789]")) : 0;
	b->model = strncmp(wkt, "PROJ", 4) == 0 ? TIFF_PROJECTED :
	           strncmp(wkt, "GEOG", 4) == 0 ? TIFF_GEOGRAPHIC : 0;
	b->unit = !unit ? NULL : strncmp(unit, "met", 3) == 0 ? "m" :
	          strncmp(unit, "US survey foot", 14) == 0 ? "US_survey_foot" :
	          strncmp(unit, "foot", 4) == 0 ? "foot" : NULL;
	b->has_system = true;
}

/* The text of the element of this name in a part of the file; empty: there is none. */
static const char *text_in(const char *part, const char *name, char *out, size_t n)
{
	struct xml_tag t;
	*out = '\0';
	if (xml_next(&part, name, &t))
		xml_text(&t, out, n);
	return out;
}

/* What the part says of one band; `missing`, of 64 bytes: that of an earlier one. */
static int take_band(struct source *s, struct tiff_file *h, int band, const char *part,
                     char *missing)
{
	char text[64];
	static const struct { const char *name; size_t member; } numbers[] = {
		{ "Scale", offsetof(struct packing, scale) },
		{ "Offset", offsetof(struct packing, offset) },
	};

	for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
		if (*text_in(part, numbers[k].name, text, sizeof text))
			TRY(tiff_read_number(s, numbers[k].name, text,
			                     (double *)((char *)&h->packing[band] + numbers[k].member)));
	if (!*text_in(part, "NoDataValue", text, sizeof text))
		return 0;
	if (*missing && strcmp(missing, text) != 0)
		return source_bad(s, "tiff: in its .aux.xml the bands differ in the missing value; say "
		                  "which values are missing, as in --missing=-999,1e20");
	snprintf(missing, 64, "%s", text);
	mem_free(h->nodata);
	h->nodata = mem_strdup(text);
	return 0;
}

static int take_bands(struct source *s, struct tiff_file *h, char *at)
{
	struct xml_tag t;
	char number[16], missing[64] = "";
	const char *p = at;
	while (xml_next(&p, "PAMRasterBand", &t)) {
		char *end = strstr(p, "</PAMRasterBand");
		const int band = xml_attribute(&t, "band", number, sizeof number) ? atoi(number) - 1 : -1;

		if (!end)
			break;
		*end = '\0';
		if (band >= 0 && band < h->page.channels)
			TRY(take_band(s, h, band, p, missing));
		p = end + 1;
	}
	return 0;
}

static int take_all(struct source *s, struct tiff_file *h, char *text)
{
	struct tiff_beside *b = &h->beside;
	const char *p = text;
	struct xml_tag t;
	double v[6];
	if (xml_next(&p, "GeoTransform", &t) && read_six(t.end + 1, v))
		take_transform(b, v);
	p = text;
	if (xml_next(&p, "SRS", &t)) {
		char *wkt = mem_strdup(t.end + 1);

		wkt[strcspn(wkt, "<")] = '\0';
		take_system(b, wkt + strspn(wkt, " \t\r\n"));
		mem_free(wkt);
	}
	/* a file of several pages is several data sets for GDAL, of which this is the first */
	return h->npages == 1 ? take_bands(s, h, text) : 0;
}

int tiff_beside_take(struct source *s, struct tiff_file *h)
{
	struct buf path = BUF_INIT, text = BUF_INIT;
	int rc = tiff_turn_to(s, h, 0);
	buf_printf(&path, "%s.aux.xml", s->path);
	if (rc == 0 && io_exists(path.data)) {
		rc = io_read_file(path.data, &text);
		buf_putc(&text, '\0');
		if (rc == 0)
			rc = take_all(s, h, text.data);
	}
	buf_release(&path);
	buf_release(&text);
	if (rc == 0 && !h->beside.has_place && !tiff_has_place(h->file))
		find_world(s, &h->beside);
	return rc;
}
#endif
