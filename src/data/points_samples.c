/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A record whose samples are the points of a set, for networks of images. Its arrays are kept in
 * memory in their stored type, because a step may use any sample; a draw converts the samples that
 * it uses. */
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "data/points.h"
#include "data/record.h"

static const struct shape scalar = { 1, { 1 } };

static void list_arrays(struct arena *a, const struct record_info *i, struct point_set *s,
                        char **raw)
{
	struct point_values *v = ARENA_ARRAY(a, struct point_values, record_arrays(i));
	for (int k = 0; k < record_arrays(i); k++) {
		const struct shape *shape = record_shape(i, 0, k);
		if (k == 1 && !record_has_target(i))
			continue;
		raw[k] = arena_alloc(a, (size_t)i->samples * record_array_bytes(i, 0, k));
		v[s->nvalues++] = (struct point_values){ .name = arena_strdup(a, record_array_name(i, k)),
			.each = shape_count(shape), .shape = shape->nd ? *shape : scalar,
			.dtype = record_array_get(i, k)->dtype, .raw = raw[k] };
	}
	s->values = v;
}

/* Copies all samples, each array to its own memory. */
static int read_arrays(const struct record *r, char **raw)
{
	const struct record_info *i = record_info(r);
	struct record_decoder *d = record_decoder_new();
	char *sample = mem_alloc(record_raw_bytes(i));
	int rc = 0;
	for (int64_t n = 0; n < i->samples && rc == 0; n++) {
		rc = record_read(r, d, n, sample);
		for (int k = 0; k < record_arrays(i) && rc == 0; k++) {
			const size_t bytes = record_array_bytes(i, 0, k);
			if (raw[k])
				memcpy(raw[k] + (size_t)n * bytes, sample + record_array_at(i, 0, k), bytes);
		}
	}
	mem_free(sample);
	record_decoder_free(d);
	return rc;
}

static int open_arrays(struct arena *a, struct point_set *s, const struct record *r)
{
	const struct record_info *i = record_info(r);
	char **raw = ARENA_ARRAY(a, char *, record_arrays(i));
	if (i->nsizes > 1)
		return ERR(E_CONFIG, &s->loc, "the samples of '%s' are of %d sizes; those of a set must be "
		           "of one", s->record, i->nsizes);
	s->stored = i->samples;
	if (s->count == 0)
		s->count = s->stored;
	if (s->stored == 0 || points_in_draw(s) > s->stored)
		return ERR(E_CONFIG, &s->loc, "'%s' has %lld samples, and a draw of '%s' has %lld",
		           s->record, (long long)s->stored, s->name, (long long)points_in_draw(s));
	list_arrays(a, i, s, raw);
	return read_arrays(r, raw);
}

int points_open_samples(struct arena *a, struct point_set *s)
{
	struct record *r;
	int rc = record_open(&r, s->record);
	if (rc < 0)
		return err_locate(rc, &s->loc);
	rc = open_arrays(a, s, r);
	record_free(r);
	return rc;
}
