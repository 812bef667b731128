/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Chooses the format of a source file and holds what the formats share. */
#include "base/io.h"
#include "data-tools/source/element.h"
#include "data-tools/source/hdf5_file.h"
#include "data-tools/source/source.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <strings.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file_kind.h"
#include "base/mem.h"
#include "base/suggest.h"

static const struct source_format *const formats[] = {
	&source_netcdf, &source_hdf5, &source_npy, &source_npz, &source_idx, &source_png, &source_tiff,
	&source_tfrecord, &source_zarr, &source_lmdb, &source_csv,
};
#define NFORMATS (sizeof(formats) / sizeof(formats[0]))
#define LISTED 40            /* variables named in a message */

const char source_formats[] = "netcdf, hdf5, npy, npz, idx, png, tiff, tfrecord, zarr, lmdb or csv";

static const struct source_format *by_name(const char *name)
{
	for (size_t i = 0; i < NFORMATS; i++)
		if (strcmp(formats[i]->name, name) == 0)
			return formats[i];
	return NULL;
}

static const struct source_format *by_extension(const char *path)
{
	for (size_t i = 0; i < NFORMATS; i++)
		for (int k = 0; formats[i]->extensions[k]; k++)
			if (io_ends_in(path, formats[i]->extensions[k]))
				return formats[i];
	return NULL;
}

static const struct source_format *by_content(const char *path)
{
	static const struct {
		const char *magic;
		size_t n;
		const struct source_format *format;
	} known[] = {
		{"CDF", 3, &source_netcdf}, {"\x89HDF", 4, &source_hdf5}, {"\x93NUMPY", 6, &source_npy},
		{"PK\x03\x04", 4, &source_npz}, {"\x89PNG", 4, &source_png}, {"II*\0", 4, &source_tiff},
		{ "MM\0*", 4, &source_tiff }, { "II+\0", 4, &source_tiff }, { "MM\0+", 4, &source_tiff },
		{ "\0\0", 2, &source_idx },
	};
	char head[8] = "xxxxxxxx";
	FILE *f = fopen(path, "rb");
	size_t n = 0;

	if (f) {
		n = fread(head, 1, sizeof(head), f);
		fclose(f);
	}
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (n >= known[i].n && memcmp(head, known[i].magic, known[i].n) == 0)
			return known[i].format;
	return NULL;
}

/* A TFRecord file begins with a number, that is with arbitrary bytes, so its checksum is tested
 * before the first bytes of other formats. */
static const struct source_format *by_bytes(const char *path)
{
	if (source_is_lmdb(path))
		return &source_lmdb;
	if (io_is_folder(path))
		return source_is_zarr(path) ? &source_zarr : NULL;
	if (source_is_tfrecord(path))
		return &source_tfrecord;
	const struct source_format *format = by_content(path);
	if (format == &source_npz && source_is_zarr(path))
		return &source_zarr;
	return !format && hdf5_is_file(path) ? &source_hdf5 : format;
}

/* A file of a kind that is not read, whose name or container may be that of one that is. */
static int refuse_kind(const char *path, const struct source_format *format)
{
	enum file_use use;
	const char *kind = file_kind_of(path, &use);
	if (kind && use == FILE_WEIGHTS_TORCH)
		return ERR(E_DATA, NULL, "'%s' is %s; write its arrays from Python by numpy.save, as .npy",
		           path, kind);
	if (kind && format == &source_npz && use == FILE_WEIGHTS_OTHER)
		return ERR(E_DATA, NULL, "'%s' is %s, not arrays", path, kind);
	if (kind && use == FILE_FOREIGN)
		return ERR(E_DATA, NULL, "'%s' is %s", path, kind);
	return 0;
}

