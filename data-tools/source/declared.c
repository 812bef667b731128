/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parses the brackets after a name, and compares the declared size with that of the data. */
#include "data-tools/source/declared.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"

#define EXTENT_MOST ((int64_t)1 << 40)

static int malformed(const char *variable, const char *what)
{
	return ERR(E_USAGE, NULL, "'%s': %s; expected a type and extents as in NAME[i16,128,128,4]",
	           variable, what);
}

/* A type of n characters at p. */
static int read_type(struct declared *d, const char *variable, const char *p, size_t n)
{
	char name[8] = "";
	d->big_endian = n > 0 && *p == '>';
	p += d->big_endian;
	n -= d->big_endian;
	if (n < sizeof name)
		memcpy(name, p, n);
	d->dtype = dtype_find(name);
	if (d->dtype < 0)
		return ERR(E_USAGE, NULL, "'%s': unknown type '%.*s'; expected f32 f64 f16 bf16 i8 u8 i16 "
		           "u16 i32 or i64, with '>' before it if the most significant byte comes first",
		           variable, (int)n, p);
	return 0;
}

static int read_extent(struct declared *d, const char *variable, const char *p, const char *end)
{
	char *after;
	const long long v = strtoll(p, &after, 10);
	if (after != end || v < 1 || v > EXTENT_MOST)
		return malformed(variable, "an extent is no whole number from 1 on");
	if (d->shape.nd == MAXD)
		return malformed(variable, "too many extents");
	d->shape.d[d->shape.nd++] = v;
	d->shaped = true;
	return 0;
}

/* What is between the brackets, up to the last one. */
static int read_brackets(struct declared *d, const char *variable, const char *p)
{
	const char *close = p + strlen(p) - 1;
	for (bool first = true; p <= close; first = false) {
		const char *comma = memchr(p, ',', (size_t)(close - p)), *end = comma ? comma : close;

		if (first && !(*p >= '0' && *p <= '9'))
			TRY(read_type(d, variable, p, (size_t)(end - p)));
		else
			TRY(read_extent(d, variable, p, end));
		p = end + 1;
	}
	return 0;
}

int declared_read(struct declared *d, const char *variable)
{
	const size_t n = variable ? strlen(variable) : 0;
	const char *open = n && variable[n - 1] == ']' ? strrchr(variable, '[') : NULL;
	const size_t name = open ? (size_t)(open - variable) : n;
	*d = (struct declared){ .dtype = -1 };
	if (name) {
		d->name = mem_calloc(1, name + 1);
		memcpy(d->name, variable, name);
	}
	return open ? read_brackets(d, variable, open + 1) : 0;
}

void declared_release(struct declared *d)
{
	mem_free(d->name);
	d->name = NULL;
}

/* --- what fits --- */

/* A square or cube, then a few channels, that has n values, as text; else their number. */
static void guess_extents(uint64_t n, struct buf *out)
{
	for (int axes = 3; axes >= 2; axes--) {
		for (uint64_t channels = 1; channels <= 16; channels++) {
			const uint64_t side = (uint64_t)llround(axes == 3 ? cbrt((double)n / (double)channels)
			                                        : sqrt((double)n / (double)channels));

			if (side < 8 || side > 1 << 20 ||
			    side * side * (axes == 3 ? side : 1) * channels != n)
				continue;
			for (int i = 0; i < axes; i++)
				buf_printf(out, ",%" PRIu64, side);
			if (channels > 1)
				buf_printf(out, ",%" PRIu64, channels);
			return;
		}
	}
	buf_printf(out, ",%" PRIu64, n);
}

static void tell_what_fits(uint64_t bytes, const char *name, struct buf *out)
{
	static const struct {
		unsigned size;
		const char *names, *example;
	} types[] = {
		{ 1, "u8 or i8", "u8" }, { 2, "f16, bf16, i16 or u16", "i16" }, { 4, "f32 or i32", "f32" },
		{ 8, "f64 or i64", "f64" },
	};
	unsigned best = 0;

	for (unsigned i = 0; i < 4 && bytes; i++) {
		if (bytes % types[i].size)
			continue;
		buf_printf(out, "%s%" PRIu64 " of %s", i ? ", " : "", bytes / types[i].size,
		           types[i].names);
		best = i < 2 ? i : best;
	}
	buf_printf(out, "%s as in '%s[%s", bytes ? ";" : "", name, types[best].example);
	guess_extents(bytes / types[best].size, out);
	buf_puts(out, "]'");
}

static int refuse(int code, const char *path, const char *name, uint64_t bytes, const char *what)
{
	struct buf fits = BUF_INIT;
	int rc;
	tell_what_fits(bytes, name, &fits);
	rc = ERR(code, NULL, "'%s', '%s': %s %" PRIu64 " bytes: %s", path,
	         name, what, bytes, fits.data);
	buf_release(&fits);
	return rc;
}

/* Whether the extents are those of n elements. */
static bool has_extents(const struct shape *s, uint64_t n)
{
	uint64_t all = 1;
	for (int i = 0; i < s->nd; i++)
		if (__builtin_mul_overflow(all, (uint64_t)s->d[i], &all))
			return false;
	return all == n;
}

int declared_shape(const struct declared *d, const char *path, const char *name, uint64_t bytes,
                   struct shape *out)
{
	const size_t size = d->dtype < 0 ? 1 : dtype_size((enum dtype)d->dtype);
	const uint64_t n = bytes / size;
	if (d->dtype < 0)
		return refuse(E_USAGE, path, name, bytes,
		              "its type and extents have to be said behind the name; a sample has");
	if (bytes % size || (d->shaped && !has_extents(&d->shape, n)))
		return refuse(E_DATA, path, name, bytes,
		              "the type and extents given do not fit; a sample has");
	*out = d->shape;
	if (!d->shaped) {
		out->nd = n != 1;
		out->d[0] = (int64_t)n;
	}
	return 0;
}
