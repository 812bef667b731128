/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The commands, one function each, and the table that finds them. */
#include "cli/commands.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "backend/dnn/dnn.h"
#include "base/buf.h"
#include "base/debug.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/shown.h"
#include "base/trace.h"
#include "ckpt/version_id.h"
#include "cli/commands_help.h"
#include "cli/first_config.h"
#include "cli/result.h"
#include "cli/run_folder.h"
#include "cli/sweep/sweep.h"
#include "cli/sweep/sweep_file.h"
#include "config.h"
#include "model/model.h"
#include "data/sources.h"
#include "plan/describe/describe.h"
#include "plan/describe/describe_budget.h"
#include "plan/extent/tile_size.h"
#include "plan/physics/physics.h"
#include "report/drawing.h"
#include "report/progress.h"
#include "train/diagnose/bench.h"
#include "train/diagnose/verify_partition.h"
#include "train/predict/confusion.h"
#include "train/predict/evaluate.h"
#include "train/save/interop.h"
#include "train/run/loop.h"
#include "train/predict/predict.h"
#include "train/predict/predict_input.h"
#include "train/predict/picture_names.h"
#include "train/run/ranks.h"

/* --- opening --- */

int command_read(struct invocation *x, double *timeout)
{
	TRY(run_folder_load(&x->config, x->o, &x->moved));
	if (x->o->command != COMMAND_TRAIN || config_check_length(x->config) == 0) {
		*timeout = x->config->parallel.timeout;
		return 0;
	}
	config_free(x->config);
	x->config = NULL;
	return E_CONFIG;
}

/* The file that the command has to write, or NULL: several files in a folder, or none. */
static const char *output_file(const struct options *o, const struct comm *c)
{
	if (o->command == COMMAND_EXPORT)
		return o->file;
	if (o->command == COMMAND_PREDICT && predict_to_file(o->output))
		return o->output;
	if (o->command == COMMAND_EVALUATE && o->confusion)
		return o->confusion;
	return comm_many(c) ? NULL : o->trace;   /* each rank has a file of its own */
}

/* A file to predict from: a pattern, or one with names of variables after it. */
static void note_input(const char *given)
{
	const char *colon = strrchr(given, ':');
	char *path = mem_strdup(given);
	struct strings one = { .n = 1, .v = (const char *[]){ path } };
	if (colon && !io_exists(path))
		path[colon - given] = '\0';
	dataset_note_inputs(&one);
	mem_free(path);
}

/* What only networks of equations do, and what they do not: a step reads no batch of a data set. */
static int check_equations(const struct options *o, const struct run_config *config)
{
	if (!config->physics && o->command == COMMAND_PREDICT && drawing_is(o->output))
		return ERR(E_USAGE, NULL, "'-o %s': predictions of samples are written to a folder, as "
		           "a picture each, or to a file .npy, .npz, .nc, .h5 or .csv", shown(o->output));
	if (!config->physics)
		return 0;
	if (o->command == COMMAND_PREDICT)
		return predict_grid_check(config->physics, o->output);
	return o->command != COMMAND_DUMP_STEP ? 0 :
	       ERR(E_UNSUPPORTED, NULL, "'--dump-step' of networks that solve equations is not there "
	           "yet; '--export' writes their weights");
}

/* Before any work is done. */
static int check_output(const struct options *o, const struct comm *c,
                        const struct run_config *config)
{
	const bool grid = config->physics && o->command == COMMAND_PREDICT;
	const char *file = grid ? o->output : output_file(o, c);
	if (!comm_first(c))
		return 0;
	if (file || o->command == COMMAND_PREDICT || o->command == COMMAND_DUMP_STEP) {
		const struct strings train = sources_files(&config->data.train, config->arena);
		dataset_note_inputs(&train);
		dataset_note_inputs(&config->data.validation);
	}
	for (int i = 0; i < o->predict.n && !grid; i++)
		note_input(o->predict.v[i]);
	return file ? io_check_output(file) : 0;
}

