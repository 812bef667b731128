/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The commands, one function each, and the table that finds them. */
#include "cli/commands.h"

#include <inttypes.h>
#include <string.h>

#include "backend/dnn.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "comm/comm.h"
#include "config/help.h"
#include "config.h"
#include "model/model.h"
#include "report/progress.h"
#include "train/bench.h"
#include "train/bench_op.h"
#include "train/describe.h"
#include "train/exchange.h"
#include "train/loop.h"
#include "train/predict.h"

/* --- opening --- */

static int open_session(const struct options *o, unsigned need, struct session **s)
{
	struct run_config *c;
	struct session_options so = { .need = need, .device = o->device, .dump = o->dump,
		.dump_dot = o->plan_format && strcmp(o->plan_format, "dot") == 0,
		.data = o->command == COMMAND_PREDICT ? o->file : NULL };
	TRY(config_load(&c, o->config, o->nset, o->set));
	if (o->command == COMMAND_TRAIN && config_check_length(c) < 0) {
		config_free(c);
		return E_CONFIG;
	}
	return session_open(s, c, &so);
}

/* The weights a command works with: a checkpoint's, else `model.init_from`, else the initial ones. */
static int load_weights(const struct options *o, struct session *s, bool checkpoint_needed)
{
	const struct model_common *m = s->config->model.data;
	char *dir = io_join(s->config->run.dir, "checkpoints"), id[64];
	bool found;
	/* A step is one of training, which is about the last weights. */
	bool averaged = optim_averages(&s->config->optimizer) && o->command != COMMAND_DUMP_STEP && !o->last_weights;
	int rc = state_load_weights(s->store, dir, o->resume ? o->resume : "auto", averaged, &found, id);
	if (rc == 0 && found)
		note("weights of checkpoint %s", id);
	else if (rc == 0 && (checkpoint_needed || o->resume))
		rc = ERR(E_NOINPUT, NULL, "no checkpoint in '%s'; train first", dir);
	else if (rc == 0 && m->init_from.file)
		rc = exchange_init_from(s, &m->init_from);
	mem_free(dir);
	return rc;
}

static void print(struct buf *b)
{
	fwrite(b->data, 1, b->len, stdout);
	buf_release(b);
}

/* --- training --- */

static void print_result(const struct session *s, const struct train_result *r)
{
	struct buf out = BUF_INIT;
	char time[32];
	const char *dir = s->config->run.dir;
	if (r->stopped_by)
		buf_printf(&out, "\nstopped after step %" PRId64 "; the state is saved, continue with --resume\n", r->step);
	else
		buf_printf(&out, "\n%s after step %" PRId64 ", epoch %" PRId64 ", %s\n",
		           r->target_reached ? "target reached" : "done", r->step, r->epoch, seconds_text(r->seconds, time));
	if (r->has_evaluation) {
		buf_puts(&out, "\nvalidation\n");
		evaluation_table(&r->evaluation, dataset_info(s->train_set), &out);
	}
	buf_printf(&out, "\nresults in %s: config.yaml metrics.jsonl checkpoints/%s\n", dir,
	           s->config->report.tensorboard ? " events.out.tfevents.*" : "");
	print(&out);
}

static int initial_weights(const struct options *o, struct session *s)
{
	const struct model_common *m = s->config->model.data;
	return m->init_from.file && !o->resume ? exchange_init_from(s, &m->init_from) : 0;
}

static int run_train(const struct options *o, int *status)
{
	struct session *s;
	struct train_result r;
	TRY(open_session(o, SESSION_TRAIN | SESSION_EVALUATE | SESSION_RUN, &s));
	int progress = o->quiet ? PROGRESS_NONE : s->config->report.progress;
	struct train_options to = { .resume = o->resume, .progress = progress };
	int rc = initial_weights(o, s);
	if (rc == 0)
		rc = train(s, &to, &r);
	if (rc == 0 && progress != PROGRESS_NONE)
		print_result(s, &r);
	if (rc == 0 && r.stopped_by)
		*status = err_exit_status(E_STOPPED);
	session_close(s);
	return rc;
}

/* --- looking --- */

static int describe(const struct options *o, void (*write)(const struct session *, struct buf *))
{
	struct session *s;
	struct buf out = BUF_INIT;
	TRY(open_session(o, SESSION_TRAIN | SESSION_NO_DATA, &s));
	if (!o->dump)
		write(s, &out);
	print(&out);
	session_close(s);
	return 0;
}

static int run_check(const struct options *o, int *status)
{
	return describe(o, describe_check);
}

static int run_plan(const struct options *o, int *status)
{
	if (strcmp(o->plan_format, "json") == 0)
		return describe(o, describe_json);
	return describe(o, strcmp(o->plan_format, "dot") == 0 ? describe_dot : describe_text);
}

/* --- using weights --- */

static int need_validation(const struct session *s)
{
	if (s->validation)
		return 0;
	return ERR(E_CONFIG, &s->config->tree->loc, "nothing to evaluate on: 'data.validation' is not given");
}

