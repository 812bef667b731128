/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dlx-convert: scientific arrays to a record file. Reads the command line, opens the sources,
 * and decides all types and shapes before a byte is written. The options are described in
 * dlx-convert(1). */
#include "data-tools/convert/convert.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/debug.h"
#include "base/err.h"
#include "base/host.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/option.h"
#include "base/signals.h"
#include "base/suggest.h"
#include "config.h"
#include "data-tools/convert/convert_command.h"
#include "data-tools/convert/convert_journal.h"
#include "data-tools/convert/convert_piece.h"
#include "data/record_piece.h"
#include "data-tools/convert/guard.h"
#include "data-tools/inspect/select.h"
#include "yaml/schema_units.h"

#define THREADS_MOST 8        /* unless requested: a thread takes about 50 MiB */
#define NO_SEED (-1)
#define DEFAULT_SEED 1

static const char usage[] =
	"usage: dlx-convert [OPTIONS] --input PATH[:NAME,...] [--target PATH[:NAME,...]] -o OUT.dlx";

/* Options of a target that is not there. */
static int check_no_target(const struct conversion *c)
{
	const struct { const char *name; bool given; } of_target[] = {
		{ "classes", c->classes }, { "labels", c->labels }, { "class-names", c->class_names },
		{ "ignore", c->ignore_text }, { "target-dtype", c->target_dtype },
		{ "target-layout", c->target_layout },
	};

	for (size_t i = 0; i < sizeof of_target / sizeof *of_target; i++)
		if (of_target[i].given)
			return ERR(E_USAGE, NULL, "--%s is for a target, but no --target is given",
			           of_target[i].name);
	return 0;
}

#define AT(m) offsetof(struct conversion, m)
static const struct option_row rows[] = {
	{ "input", 'i', OPTION_TEXTS, AT(inputs), "SPEC",
	  .doc = "variables that become input channels; repeatable" },
	{ "target", 't', OPTION_TEXTS, AT(targets), "SPEC",
	  .doc = "variables that become the target; repeatable; none: to predict from" },
	{ "output", 'o', OPTION_TEXT, AT(output), "FILE", .writes = ".dlx",
	  .doc = "the record file to write" },
	{ "format", 'f', OPTION_TEXT, AT(format), "NAME",
	  .doc = "netcdf, hdf5, npy, npz, idx, png, tiff, tfrecord, zarr, lmdb or csv, instead of by "
	  "name" },
	{ "samples", 's', OPTION_TEXT, AT(samples), "LIST",
	  .doc = "only these: 0,4,8:12; or all but these: !1,4" },
	{ "concatenate", 0, OPTION_FLAG, AT(concatenate),
	  .doc = "the files of a glob hold many samples each" },
	{ "missing", 'm', OPTION_TEXT, AT(missing), "LIST", .empty = true,
	  .doc = "missing values, instead of the files' own" },
	{ "validity-mask", 'v', OPTION_FLAG, AT(validity_mask),
	  .doc = "add an input channel that is 1 where no input is missing" },
	{ "fill", 0, OPTION_FLOAT, AT(fill), "VALUE", .doc = "what missing values become (0)" },
	{ "classes", 'c', OPTION_TEXT, AT(classes), "EDGES",
	  .doc = "turn the target into classes at these edges" },
	{ "labels", 0, OPTION_FLAG, AT(labels),
	  .doc = "the target holds class numbers, though stored as floats" },
	{ "class-names", 0, OPTION_TEXT, AT(class_names), "LIST", .doc = "names of the classes" },
	{ "ignore", 0, OPTION_TEXT, AT(ignore_text), "LABEL",
	  .doc = "the label that counts as none; missing targets get it" },
	{ "channel-names", 0, OPTION_TEXT, AT(channel_names), "LIST",
	  .doc = "names of the input channels" },
	{ "input-layout", 0, OPTION_TEXT, AT(input_layout), "HOW",
	  .doc = "channels: auto, stack, first or last axis" },
	{ "target-layout", 0, OPTION_TEXT, AT(target_layout), "HOW",
	  .doc = "auto, stack, first, last or none" },
	{ "dtype", 0, OPTION_TEXT, AT(dtype), "TYPE",
	  .doc = "of the stored input: f32 f64 f16 bf16 i8 u8 i16 ..." },
	{ "target-dtype", 0, OPTION_TEXT, AT(target_dtype), "TYPE", .doc = "of the stored target" },
	{ "split", 0, OPTION_TEXT, AT(split_options.split), "LIST",
	  .doc = "parts in files of their own: train=0.8,validation=0.1,test=0.1" },
	{ "seed", 0, OPTION_INT, AT(split_options.seed), "N", .min = 0, .max = INT64_MAX,
	  .doc = "of --split; default: 1" },
	{ "group-by", 0, OPTION_TEXT, AT(split_options.group_by), "HOW",
	  .doc = "what no split cuts in two: file, key or a pattern with parentheses" },
	{ "shard", 0, OPTION_TEXT, AT(shard), "SIZE",
	  .doc = "numbered files of about this size, as 2GiB" },
	{ "threads", 'j', OPTION_INT, AT(threads), "N", .min = 1, .max = 1024,
	  .doc = "that convert and compress; default: the processors, eight at most" },
	{ "match", 0, OPTION_TEXT, AT(match), "HOW",
	  .doc = "index or coordinates: what pairs arrays whose coordinates differ" },
	{ "resume", 0, OPTION_FLAG, AT(resume),
	  .doc = "go on with what an earlier run left that was killed" },
	{ "level", 'l', OPTION_INT, AT(level), "N", .min = 0, .max = 19,
	  .doc = "zstd compression level, 1 to 19 (3); 0: none" },
	{ "like", 0, OPTION_TEXT, AT(like_file), "RECORD",
	  .doc = "read inputs as a network takes them that was trained on this record" },
	{ "separate", 0, OPTION_FLAG, AT(separate),
	  .doc = "each file is samples, not channels: a record OUT-NNNNNN.dlx for each size" },
	{ "quiet", 'q', OPTION_FLAG, AT(quiet), .doc = "no progress on a terminal, no summary" },
	{ "help", 'h', OPTION_FLAG, AT(help), .doc = "this text" },
	{ "version", 0, OPTION_FLAG, AT(version), .doc = "the version" },
	{ 0 }
};
#undef AT