static int unknown_format(const char *path)
{
	enum file_use use;
	const char *kind = file_kind_of(path, &use);
	if (io_is_folder(path))
		return ERR(E_NOINPUT, NULL, "'%s' is a folder, but neither a Zarr store nor an LMDB "
		           "database; '%s/*.png' in quotes is all of its PNG files", path, path);
	if (kind && (use == FILE_WEIGHTS_TORCH || use == FILE_FOREIGN))
		return refuse_kind(path, NULL);
	if (kind && use == FILE_PACKED)
		return ERR(E_DATA, NULL, "'%s' is %s: unpack it first", path, kind);
	if (kind)
		return ERR(E_DATA, NULL, "'%s' is %s; dlx-convert reads %s", path, kind, source_formats);
	return ERR(E_DATA, NULL, "'%s': neither its name nor its first bytes tell the format; say "
	           "--format: %s", path, source_formats);
}

static bool is_empty(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0;
}

static int choose(const char *path, const char *format, const struct source_format **out)
{
	const char *names[NFORMATS + 1] = { NULL }, *guess;
	for (size_t i = 0; i < NFORMATS; i++)
		names[i] = formats[i]->name;
	if (format) {
		*out = by_name(format);
		guess = did_you_mean(format, names);
		if (!*out)
			return ERR(E_USAGE, NULL,
			           "unknown format '%s'%s%s%s; expected %s", format,
			           guess ? "; did you mean '" : "", guess ? guess : "", guess ? "'?" : "",
			           source_formats);
		return 0;
	}
	*out = by_extension(path);
	if (!*out)
		*out = by_bytes(path);
	if (*out == &source_tfrecord || (*out && (*out)->folder))
		return 0;
	if (is_empty(path))
		return ERR(E_DATA, NULL, "'%s' is empty", path);
	return *out ? refuse_kind(path, *out) : unknown_format(path);
}

/* A missing file must be named as one, whatever its library would make of it. */
static int check_readable(const char *path)
{
	FILE *f = fopen(path, "rb");

	struct stat st;
	bool there;

	if (!f)
		return ERR(E_NOINPUT, NULL, "cannot open '%s': %m", path);
	there = fstat(fileno(f), &st) == 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
	fclose(f);
	return there ? 0 : ERR(E_NOINPUT, NULL, "cannot read '%s': it is not a regular file", path);
}

static int check_folder(const struct source *s)
{
	if (!s->format->folder && io_is_folder(s->path))
		return ERR(E_NOINPUT, NULL, "cannot read '%s': it is a folder, which no %s file is",
		           s->path, s->format->name);
	return 0;
}

_Static_assert(LDBL_MANT_DIG >= 64, "a long double does not have all integers of 64 bits");

static int check_shape(const struct source *s)
{
	for (int i = 0; i < s->shape.nd; i++)
		if (s->shape.d[i] < 1)
			return source_bad(s, "an axis of no extent");
	if (shape_count(&s->shape) > (int64_t)1 << 48)
		return source_bad(s, "a shape of more than 2^48 values");
	return 0;
}

int source_open(struct source **out, const char *path, const char *format, const char *variable,
                bool numbers)
{
	struct source *s;
	int rc;
	*out = NULL;
	TRY(check_readable(path));
	s = mem_calloc(1, sizeof(*s));
	s->path = mem_strdup(path);
	s->scale = 1;
	s->numbers = numbers;
	for (size_t n = strlen(s->path); n > 1 && s->path[n - 1] == '/';)
		s->path[--n] = '\0';
	s->stored = DTYPE_COUNT;
	s->asked = format != NULL;
	rc = choose(s->path, format, &s->format);
	if (rc == 0)
		rc = check_folder(s);
	if (rc == 0)
		rc = s->format->open(s, variable);
	if (s->stored == DTYPE_COUNT)
		s->stored = s->dtype;
	if (s->unsigned64)
		source_turn_missing(s, sizeof(int64_t), false);
	if (rc == 0)
		rc = check_shape(s);
	if (rc < 0)
		source_close(s);
	else
		*out = s;
	return rc;
}

