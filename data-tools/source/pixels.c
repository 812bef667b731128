/* SPDX-License-Identifier: BSD-3-Clause */
#include "data-tools/source/pixels.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"

#define STEP ((int64_t)1 << 20)        /* bytes of rows that are decoded to take some of them */

/* --- shape --- */

static void add_axis(struct source *s, const char *name, int64_t n, char kind)
{
	s->kind[s->shape.nd] = kind;
	s->axis[s->shape.nd] = name ? mem_strdup(name) : NULL;
	s->shape.d[s->shape.nd++] = n;
}

static int take_shape(struct source *s, const struct pixels *p)
{
	const int64_t channels = p->extent[PIXELS_CHANNEL];
	s->shape.nd = 0;
	s->pages = p->npages;
	if (p->npages + 2 + (channels > 1) > MAXD)
		return source_bad(s, "too many axes of pages");
	for (int i = 0; i < p->npages; i++)
		add_axis(s, p->page[i].name, p->page[i].n, p->page[i].kind);
	add_axis(s, "height", p->extent[PIXELS_ROW], 0);
	add_axis(s, "width", p->extent[PIXELS_COLUMN], 0);
	if (channels > 1)
		add_axis(s, "channel", channels, 0);
	return 0;
}

static void drop_channel(struct source *s, const struct pixels *p)
{
	const int last = s->shape.nd - 1;
	s->shape.d[last] = p->extent[PIXELS_CHANNEL] - 1;
	if (s->shape.d[last] > 1)
		return;
	mem_free(s->axis[last]);
	s->axis[last] = NULL;
	s->shape.nd--;
}

static int64_t channels(const struct pixels *p)
{
	return p->extent[PIXELS_CHANNEL] - p->opaque;
}

/* Of a row as it is read. */
static int64_t row_bytes(const struct source *s, const struct pixels *p)
{
	return p->extent[PIXELS_COLUMN] * channels(p) * (int64_t)dtype_size(s->dtype);
}

static int64_t count_rows(const struct pixels *p)
{
	return p->extent[PIXELS_PAGE] * p->extent[PIXELS_ROW];
}

/* --- transparency --- */

/* Whether the last channel of each of n points is all ones. */
static bool is_opaque(const uint8_t *v, size_t size, int64_t each, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		for (size_t k = 0; k < size; k++)
			if (v[(size_t)((i + 1) * each - 1) * size + k] != 255)
				return false;
	return true;
}

/* Leaves out the last of this many channels of each of n points. */
static void leave_out(const uint8_t *v, size_t size, int64_t each, int64_t n, uint8_t *out)
{
	for (int64_t i = 0; i < n; i++)
		memmove(out + (size_t)(i * (each - 1)) * size, v + (size_t)(i * each) * size,
		        (size_t)(each - 1) * size);
}

/* How many rows of this many bytes are decoded at a time. */
static int64_t step_rows(int64_t bytes)
{
	return bytes < STEP ? STEP / bytes : 1;
}

/* Of a picture that is not in memory. */
static int find_opaque(struct source *s, const struct pixels *p, bool *opaque)
{
	const int64_t bytes = row_bytes(s, p), rows = count_rows(p), step = step_rows(bytes);
	uint8_t *part = mem_alloc((size_t)(step * bytes));
	int rc = 0;
	*opaque = true;
	for (int64_t at = 0; at < rows && rc == 0 && *opaque; at += step) {
		const int64_t n = rows - at < step ? rows - at : step;

		rc = p->decode(s, at, n, part);
		*opaque = rc == 0 && is_opaque(part, dtype_size(s->dtype), p->extent[PIXELS_CHANNEL],
		                               n * p->extent[PIXELS_COLUMN]);
	}
	mem_free(part);
	return rc;
}

static int drop_opaque(struct source *s, struct pixels *p)
{
	const size_t size = dtype_size(s->dtype);
	const int64_t each = p->extent[PIXELS_CHANNEL],
	              points = count_rows(p) * p->extent[PIXELS_COLUMN];
	bool opaque;
	if ((each != 2 && each != 4) || (s->dtype != DTYPE_U8 && s->dtype != DTYPE_U16))
		return 0;
	if (p->box)
		opaque = is_opaque(p->box, size, each, points);
	else
		TRY(find_opaque(s, p, &opaque));
	if (!opaque)
		return 0;
	if (p->box)
		leave_out(p->box, size, each, points, p->box);
	p->opaque = true;
	p->count[PIXELS_CHANNEL] = channels(p);
	drop_channel(s, p);
	return 0;
}

/* --- the box in memory --- */

