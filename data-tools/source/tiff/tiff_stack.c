/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the ImageDescription of a TIFF stack says of its pages: ImageJ's lines, the JSON of
 * tifffile and OME-XML. It has to speak of as many pages as there are directories, or, where there
 * is one, as there are values after its own. Axes whose names are known are put in the order
 * time, channel, depth, in which layouts are found. */
#include "data-tools/source/tiff/tiff_file.h"

#ifdef HAVE_TIFF
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "data-tools/source/tiff/xml_tag.h"

#define SAID_MOST ((int64_t)1 << 40)

/* The letters that OME and tifffile have for axes, in the order that axes are put in; others come
 * first. */
static const struct { char letter; const char *name; char kind; } letters[] = {
	{ 'T', "time", 'T' }, { 'C', "channel", 0 }, { 'Z', "depth", 'Z' },
};
#define LETTERS (int)(sizeof letters / sizeof *letters)

static int rank_of(const char *name)
{
	for (int k = 0; name && k < LETTERS; k++)
		if (strcmp(letters[k].name, name) == 0)
			return k;
	return -1;
}

static const char *name_of(char letter)
{
	for (int k = 0; k < LETTERS; k++)
		if (letters[k].letter == letter)
			return letters[k].name;
	return NULL;
}

/* An axis of one page is none. Returns false where there are too many. */
static bool add_axis(struct tiff_stack *t, const char *name, int64_t n)
{
	if (n == 1)
		return true;
	if (t->naxes == TIFF_AXES_MOST)
		return false;
	t->axis[t->naxes++] = (struct tiff_axis){ .name = name, .n = n };
	return true;
}

static int64_t count_pages(const struct tiff_stack *t)
{
	int64_t n = 1;
	for (int k = 0; k < t->naxes; k++)
		if (t->axis[k].n < 1 || n > SAID_MOST / t->axis[k].n)
			return -1;
		else
			n *= t->axis[k].n;
	return n;
}

static int bad_axes(const struct source *s, const struct tiff_stack *t)
{
	char text[120];
	snprintf(text, sizeof text, "tiff: damaged: the extents in the description by %s are none",
	         t->by);
	return source_bad(s, text);
}

/* --- ImageJ --- */

static int64_t line_number(const char *text, const char *key)
{
	const char *p = strstr(text, key);
	return p ? strtoll(p + strlen(key), NULL, 10) : 1;
}

/* Channels run fastest, then slices, then frames. `images` alone are slices. */
static int take_imagej(const struct source *s, struct tiff_stack *t, const char *text)
{
	static const struct { const char *key, *name; } keys[] = {
		{ "\nframes=", "time" }, { "\nslices=", "depth" }, { "\nchannels=", "channel" },
	};
	const int64_t images = line_number(text, "\nimages=");
	bool good = images > 0;
	char what[160];

	for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
		good &= add_axis(t, keys[k].name, line_number(text, keys[k].key));
	if (t->naxes == 0)
		good &= add_axis(t, "depth", images);
	const int64_t said = count_pages(t);
	if (!good || said < 1)
		return bad_axes(s, t);
	snprintf(what, sizeof what, "tiff: ImageJ's description says %lld images, but its channels, "
	         "slices and frames are %lld", (long long)images, (long long)said);
	return said == images || !strstr(text, "\nimages=") ? 0 : source_bad(s, what);
}

/* --- tifffile --- */

/* How many of the extents are those of pages: the others are of one page's values. -1: none. */
static int split_extents(const int64_t *d, int n, const struct tiff_page *p)
{
	int64_t values, inside = 1;
	if (__builtin_mul_overflow((int64_t)p->width * p->channels, (int64_t)p->height, &values))
		return -1;
	while (n > 0 && inside < values) {
		if (d[--n] < 1 || d[n] > values / inside)
			return -1;
		inside *= d[n];
	}
	return inside == values ? n : -1;
}

