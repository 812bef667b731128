/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/options.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/option.h"
#include "cli/foreign.h"
#include "data/loader.h"
#include "pass/pass.h"
#include "plan/extent/tile_size.h"
#include "plan/plan.h"
#include "train/predict/confusion.h"

#define AT(m) offsetof(struct options, m)
#define COMMAND(c) OPTION_NONE, .command = COMMAND_##c
static const struct option_row rows[] = {
	{ "check", 0, COMMAND(CHECK),
	  .doc = "read the config and the data's headers, plan, and print a summary" },
	{ "plan", 0, OPTION_CHOICE, AT(plan_format), "text|json|dot|svg", "text",
	  .command = COMMAND_PLAN,
	  .doc = "print the compiled plan: parameters, flops, kernels, the memory map (svg: as a "
	  "picture), the effective config" },
	{ "ranks", 0, OPTION_TEXT, AT(ranks_text), "[HOSTSx]N",
	  .doc = "with --check or --plan: plan for N ranks that need not be there, on hosts of "
	  "eight or HOSTS hosts of N" },
	{ "cluster", 0, OPTION_TEXT, AT(cluster), "FILE",
	  .doc = "with --check or --plan: predict steps on the cluster that FILE describes, as "
	  "dlx-simulate does" },
	{ "suggest", 0, OPTION_TEXTS, AT(suggest), "TRAIN [VALIDATION] | INPUT TARGET",
	  .command = COMMAND_SUGGEST,
	  .doc = "write a first config for these records, and one of a linear network to compare it "
		"with; of other files, with -o, make records first, else print the commands" },
	{ "set", 0, OPTION_TEXTS, AT(set), "KEY=VALUE",
	  .doc = "override one config value: a path and a YAML value, as train.epochs=3 or "
	  "'model.layers[0].filters=8'; may be repeated" },
	{ "device", 0, OPTION_TEXT, AT(device), "auto|cpu|cuda|reference", .doc = "override 'device'" },
	{ "gpu", 0, OPTION_TEXT, AT(gpu), "NAME[:SIZE]|SIZE",
	  .doc = "with --check or --plan: plan for a GPU that is not there: a100-40g, a100, h100, "
	  "h200, or a size of memory" },
	{ "resume", 0, OPTION_TEXT, AT(resume), "auto|last|best|ID|PATH", "auto",
	  .doc = "continue from the newest complete checkpoint, that of the best validation, or the "
	  "one named; other commands use its weights" },
	{ "replay", 0, OPTION_TEXT, AT(file), "A..B", .command = COMMAND_REPLAY,
	  .doc = "make the steps between two checkpoints again, in memory, and compare all bits with "
	  "the second; exit status 1 if they differ" },
	{ "first", 0, OPTION_FLAG, AT(first),
	  .doc = "with --replay: compare with every checkpoint in between, up to the first that "
	  "differs" },
	{ "evaluate", 0, COMMAND(EVALUATE),
	  .doc = "evaluate on data.validation; print the metrics table and, not on a terminal, one "
	  "line of JSON" },
	{ "json", 0, OPTION_FLAG, AT(json), .doc = "with --evaluate: print the line of JSON alone" },
	{ "confusion", 0, OPTION_TEXT, AT(confusion), "FILE",
	  .doc = "with --evaluate of a network of classes: the confusion matrix as a picture (.svg, "
	  ".png) or a table (.csv)" },
	{ "predict", 0, OPTION_TEXTS, AT(predict), "FILE", .command = COMMAND_PREDICT,
	  .doc = "run the model on files (records, NetCDF, HDF5, NumPy, IDX, PNG, TIFF); -o names a "
	  ".npy, .npz, .nc, .h5 or .csv file or a folder for pictures" },
	{ "input-layout", 0, OPTION_CHOICE, AT(layout), "auto|stack|first|last",
	  .doc = "with --predict of files that are no records: where channels are" },
	{ "match", 0, OPTION_CHOICE, AT(match), "index|coordinates",
	  .doc = "whether the places of samples have to have the coordinates of those trained on, or "
	  "only their order; default: coordinates" },
	{ "as", 0, OPTION_CHOICE, AT(as), "logits|probabilities|classes",
	  .doc = "with --predict of a network of classes: what is written; default: logits, in "
	  ".csv files probabilities" },
	{ "export", 0, OPTION_TEXT, AT(file), "FILE", .command = COMMAND_EXPORT,
	  .writes = ".safetensors",
	  .doc = "write the weights of the newest checkpoint (or the one of --resume) as safetensors; "
	  "initial ones if there is none" },
	{ "network", 0, OPTION_TEXT, AT(network), "NAME",
	  .doc = "with --export of 'family: networks': the weights of this network alone, without its "
	  "name before theirs" },
	{ "weights", 0, OPTION_CHOICE, AT(weights), "average|last",
	  .doc = "with --evaluate, --predict and --export of a run with 'optimizer.average': which "
	  "weights; default: average" },
	{ "dump-step", 0, OPTION_TEXT, AT(file), "DIR", .command = COMMAND_DUMP_STEP,
	  .writes = "", .folder = "a folder of files",
	  .doc = "one training step on the first batch; loss, inputs, outputs, "
	  "gradients and parameters as files" },
	{ "bench", 0, OPTION_INT, AT(bench_steps), "N", "20", .min = 1, .max = 1000000,
	  .command = COMMAND_BENCH,
	  .doc = "N timed steps on in-memory data after warm-up; one line of JSON" },
	{ "bench-op", 0, OPTION_TEXT, AT(file), "OP", .command = COMMAND_BENCH_OP,
	  .doc = "time one op against its roofline, on the inputs given in the config's place: "
	  "--bench-op relu 8x64x56x56" },
	{ "compute", 0, OPTION_TEXT, AT(compute), "f32|bf16|f64",
	  .doc = "with --bench-op: the type to compute in" },
	{ "verify-partition", 0, OPTION_TEXT, AT(file), "SIZE", "", .command = COMMAND_VERIFY,
	  .doc = "one step of samples that are cut by 'parallel.spatial', all ranks in this process, "
	  "against one of whole samples; SIZE: of these, as 32 or 32x32x16" },
	{ "synthetic", 0, OPTION_FLAG, AT(synthetic),
	  .doc = "with --bench or --dump-step: made-up data of the config's "
	  "model.input and model.classes" },
	{ "profile", 0, OPTION_FLAG, AT(profile),
	  .doc = "with --bench: also each node's time against its roofline, on "
	  "standard error and in the JSON" },
	{ "trace", 0, OPTION_TEXT, AT(trace), "FILE", .writes = ".json",
	  .doc = "when training: a timeline of the first steps for Perfetto or chrome://tracing" },
	{ "trace-steps", 0, OPTION_INT, AT(trace_steps), "N", .min = 1, .max = 1000,
	  .doc = "with --trace: of this many steps; default: 10" },
	{ "sweep", 0, OPTION_TEXT, AT(sweep), "FILE",
	  .doc = "when training: the runs that FILE says, each with other settings or another seed, by "
	  "teams of the ranks; see dlx-sweep(5)" },
	{ "sweep-stop", 0, OPTION_CHOICE, AT(sweep_stop), "median",
	  .doc = "with --sweep: end a run whose best validation is worse than the median of the "
	  "others' means so far" },
	{ "wisdom", 0, OPTION_TEXT, AT(wisdom), "FILE",
	  .doc = "on a GPU: use the fastest engines, which FILE says; those it does not "
	  "know are measured and added" },
	{ "tile", 0, OPTION_TEXT, AT(tile), "SIZE",
	  .doc = "with --predict: large samples in tiles of SIZE, as 256 or 64x256x256, or 'auto': the "
	  "largest that fit in memory" },
	{ "output", 'o', OPTION_TEXT, AT(output), "OUT",
	  .writes = ".npy .npz .nc .h5 .hdf5 .csv .png .svg .yaml .yml",
	  .folder = "a folder for pictures",
	  .doc = "where --predict writes; the config of --suggest" },
	{ "dump", 0, OPTION_TEXT, AT(dump), "PASS",
	  .doc = "with --plan: print the graph after this pass, or after every one with 'all'" },
	{ "quiet", 0, OPTION_FLAG, AT(quiet),
	  .doc = "no progress and no notes; warnings and errors stay" },
	{ "help-config", 0, OPTION_TEXT, AT(file), "KEY", "", .command = COMMAND_HELP_CONFIG,
	  .doc = "a page on the config; with KEY (train, optimizer.adam, conv2d) the keys below it "
	  "with type, range, default and meaning; with 'all' every key" },
	{ "help-sweep", 0, COMMAND(HELP_SWEEP), .doc = "the keys of the file of --sweep" },
	{ "help-debug", 0, COMMAND(HELP_DEBUG), .doc = "the switches of DLX_DEBUG, for tests" },
	{ "list-ops", 0, COMMAND(LIST_OPS), .doc = "the ops of the graph, one a line" },
	{ "man-config", 0, OPTION_CHOICE, AT(file), "config|sweep", "config",
	  .command = COMMAND_MAN_CONFIG,
	  .doc = "the key reference of dlx-config(5), or of dlx-sweep(5), as mdoc source" },
	{ "help", 'h', COMMAND(HELP), .doc = "this text" },
	{ "version", 0, COMMAND(VERSION), .doc = "version, backends built in, library versions" },
	{ 0 }
};
#undef AT
#undef COMMAND