static void make_room(struct pixels *p, int64_t bytes)
{
	p->count[PIXELS_PAGE] = 0;
	if ((size_t)bytes <= p->room)
		return;
	mem_free(p->box);
	p->box = mem_alloc((size_t)bytes);
	p->room = (size_t)bytes;
}

int pixels_open(struct source *s, const int64_t *extent, bool alpha, bool whole)
{
	struct pixels *p = s->handle;
	memcpy(p->extent, extent, sizeof p->extent);
	TRY(take_shape(s, p));
	const int64_t bytes = count_rows(p) * row_bytes(s, p);
	if (whole || bytes <= PIXELS_KEPT) {
		make_room(p, bytes);
		TRY(p->decode(s, 0, count_rows(p), p->box));
		memcpy(p->count, extent, sizeof p->count);
	}
	return alpha ? drop_opaque(s, p) : 0;
}

void pixels_release(struct pixels *p)
{
	mem_free(p->box);
}

/* Copies a box out of a larger one, whose axes from PIXELS_COLUMN on are `wide` and `deep`. */
static void copy(const uint8_t *from, int64_t wide, int64_t deep, const int64_t *start,
                 const int64_t *count, size_t size, uint8_t *out)
{
	const int64_t columns = count[PIXELS_COLUMN], each = count[PIXELS_CHANNEL];
	from += (size_t)(start[PIXELS_COLUMN] * deep + start[PIXELS_CHANNEL]) * size;
	for (int64_t y = 0; y < count[PIXELS_ROW]; y++) {
		const uint8_t *row = from + (size_t)((start[PIXELS_ROW] + y) * wide * deep) * size;
		const int64_t runs = each == deep ? 1 : columns;
		const size_t bytes = (size_t)(columns / runs * each) * size;

		for (int64_t x = 0; x < runs; x++, out += bytes)
			memcpy(out, row + (size_t)(x * deep) * size, bytes);
	}
}

static void copy_from_box(const struct source *s, const struct pixels *p, const int64_t *start,
                          const int64_t *count, uint8_t *out)
{
	const size_t size = dtype_size(s->dtype);
	const int64_t *have = p->count;
	const int64_t page = have[PIXELS_ROW] * have[PIXELS_COLUMN] * have[PIXELS_CHANNEL],
	              part = count[PIXELS_ROW] * count[PIXELS_COLUMN] * count[PIXELS_CHANNEL];
	int64_t at[PIXELS_AXES];
	for (int i = 0; i < PIXELS_AXES; i++)
		at[i] = start[i] - p->start[i];
	for (int64_t d = 0; d < count[PIXELS_PAGE]; d++)
		copy(p->box + (size_t)((at[PIXELS_PAGE] + d) * page) * size, have[PIXELS_COLUMN],
		     have[PIXELS_CHANNEL], at, count, size, out + (size_t)(d * part) * size);
}

static bool is_in_box(const struct pixels *p, const int64_t *start, const int64_t *count)
{
	for (int i = 0; i < PIXELS_AXES; i++)
		if (start[i] < p->start[i] || start[i] + count[i] > p->start[i] + p->count[i])
			return false;
	return true;
}

/* --- rows --- */

static int read_rows(struct source *s, int64_t first, int64_t n, uint8_t *out)
{
	const struct pixels *p = s->handle;
	const size_t size = dtype_size(s->dtype);
	const int64_t each = p->extent[PIXELS_CHANNEL], columns = p->extent[PIXELS_COLUMN],
	              bytes = columns * each * (int64_t)size, step = step_rows(bytes);
	int rc = 0;
	if (!p->opaque)
		return p->decode(s, first, n, out);
	uint8_t *part = mem_alloc((size_t)(step * bytes));
	for (int64_t at = 0; at < n && rc == 0; at += step) {
		const int64_t rows = n - at < step ? n - at : step;

		rc = p->decode(s, first + at, rows, part);
		if (rc == 0)
			leave_out(part, size, each, rows * columns, out + at * row_bytes(s, p));
	}
	mem_free(part);
	return rc;
}