static int take_shape(const struct source *s, const struct tiff_file *h, struct tiff_stack *t,
                      const struct json *root)
{
	const struct json *list = json_find(root, "shape"), *axes = json_find(root, "axes");
	const char *names = axes && axes->kind == JSON_STRING ? axes->text : "";
	int64_t d[16];
	int n = 0, outer;

	while (n < list->n && n < 16 && json_int(list->item[n], &d[n]) && d[n] <= SAID_MOST)
		n++;
	outer = split_extents(d, n, &h->page);
	if (n < list->n || outer < 0)
		return source_bad(s, "tiff: the shape in tifffile's description is not that of the pages");
	for (int k = 0; k < outer; k++)
		if (d[k] < 1 || !add_axis(t, (int)strlen(names) == n ? name_of(names[k]) : NULL, d[k]))
			return bad_axes(s, t);
	if (t->naxes == 1 && !t->axis[0].name)
		t->axis[0].name = "depth";
	return count_pages(t) < 1 ? bad_axes(s, t) : 0;
}

static int take_json(const struct source *s, const struct tiff_file *h, struct tiff_stack *t,
                     const char *text)
{
	struct arena *a = arena_new();
	const int mark = err_count();
	struct json *root;
	int rc = json_parse(&root, a, s->path, 0, text, strlen(text));
	const struct json *shape = rc == 0 ? json_find(root, "shape") : NULL;
	if (rc != 0)
		err_truncate(mark);
	if (shape && shape->kind == JSON_ARRAY) {
		t->by = "tifffile";
		rc = take_shape(s, h, t, root);
	} else {
		rc = 0;                    /* a text of another program */
	}
	arena_free(a);
	return rc;
}

/* --- OME --- */

static int64_t attribute(const struct xml_tag *t, const char *name, int64_t otherwise)
{
	char text[24];
	return xml_attribute(t, name, text, sizeof text) ? strtoll(text, NULL, 10) : otherwise;
}

/* Where the plane at place k of all is that an element names, by its coordinates. */
static int64_t first_plane(const struct tiff_stack *t, const struct xml_tag *of)
{
	static const char *const names[] = { "FirstT", "FirstC", "FirstZ" };
	int64_t at = 0;

	for (int k = 0; k < t->naxes; k++) {
		const int64_t i = attribute(of, names[rank_of(t->axis[k].name)], 0);

		if (i < 0 || i >= t->axis[k].n)
			return -1;
		at = at * t->axis[k].n + i;
	}
	return at;
}

/* <TiffData IFD="4" FirstC="1" FirstT="0" FirstZ="0" PlaneCount="1"/>: which directory planes are
 * in; an element without IFD begins with the first, and without PlaneCount has one plane, or all
 * where it says no more. */
static int take_planes(const struct source *s, struct tiff_stack *t, const char *text)
{
	const int64_t all = count_pages(t);
	struct xml_tag of;
	if (all > TIFF_PAGES_MOST)
		return 0;                  /* more than there are directories */
	while (xml_next(&text, "TiffData", &of)) {
		const int64_t directory = attribute(&of, "IFD", -1), first = first_plane(t, &of),
		              n = attribute(&of, "PlaneCount", directory < 0 ? all : 1);

		if (!t->place) {
			t->place = mem_alloc((size_t)all * sizeof *t->place);
			for (int64_t k = 0; k < all; k++)
				t->place[k] = -1;
		}
		if (first < 0 || n < 0 || n > all - first || directory > TIFF_PAGES_MOST)
			return source_bad(s, "tiff: damaged: OME's description has planes beyond its sizes");
		for (int64_t k = 0; k < n; k++)
			t->place[first + k] = (directory < 0 ? 0 : directory) + k;
	}
	return 0;
}