#define MOST_RANKS 1000000

static int read_ranks(struct options *o)
{
	const char *by = o->ranks_text;
	char *end;
	int64_t hosts = 1, n = strtoll(by, &end, 10);
	if (*end == 'x' && end != by) {
		hosts = n;
		by = end + 1;
		n = strtoll(by, &end, 10);
	}
	if (*end || end == by || n < 1 || hosts < 1 || n > MOST_RANKS || hosts > MOST_RANKS / n)
		return ERR(E_USAGE, NULL, "'--ranks %s': expected a number from 1 to %d, or hosts x "
		           "ranks of each, as in 4x8", o->ranks_text, MOST_RANKS);
	o->ranks = hosts * n;
	o->hosts = by != o->ranks_text ? hosts : 0;
	return 0;
}

static int check_dump(const char *pass)
{
	const char *names[32] = { "all" };
	int n;
	const struct pass *p = plan_passes(&n);
	for (int i = 0; i < n && i < 30; i++)
		names[i + 1] = p[i].name;
	for (int i = 0; names[i]; i++)
		if (strcmp(names[i], pass) == 0)
			return 0;
	struct buf list = BUF_INIT;
	for (int i = 0; names[i]; i++)
		buf_printf(&list, "%s%s", i ? ", " : "", names[i]);
	int rc = ERR(E_USAGE, NULL, "'--dump=%s': there is no such pass; expected one of: %s", pass,
	             list.data);
	buf_release(&list);
	return rc;
}

