/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Descriptions as text: of a record file, and of a set of samples without their sizes. */
#include "base/base64.h"
#include "base/json.h"
#include "data/description.h"

#include "data/axes_parts.h"

static const char *const roles[RECORD_ROLES] = { "input", "target", "weight", "extra" };

static void write_strings(struct buf *out, const char *key, const char *const *v, int64_t n)
{
	if (!v)
		return;
	buf_printf(out, ",\n  \"%s\": [", key);
	for (int64_t i = 0; i < n; i++) {
		buf_puts(out, i ? ", " : "");
		buf_json_string(out, v[i]);
	}
	buf_putc(out, ']');
}

static void write_stats(struct buf *out, const struct record_array *a)
{
	if (a->nstats == 0)
		return;
	buf_puts(out, ",\n  \"statistics\": [");
	for (int i = 0; i < a->nstats; i++) {
		const struct channel_stats *s = &a->stats[i];

		buf_printf(out, "%s\n    {\"count\": %lld", i ? "," : "", (long long)s->count);
		buf_json_member(out, "min", s->min);
		buf_json_member(out, "max", s->max);
		buf_json_member(out, "mean", s->mean);
		buf_json_member(out, "std", s->std);
		buf_putc(out, '}');
	}
	buf_putc(out, ']');
}

static void write_classes(struct buf *out, const struct record_info *i)
{
	if (i->ignore != RECORD_NO_IGNORE)
		buf_printf(out, ",\n  \"ignore\": %lld,\n  \"ignored\": %lld", (long long)i->ignore,
		           (long long)i->ignored);
	if (i->nclasses == 0)
		return;
	buf_printf(out, ",\n  \"classes\": %d", i->nclasses);
	write_strings(out, "class_names", i->classes, i->nclasses);
	if (!i->class_counts)
		return;
	buf_puts(out, ",\n  \"class_counts\": [");
	for (int k = 0; k < i->nclasses; k++)
		buf_printf(out, "%s%lld", k ? ", " : "", (long long)i->class_counts[k]);
	buf_putc(out, ']');
}

static void write_shape(struct buf *out, const struct shape *s)
{
	buf_putc(out, '[');
	for (int i = 0; i < s->nd; i++)
		buf_printf(out, "%s%lld", i ? ", " : "", (long long)s->d[i]);
	buf_putc(out, ']');
}

/* What follows dtype and shape. */
static void write_contents(struct buf *out, const struct record_info *i, int k)
{
	const struct record_array *a = record_array_get(i, k);
	write_strings(out, "channels", a->channels, record_names(i, k));
	write_strings(out, "units", a->units, record_names(i, k));
	if (a->channels && a->named_by_file)
		buf_puts(out, ",\n  \"named_by_file\": true");
	write_stats(out, a);
	if (k == 0 && i->mask >= 0)
		buf_printf(out, ",\n  \"mask\": %d", i->mask);
	if (k == 1)
		write_classes(out, i);
}

static void write_end(struct buf *out, const struct record_info *i)
{
	write_strings(out, "sources", i->sources, i->nsources);
	write_strings(out, "target_names", i->target_names, i->samples);
	if (i->pairing) {
		buf_puts(out, ",\n  \"pairing\": ");
		buf_json_string(out, i->pairing);
	}
	if (i->command) {
		buf_puts(out, ",\n  \"command\": ");
		buf_json_string(out, i->command);
	}
	if (i->axes.n) {
		buf_puts(out, ",\n  \"axes\": ");
		axes_write(out, &i->axes);
		axes_write_fields(out, &i->axes);
	}
	buf_puts(out, "}\n");
}

/* --- of a set --- */

static void write_named(struct buf *out, const struct record_info *i, int k)
{
	const struct record_array *a = record_array_get(i, k);
	buf_printf(out, "\"%s\": {\n  \"dtype\": \"%s\",\n  \"shape\": ", roles[k],
	           dtype_name(a->dtype));
	write_shape(out, &a->shape);
	write_contents(out, i, k);
	buf_putc(out, '}');
}

void description_write(struct buf *out, const struct record_info *i)
{
	buf_printf(out, "{\"samples\": %lld,\n", (long long)i->samples);
	write_named(out, i, 0);
	if (record_has_target(i)) {
		buf_puts(out, ",\n");
		write_named(out, i, 1);
	}
	write_end(out, i);
}

/* --- of record files --- */

static bool is_there(const struct record_info *i, int k)
{
	return k != 1 || record_has_target(i);
}

static void write_array(struct buf *out, const struct record_info *i, int k)
{
	const struct record_array *a = record_array_get(i, k);
	buf_puts(out, "{\"name\": ");
	buf_json_string(out, record_array_name(i, k));
	buf_printf(out, ", \"role\": \"%s\",\n  \"dtype\": \"%s\"", roles[k < 2 ? k : (int)a->role],
	           dtype_name(a->dtype));
	write_contents(out, i, k);
	buf_putc(out, '}');
}

static void write_size(struct buf *out, const struct record_info *i, const struct record_size *s)
{
	buf_printf(out, "{\"samples\": %lld, \"shapes\": [", (long long)s->samples);
	for (int k = 0; k < record_arrays(i); k++) {
		buf_puts(out, k && is_there(i, k) ? ", " : "");
		if (is_there(i, k))
			write_shape(out, &s->shape[k]);
	}
	buf_puts(out, "], \"rows\": [");
	for (int k = 0; k < record_arrays(i); k++)
		if (is_there(i, k))
			buf_printf(out, "%s%lld", k ? ", " : "", (long long)s->rows[k]);
	buf_puts(out, "]}");
}

static void write_hashes(struct buf *out, const struct record_info *i)
{
	if (!i->hashes)
		return;
	buf_puts(out, ",\n  \"hashes\": \"");
	base64_write(out, (const uint8_t *)i->hashes, (size_t)i->samples * sizeof *i->hashes);
	buf_putc(out, '"');
}

void description_write_arrays(struct buf *out, const struct record_info *i)
{
	buf_printf(out, "{\"samples\": %lld,\n\"arrays\": [", (long long)i->samples);
	for (int k = 0; k < record_arrays(i); k++) {
		buf_puts(out, k && is_there(i, k) ? ",\n" : "");
		if (is_there(i, k))
			write_array(out, i, k);
	}
	buf_puts(out, "],\n\"sizes\": [");
	for (int k = 0; k < i->nsizes; k++) {
		buf_puts(out, k ? ",\n  " : "");
		write_size(out, i, &i->size[k]);
	}
	buf_putc(out, ']');
	write_hashes(out, i);
	write_end(out, i);
}