static int read_options(struct conversion *c, int argc, char **argv)
{
	TRY(option_read(rows, c, NULL, &argc, argv));
	if (c->help) {
		printf("%s\n\n", usage);
		option_help(stdout, rows);
	}
	if (c->version)
		printf("dlx-convert %s\n", PACKAGE_VERSION);
	if (c->help || c->version)
		return 0;
	if (argc > 1)
		return ERR(E_USAGE, NULL, "unexpected argument '%s'; %s", argv[1], usage);
	if (c->inputs.n == 0 || !c->output)
		return ERR(E_USAGE, NULL, "no %s given; %s", !c->inputs.n ? "--input" : "--output", usage);
	if (c->threads == 0)
		c->threads = host_processors() < THREADS_MOST ? host_processors() : THREADS_MOST;
	if (c->targets.n && c->separate)
		return ERR(E_USAGE, NULL, "--separate is for inputs without targets: convert each input "
		           "with its target by itself, as data.train takes several records");
	if (c->separate &&
	    (c->split_options.split || c->split_options.group_by || c->shard || c->resume))
		return ERR(E_USAGE, NULL, "--separate makes a record of each size; --split, --group-by, "
		           "--shard and --resume are without it");
	if (c->split_options.seed != NO_SEED && !c->split_options.split)
		return ERR(E_USAGE, NULL, "--seed is for --split");
	return c->targets.n ? 0 : check_no_target(c);
}

/* --- values of options --- */