bool options_standalone(const struct options *o)
{
	return o->command == COMMAND_HELP || o->command == COMMAND_VERSION ||
	       o->command == COMMAND_HELP_CONFIG || o->command == COMMAND_HELP_SWEEP ||
	       o->command == COMMAND_HELP_DEBUG ||
	       o->command == COMMAND_LIST_OPS || o->command == COMMAND_MAN_CONFIG ||
	       o->command == COMMAND_BENCH_OP || o->command == COMMAND_SUGGEST;
}

static const char *command_name(int command)
{
	for (const struct option_row *r = rows; r->name; r++)
		if (r->command && r->command == command)
			return r->name;
	return NULL;
}

const char *options_text(const struct options *o, char text[OPTIONS_TEXT])
{
	const char *name = command_name(o->command);
	struct buf b = BUF_INIT;
	buf_printf(&b, name ? "--%s" : "training", name);
	if (o->bench_steps)
		buf_printf(&b, "=%" PRId64, o->bench_steps);
	if (o->resume)
		buf_printf(&b, " --resume=%s", o->resume);
	if (o->ranks)
		buf_printf(&b, " --ranks=%" PRId64 "x%" PRId64, o->hosts, o->ranks);
	if (o->gpu)
		buf_printf(&b, " --gpu=%s", o->gpu);
	if (o->cluster)
		buf_printf(&b, " --cluster=%s", o->cluster);
	if (o->tile)
		buf_printf(&b, " --tile=%s", o->tile);
	if (o->command == COMMAND_REPLAY)
		buf_printf(&b, "=%s", o->file);
	buf_puts(&b, o->first ? " --first" : "");
	buf_puts(&b, o->confusion ? " --confusion" : "");
	buf_puts(&b, o->dump ? " --dump" : "");
	buf_puts(&b, o->wisdom ? " --wisdom" : "");
	buf_puts(&b, o->sweep ? " --sweep" : "");
	buf_puts(&b, o->sweep_stop ? " --sweep-stop" : "");
	buf_puts(&b, o->synthetic ? " --synthetic" : "");
	buf_puts(&b, o->profile ? " --profile" : "");
	buf_puts(&b, options_last_weights(o) ? " --weights=last" : "");
	snprintf(text, OPTIONS_TEXT, "%s", b.data);
	buf_release(&b);
	return text;
}