/* The order is from the axis that runs fastest on, as XYZCT. */
static int take_ome(const struct source *s, const struct tiff_file *h, struct tiff_stack *t,
                    const char *text)
{
	const char *at = text, *more;
	struct xml_tag pixels;
	char order[8] = "XYZCT", size[] = "Size?";
	if (!xml_next(&at, "Pixels", &pixels))
		return source_bad(s, "tiff: what OME says of this file is in another one; convert it to a "
		                  "single OME-TIFF file");
	more = at;
	if (xml_next(&more, "Pixels", &pixels))
		return source_bad(s, "tiff: it has several OME images; save each to a file of its own");
	at = text;
	xml_next(&at, "Pixels", &pixels);
	xml_attribute(&pixels, "DimensionOrder", order, sizeof order);
	for (int k = (int)strlen(order) - 1; k >= 2; k--) {
		int64_t n;

		size[4] = order[k];
		n = attribute(&pixels, size, 1);
		if (order[k] == 'C' && h->page.channels > 1)
			n = n % h->page.channels ? -1 : n / h->page.channels;
		if (!name_of(order[k]) || n < 1 || !add_axis(t, name_of(order[k]), n))
			return bad_axes(s, t);
	}
	return count_pages(t) < 1 ? bad_axes(s, t) : take_planes(s, t, at);
}

/* --- all --- */

static int refuse_one(const struct source *s, const char *what, int64_t n)
{
	char text[200];
	snprintf(text, sizeof text, "tiff: %lld %s in one page are not read; save it with a page for "
	         "each", (long long)n, what);
	return source_bad(s, text);
}

static int check_depth(const struct source *s, TIFF *f)
{
	uint32_t depth = 1, planes = 0;
	void *values;
	TIFFGetField(f, TIFFTAG_IMAGEDEPTH, &depth);
	if (depth > 1)
		return refuse_one(s, "slices of a volume", depth);
	if (TIFFGetField(f, TIFF_UIC2, &planes, &values) && planes > 1)
		return refuse_one(s, "planes of a MetaMorph stack", planes);
	return 0;
}

static int take_description(struct source *s, struct tiff_file *h, struct tiff_stack *t, int i)
{
	char *text = NULL;
	TIFFGetField(h->file, TIFFTAG_IMAGEDESCRIPTION, &text);
	if (!text)
		return 0;
	if (*text == '{')
		return take_json(s, h, t, text);
	if (i > 0)                         /* ImageJ writes it again for each page */
		return 0;
	if (strncmp(text, "ImageJ=", 7) == 0 && (strstr(text, "\nimages=") ||
	    strstr(text, "\nslices=") || strstr(text, "\nframes=") || strstr(text, "\nchannels="))) {
		t->by = "ImageJ";
		return take_imagej(s, t, text);
	}
	if (!strstr(text, "<OME") && !strstr(text, ":OME"))
		return 0;
	t->by = "OME";
	return take_ome(s, h, t, text);
}

int tiff_stack_take(struct source *s, struct tiff_file *h, int i)
{
	struct tiff_stack *all = &h->stack, t = { 0 };
	int rc;
	TRY(check_depth(s, h->file));
	if (i > 0 && (!all->by || i < all->said))
		return 0;
	rc = take_description(s, h, &t, i);
	if (rc != 0 || !t.by) {
		mem_free(t.place);
		return rc;
	}
	t.said = all->said + count_pages(&t);
	t.series = all->series + 1;
	*all = t;
	return 0;
}

static int refuse_count(const struct source *s, const struct tiff_file *h, const char *why)
{
	char text[240];
	snprintf(text, sizeof text, "tiff: the description by %s says %lld pages, but the file has "
	         "%d%s", h->stack.by, (long long)h->stack.said, h->npages, why);
	return source_bad(s, text);
}