/* The checkpoint that a command works with. */
static const char *weights_of(const struct options *o)
{
	return o->resume ? o->resume : "auto";
}

static int planned_ranks(const struct options *o)
{
	return o->ranks ? (int)o->ranks : debug.ranks ? (int)debug.ranks : 1;
}

static int open_session(struct invocation *x, unsigned need, struct session **s)
{
	const struct options *o = x->o;
	struct run_config *mine = x->config;
	struct session_options so = { .comm = x->c, .need = need, .ranks = planned_ranks(o),
		.cluster = o->cluster, .hosts = (int)o->hosts,
		.tile = o->tile, .device = o->device, .wisdom = o->wisdom, .dump = o->dump, .gpu = o->gpu,
		.dump_dot = o->plan_format && strcmp(o->plan_format, "dot") == 0,
		.weights = need & SESSION_TRAIN ? NULL : weights_of(o),
		.resume = o->command == COMMAND_TRAIN ? o->resume :
		          o->command == COMMAND_REPLAY ? x->range.from : weights_of(o),
		.data = o->command == COMMAND_PREDICT ? &o->predict : NULL, .layout = o->layout,
		.quiet = o->quiet, .records = &x->records, .size = x->size,
		.sizes = o->command == COMMAND_PREDICT ? &x->sizes : NULL, .set = &x->predicted };
	x->config = NULL;
	if (x->moved)
		note("the run is in '%s' now, no longer in '%s'", mine->run.dir, x->moved);
	int rc = check_equations(o, mine);
	if (rc == 0 && o->confusion)
		rc = confusion_want(mine);
	rc = ranks_agree(x->c, rc < 0 ? rc : check_output(o, x->c, mine), "looking at the output");
	if (rc < 0) {
		config_free(mine);
		return rc;
	}
	return session_open(s, mine, &so);
}

/* Nothing was said about which checkpoint to take, and the newest, id, is not the best. */
static void note_best(const char *dir, const char *id)
{
	const int mark = err_count();
	struct ckpt_version *v = NULL;
	if (ckpt_look(&v, dir, "best") == 0 && strcmp(ckpt_version_id(v), id) != 0)
		note("the best validation is that of checkpoint %s: --resume=best",
		     version_bare_id(ckpt_version_id(v)));
	ckpt_version_free(v);
	err_truncate(mark);
}

/* The weights a command works with: a checkpoint's, else
 * `model.init_from`, else the initial ones. */
static int load_weights(const struct options *o, struct session *s, bool checkpoint_needed)
{
	char *dir = io_join(s->config->run.dir, "checkpoints"), id[64];
	bool found;
	/* A step is one of training, which is about the last weights. */
	bool averaged = objectives_average(&s->config->objectives) && o->command != COMMAND_DUMP_STEP &&
	                !options_last_weights(o);
	int rc = state_load_weights(s, dir, weights_of(o), averaged, &found, id);
	if (rc == 0 && found)
		note("weights of checkpoint %s", version_bare_id(id));
	if (rc == 0 && found && !o->resume && comm_first(s->comm))
		note_best(dir, id);
	if (rc == 0 && !found && (o->resume || (checkpoint_needed && !interop_has_init_from(s))))
		rc = ranks_agree(s->comm, ERR(E_NOINPUT, NULL, "no checkpoint in '%s'; train first", dir),
		                 "the checkpoint");
	else if (rc == 0 && !found)
		rc = interop_begin(s);
	mem_free(dir);
	return rc;
}

/* To standard output or error, by the first rank; releases b. */
static void print_to(FILE *f, const struct comm *c, struct buf *b)
{
	struct buf text = BUF_INIT;
	buf_shown_lines(&text, b->data);
	if (comm_first(c))
		fwrite(text.data, 1, text.len, f);
	buf_release(&text);
	buf_release(b);
}

void command_print(const struct comm *c, struct buf *b)
{
	print_to(stdout, c, b);
}

/* --- training --- */

