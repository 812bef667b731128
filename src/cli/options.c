/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One row an option: how it is written, what it takes, what it sets, what it does. */
#include "cli/options.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/foreign.h"
#include "pass/pass.h"
#include "plan/plan.h"
#include "yaml/schema.h"

enum argument { ARG_NONE, ARG_OPTIONAL, ARG_REQUIRED };

struct option_row {
	const char *name;                /* without dashes; one letter: "-x" */
	enum argument argument;
	const char *metavar;             /* shown in help; also after '=' */
	int command;                     /* COMMAND_*, or -1: does not choose one */
	size_t text_offset;              /* const char * that takes the argument; 0: none (command is the first member) */
	const char *absent;              /* ARG_OPTIONAL: the value when none is given */
	int (*apply)(struct options *o, const char *arg);   /* instead of text_offset */
	const char *doc;
};

static int add_set(struct options *o, const char *arg)
{
	if (o->nset == OPTIONS_MAX_SET)
		return ERR(E_USAGE, NULL, "more than %d '--set' options", OPTIONS_MAX_SET);
	o->set[o->nset++] = arg;
	return 0;
}

static int set_bench(struct options *o, const char *arg)
{
	char *end;
	o->bench_steps = strtoll(arg, &end, 10);
	if (*end || end == arg || o->bench_steps < 1 || o->bench_steps > 1000000)
		return ERR(E_USAGE, NULL, "'--bench=%s': expected a number of steps from 1 to 1000000", arg);
	return 0;
}

static int set_trace_steps(struct options *o, const char *arg)
{
	char *end;
	o->trace_steps = strtoll(arg, &end, 10);
	if (*end || end == arg || o->trace_steps < 1 || o->trace_steps > 1000)
		return ERR(E_USAGE, NULL, "'--trace-steps=%s': expected a number of steps from 1 to 1000", arg);
	return 0;
}

static int set_plan(struct options *o, const char *arg)
{
	if (strcmp(arg, "text") != 0 && strcmp(arg, "json") != 0 && strcmp(arg, "dot") != 0 && strcmp(arg, "svg") != 0)
		return ERR(E_USAGE, NULL, "'--plan=%s': expected text, json, dot or svg", arg);
	o->plan_format = arg;
	return 0;
}

#define MOST_RANKS 1000000

static int set_ranks(struct options *o, const char *arg)
{
	const char *by = arg;
	char *end;
	int64_t hosts = 1, n = strtoll(arg, &end, 10);
	if (*end == 'x' && end != arg) {
		hosts = n;
		by = end + 1;
		n = strtoll(by, &end, 10);
	}
	if (*end || end == by || n < 1 || hosts < 1 || n > MOST_RANKS || hosts > MOST_RANKS / n)
		return ERR(E_USAGE, NULL, "'--ranks %s': expected a number from 1 to %d, or hosts x ranks of each, as in 4x8", arg, MOST_RANKS);
	o->ranks = hosts * n;
	o->hosts = by != arg ? hosts : 0;
	return 0;
}

static int set_profile(struct options *o, const char *arg)
{
	(void)arg;
	o->profile = true;
	return 0;
}

static int set_synthetic(struct options *o, const char *arg)
{
	(void)arg;
	o->synthetic = true;
	return 0;
}

static int set_quiet(struct options *o, const char *arg)
{
	(void)arg;
	o->quiet = true;
	return 0;
}

static int set_weights(struct options *o, const char *arg)
{
	if (strcmp(arg, "average") != 0 && strcmp(arg, "last") != 0)
		return ERR(E_USAGE, NULL, "'--weights=%s': expected average or last", arg);
	o->last_weights = strcmp(arg, "last") == 0;
	return 0;
}