void source_close(struct source *s)
{
	if (!s)
		return;
	if (s->format && s->handle)
		s->format->close(s);
	for (int i = 0; i < MAXD; i++)
		mem_free(s->axis[i]);
	mem_free(s->whole);
	mem_free(s->path);
	mem_free(s->name);
	mem_free(s);
}

int source_read(struct source *s, int64_t first, int64_t n, void *out)
{
	if (s->shape.nd < 1 || first < 0 || n < 1 || first > s->shape.d[0] - n)
		return source_bad(s, "no such rows");
	TRY(s->format->read(s, first, n, out));
	return source_check(s, out, n * (shape_count(&s->shape) / s->shape.d[0]));
}

int source_read_all(struct source *s, void *out)
{
	TRY(s->format->read(s, -1, 0, out));
	return source_check(s, out, shape_count(&s->shape));
}

struct axis source_axis(struct source *s, int i, struct arena *a)
{
	struct axis out = { .name = s->axis[i] ? arena_strdup(a, s->axis[i]) : NULL,
	                   .n = s->shape.d[i] };
	if (out.name && out.n <= AXIS_VALUES_MOST && s->format->coordinates)
		s->format->coordinates(s, i, a, &out);
	return out;
}

const char *source_text(struct source *s, const char *name, struct arena *a)
{
	struct axis_attributes all = { 0 };
	if (!s->format->attributes || !s->format->attributes(s, NULL, a, &all))
		return NULL;
	for (int i = 0; i < all.n; i++)
		if (strcmp(all.v[i].name, name) == 0)
			return all.v[i].text;
	return NULL;
}

/* --- for formats --- */

int source_no_variable(const char *path, const char *wanted, const char *const *names, int n)
{
	const char **list = mem_calloc((size_t)n + 1, sizeof(*list)), *guess;
	struct buf b = BUF_INIT;
	int rc;
	for (int i = 0; i < n; i++)
		list[i] = names[i];
	guess = wanted ? did_you_mean(wanted, list) : NULL;
	for (int i = 0; i < n && i < LISTED; i++)
		buf_printf(&b, "%s%s", i ? ", " : "", names[i]);
	if (n > LISTED)
		buf_printf(&b, " and %d more", n - LISTED);
	if (wanted)
		rc = ERR(E_NOINPUT, NULL, "'%s' has no variable '%s'%s%s%s; it has: %s", path, wanted,
		         guess ? " (did you mean '" : "", guess ? guess : "", guess ? "'?)" : "",
		         n ? b.data : "none");
	else
		rc = ERR(E_USAGE, NULL,
		         "'%s' has %d variables; name those wanted, as in %s:NAME,NAME; it has: %s", path,
		         n, path, n ? b.data : "none");
	buf_release(&b);
	mem_free(list);
	return rc;
}

int source_bad(const struct source *s, const char *what)
{
	return ERR(E_DATA, NULL, "'%s'%s%s%s: %s", s->path, s->name ? ", '" : "",
	           s->name ? s->name : "", s->name ? "'" : "", what);
}

int source_no_number(const struct source *s, const char *attribute)
{
	char why[64];
	snprintf(why, sizeof why, "its attribute '%s' is no single number", attribute);
	return source_bad(s, why);
}

int source_no_missing(const struct source *s)
{
	char why[128];
	snprintf(why, sizeof why, "its attribute '%s' is no number; say which values are missing, as "
	         "in --missing=-999,1e20", s->text_missing);
	return source_bad(s, why);
}

void source_add_missing(struct source *s, long double v)
{
	for (int i = 0; i < s->nmissing; i++)
		if (s->missing[i] == v)
			return;
	if (s->nmissing < SOURCE_MISSING)
		s->missing[s->nmissing++] = v;
	else
		s->more_missing = true;
}

void source_turn_missing(struct source *s, size_t size, bool sign)
{
	const long double all = ldexpl(1, 8 * (int)size);
	for (int i = 0; i < s->nmissing; i++) {
		long double *m = &s->missing[i];

		if (*m < 0 && !sign && size < sizeof(int64_t))
			*m += all;
		else if (*m >= all / 2 && (sign || size == sizeof(int64_t)))
			*m -= all;
	}
}