static bool names_config(const char *arg)
{
	return io_ends_in(arg, ".yaml") || io_ends_in(arg, ".yml");
}

static int check_sweep(const struct options *o)
{
	if (o->sweep_stop && !o->sweep)
		return ERR(E_USAGE, NULL, "'--sweep-stop' goes with '--sweep'");
	if (!o->sweep)
		return 0;
	if (o->command != COMMAND_TRAIN)
		return ERR(E_USAGE, NULL, "'--sweep' is for training; other commands take the folder of a "
		           "run");
	if (o->trace)
		return ERR(E_USAGE, NULL, "'--trace' is of one run, without '--sweep'");
	if (o->resume && strcmp(o->resume, "auto") != 0)
		return ERR(E_USAGE, NULL, "'--resume' of a sweep makes what is missing, from the newest "
		           "checkpoint of each run; it takes no name");
	if (io_is_folder(o->config))
		return ERR(E_USAGE, NULL, "'--sweep' needs a config file; '%s' is a folder", o->config);
	return 0;
}

static int check(const struct options *o)
{
	if (!o->config && !options_standalone(o))
		return ERR(E_USAGE, NULL,
		           "no config file given; usage: dlx-train [OPTIONS] CONFIG.yaml; see --help");
	TRY(check_sweep(o));
	if (o->command == COMMAND_PREDICT && !o->output)
		return ERR(E_USAGE, NULL, "'--predict' needs '-o OUT'");
	if (o->output && o->command != COMMAND_PREDICT && o->command != COMMAND_SUGGEST)
		return ERR(E_USAGE, NULL, "'-o' goes with '--predict' and '--suggest'");
	if (o->output && o->command == COMMAND_PREDICT && names_config(o->output))
		return ERR(E_USAGE, NULL, "'-o %s' is the name of a config; expected a name that ends in "
		           ".npy, .npz, .nc, .h5 or .csv, or a folder for pictures", o->output);
	if (o->suggest.n > 2)
		return ERR(E_USAGE, NULL, "'--suggest' takes a record to train with and one to validate "
		           "with, or the files of inputs and of targets; several are one pattern, in "
		           "quotes");
	if (o->first && o->command != COMMAND_REPLAY)
		return ERR(E_USAGE, NULL, "'--first' goes with '--replay'");
	if (o->resume && o->command == COMMAND_REPLAY)
		return ERR(E_USAGE, NULL, "'--replay' names its checkpoints itself, without '--resume'");
	if (o->confusion && o->command != COMMAND_EVALUATE)
		return ERR(E_USAGE, NULL, "'--confusion' goes with '--evaluate'");
	if (o->json && o->command != COMMAND_EVALUATE)
		return ERR(E_USAGE, NULL, "'--json' goes with '--evaluate'; a plan is JSON with "
		           "'--plan=json'");
	if (o->confusion)
		TRY(confusion_check(o->confusion));
	if (o->network && o->command != COMMAND_EXPORT)
		return ERR(E_USAGE, NULL, "'--network' goes with '--export'");
	if (o->as && o->command != COMMAND_PREDICT)
		return ERR(E_USAGE, NULL, "'--as' goes with '--predict'");
	if (o->layout && o->command != COMMAND_PREDICT)
		return ERR(E_USAGE, NULL, "'--input-layout' goes with '--predict'");
	if (o->tile && o->command != COMMAND_PREDICT)
		return ERR(E_USAGE, NULL, "'--tile' goes with '--predict'");
	if (o->tile)
		TRY(tile_check(o->tile));
	if (o->dump && o->command != COMMAND_PLAN)
		return ERR(E_USAGE, NULL, "'--dump' goes with '--plan'");
	if (o->dump)
		TRY(check_dump(o->dump));
	if (o->ranks && o->command != COMMAND_PLAN && o->command != COMMAND_CHECK)
		return ERR(E_USAGE, NULL, "'--ranks' goes with '--check' or '--plan'; to train on several "
		           "ranks start as many with mpiexec or srun");
	if (o->cluster && o->command != COMMAND_PLAN && o->command != COMMAND_CHECK)
		return ERR(E_USAGE, NULL, "'--cluster' goes with '--check' or '--plan'; dlx-simulate plans "
		           "for many numbers of ranks");
	if (o->gpu && o->command != COMMAND_PLAN && o->command != COMMAND_CHECK)
		return ERR(E_USAGE, NULL, "'--gpu' goes with '--check' or '--plan'; to compute on the GPU "
		           "that is there give '--device cuda'");
	if (o->gpu && o->device && strcmp(o->device, "cuda") != 0)
		return ERR(E_USAGE, NULL, "'--gpu' plans for a GPU, not for '--device %s'", o->device);
	if (o->compute && o->command != COMMAND_BENCH_OP)
		return ERR(E_USAGE, NULL,
		           "'--compute' goes with '--bench-op'; a config has 'precision.compute'");
	if (o->set.n && o->command == COMMAND_BENCH_OP)
		return ERR(E_USAGE, NULL, "'--set' is for configs; '--bench-op' has none");
	if (o->synthetic && o->command != COMMAND_BENCH && o->command != COMMAND_DUMP_STEP)
		return ERR(E_USAGE, NULL, "'--synthetic' goes with '--bench' or '--dump-step'");
	if (o->profile && o->command != COMMAND_BENCH)
		return ERR(E_USAGE, NULL, "'--profile' goes with '--bench'");
	return 0;
}