#define TEXT(m) offsetof(struct options, m)
static const struct option_row rows[] = {
	{ "check", ARG_NONE, NULL, COMMAND_CHECK, 0, NULL, NULL,
	  "read the config and the data's headers, plan, and print a summary" },
	{ "plan", ARG_OPTIONAL, "text|json|dot|svg", COMMAND_PLAN, 0, "text", set_plan,
	  "print the compiled plan: parameters, flops, kernels, the memory map (svg: as a picture), the effective config" },
	{ "ranks", ARG_REQUIRED, "[HOSTSx]N", -1, 0, NULL, set_ranks,
	  "with --check or --plan: plan for N ranks that need not be there, on hosts of eight or HOSTS hosts of N" },
	{ "set", ARG_REQUIRED, "KEY=VALUE", -1, 0, NULL, add_set,
	  "override one config value: a dotted path and a YAML value; may be repeated" },
	{ "device", ARG_REQUIRED, "auto|cpu|cuda|reference", -1, TEXT(device), NULL, NULL, "override 'device'" },
	{ "gpu", ARG_REQUIRED, "NAME[:SIZE]|SIZE", -1, TEXT(gpu), NULL, NULL,
	  "with --check or --plan: plan for a GPU that is not there: a100-40g, a100, h100, h200, or a size of memory" },
	{ "resume", ARG_OPTIONAL, "auto|ID|PATH", -1, TEXT(resume), "auto", NULL,
	  "continue from the newest complete checkpoint, or the one named" },
	{ "evaluate", ARG_NONE, NULL, COMMAND_EVALUATE, 0, NULL, NULL,
	  "evaluate on data.validation; print the metrics table and one line of JSON" },
	{ "predict", ARG_REQUIRED, "FILE", COMMAND_PREDICT, TEXT(file), NULL, NULL,
	  "run the model on a record file; -o names a .npy or .nc file or a folder for pictures" },
	{ "export", ARG_REQUIRED, "FILE", COMMAND_EXPORT, TEXT(file), NULL, NULL,
	  "write the weights of the newest checkpoint (or the one of --resume) as safetensors; initial ones if there is none" },
	{ "weights", ARG_REQUIRED, "average|last", -1, 0, NULL, set_weights,
	  "with --evaluate, --predict and --export of a run with 'optimizer.average': which weights; default: average" },
	{ "dump-step", ARG_REQUIRED, "DIR", COMMAND_DUMP_STEP, TEXT(file), NULL, NULL,
	  "one training step on the first batch; loss, inputs, outputs, gradients and parameters as files" },
	{ "bench", ARG_OPTIONAL, "N", COMMAND_BENCH, 0, "20", set_bench,
	  "N timed steps on in-memory data after warm-up; one line of JSON" },
	{ "bench-op", ARG_REQUIRED, "OP", COMMAND_BENCH_OP, TEXT(file), NULL, NULL,
	  "time one op against its roofline, on the inputs given in the config's place: --bench-op relu 8x64x56x56" },
	{ "compute", ARG_REQUIRED, "f32|bf16", -1, TEXT(compute), NULL, NULL, "with --bench-op: the type to compute in" },
	{ "synthetic", ARG_NONE, NULL, -1, 0, NULL, set_synthetic,
	  "with --bench or --dump-step: made-up data of the config's model.input and model.classes" },
	{ "profile", ARG_NONE, NULL, -1, 0, NULL, set_profile, "with --bench: also each node's time against its roofline, on standard error and in the JSON" },
	{ "trace", ARG_REQUIRED, "FILE", -1, TEXT(trace), NULL, NULL,
	  "when training: a timeline of the first steps for Perfetto or chrome://tracing" },
	{ "trace-steps", ARG_REQUIRED, "N", -1, 0, NULL, set_trace_steps, "with --trace: of so many steps; default: 10" },
	{ "wisdom", ARG_REQUIRED, "FILE", -1, TEXT(wisdom), NULL, NULL,
	  "on a GPU: use the fastest engines, which FILE says; those it does not know are measured and added" },
	{ "o", ARG_REQUIRED, "OUT", -1, TEXT(output), NULL, NULL, "where --predict writes" },
	{ "dump", ARG_REQUIRED, "PASS", -1, TEXT(dump), NULL, NULL,
	  "with --plan: print the graph after this pass, or after every one with 'all'" },
	{ "quiet", ARG_NONE, NULL, -1, 0, NULL, set_quiet, "no progress and no notes; warnings and errors stay" },
	{ "help-config", ARG_OPTIONAL, "KEY", COMMAND_HELP_CONFIG, TEXT(file), NULL, NULL,
	  "every config key with type, range, default and meaning" },
	{ "list-ops", ARG_NONE, NULL, COMMAND_LIST_OPS, 0, NULL, NULL, "the ops of the graph, one a line" },
	{ "man-config", ARG_NONE, NULL, COMMAND_MAN_CONFIG, 0, NULL, NULL, "the key reference of dlx-config(5), as mdoc source" },
	{ "help", ARG_NONE, NULL, COMMAND_HELP, 0, NULL, NULL, "this text" },
	{ "version", ARG_NONE, NULL, COMMAND_VERSION, 0, NULL, NULL, "version, backends built in, library versions" },
};
#define NROWS ((int)(sizeof rows / sizeof *rows))

