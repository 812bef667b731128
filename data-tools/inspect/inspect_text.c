/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A record as text. */
#include "data-tools/inspect/inspect.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/shown.h"
#include "data/axes_match.h"

#define INDEX_LINES 8

static void print_array(const struct record_info *i, int k)
{
	static const char *const roles[RECORD_ROLES] = { "", "", ", a weight", ", an extra array" };
	const struct record_array *a = record_array_get(i, k);
	const bool others = i->nsizes > 1 && record_axis(i, k) >= 0;
	char text[SHAPE_TEXT];
	printf("  %-10s %s %s%s%s\n", shown(record_array_name(i, k)), dtype_name(a->dtype),
	       shape_text(&a->shape, text), others ? " and others" : "", roles[k < 2 ? 0 : a->role]);
}

/* The shapes of arrays in samples of each size. */
static void print_sizes(const struct record_info *i)
{
	char text[SHAPE_TEXT];
	for (int size = 0; i->nsizes > 1 && size < i->nsizes; size++) {
		printf("  %-10s %" PRId64 " sample%s", size ? "" : "sizes", i->size[size].samples,
		       i->size[size].samples == 1 ? "" : "s");
		for (int k = 0; k < record_arrays(i); k++)
			if (k != 1 || record_has_target(i))
				printf(", %s %s", shown(record_array_name(i, k)),
				       shape_text(record_shape(i, size, k), text));
		printf("\n");
	}
}

static void print_stats(const struct record_info *i, const struct record_array *a,
                        const char *title)
{
	if (a->nstats == 0)
		return;
	printf("\n  %-24s %12s %12s %12s %12s %12s\n", title, "valid", "min", "max", "mean", "std");
	for (int c = 0; c < a->nstats; c++) {
		const struct channel_stats *s = &a->stats[c];
		char name[64];

		snprintf(name, sizeof(name), "%d %s%s", c, a->channels ? shown(a->channels[c]) : "",
		         a == &i->input && c == i->mask ? " (mask)" : "");
		printf("  %-24s %12" PRId64, name, s->count);
		if (s->count == 0)
			printf(" %12s %12s %12s %12s\n", "-", "-", "-", "-");
		else
			printf(" %12.6g %12.6g %12.6g %12.6g\n", s->min, s->max, s->mean, s->std);
	}
}

static void print_class(const char *name, int64_t count, int64_t total)
{
	printf("  %-24s %12" PRId64 " %7.2f %%\n", name, count, 100 * (double)count / (double)total);
}

static void print_classes(const struct record_info *i)
{
	const int64_t total = record_elements(i, 1);
	char name[64];
	if (!i->class_counts)
		return;
	printf("\n  %-24s %12s\n", "class", "count");
	for (int k = 0; k < i->nclasses; k++) {
		snprintf(name, sizeof(name), "%d %s", k, i->classes ? shown(i->classes[k]) : "");
		print_class(name, i->class_counts[k], total);
	}
	if (i->ignore != RECORD_NO_IGNORE) {
		snprintf(name, sizeof(name), "%" PRId64 " (ignored)", i->ignore);
		print_class(name, i->ignored, total);
	}
}

/* Bytes of a sample, and a hash of its chunks' hashes; of one chunk its hash. */
static struct record_chunk sum_of(const struct record *r, int64_t i)
{
	struct record_chunk sum = record_chunk_get(r, i, 0);
	for (int64_t k = 1; k < record_chunks(r, i); k++) {
		const struct record_chunk c = record_chunk_get(r, i, k);

		sum.stored += c.stored;
		sum.raw += c.raw;
		sum.hash = hash_bytes(&c.hash, sizeof c.hash, sum.hash);
	}
	return sum;
}

static void print_index(const struct record *r, bool all)
{
	const int64_t n = record_info(r)->samples;
	printf("\n  %-8s %14s %12s %12s %7s  %-16s  %s\n", "sample", "byte", "stored", "raw", "chunks",
	       "hash", "key");
	for (int64_t i = 0; i < n && (all || i < INDEX_LINES); i++) {
		const struct record_chunk c = sum_of(r, i);
		const char *key = record_key(r, i), *group = record_group(r, i);

		printf("  %-8" PRId64 " %14" PRIu64 " %12" PRIu64 " %12" PRIu64 " %7" PRId64 "  %016" PRIx64
		       "%s%s%s%s%s\n", i, c.offset, c.stored, c.raw, record_chunks(r, i), c.hash,
		       key ? "  " : "", key ? shown(key) : "", group ? " (" : "", group ? shown(group) : "",
		       group ? ")" : "");
	}
	if (!all && n > INDEX_LINES)
		printf("  ... and %" PRId64 " more (--index)\n", n - INDEX_LINES);
}

/* --- axes --- */

static void print_axis(const struct axis *x, bool first)
{
	struct buf text = BUF_INIT;
	axis_describe(x, &text);
	printf("  %-10s %s\n", first ? "axes" : "", text.data);
	buf_release(&text);
}

static void print_field(const struct axes *axes, const struct axis_field *f)
{
	struct buf on = BUF_INIT;
	for (int i = 0; i < f->nd; i++) {
		const char *name = axes->axis[f->on[i]].name;

		buf_puts(&on, i ? ", " : " on ");
		if (name)
			buf_shown(&on, name);
		else
			buf_printf(&on, "axis %d", f->on[i]);
	}
	printf("  %-10s %s%s\n", "", shown(f->name), on.data);
	buf_release(&on);
}

static void print_axes(const struct axes *axes)
{
	for (int k = 0; k < axes->n; k++)
		print_axis(&axes->axis[k], k == 0);
	for (int k = 0; k < axes->nfields; k++)
		print_field(axes, &axes->field[k]);
	if (axes->grid_mapping)
		printf("  %-10s grid mapping %s\n", "", shown(axes->grid_mapping));
}

void inspect_text(const struct record *r, bool all)
{
	const struct record_info *i = record_info(r);
	printf("%s\n", shown(record_path(r)));
	printf("  %-10s dlx record, version %d\n", "format", RECORD_VERSION);
	printf("  %-10s %" PRId64 "\n", "samples", i->samples);
	printf("  %-10s %" PRIu64 " bytes, %.1f %% of the raw samples\n", "size", record_file_bytes(r),
	       100 * (double)record_file_bytes(r) / record_all_bytes(i));
	printf("  %-10s %016" PRIx64 "\n", "hash", record_hash(r));
	for (int k = 0; k < record_arrays(i); k++)
		if (k != 1 || record_has_target(i))
			print_array(i, k);
		else
			printf("  %-10s none\n", "target");
	print_sizes(i);
	print_axes(&i->axes);
	for (int k = 0; k < i->nsources; k++)
		printf("  %-10s %s\n", k ? "" : "made from", shown(i->sources[k]));
	if (i->pairing)
		printf("  %-10s %s\n", "pairing", shown(i->pairing));
	if (i->command)
		printf("  %-10s %s\n", "made by", shown(i->command));
	print_stats(i, &i->input, "input channel");
	print_stats(i, &i->target, "target channel");
	for (int k = 0; k < i->nextra; k++) {
		char title[32];

		snprintf(title, sizeof title, "%s channel", shown(i->extra[k].name));
		print_stats(i, &i->extra[k], title);
	}
	print_classes(i);
	print_index(r, all);
}