#define TRACE_STEPS 10
#define STEP_SPANS (1 << 13)       /* a large network has some thousand nodes */

static int64_t trace_steps(const struct options *o)
{
	return o->trace_steps ? o->trace_steps : TRACE_STEPS;
}

static int run_train(struct invocation *x)
{
	struct session *s;
	struct train_result r;
	if (x->o->sweep)
		return sweep_command(x);
	if (x->o->trace)
		TRY(trace_start((trace_steps(x->o) + 16) * STEP_SPANS));
	TRY(open_session(x, SESSION_TRAIN | SESSION_EVALUATE | SESSION_RUN, &s));
	int progress = x->o->quiet ? PROGRESS_NONE : s->config->report.progress;
	struct train_options to = { .resume = x->o->resume, .progress = progress, .trace = x->o->trace,
		.trace_steps = trace_steps(x->o) };
	int rc = x->o->resume ? 0 : interop_begin(s);
	if (rc == 0)
		rc = train(s, &to, &r);
	if (rc == 0 && progress != PROGRESS_NONE) {
		struct buf out = BUF_INIT;
		result_text(s, &r, &out);
		command_print(x->c, &out);
	}
	if (rc == 0 && r.stopped)
		x->status = err_exit_status(E_STOPPED);
	session_close(s);
	trace_free();
	return rc;
}

/* Whether the checkpoints' bits come again. */
static int run_replay(struct invocation *x)
{
	struct session *s;
	struct buf out = BUF_INIT;
	bool differs;
	TRY(ranks_agree(x->c, replay_range_parse(&x->range, x->o->file), "--replay"));
	int rc = open_session(x, SESSION_TRAIN | SESSION_EVALUATE | SESSION_RUN, &s);
	if (rc < 0) {
		replay_range_release(&x->range);
		return rc;
	}
	rc = replay_versions(s, &x->range, x->o->first, &out, &differs);
	x->status = rc == 0 && differs;
	command_print(x->c, &out);
	session_close(s);
	replay_range_release(&x->range);
	return rc;
}

/* --- looking --- */

static int check_init_from(struct session *s)
{
	return ranks_agree(s->comm, comm_first(s->comm) ? interop_check(s) : 0, "init_from");
}

/* For people the first line says if the plans do not fit; a check is of that too. */
static int describe(struct invocation *x, void (*write)(const struct session *, struct buf *))
{
	const struct options *o = x->o;
	bool check = o->command == COMMAND_CHECK;
	struct session *s;
	struct buf out = BUF_INIT;
	TRY(open_session(x, SESSION_TRAIN | SESSION_NO_DATA |
	                 (o->dump ? 0 : SESSION_SWEEP | SESSION_EVALUATE), &s));
	int rc = check ? check_init_from(s) : 0;
	if (rc < 0) {
		session_close(s);
		return rc;
	}
	int fit = !o->dump && (check || write == describe_text) ? describe_fit(s, &out) : 0;
	if (check)
		x->status = err_exit_status(fit);
	if (!o->dump)
		write(s, &out);
	command_print(x->c, &out);
	session_close(s);
	return 0;
}

static int run_check(struct invocation *x)
{
	return describe(x, describe_check);
}

static int run_plan(struct invocation *x)
{
	static const struct { const char *format;
		void (*write)(const struct session *, struct buf *); } as[] = {
		{ "json", describe_json }, { "dot", describe_dot }, { "svg", describe_svg }
	};
	for (size_t i = 0; i < sizeof as / sizeof *as; i++)
		if (strcmp(x->o->plan_format, as[i].format) == 0)
			return describe(x, as[i].write);
	return describe(x, describe_text);
}

/* --- using weights --- */

static int need_validation(const struct session *s)
{
	if (session_validates(s))
		return 0;
	return ranks_agree(s->comm, ERR(E_CONFIG, &s->config->tree->loc, "nothing to evaluate on: "
	                                "'data.validation' is not given; dlx-convert --split sets a "
	                                "part of the samples aside for it"), "the validation data");
}