static int unknown(const char *arg, size_t len)
{
	const char *names[NROWS + 1];
	char name[64];
	for (int i = 0; i < NROWS; i++)
		names[i] = rows[i].name;
	names[NROWS] = NULL;
	snprintf(name, sizeof name, "%.*s", (int)len, arg);
	while (name[0] == '-')
		memmove(name, name + 1, strlen(name));
	const char *near = did_you_mean(name, names);
	return ERR(E_USAGE, NULL, "unknown option '%.*s'%s%s%s; see --help", (int)len, arg,
	           near ? "; did you mean '--" : "", near ? near : "", near ? "'?" : "");
}

static const struct option_row *find(const char *arg, size_t *len)
{
	const char *name = arg + (arg[1] == '-' ? 2 : 1);
	size_t n = strcspn(name, "=");
	*len = (size_t)(name - arg) + n;
	for (int i = 0; i < NROWS; i++)
		if (strlen(rows[i].name) == n && strncmp(rows[i].name, name, n) == 0 &&
		    (n == 1) == (arg[1] != '-'))
			return &rows[i];
	return NULL;
}

static int apply(struct options *o, const struct option_row *row, const char *arg)
{
	if (row->command >= 0) {
		if (o->command != COMMAND_TRAIN && (int)o->command != row->command)
			return ERR(E_USAGE, NULL, "'--%s' cannot be combined with another command", row->name);
		o->command = (enum command)row->command;
	}
	if (row->apply)
		return row->apply(o, arg);
	if (row->text_offset)
		*(const char **)((char *)o + row->text_offset) = arg;
	return 0;
}

/* Options that take a required argument accept "--name=ARG"
 * and "--name ARG"; optional ones "--name=ARG" alone. */
static int one(struct options *o, int argc, char **argv, int *i)
{
	size_t len;
	const char *arg = argv[*i];
	const struct option_row *row = find(arg, &len);
	if (!row)
		return unknown(arg, len);
	const char *value = arg[len] == '=' ? arg + len + 1 : NULL;
	if (value && row->argument == ARG_NONE)
		return ERR(E_USAGE, NULL, "option '%.*s' takes no value", (int)len, arg);
	if (!value && row->argument == ARG_REQUIRED) {
		if (*i + 1 >= argc)
			return ERR(E_USAGE, NULL, "option '%s' needs a value: %s", arg, row->metavar);
		value = argv[++*i];
	}
	if (value && !*value)
		return ERR(E_USAGE, NULL, "option '%.*s' has an empty value", (int)len, arg);
	return apply(o, row, value ? value : row->absent);
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
	int rc = ERR(E_USAGE, NULL, "'--dump=%s': there is no such pass; expected one of: %s", pass, list.data);
	buf_release(&list);
	return rc;
}

bool options_standalone(const struct options *o)
{
	return o->command == COMMAND_HELP || o->command == COMMAND_VERSION || o->command == COMMAND_HELP_CONFIG ||
	       o->command == COMMAND_LIST_OPS || o->command == COMMAND_MAN_CONFIG || o->command == COMMAND_BENCH_OP;
}

static const char *command_name(enum command command)
{
	for (int i = 0; i < NROWS; i++)
		if (rows[i].command == (int)command)
			return rows[i].name;
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
	buf_puts(&b, o->dump ? " --dump" : "");
	buf_puts(&b, o->wisdom ? " --wisdom" : "");
	buf_puts(&b, o->synthetic ? " --synthetic" : "");
	buf_puts(&b, o->profile ? " --profile" : "");
	buf_puts(&b, o->last_weights ? " --weights=last" : "");
	snprintf(text, OPTIONS_TEXT, "%s", b.data);
	buf_release(&b);
	return text;
}