/* Whether the strips of the page that is read are one run in the file, from *first on. */
static bool is_one_run(const struct tiff_file *h, uint64_t *first, uint64_t *bytes)
{
	const uint32_t n = TIFFNumberOfStrips(h->file);
	*first = TIFFGetStrileOffset(h->file, 0);
	*bytes = (uint64_t)h->page.height * (uint64_t)h->blocks.row * (uint64_t)h->blocks.planes;
	for (uint32_t k = 1; k < n; k++)
		if (TIFFGetStrileOffset(h->file, k) !=
		    TIFFGetStrileOffset(h->file, k - 1) + TIFFGetStrileByteCount(h->file, k - 1))
			return false;
	return true;
}

/* The pages after the first are values after its own. */
static int spread(const struct source *s, struct tiff_file *h)
{
	const int64_t n = h->stack.said;
	uint64_t first, bytes;
	TRY(tiff_turn_to(s, h, 0));
	if (h->blocks.tiled || !h->blocks.stored || !is_one_run(h, &first, &bytes))
		return refuse_count(s, h, ", whose values are compressed or scattered");
	if (first > h->bytes.size || (h->bytes.size - first) / bytes < (uint64_t)n)
		return refuse_count(s, h, " and no values of more after it");
	if (n > INT32_MAX)
		return refuse_count(s, h, "; they are too many");
	h->at = mem_realloc(h->at, (size_t)n * sizeof *h->at);
	for (int64_t k = 0; k < n; k++)
		h->at[k] = (struct tiff_at){ h->at[0].directory, (uint64_t)k * bytes };
	h->npages = (int)n;
	return 0;
}

/* Sorts the axes and takes the pages in their new order. */
static int arrange(const struct source *s, struct tiff_file *h)
{
	struct tiff_stack *t = &h->stack;
	struct tiff_at *at = mem_alloc((size_t)h->npages * sizeof *at);
	int64_t step = 1;
	for (int k = t->naxes - 1; k >= 0; step *= t->axis[k--].n)
		t->axis[k].step = step;
	for (int k = 1; k < t->naxes; k++)
		for (int i = k; i > 0 && rank_of(t->axis[i].name) < rank_of(t->axis[i - 1].name); i--) {
			const struct tiff_axis other = t->axis[i];

			t->axis[i] = t->axis[i - 1];
			t->axis[i - 1] = other;
		}
	for (int64_t i = 0; i < h->npages; i++) {
		int64_t rest = i, from = 0;

		for (int k = t->naxes - 1; k >= 0; rest /= t->axis[k--].n)
			from += rest % t->axis[k].n * t->axis[k].step;
		from = t->place ? t->place[from] : from;
		if (from < 0 || from >= h->npages) {
			mem_free(at);
			return source_bad(s, "tiff: damaged: OME's description says of one of its planes no "
			                  "page that is there");
		}
		at[i] = h->at[from];
	}
	mem_free(h->at);
	h->at = at;
	h->now = -1;
	return 0;
}

int tiff_stack_settle(struct source *s, struct tiff_file *h)
{
	struct tiff_stack *t = &h->stack;
	const bool one_each = t->series > 1 && t->said == t->series;
	if (t->series > 1 && !one_each)
		return source_bad(s, "tiff: it has several series of pages; save each to a file of its "
		                  "own");
	if (!t->by || one_each) {
		t->by = one_each ? NULL : t->by;
		t->naxes = 0;
		add_axis(t, "depth", h->npages);
	} else if (t->said > 1 && h->npages == 1) {
		TRY(spread(s, h));
	}
	if (t->by && t->said != h->npages)
		return refuse_count(s, h, "");
	TRY(arrange(s, h));
	for (int k = 0; k < t->naxes; k++) {
		const int rank = rank_of(t->axis[k].name);

		h->pixels.page[k] = (struct pixels_axis){ t->axis[k].name, t->axis[k].n, 0 };
		if (t->by && rank >= 0)
			h->pixels.page[k].kind = letters[rank].kind;
		if (rank == 1 && h->channels > 1)
			return source_bad(s, "tiff: its pages are channels, and each page has several; save "
			                  "it with one channel a page");
	}
	h->pixels.npages = t->naxes;
	return 0;
}
#endif