/* On a terminal the table is for a reader, to whom the line of JSON says nothing more; what is not
 * a terminal gets both, for scripts. */
static void put_evaluation(const struct options *o, const struct session *s,
                           const struct evaluation *e, struct buf *out)
{
	if (!o->json)
		evaluation_table(e, s->config->physics ? NULL : session_data(s), out);
	if (!o->json && isatty(STDOUT_FILENO))
		return;
	buf_puts(out, "{\"type\": \"validation\", ");
	evaluation_json(e, out);
	buf_puts(out, "}\n");
}

static int run_evaluate(struct invocation *x)
{
	struct session *s;
	struct evaluation e;
	struct buf out = BUF_INIT;
	TRY(open_session(x, SESSION_EVALUATE | SESSION_RUN, &s));
	int rc = need_validation(s);
	if (rc == 0)
		rc = load_weights(x->o, s, true);
	if (rc == 0)
		rc = evaluate(s, &e);
	if (rc == 0)
		put_evaluation(x->o, s, &e, &out);
	command_print(x->c, &out);
	if (rc == 0 && x->o->confusion)
		rc = ranks_agree(x->c, comm_first(x->c) ?
		                 confusion_write(&e, session_data(s), x->o->confusion) : 0,
		                 "--confusion");
	session_close(s);
	return rc;
}

static void note_tiles(const struct session *s)
{
	struct buf text = BUF_INIT;
	if (s->tiles)
		tile_text(s->tiles, &text);
	if (s->tiles)
		note("%s", text.data);
	buf_release(&text);
}

/* Predicts samples of one size, and adds their number to *written. */
static int predict_part(struct invocation *x, struct predict_parts *parts, int64_t *written)
{
	const struct options *o = x->o;
	struct session *s;
	int64_t now = 0;
	TRY(open_session(x, SESSION_PREDICT | SESSION_RUN, &s));
	note_tiles(s);
	parts->more = x->size + 1 < x->sizes;
	if (x->size == 0 && comm_first(x->c) && !predict_to_file(o->output))
		picture_names_find(&o->predict, &x->records, o->output, &x->pictures);
	int rc = load_weights(o, s, true);
	if (rc == 0)
		rc = s->tiles ? predict_tiles(s, o->output, options_as(o), &now) :
		     predict(s, o->output, options_as(o), &x->pictures, parts, &now);
	*written += now;
	session_close(s);
	return rc;
}

static int run_predict_grid(struct invocation *x)
{
	struct session *s;
	int64_t n = 0;
	TRY(open_session(x, SESSION_PREDICT | SESSION_RUN, &s));
	const char *what = physics_has_samples(s->config->physics) ? "samples" : "points";
	int rc = load_weights(x->o, s, true);
	if (rc == 0)
		rc = ranks_agree(x->c, predict_grid(s, x->o->predict.v[0], x->o->output, &n),
		                 "the grid");
	session_close(s);
	if (rc == 0 && !x->o->quiet && comm_first(x->c))
		printf("%" PRId64 " %s in %s\n", n, what, shown(x->o->output));
	return rc;
}

/* Samples may have several sizes: those of each are a session of their own. */
static int run_predict(struct invocation *x)
{
	if (x->config->physics)
		return run_predict_grid(x);
	int64_t written = 0;
	double timeout;
	struct predict_parts parts = { 0 };
	int rc = predict_part(x, &parts, &written);
	for (x->size = 1; rc == 0 && x->size < x->sizes; x->size++) {
		log_quiet(1);                  /* all is said already */
		rc = ranks_agree(x->c, command_read(x, &timeout), "the config");
		if (rc == 0)
			rc = predict_part(x, &parts, &written);
		log_quiet(x->o->quiet);
	}
	mem_free(parts.vectors);
	dataset_free(x->predicted);
	predict_input_release(&x->records);
	picture_names_release(&x->pictures);
	if (rc == 0 && !x->o->quiet && comm_first(x->c))
		printf("%" PRId64 " predictions in %s\n", written, shown(x->o->output));
	return rc;
}