static int read_numbers(const char *option, const char *text, long double **out)
{
	const char **piece;
	const int n = split_commas(text, &piece);
	int rc = n > 0 ? 0 : ERR(E_USAGE, NULL, "--%s: expected numbers", option);
	*out = mem_calloc((size_t)n + 1, sizeof(**out));
	for (int i = 0; i < n; i++) {
		char *end;

		(*out)[i] = strtold(piece[i], &end);
		if (end == piece[i] || *end)
			rc = ERR(E_USAGE, NULL, "--%s: '%s' is no number", option, piece[i]);
	}
	mem_free(piece);
	return rc < 0 ? rc : n;
}

static int read_choice(const char *option, const char *text, const char *const *names, int *out)
{
	const char *guess;
	*out = 0;
	for (int i = 0; text && names[i]; i++) {
		if (strcmp(names[i], text) == 0) {
			*out = i;
			return 0;
		}
	}
	if (!text)
		return 0;
	guess = did_you_mean(text, names);
	return ERR(E_USAGE, NULL, "--%s: unknown '%s'%s%s%s", option, text,
	           guess ? "; did you mean '" : "", guess ? guess : "", guess ? "'?" : "");
}

static int read_dtype(const char *option, const char *text, enum dtype dflt, enum dtype *out)
{
	const int t = text ? dtype_find(text) : (int)dflt;
	if (t < 0)
		return ERR(E_USAGE, NULL,
		           "--%s: unknown type '%s'; expected f32 f64 f16 bf16 i8 u8 i16 u16 i32 or i64",
		           option, text);
	*out = (enum dtype)t;
	return 0;
}

static int read_edges(struct conversion *c)
{
	long double *edges;
	if (!c->classes)
		return 0;
	c->nedges = read_numbers("classes", c->classes, &edges);
	c->edges = mem_calloc((size_t)(c->nedges < 0 ? 0 : c->nedges) + 1, sizeof *c->edges);
	for (int i = 0; i < c->nedges; i++)
		c->edges[i] = (double)edges[i];
	mem_free(edges);
	TRY(c->nedges);
	for (int i = 0; i < c->nedges; i++)
		if (isnan(c->edges[i]))
			return ERR(E_USAGE, NULL, "--classes: an edge must be a number");
	for (int i = 1; i < c->nedges; i++)
		if (!(c->edges[i] > c->edges[i - 1]))
			return ERR(E_USAGE, NULL, "--classes: edges must rise, but %g follows %g", c->edges[i],
			           c->edges[i - 1]);
	if (c->nedges >= RECORD_MAX_CLASSES)
		return ERR(E_USAGE, NULL, "--classes: more than %d classes", RECORD_MAX_CLASSES);
	return 0;
}

static int read_shard(struct conversion *c)
{
	if (c->shard && (!units_bytes(c->shard, &c->shard_bytes) || c->shard_bytes < 1))
		return ERR(E_USAGE, NULL, "--shard: '%s' is no size, as 512MiB or 2GiB", c->shard);
	return 0;
}

static int read_ignore(struct conversion *c)
{
	char *end;
	c->ignore = RECORD_NO_IGNORE;
	if (!c->ignore_text)
		return 0;
	errno = 0;
	c->ignore = strtoll(c->ignore_text, &end, 10);
	if (!*c->ignore_text || *end || errno || c->ignore < INT32_MIN || c->ignore > INT32_MAX)
		return ERR(E_USAGE, NULL, "--ignore: '%s' is no whole number of 32 bits", c->ignore_text);
	return 0;
}

/* --- the plan --- */

/* enum match; that it is strict needs no name. */
static const char *const match_names[] = { "strict", "index", "coordinates", NULL };