/* What other programs' command lines have, reported before the parser says less. */
static int refuse_foreign(int argc, char **argv)
{
	const char *names[sizeof rows / sizeof *rows];
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		names[i] = rows[i].name;
	return foreign_check(argc, argv, names);
}

static bool is_config(const char *arg)
{
	return names_config(arg) || io_is_folder(arg);
}

/* Of several arguments next to --predict one is the config, by its name or as the last; the others
 * are more files, as a shell makes them of a pattern. */
static void take_files(struct options *o, int *argc, char **argv)
{
	int config = *argc - 1;
	if (o->command != COMMAND_PREDICT || *argc < 2)
		return;
	if (*argc == 2 && !is_config(argv[1]) && is_config(o->predict.v[0])) {
		const char *file = argv[1];    /* --predict CONFIG FILE */
		argv[1] = (char *)(uintptr_t)o->predict.v[0];
		o->predict.v[0] = file;
	}
	for (int i = *argc - 1; i > 0 && !is_config(argv[config]); i--)
		config = is_config(argv[i]) ? i : config;
	o->predict.v = mem_realloc(o->predict.v, (size_t)(o->predict.n + *argc) * sizeof *o->predict.v);
	for (int i = 1; i < *argc; i++)
		if (i != config)
			o->predict.v[o->predict.n++] = argv[i];
	argv[1] = argv[config];
	*argc = 2;
}

