/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dlx-inspect: what a record file holds, as text or JSON; whether it is intact; its samples as
 * pictures. Described in dlx-inspect(1). */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/debug.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/option.h"
#include "base/shown.h"
#include "base/utf8.h"
#include "config.h"
#include "data/record.h"
#include "draw.h"

#define INDEX_LINES 8

static const char usage[] = "usage: dlx-inspect [OPTIONS] FILE.dlx...";

struct inspection {
	bool verify, json, index, help, version;
	struct draw_options draw;
};

#define AT(m) offsetof(struct inspection, m)
static const struct option_row rows[] = {
	{ "verify", 'v', OPTION_FLAG, AT(verify), .doc = "read every sample and check every hash" },
	{ "png", 'p', OPTION_TEXT, AT(draw.dir), "DIR",
	  .doc = "draw samples into this folder, one picture each" },
	{ "samples", 's', OPTION_TEXT, AT(draw.samples), "LIST",
	  .doc = "which to draw: 0,4,8:12 or !1,4 or : (:8)" },
	{ "zoom", 'z', OPTION_INT, AT(draw.zoom), "N", .min = 1, .max = 64,
	  .doc = "pixels a point; default: maps of about 400 pixels" },
	{ "north-up", 'n', OPTION_FLAG, AT(draw.north_up), .doc = "draw the first row at the bottom" },
	{ "index", 0, OPTION_FLAG, AT(index), .doc = "list every sample, not only the first" },
	{ "json", 'j', OPTION_FLAG, AT(json), .doc = "one JSON object a file instead of text" },
	{ "help", 'h', OPTION_FLAG, AT(help), .doc = "this text" },
	{ "version", 0, OPTION_FLAG, AT(version), .doc = "the version" },
	{ 0 }
};
#undef AT

static int read_options(struct inspection *o, int *argc, char **argv)
{
	TRY(option_read(rows, o, NULL, argc, argv));
	if (o->help) {
		printf("%s\n\n", usage);
		option_help(stdout, rows);
	}
	if (o->version)
		printf("dlx-inspect %s\n", PACKAGE_VERSION);
	if (!o->help && !o->version && *argc < 2)
		return ERR(E_USAGE, NULL, "no file given; %s", usage);
	if (o->draw.samples && !o->draw.dir)
		return ERR(E_USAGE, NULL, "--samples chooses what --png draws; no --png given");
	return 0;
}

/* --- text --- */

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