static int open_sides(struct conversion *c)
{
	int missing = -1, input_layout, target_layout, match;
	TRY(read_choice("match", c->match, match_names, &match));
	TRY(read_choice("input-layout", c->input_layout, layout_names, &input_layout));
	TRY(read_choice("target-layout", c->target_layout, layout_names, &target_layout));
	if (input_layout == LAYOUT_NONE)
		return ERR(E_USAGE, NULL, "--input-layout: inputs always have a channel axis");
	if (c->missing) {
		missing = read_numbers("missing", c->missing, &c->missing_values);
		TRY(missing);
	}
	c->input_options = (struct side_options){
	    .read = { .role = "input", .format = c->format, .concatenate = c->concatenate,
	              .match = (enum match)match, .quiet = c->quiet, .nmissing = missing,
	              .missing = c->missing_values },
	    .specs = &c->inputs,
	    .layout = (enum layout)input_layout,
	    .like = c->like_file ? &c->like : NULL,
	};
	c->target_options = c->input_options;
	c->target_options.read.role = "target";
	c->target_options.like = NULL;
	c->target_options.specs = &c->targets;
	c->target_options.layout = (enum layout)target_layout;
	c->target_options.read.numbers = c->nedges == 0 && target_layout != LAYOUT_LAST;
	TRY(side_open(&c->input, &c->input_options));
	TRY(side_meet(c->input, NULL, &c->pairing));
	if (c->targets.n == 0)
		return side_place(c->input, &(struct shape){ 0 }, false);
	TRY(side_open(&c->target, &c->target_options));
	TRY(side_meet(c->target, c->input, &c->pairing));
	/* whether the target is made of labels is known only now; they have no channel axis */
	c->labels |= c->nedges > 0 || !dtype_is_float(side_dtype(c->target));
	c->target_options.labels = c->labels;
	TRY(side_place(c->input, side_sample(c->target), c->labels && c->targets.n == 1));
	return side_place(c->target, side_places(c->input), true);
}

static int check_samples(const struct conversion *c)
{
	if (c->target && side_samples(c->input) != side_samples(c->target))
		return ERR(E_DATA, NULL, "the input has %lld samples, the target has %lld",
		           (long long)side_samples(c->input), (long long)side_samples(c->target));
	return 0;
}

/* Names tell the columns of a table and the lines of a report apart. */
static int check_unlike(const char *option, const char *const *names, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j < i; j++)
			if (strcmp(names[i], names[j]) == 0)
				return ERR(E_USAGE, NULL, "--%s: '%s' is there twice", option, names[i]);
	return 0;
}

/* A mask has none. */
static const char *const *input_units(const struct conversion *c, struct arena *a)
{
	const char *const *units = side_channel_units(c->input);
	const int64_t n = side_channels(c->input);
	const char **all = ARENA_ARRAY(a, const char *, n + 1);
	for (int64_t i = 0; units && i < n; i++)
		all[i] = units[i];
	all[n] = "";
	return units ? all : NULL;
}

static int plan_input(struct conversion *c, struct arena *a)
{
	struct record_array *in = &c->info.input;
	const int64_t n = side_channels(c->input);
	const char **names = ARENA_ARRAY(a, const char *, n + 2), **given;
	int given_n = 0;
	TRY(read_dtype("dtype", c->dtype, side_dtype(c->input), &in->dtype));
	in->shape = *side_shape(c->input);
	for (int64_t i = 0; i < n; i++)
		names[i] = side_channel_names(c->input)[i];
	if (c->channel_names) {
		given_n = split_commas(c->channel_names, &given);
		for (int64_t i = 0; i < n && given_n == n; i++)
			names[i] = arena_strdup(a, given[i]);
		mem_free(given);
		if (given_n != n)
			return ERR(E_USAGE, NULL, "--channel-names: %d names for %lld channels", given_n,
			           (long long)n);
		TRY(check_unlike("channel-names", names, n));
	}
	c->info.mask = -1;
	if (c->validity_mask) {
		c->info.mask = (int)n;
		names[n] = "validity";
		in->shape.d[0]++;
	}
	for (int64_t k = 0; c->like_file && c->like.names && k < c->like.channels; k++)
		names[k] = c->like.names[k];    /* whatever they are called in the file */
	in->channels = names;
	in->units = input_units(c, a);
	in->named_by_file = side_named_by_file(c->input) && !c->channel_names &&
	                    !(c->like_file && c->like.names);
	return 0;
}

/* The narrowest type for classes and the ignore value. */
static enum dtype label_dtype(const struct conversion *c)
{
	const bool ignore_fits =
	    c->ignore == RECORD_NO_IGNORE || (c->ignore >= 0 && c->ignore <= UINT8_MAX);
	if (c->nedges == 0 && !dtype_is_float(side_dtype(c->target)))
		return side_dtype(c->target);
	return c->nedges < UINT8_MAX && ignore_fits ? DTYPE_U8 : DTYPE_I32;
}