/* What --suggest reads besides its argument. */
static void take_records(struct options *o, int *argc, char **argv)
{
	if (o->command != COMMAND_SUGGEST)
		return;
	o->suggest.v = mem_realloc(o->suggest.v, (size_t)(o->suggest.n + *argc) * sizeof *o->suggest.v);
	for (int i = 1; i < *argc; i++)
		o->suggest.v[o->suggest.n++] = argv[i];
	*argc = 1;
}

/* "--help-config conv2d": a key that follows no '='. A config may be there and is not read. */
static int take_key(struct options *o, int *argc, char **argv)
{
	if (o->command != COMMAND_HELP_CONFIG)
		return 0;
	for (int i = 1; i < *argc; i++) {
		if (io_ends_in(argv[i], ".yaml") || io_ends_in(argv[i], ".yml"))
			continue;
		if (*o->file)
			return ERR(E_USAGE, NULL, "'--help-config' takes one key; '%s' is a second one",
			           argv[i]);
		o->file = argv[i];
	}
	*argc = 1;
	return 0;
}

int options_parse(struct options *o, int argc, char **argv)
{
	TRY(refuse_foreign(argc, argv));
	*o = (struct options){ .command = COMMAND_TRAIN };
	TRY(option_read(rows, o, &o->command, &argc, argv));
	if (argc > 2 && o->command == COMMAND_BENCH_OP)
		return ERR(E_USAGE, NULL,
		           "two samples: '%s' and '%s'; several inputs are one argument, in quotes",
		           argv[1], argv[2]);
	take_files(o, &argc, argv);
	take_records(o, &argc, argv);
	TRY(take_key(o, &argc, argv));
	if (argc > 2)
		return ERR(E_USAGE, NULL, "two config files: '%s' and '%s'", argv[1], argv[2]);
	o->config = argc > 1 ? argv[1] : NULL;
	if (o->match && strcmp(o->match, "index") == 0)
		dataset_match_by_index();
	if (o->ranks_text)
		TRY(read_ranks(o));
	return check(o);
}

void options_release(struct options *o)
{
	mem_free(o->set.v);
	mem_free(o->predict.v);
	mem_free(o->suggest.v);
}

bool options_last_weights(const struct options *o)
{
	return o->weights && strcmp(o->weights, "last") == 0;
}

enum predict_as options_as(const struct options *o)
{
	int as = PREDICT_DEFAULT;
	for (int i = 1; o->as && predict_as_names[i]; i++)
		if (strcmp(o->as, predict_as_names[i]) == 0)
			as = i;
	return (enum predict_as)as;
}

void options_help(FILE *out, const char *program)
{
	fprintf(out, "usage: %s [OPTIONS] CONFIG.yaml|RUN\n\nTrains the network that CONFIG.yaml, or a "
	        "run's folder, describes. Options:\n\n", program);
	option_help(out, rows);
	fprintf(out, "\nExit status: 0 done, 1 differs (--replay), 64 usage, 65 bad data, 66 input "
	        "missing, 69 device\nunavailable, 70 bug, 71 the plan does not fit in memory, 73 "
	        "cannot write output, 74 i/o error,\n75 stopped with a checkpoint (run again with "
	        "--resume), 76 the training diverged, 78 config error.\n"
	        "See dlx-train(1) and dlx-config(5).\n");
}