static int run_evaluate(const struct options *o, int *status)
{
	struct session *s;
	struct evaluation e;
	struct buf out = BUF_INIT;
	TRY(open_session(o, SESSION_EVALUATE | SESSION_RUN, &s));
	int rc = need_validation(s);
	if (rc == 0)
		rc = load_weights(o, s, true);
	if (rc == 0)
		rc = evaluate(s, &e);
	if (rc == 0) {
		evaluation_table(&e, dataset_info(s->train_set), &out);
		buf_puts(&out, "{\"type\": \"validation\", ");
		evaluation_json(&e, &out);
		buf_puts(&out, "}\n");
	}
	print(&out);
	session_close(s);
	return rc;
}

static int run_predict(const struct options *o, int *status)
{
	struct session *s;
	int64_t written;
	TRY(open_session(o, SESSION_PREDICT | SESSION_RUN, &s));
	int rc = load_weights(o, s, true);
	if (rc == 0)
		rc = predict(s, o->output, &written);
	if (rc == 0 && !o->quiet)
		printf("%" PRId64 " predictions in %s\n", written, o->output);
	session_close(s);
	return rc;
}

static int run_export(const struct options *o, int *status)
{
	struct session *s;
	TRY(open_session(o, SESSION_TRAIN | SESSION_RUN | SESSION_NO_DATA, &s));
	int rc = load_weights(o, s, false);
	if (rc == 0)
		rc = exchange_export(s, o->file);
	session_close(s);
	return rc;
}

/* For what looks at steps, which data made up in memory serves as well. */
static int open_for_steps(const struct options *o, unsigned need, struct session **s)
{
	unsigned synthetic = o->synthetic ? SESSION_SYNTHETIC : 0;
	int rc = open_session(o, need | SESSION_TRAIN | SESSION_RUN | synthetic, s);
	if (rc == E_NOINPUT && !synthetic)
		err_context(rc, "'--synthetic' does without data");
	return rc;
}

static int run_dump_step(const struct options *o, int *status)
{
	struct session *s;
	TRY(open_for_steps(o, SESSION_DUMP, &s));
	int rc = load_weights(o, s, false);
	if (rc == 0)
		rc = exchange_dump_step(s, o->file);
	session_close(s);
	return rc;
}

static int run_bench(const struct options *o, int *status)
{
	struct session *s;
	struct buf out = BUF_INIT, tables = BUF_INIT;
	TRY(open_for_steps(o, 0, &s));
	int rc = bench(s, o->bench_steps, o->profile, &out, &tables);
	fwrite(tables.data, 1, tables.len, stderr);
	buf_release(&tables);
	print(&out);
	session_close(s);
	return rc;
}

static int run_bench_op(const struct options *o, int *status)
{
	struct buf out = BUF_INIT;
	struct bench_op_options b = { o->file, o->config, o->device, o->compute };
	int rc = bench_op(&b, &out);
	print(&out);
	return rc;
}

/* --- help --- */

static int run_help(const struct options *o, int *status)
{
	options_help(stdout, "dlx-train");
	return 0;
}

static int run_help_config(const struct options *o, int *status)
{
	struct buf out = BUF_INIT;
	int rc = help_text(&out, config_fields, o->file);
	print(&out);
	return rc;
}

static int run_man_config(const struct options *o, int *status)
{
	struct buf out = BUF_INIT;
	help_mdoc(&out, config_fields);
	print(&out);
	return 0;
}

static int run_list_ops(const struct options *o, int *status)
{
	const struct op *op;
	for (int i = 0; (op = op_at(i)) != NULL; i++)
		printf("%-26s %s\n", op->name, op->doc);
	return 0;
}

static int run_version(const struct options *o, int *status)
{
	char library[48];
	printf("dlx-train %s\nbackends: cpu (%s), reference\n", PACKAGE_VERSION, dnn_describe(library, sizeof library));
	printf("ranks: %s\n", comm_library() ? comm_library() : "no MPI");
	return 0;
}

static int (*const commands[])(const struct options *o, int *status) = {
	[COMMAND_TRAIN] = run_train,
	[COMMAND_CHECK] = run_check,
	[COMMAND_PLAN] = run_plan,
	[COMMAND_EVALUATE] = run_evaluate,
	[COMMAND_PREDICT] = run_predict,
	[COMMAND_EXPORT] = run_export,
	[COMMAND_DUMP_STEP] = run_dump_step,
	[COMMAND_BENCH] = run_bench,
	[COMMAND_BENCH_OP] = run_bench_op,
	[COMMAND_HELP] = run_help,
	[COMMAND_HELP_CONFIG] = run_help_config,
	[COMMAND_LIST_OPS] = run_list_ops,
	[COMMAND_MAN_CONFIG] = run_man_config,
	[COMMAND_VERSION] = run_version,
};

int command_run(const struct options *o, int *status)
{
	return commands[o->command](o, status);
}