/* Of one page. */
static int read_part(struct source *s, const int64_t *start, const int64_t *count, uint8_t *out)
{
	const struct pixels *p = s->handle;
	const size_t size = dtype_size(s->dtype);
	const int64_t bytes = row_bytes(s, p), step = step_rows(bytes),
	              first = start[PIXELS_PAGE] * p->extent[PIXELS_ROW] + start[PIXELS_ROW];
	uint8_t *rows = mem_alloc((size_t)(step * bytes));
	int rc = 0;
	for (int64_t y = 0; y < count[PIXELS_ROW] && rc == 0; y += step) {
		const int64_t left = count[PIXELS_ROW] - y, n = left < step ? left : step;
		const int64_t from[] = { 0, 0, start[PIXELS_COLUMN], start[PIXELS_CHANNEL] },
		              part[] = { 1, n, count[PIXELS_COLUMN], count[PIXELS_CHANNEL] };

		rc = read_rows(s, first + y, n, rows);
		if (rc == 0)
			copy(rows, p->extent[PIXELS_COLUMN], channels(p), from, part, size, out);
		out += (size_t)(n * part[PIXELS_COLUMN] * part[PIXELS_CHANNEL]) * size;
	}
	mem_free(rows);
	return rc;
}

/* What is requested may be columns, or rows of each page, for which other values are decoded as
 * well: as much as may be kept of what follows along the last axis that is cut. */
static int fill_box(struct source *s, struct pixels *p, const int64_t *start, const int64_t *count)
{
	const int64_t all[] = { p->extent[0], p->extent[1], p->extent[2], channels(p) };
	int64_t bytes = (int64_t)dtype_size(s->dtype), now[PIXELS_AXES];
	int cut = PIXELS_CHANNEL;
	while (cut > 0 && count[cut] == all[cut])
		cut--;
	memcpy(p->start, start, sizeof p->start);
	memcpy(p->count, count, sizeof p->count);
	for (int i = 0; i < PIXELS_AXES; i++)
		bytes *= i == cut ? 1 : count[i];
	const int64_t most = PIXELS_KEPT / bytes, left = all[cut] - start[cut];
	if (most > count[cut])
		p->count[cut] = most < left ? most : left;
	const int64_t pages = p->count[PIXELS_PAGE], page = bytes * p->count[cut] / pages;
	make_room(p, page * pages);
	memcpy(now, start, sizeof now);
	for (int64_t d = 0; d < pages; d++, now[PIXELS_PAGE]++)
		TRY(read_part(s, now, p->count, p->box + (size_t)(d * page)));
	p->count[PIXELS_PAGE] = pages;
	return 0;
}

/* --- the format's --- */

/* Of pages that follow each other. */
static int read_pages(struct source *s, const int64_t *from, const int64_t *n, void *out)
{
	struct pixels *p = s->handle;
	const bool rows = n[PIXELS_COLUMN] == p->extent[PIXELS_COLUMN] &&
	                  n[PIXELS_CHANNEL] == channels(p),
	           pages = n[PIXELS_PAGE] == 1 || n[PIXELS_ROW] == p->extent[PIXELS_ROW];
	if (!is_in_box(p, from, n)) {
		if (rows && pages)
			return read_rows(s, from[PIXELS_PAGE] * p->extent[PIXELS_ROW] + from[PIXELS_ROW],
			                 n[PIXELS_PAGE] * n[PIXELS_ROW], out);
		TRY(fill_box(s, p, from, n));
	}
	copy_from_box(s, p, from, n, out);
	return 0;
}

int pixels_read_box(struct source *s, const int64_t *start, const int64_t *count, void *out)
{
	const struct pixels *p = s->handle;
	const bool has_channels = s->shape.nd > p->npages + 2;
	const int64_t *first = start + p->npages, *most = count + p->npages;
	int64_t from[] = { 0, first[0], first[1], has_channels ? first[2] : 0 },
	        n[] = { 1, most[0], most[1], has_channels ? most[2] : 1 }, at[MAXD] = { 0 };
	size_t bytes;
	int run = p->npages;

	while (run > 0 && count[run - 1] == p->page[run - 1].n)
		n[PIXELS_PAGE] *= count[--run];
	n[PIXELS_PAGE] *= run ? count[--run] : 1;
	bytes = (size_t)(n[0] * n[1] * n[2] * n[3]) * dtype_size(s->dtype);
	for (uint8_t *to = out;; to += bytes) {
		int k = run - 1;

		from[PIXELS_PAGE] = 0;
		for (int i = 0; i < p->npages; i++)
			from[PIXELS_PAGE] = from[PIXELS_PAGE] * p->page[i].n + start[i] + at[i];
		TRY(read_pages(s, from, n, to));
		while (k >= 0 && ++at[k] == count[k])
			at[k--] = 0;
		if (k < 0)
			return 0;
	}
}

int pixels_read(struct source *s, int64_t first, int64_t n, void *out)
{
	int64_t start[MAXD] = { first < 0 ? 0 : first }, count[MAXD];
	for (int i = 0; i < s->shape.nd; i++)
		count[i] = s->shape.d[i];
	if (first >= 0)
		count[0] = n;
	return pixels_read_box(s, start, count, out);
}