static int check_ignore(const struct conversion *c, enum dtype t)
{
	double slot;
	if (c->ignore == RECORD_NO_IGNORE)
		return 0;
	if (!c->labels)
		return ERR(E_USAGE, NULL,
		           "--ignore belongs to class labels; the target is %s (--classes or --labels)",
		           dtype_name(t));
	dtype_set(t, &slot, 0, (double)c->ignore);
	if (dtype_get(t, &slot, 0) != (double)c->ignore)
		return ERR(E_USAGE, NULL, "--ignore: %lld does not fit %s; say --target-dtype",
		           (long long)c->ignore, dtype_name(t));
	if (c->info.nclasses > 0 && c->ignore >= 0 && c->ignore < c->info.nclasses)
		return ERR(E_USAGE, NULL, "--ignore: %lld is the number of a class", (long long)c->ignore);
	return 0;
}

static int plan_classes(struct conversion *c, struct arena *a)
{
	const char **given, **names;
	int n;
	c->info.nclasses = c->nedges ? c->nedges + 1 : 0;
	if (!c->class_names)
		return 0;
	if (!c->labels)
		return ERR(E_USAGE, NULL,
		           "--class-names: the target has no classes (--classes or --labels)");
	n = split_commas(c->class_names, &given);
	names = ARENA_ARRAY(a, const char *, n + 1);
	for (int i = 0; i < n; i++)
		names[i] = arena_strdup(a, given[i]);
	mem_free(given);
	if (n < 1 || (c->nedges && n != c->nedges + 1))
		return ERR(E_USAGE, NULL, "--class-names: %d names for %d classes", n, c->nedges + 1);
	TRY(check_unlike("class-names", names, n));
	c->info.nclasses = n;
	c->info.classes = names;
	return 0;
}

static int plan_target(struct conversion *c, struct arena *a)
{
	struct record_array *t = &c->info.target;
	c->info.ignore = RECORD_NO_IGNORE;
	if (!c->target) {
		*t = record_no_target();
		return 0;
	}
	t->shape = *side_shape(c->target);
	TRY(read_dtype("target-dtype", c->target_dtype,
	               c->labels ? label_dtype(c) : side_dtype(c->target), &t->dtype));
	if (c->labels && dtype_is_float(t->dtype))
		return ERR(E_USAGE, NULL, "--target-dtype: class labels need an integer type, not %s",
		           dtype_name(t->dtype));
	if (!c->labels && !dtype_is_float(t->dtype))
		return ERR(E_USAGE, NULL,
		           "--target-dtype: the target is a field; %s would make it class labels "
		           "(--labels)",
		           dtype_name(t->dtype));
	if (!c->labels) {
		t->channels = side_channel_names(c->target);
		t->units = side_channel_units(c->target);
		t->named_by_file = side_named_by_file(c->target);
	}
	TRY(plan_classes(c, a));
	c->info.ignore = c->ignore;
	return check_ignore(c, t->dtype);
}

/* Of a target that is a field the fill value may be meant alone: then only values that are missing
 * count. */
static int check_fill(const struct conversion *c)
{
	const bool field = c->target && !c->labels;
	return piece_check_fill(c, field ? c->info.target.dtype : c->info.input.dtype);
}

static void plan_sources(struct conversion *c, struct arena *a)
{
	const char *const *in, *const *tg;
	const int n = side_files(c->input, &in), m = c->target ? side_files(c->target, &tg) : 0;
	const char **all = ARENA_ARRAY(a, const char *, n + m);
	int k = 0;
	for (int i = 0; i < n + m; i++) {
		const char *name = i < n ? in[i] : tg[i - n];
		bool known = false;

		for (int j = 0; j < k; j++)
			known |= strcmp(all[j], name) == 0;
		if (!known)
			all[k++] = name;
	}
	for (int i = 0; i < k; i++)
		io_input(all[i]);
	c->info.sources = all;
	c->info.nsources = k;
	c->info.command = c->command;
	if (c->match && strcmp(c->match, "index") == 0)
		buf_puts(&c->pairing, RECORD_BY_INDEX);
	c->info.pairing = c->pairing.len ? arena_strdup(a, c->pairing.data) : NULL;
}