static void take_sign(struct source *s, bool sign, bool wide)
{
	struct element e = { .dtype = s->dtype, .size = wide ? 4 : dtype_size(s->dtype), .wide = wide,
	                    .unsigned64 = s->unsigned64 };
	if (!element_take_sign(&e, sign))
		return;
	s->dtype = e.dtype;
	s->unsigned32 = e.wide;
	s->unsigned64 = e.unsigned64;
	source_turn_missing(s, e.size, sign);
}

void source_obey_unsigned(struct source *s, const char *text, bool wide)
{
	if (strcasecmp(text, "true") == 0 || strcasecmp(text, "false") == 0)
		take_sign(s, strcasecmp(text, "false") == 0, wide);
}

#define EMPTY_MOST ((uint64_t)256 << 20)     /* bytes of which none need be stored */
#define PACKED_MOST 65536                    /* nothing packs more than about this much : 1 */

int source_check_stored(const struct source *s, uint64_t have)
{
	const uint64_t bytes = (uint64_t)shape_count(&s->shape) * dtype_size(s->dtype);
	char shape[SHAPE_TEXT], why[SHAPE_TEXT + 80];
	if (bytes <= EMPTY_MOST || have >= bytes / PACKED_MOST)
		return 0;
	snprintf(why, sizeof why, "an array of %s, but only %" PRIu64 " bytes of it are stored",
	         shape_text(&s->shape, shape), have);
	return source_bad(s, why);
}

int source_take_samples(struct source *s, int64_t n, const struct shape *sample)
{
	if (sample->nd == MAXD)
		return source_bad(s, "too many axes");
	s->shape = (struct shape){ .nd = sample->nd + 1, .d = { n } };
	for (int i = 0; i < sample->nd; i++)
		s->shape.d[i + 1] = sample->d[i];
	return 0;
}

void source_take_stem(struct source *s)
{
	const char *slash = strrchr(s->path, '/');
	char *stem = mem_strdup(slash ? slash + 1 : s->path), *dot = strchr(stem + (*stem == '.'), '.');
	if (dot)
		*dot = '\0';
	s->name = stem;
	s->stem = true;
}

static bool is_missing(const struct source *s, int64_t v)
{
	for (int i = 0; i < s->nmissing; i++)
		if (s->missing[i] == (long double)v)
			return true;
	return false;
}

int source_check(const struct source *s, void *values, int64_t n)
{
	int64_t *v = values;
	char text[96];
	for (int64_t i = 0; s->unsigned32 && i < n; i++)
		v[i] &= UINT32_MAX;
	for (int64_t i = 0; s->unsigned64 && i < n; i++) {
		if (v[i] >= 0 || is_missing(s, v[i]))
			continue;
		snprintf(text, sizeof text, "the value %llu is too large for i64, in which they are read",
		         (unsigned long long)v[i]);
		return source_bad(s, text);
	}
	return 0;
}

void source_swap(void *p, size_t size, int64_t n)
{
	unsigned char *b = p;
	for (int64_t i = 0; i < n; i++, b += size) {
		for (size_t k = 0; k < size / 2; k++) {
			const unsigned char t = b[k];

			b[k] = b[size - 1 - k];
			b[size - 1 - k] = t;
		}
	}
}

void source_copy_rows(const struct source *s, const void *data, int64_t first, int64_t n, void *out)
{
	const int64_t total = shape_count(&s->shape), row = s->shape.nd ? total / s->shape.d[0] : 1;
	const size_t size = dtype_size(s->dtype);
	if (first < 0)
		memcpy(out, data, (size_t)total * size);
	else
		memcpy(out, (const char *)data + (size_t)(first * row) * size, (size_t)(n * row) * size);
}

bool source_fits(const struct shape *shape, size_t size, size_t have)
{
	const int64_t n = shape_count(shape);
	return n >= 0 && (uint64_t)n <= have / size;
}