static int run_export(struct invocation *x)
{
	struct session *s;
	/* The plans of all objectives together have all networks, and unknown numbers. */
	const unsigned need = x->config->physics ? SESSION_TRAIN : SESSION_PREDICT;
	TRY(open_session(x, need | SESSION_RUN | SESSION_NO_DATA, &s));
	int rc = load_weights(x->o, s, false);
	if (rc == 0)
		rc = ranks_agree(x->c, comm_first(x->c) ? interop_export(s, x->o->file, x->o->network) : 0,
		                 "writing the weights");
	session_close(s);
	return rc;
}

/* For what looks at steps, which data made up in memory serves as well. */
static int open_for_steps(struct invocation *x, unsigned need, struct session **s)
{
	unsigned synthetic = x->o->synthetic ? SESSION_SYNTHETIC : 0;
	int rc = open_session(x, need | SESSION_TRAIN | SESSION_RUN | synthetic, s);
	if (rc == E_NOINPUT && !synthetic)
		err_context(rc, "'--synthetic' does without data");
	return rc;
}

static int run_dump_step(struct invocation *x)
{
	struct session *s;
	TRY(open_for_steps(x, SESSION_DUMP, &s));
	int rc = load_weights(x->o, s, false);
	if (rc == 0)
		rc = interop_dump_step(s, x->o->file);
	session_close(s);
	return rc;
}

static int run_bench(struct invocation *x)
{
	struct session *s;
	struct buf out = BUF_INIT, tables = BUF_INIT;
	TRY(open_for_steps(x, 0, &s));
	int rc = bench(s, x->o->bench_steps, x->o->profile, &out, &tables);
	print_to(stderr, x->c, &tables);
	command_print(x->c, &out);
	session_close(s);
	return rc;
}

static int run_verify(struct invocation *x)
{
	struct session *s;
	TRY(open_session(x, SESSION_TRAIN | SESSION_NO_DATA | SESSION_STORED, &s));
	const int rc = verify_partition(s, x->o->file);
	session_close(s);
	return rc;
}

static int run_suggest(struct invocation *x)
{
	return first_config_run(x->o, x->c);
}

static int run_bench_op(struct invocation *x)
{
	struct buf out = BUF_INIT;
	struct bench_op_options b = { x->o->file, x->o->config, x->o->device, x->o->compute };
	int rc = bench_op(&b, &out);
	command_print(x->c, &out);
	return rc;
}

static int (*const commands[])(struct invocation *x) = {
	[COMMAND_TRAIN] = run_train,
	[COMMAND_CHECK] = run_check,
	[COMMAND_PLAN] = run_plan,
	[COMMAND_EVALUATE] = run_evaluate,
	[COMMAND_PREDICT] = run_predict,
	[COMMAND_EXPORT] = run_export,
	[COMMAND_REPLAY] = run_replay,
	[COMMAND_DUMP_STEP] = run_dump_step,
	[COMMAND_BENCH] = run_bench,
	[COMMAND_BENCH_OP] = run_bench_op,
	[COMMAND_VERIFY] = run_verify,
	[COMMAND_SUGGEST] = run_suggest,
	[COMMAND_HELP] = command_help,
	[COMMAND_HELP_CONFIG] = command_help_config,
	[COMMAND_HELP_SWEEP] = command_help_sweep,
	[COMMAND_HELP_DEBUG] = command_help_debug,
	[COMMAND_LIST_OPS] = command_list_ops,
	[COMMAND_MAN_CONFIG] = command_man_config,
	[COMMAND_VERSION] = command_version,
};

int command_run(struct invocation *x)
{
	const struct options *o = x->o;
	if ((o->trace || o->trace_steps) && o->command != COMMAND_TRAIN)
		return ERR(E_USAGE, NULL, "'--trace' is for training");
	if (o->trace_steps && !o->trace)
		return ERR(E_USAGE, NULL, "'--trace-steps' is for '--trace'");
	return commands[o->command](x);
}
