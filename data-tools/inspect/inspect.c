/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dlx-inspect: what a record file holds, as text or JSON; whether it is intact; its samples as
 * pictures. Described in dlx-inspect(1). */
#include <inttypes.h>
#include <stdio.h>

#include "base/debug.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/option.h"
#include "base/shown.h"
#include "config.h"
#include "data/record.h"
#include "data-tools/inspect/draw.h"
#include "data-tools/inspect/inspect.h"

static const char usage[] = "usage: dlx-inspect [OPTIONS] FILE.dlx...";

struct inspection {
	bool verify, json, index, help, version;
	struct draw_options draw;
};

#define AT(m) offsetof(struct inspection, m)
static const struct option_row rows[] = {
	{ "verify", 'v', OPTION_FLAG, AT(verify), .doc = "read every sample and check every hash" },
	{ "png", 'p', OPTION_TEXT, AT(draw.dir), "DIR", .writes = "",
	  .folder = "a folder for pictures",
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
		inspect_text(r, o->index);
	if (o->verify)
		rc = verify(r);
	if (rc == 0 && o->json)
		inspect_json(r, o->verify);
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
