/* SPDX-License-Identifier: BSD-3-Clause */
#include "data-tools/source/source_stored.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "data-tools/source/little.h"

static int too_few(const struct source *s)
{
	return source_bad(s, "truncated: the header promises more values than there are");
}

int stored_head(const struct source *s, void *out, size_t n, size_t *got)
{
	const struct stored *h = s->handle;
	return packed_read(h->file, 0, out, n, got);
}

int stored_fits(const struct source *s)
{
	const struct stored *h = s->handle;
	const uint64_t most = packed_most(h->file);
	return most >= h->at && source_fits(&s->shape, h->element, most - h->at) ? 0 : too_few(s);
}

/* Damage anywhere in a file whose bytes have a checksum is found before any of them is used. */
static int check(const struct source *s, struct stored *h)
{
	const uint64_t want = h->at + (uint64_t)shape_count(&s->shape) * h->element;
	uint64_t n;
	uint32_t crc;
	if (h->checked || (!h->summed && packed_size(h->file) != UINT64_MAX))
		return 0;
	TRYC(packed_check(h->file, &n, &crc), "in the array '%s'", s->name);
	if (h->summed && (n != h->size || crc != h->crc))
		return source_bad(s, "damaged zip member: checksum mismatch");
	h->checked = true;
	return n < want ? too_few(s) : 0;
}

static int fetch(const struct source *s, struct stored *h, uint64_t at, void *out, size_t n)
{
	size_t got;
	TRY(check(s, h));
	TRYC(packed_read(h->file, h->at + at, out, n, &got), "in the array '%s'", s->name);
	return got == n ? 0 : too_few(s);
}

/* Values of four bytes are read into the second half of their room and widened from the first one
 * on. */
static int read_stored(struct source *s, int64_t from, int64_t count, void *out)
{
	struct stored *h = s->handle;
	const size_t bytes = (size_t)count * h->element;
	uint8_t *src = (uint8_t *)out + (h->u32 ? bytes : 0);
	int64_t *wide = out;
	TRY(fetch(s, h, (uint64_t)from * h->element, src, bytes));
	if (h->big_endian)
		source_swap(src, h->element, count);
	for (int64_t i = 0; h->u32 && i < count; i++, src += 4)
		wide[i] = (int64_t)little(src, 4);
	return 0;
}

#define STEP 65536               /* values */

/* The values in the file's order to where they are in C's. */
static int turn_values(struct source *s, uint8_t *part, uint8_t *turned)
{
	const int64_t total = shape_count(&s->shape);
	const size_t size = dtype_size(s->dtype);
	int64_t at[MAXD] = { 0 }, stride[MAXD] = { 0 }, to = 0;
	for (int64_t i = s->shape.nd - 1, n = 1; i >= 0; n *= s->shape.d[i--])
		stride[i] = n;
	for (int64_t from = 0; from < total; from += STEP) {
		const int64_t n = total - from < STEP ? total - from : STEP;

		TRY(read_stored(s, from, n, part));
		for (int64_t k = 0; k < n; k++) {
			memcpy(turned + (size_t)to * size, part + (size_t)k * size, size);
			for (int i = 0; i < s->shape.nd; i++) {
				to += stride[i];
				if (++at[i] < s->shape.d[i])
					break;
				to -= stride[i] * at[i];
				at[i] = 0;
			}
		}
	}
	return 0;
}

/* A row of the first axis is spread over the whole file, so all of it is read at once. */
static int turn(struct source *s, struct stored *h)
{
	const size_t size = dtype_size(s->dtype);
	uint8_t *part = mem_alloc(STEP * size),
	        *turned = mem_alloc((size_t)shape_count(&s->shape) * size);
	const int rc = turn_values(s, part, turned);
	mem_free(part);
	if (rc == 0)
		h->turned = turned;
	else
		mem_free(turned);
	return rc;
}

static int read_run(struct source *s, int64_t from, int64_t count, void *out)
{
	struct stored *h = s->handle;
	const size_t size = dtype_size(s->dtype);
	if (!h->reversed)
		return read_stored(s, from, count, out);
	if (!h->turned)
		TRY(turn(s, h));
	memcpy(out, h->turned + (size_t)from * size, (size_t)count * size);
	return 0;
}

int stored_read(struct source *s, int64_t first, int64_t n, void *out)
{
	const int64_t total = shape_count(&s->shape), row = s->shape.nd ? total / s->shape.d[0] : 1;
	return read_run(s, first < 0 ? 0 : first * row, first < 0 ? total : n * row, out);
}

int stored_read_box(struct source *s, const int64_t *start, const int64_t *count, void *out)
{
	return source_read_runs(s, start, count, out, read_run);
}

void stored_close(struct source *s)
{
	struct stored *h = s->handle;
	packed_close(h->file);
	mem_free(h->turned);
	mem_free(h);
}