static void print_text(const struct record *r, bool all)
{
	const struct record_info *i = record_info(r);
	printf("%s\n", shown(record_path(r)));
	printf("  %-10s dlx record, version %d\n", "format", record_version(r));
	printf("  %-10s %" PRId64 "\n", "samples", i->samples);
	printf("  %-10s %" PRIu64 " bytes, %.1f %% of the raw samples\n", "size", record_size(r),
	       100 * (double)record_size(r) / record_all_bytes(i));
	printf("  %-10s %016" PRIx64 "\n", "hash", record_hash(r));
	for (int k = 0; k < record_arrays(i); k++)
		if (k != 1 || record_has_target(i))
			print_array(i, k);
		else
			printf("  %-10s none\n", "target");
	print_sizes(i);
	for (int k = 0; k < i->nsources; k++)
		printf("  %-10s %s\n", k ? "" : "made from", shown(i->sources[k]));
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

/* --- JSON --- */

/* The record's own JSON on one line. What is not visible is in strings, where it may be
 * escaped, but for newlines and the like, which never do. */
static void add_description(struct buf *out, const char *text, size_t len)
{
	struct buf copy = BUF_INIT;
	buf_add(&copy, text, len);
	for (const char *p = copy.data; *p;) {
		const int n = utf8_length(p);

		if (utf8_visible(p, n))
			buf_add(out, p, (size_t)n);
		else if (n == 1 && *p < 0x20)
			buf_putc(out, ' ');
		else
			buf_json_escape(out, p, n);
		p += n ? n : 1;
	}
	buf_release(&copy);
}

static void add_chunk(struct buf *b, const struct record *r, const struct record_chunk *c)
{
	static const char *const codecs[RECORD_CODECS] = { "raw", "zstd", "planes" };
	buf_printf(b, "{\"offset\": %" PRIu64 ", \"stored\": %" PRIu64 ", \"raw\": %" PRIu64
	           ", \"codec\": \"%s\", \"hash\": \"%016" PRIx64 "\"", c->offset, c->stored, c->raw,
	           codecs[c->codec], c->hash);
	if (c->array >= 0) {
		buf_puts(b, ", \"array\": ");
		buf_json_string(b, record_array_name(record_info(r), c->array));
	}
	buf_putc(b, '}');
}

static void add_sample(struct buf *b, const struct record *r, int64_t i)
{
	const char *key = record_key(r, i), *group = record_group(r, i);
	buf_printf(b, "{\"size\": %d", record_size_of(r, i));
	if (key) {
		buf_puts(b, ", \"key\": ");
		buf_json_string(b, key);
	}
	if (group) {
		buf_puts(b, ", \"group\": ");
		buf_json_string(b, group);
	}
	buf_puts(b, ", \"chunks\": [");
	for (int64_t k = 0; k < record_chunks(r, i); k++) {
		const struct record_chunk c = record_chunk_get(r, i, k);

		buf_puts(b, k ? ", " : "");
		add_chunk(b, r, &c);
	}
	buf_puts(b, "]}");
}

static void print_json(const struct record *r, bool verified)
{
	struct buf b = BUF_INIT;
	const int64_t n = record_info(r)->samples;
	size_t len;
	const char *text = record_description(r, &len);
	buf_puts(&b, "{\"file\": ");
	buf_json_string(&b, record_path(r));
	buf_printf(&b,
	           ", \"version\": %d, \"bytes\": %" PRIu64 ", \"hash\": \"%016" PRIx64
	           "\", \"verified\": %s, "
	           "\"description\": ",
	           record_version(r), record_size(r), record_hash(r), verified ? "true" : "null");
	add_description(&b, text, len);
	buf_puts(&b, ", \"index\": [");
	for (int64_t i = 0; i < n; i++) {
		buf_puts(&b, i ? ", " : "");
		add_sample(&b, r, i);
	}
	buf_puts(&b, "]}\n");
	fputs(b.data, stdout);
	buf_release(&b);
}

/* --- the work --- */

/* Every damaged sample is reported, not only the first. */
static int verify(const struct record *r)
{
	const int64_t n = record_info(r)->samples;
	struct record_decoder *d = record_decoder_new();
	uint8_t *raw = mem_alloc(record_raw_bytes(record_info(r)));
	int rc = 0;
	for (int64_t i = 0; i < n; i++) {
		const int one = record_read(r, d, i, raw);

		rc = rc < 0 ? rc : one;
	}
	mem_free(raw);
	record_decoder_free(d);
	return rc;
}

static int draw(const struct record *r, const struct inspection *o)
{
	const struct record_info *i = record_info(r);
	const int n = draw_samples(r, &o->draw);
	TRY(n);
	if (o->json)
		return 0;
	printf("\n  %d pictures in %s; panels row by row:", n, shown(o->draw.dir));
	for (int64_t c = 0; c < i->input.shape.d[0] && c < 16; c++)
		printf(" %s", i->input.channels ? shown(i->input.channels[c]) : "input");
	printf("%s\n", record_has_target(i) ? ", target" : "");
	return 0;
}

static int inspect(const char *path, const struct inspection *o)
{
	struct record *r;
	int rc = record_open(&r, path);
	if (rc < 0)
		return rc;
	io_input(path);
	if (!o->json)
		print_text(r, o->index);
	if (o->verify)
		rc = verify(r);
	if (rc == 0 && o->json)
		print_json(r, o->verify);
	if (rc == 0 && o->verify && !o->json)
		printf("\n  verified: all hashes of %" PRId64 " samples match\n", record_info(r)->samples);
	if (rc == 0 && o->draw.dir)
		rc = draw(r, o);
	record_free(r);
	return rc;
}

/* The files of a pattern, or the one. */
static int inspect_all(const char *pattern, const struct inspection *o)
{
	struct io_paths found;
	int rc = io_expand(&found, pattern);
	for (size_t i = 0; rc == 0 && i < found.n; i++) {
		if (i > 0 && !o->json)
			printf("\n");
		rc = inspect(found.v[i], o);
	}
	io_paths_release(&found);
	return rc;
}

int main(int argc, char **argv)
{
	struct inspection o = { 0 };
	int rc;
	log_init("dlx-inspect", 0, 1);
	rc = debug_read();
	if (rc == 0)
		rc = read_options(&o, &argc, argv);
	for (int i = 1; rc == 0 && !o.help && !o.version && i < argc; i++) {
		if (i > 1 && !o.json)
			printf("\n");
		rc = inspect_all(argv[i], &o);
	}
	if (rc == 0 && fflush(stdout) != 0)
		rc = ERR(E_IO, NULL, "cannot write to the standard output: %m");
	if (rc < 0)
		err_print(stderr, "dlx-inspect");
	return err_exit_status(rc);
}