static int read_like(struct conversion *c, struct arena *a)
{
	if (!c->like_file)
		return 0;
	if (c->inputs.n > 1)
		return ERR(E_USAGE, NULL, "--like reads the channels of one --input");
	TRY(like_read(&c->like, a, c->like_file));
	c->validity_mask |= c->like.mask;
	return 0;
}

int convert_plan(struct conversion *c, struct arena *a)
{
	TRY(read_like(c, a));
	TRY(read_edges(c));
	TRY(read_ignore(c));
	TRY(read_shard(c));
	if (c->split_options.seed == NO_SEED)
		c->split_options.seed = DEFAULT_SEED;
	TRY(open_sides(c));
	TRY(check_samples(c));
	TRY(split_plan(&c->split, a, &c->split_options, c->input));
	TRY(select_samples(c->samples, side_samples(c->input), &c->sample, &c->nsamples));
	TRY(plan_input(c, a));
	TRY(plan_target(c, a));
	TRY(check_fill(c));
	TRY(side_axes(c->input, a, c->sample, c->nsamples, &c->info.axes));
	if (!c->match || strcmp(c->match, "index") != 0)
		TRY(like_check_axes(&c->like, &c->info.axes, c->inputs.v[0], c->like_file, c->quiet));
	plan_sources(c, a);
	c->info.input.nstats = record_statistics(&c->info, 0);
	c->info.target.nstats = record_statistics(&c->info, 1);
	return io_check_output(c->output);
}

void convert_release(struct conversion *c)
{
	side_close(c->input);
	side_close(c->target);
	buf_release(&c->pairing);
	mem_free(c->missing_values);
	mem_free(c->edges);
	mem_free(c->sample);
}

struct command {
	int argc;
	char **argv;
};

static const char *written;    /* the output named on the command line */
static bool resumes;           /* it is to be gone on with */

/* The whole of the command; its exit status. */
static int run_command(void *arg)
{
	const int argc = ((struct command *)arg)->argc;
	char **argv = ((struct command *)arg)->argv;
	struct conversion c = { .level = 3, .split_options.seed = NO_SEED };
	struct arena *a = arena_new();
	int rc;
	signals_block();
	c.command = convert_command(a, argc, argv);
	rc = signals_begin();
	if (rc == 0)
		rc = debug_read();
	if (rc == 0)
		rc = read_options(&c, argc, argv);
	if (rc == 0 && !c.help && !c.version) {
		rc = c.separate ? convert_each(&c) : convert_plan(&c, a);
		if (rc == 0 && !c.separate)
			rc = convert_run(&c);
	}
	if (rc == 0 && fflush(stdout) != 0)
		rc = ERR(E_IO, NULL, "cannot write to the standard output: %m");
	if (rc < 0)
		err_print(stderr, "dlx-convert");
	convert_release(&c);
	mem_free(c.inputs.v);
	mem_free(c.targets.v);
	arena_free(a);
	return err_exit_status(rc);
}

/* A child that a library has ended leaves nothing either, unless it is to be gone on with. */
static void forget(void)
{
	if (written && !resumes)
		journal_forget(written);
}

/* The output is looked for here as well, since a child that died cannot say what it was. */
int main(int argc, char **argv)
{
	struct command command = { argc, argv };
	log_init("dlx-convert", 0, 1);
	for (int i = 1; i < argc; i++)
		resumes |= strcmp(argv[i], "--resume") == 0;
	for (int i = 1; i + 1 < argc; i++)
		if (strcmp(argv[i], "-o") == 0 || strcmp(argv[i], "--output") == 0)
			written = argv[i + 1];
	return guard_run("dlx-convert", run_command, &command, forget);
}