static int check(const struct options *o)
{
	if (!o->config && !options_standalone(o))
		return ERR(E_USAGE, NULL, "no config file given; usage: dlx-train [OPTIONS] CONFIG.yaml; see --help");
	if (o->command == COMMAND_PREDICT && !o->output)
		return ERR(E_USAGE, NULL, "'--predict' needs '-o OUT'");
	if (o->output && o->command != COMMAND_PREDICT)
		return ERR(E_USAGE, NULL, "'-o' goes with '--predict'");
	if (o->dump && o->command != COMMAND_PLAN)
		return ERR(E_USAGE, NULL, "'--dump' goes with '--plan'");
	if (o->dump)
		TRY(check_dump(o->dump));
	if (o->ranks && o->command != COMMAND_PLAN && o->command != COMMAND_CHECK)
		return ERR(E_USAGE, NULL, "'--ranks' goes with '--check' or '--plan'; to train on several ranks start as many "
		           "with mpiexec or srun");
	if (o->gpu && o->command != COMMAND_PLAN && o->command != COMMAND_CHECK)
		return ERR(E_USAGE, NULL, "'--gpu' goes with '--check' or '--plan'; to compute on the GPU that is there give '--device cuda'");
	if (o->gpu && o->device && strcmp(o->device, "cuda") != 0)
		return ERR(E_USAGE, NULL, "'--gpu' plans for a GPU, not for '--device %s'", o->device);
	if (o->compute && o->command != COMMAND_BENCH_OP)
		return ERR(E_USAGE, NULL, "'--compute' goes with '--bench-op'; a config has 'precision.compute'");
	if (o->nset && o->command == COMMAND_BENCH_OP)
		return ERR(E_USAGE, NULL, "'--set' is for configs; '--bench-op' has none");
	if (o->synthetic && o->command != COMMAND_BENCH && o->command != COMMAND_DUMP_STEP)
		return ERR(E_USAGE, NULL, "'--synthetic' goes with '--bench' or '--dump-step'");
	if (o->profile && o->command != COMMAND_BENCH)
		return ERR(E_USAGE, NULL, "'--profile' goes with '--bench'");
	return 0;
}

/* What other programs' command lines have, told before the parser says less. */
static int refuse_foreign(int argc, char **argv)
{
	const char *names[NROWS + 1] = { NULL };
	for (int i = 0; i < NROWS; i++)
		names[i] = rows[i].name;
	return foreign_check(argc, argv, names);
}

int options_parse(struct options *o, int argc, char **argv)
{
	TRY(refuse_foreign(argc, argv));
	*o = (struct options){ .command = COMMAND_TRAIN };
	bool only_files = false;
	for (int i = 1; i < argc; i++) {
		if (!only_files && strcmp(argv[i], "--") == 0) {
			only_files = true;
		} else if (!only_files && argv[i][0] == '-' && argv[i][1]) {
			TRY(one(o, argc, argv, &i));
		} else if (o->config && o->command == COMMAND_BENCH_OP) {
			return ERR(E_USAGE, NULL, "two samples: '%s' and '%s'; several inputs are one argument, in quotes", o->config,
			           argv[i]);
		} else if (o->config) {
			return ERR(E_USAGE, NULL, "two config files: '%s' and '%s'", o->config, argv[i]);
		} else {
			o->config = argv[i];
		}
	}
	return check(o);
}

void options_help(FILE *out, const char *program)
{
	fprintf(out, "usage: %s [OPTIONS] CONFIG.yaml\n\nTrains the network that CONFIG.yaml describes. Options:\n\n", program);
	for (int i = 0; i < NROWS; i++) {
		const struct option_row *r = &rows[i];
		char left[80];
		snprintf(left, sizeof left, "%s%s%s%s%s", r->name[1] ? "--" : "-", r->name,
		         r->argument == ARG_OPTIONAL ? "[=" : r->argument == ARG_REQUIRED ? " " : "",
		         r->argument ? r->metavar : "", r->argument == ARG_OPTIONAL ? "]" : "");
		fprintf(out, "  %-34s %s\n", left, r->doc);
	}
	fprintf(out, "\nExit status: 0 done, 64 usage, 65 bad data, 66 input missing, 69 device unavailable, 70 bug,\n"
	        "71 the plan does not fit in memory, 73 cannot write output, 74 i/o error, 75 stopped with a checkpoint\n"
	        "(run again with --resume), 76 the training diverged, 78 config error. See dlx-train(1) and dlx-config(5).\n");
}
