/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The compilation of one graph: the table of passes, and two passes that know the config: build and
 * gradients. The third one is in plan_update.c. */
#include "plan/plan.h"

#include <string.h>

#include "backend/wisdom.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "data/transform.h"
#include "model/model.h"
#include "op/lib/emit.h"
#include "op/update/update.h"
#include "pass/autodiff.h"
#include "pass/pass.h"
#include "pass/rounded_input.h"
#include "pass/sync_batch_norm.h"
#include "plan/compilation.h"
#include "plan/batch/mixed_loss.h"
#include "plan/physics/physics.h"
#include "plan/batch/scaled_target.h"
#include "plan/batch/stored_batch.h"
#include "plan/spatial/plan_cut.h"

static struct shape batched(const struct shape *s, int64_t batch)
{
	struct shape out = { .nd = s->nd + 1, .d = { batch } };
	memcpy(out.d + 1, s->d, sizeof *s->d * (size_t)s->nd);
	return out;
}

static struct shape target_shape(const struct graph *g, const struct compilation *c)
{
	struct shape s = graph_t(g, c->output)->shape;
	if (!c->r->data->target_unknown)
		return batched(c->field ? &c->field->target : &c->r->data->target, c->r->batch);
	if (loss_wants_labels(c->r->objective->loss) && s.nd > 1) {
		s.nd--;
		memmove(s.d + 1, s.d + 2, sizeof *s.d * (size_t)(s.nd - 1));
	}
	return s;
}

/* On a device with memory of its own the next batch travels while this one is trained on, or
 * evaluated. */
static int emit_array(struct graph *g, const struct plan_request *r, const char *name,
                      enum dtype dtype, const struct shape *shape, tid *out)
{
	int rc = graph_input(g, name, dtype, shape, out);
	if (rc < 0)
		return err_locate(rc, config_place(r->config, "train", "batch_size"));
	graph_t(g, *out)->prefetched = r->mode != PLAN_PREDICT && r->dev->driver;
	graph_t(g, *out)->pinned = graph_t(g, *out)->prefetched && r->data->pinned;
	return 0;
}

/* Notes a last layer that the loss makes itself. */
static void note_activation(const struct graph *g, struct compilation *c)
{
	const char *made[] = { [TARGET_LABELS] = "softmax", [TARGET_FLAGS] = "sigmoid",
		[TARGET_VALUES] = "" };
	const nid from = graph_t(g, c->output)->producer;
	const char *op = from == NONE ? NULL : g->node[from]->op->name;
	if (!op || strcmp(op, made[loss_target(c->r->objective->loss)]) != 0)
		return;
	c->p->activation = op;
	c->p->activated = g->node[from]->loc;
}

/* The mean of squares, weighed. */
static int emit_weighted(struct graph *g, struct compilation *c, tid target)
{
	const struct plan_request *r = c->r;
	const struct shape *s = &graph_t(g, c->output)->shape;
	tid weights, x, total;
	if (strcmp(r->objective->loss->v->name, "mse") != 0)
		return ERR(E_UNSUPPORTED, &r->objective->loss->loc,
		           "loss '%s' takes no weights of elements", r->objective->loss->v->name);
	TRY(emit_array(g, r, r->objective->weights, DTYPE_F32, s, &weights));
	TRY(emit_sub(g, c->output, target, &x));
	TRY(emit_mul(g, x, x, &x));
	TRY(emit_mul(g, x, weights, &x));
	TRY(emit_sum(g, x, (1u << s->nd) - 1, false, &x));
	TRY(emit_sum(g, weights, (1u << s->nd) - 1, false, &c->loss.weight));
	TRY(emit_scale(g, c->loss.weight, 1, 1e-30, &total));   /* where nothing counts, it is 0 */
	return emit_div(g, x, total, &c->loss.loss);
}

static int emit_loss(struct graph *g, struct compilation *c)
{
	const struct plan_request *r = c->r;
	struct plan *p = c->p;
	struct shape target = target_shape(g, c);
	const struct transform_rest *rest = r->data->rest[p->mode];
	enum dtype dtype = rest ? rest->target : loss_wants_labels(r->objective->loss) ? DTYPE_I32 :
	                   DTYPE_F32;
	struct loss_out *out = &c->loss;
	tid scaled;
	TRY(emit_array(g, r, "target", dtype, &target, &c->target));
	c->elements = (double)shape_count(&target);
	TRY(stored_batch_target(g, r, c->target, &c->truth));
	TRY(scaled_target_emit(g, r, c->truth, &scaled));
	note_activation(g, c);
	g->cur_name = "loss";
	g->cur_loc = r->objective->loss->loc;
	TRY(r->objective->weights ? emit_weighted(g, c, scaled) :
	    loss_emit(g, r->objective->loss, c->output, scaled, r->data->ignore,
	              r->data->class_counts, out));
	TRY(mixed_loss_emit(g, c));
	graph_t(g, out->loss)->output = graph_t(g, out->weight)->output = true;
	ports_add(&p->out, "loss", out->loss);
	ports_add(&p->out, "weight", out->weight);
	return 0;
}

/* What the loss leaves out does not count in metrics either. */
static void mask_metrics(struct metrics *m, const struct plan_request *r)
{
	const struct variant_value *loss = r->objective->loss;
	const int64_t ignore = loss_ignore(loss, r->data->ignore);
	double value = (double)ignore;
	bool masked = ignore != INT64_MIN;
	if (loss_target(loss) != TARGET_FLAGS)
		masked = loss_mask(loss, &value);
	metrics_set_mask(m, masked, value);
}

static int emit_metrics(struct graph *g, struct compilation *c)
{
	const struct plan_request *r = c->r;
	struct plan *p = c->p;
	g->cur_name = "metrics";
	TRY(metrics_new(&p->metrics, r->objective->metrics, loss_target(r->objective->loss),
	                r->data->classes));
	mask_metrics(p->metrics, r);
	return metrics_emit(p->metrics, g, c->output, c->truth,
	                    loss_ignore(r->objective->loss, r->data->ignore), p->metric,
	                    METRICS_OUTPUTS, &p->nmetric);
}

static int emit_zeros(struct graph *g, const struct compilation *c, tid *values)
{
	g->cur_name = "field";
	g->cur_phase = PHASE_FORWARD;
	g->cur_loc = c->r->config->model.loc;
	return field_emit_pad(g, c->field, *values, values);
}

static int pass_build(struct graph *g, struct pass_env *env)
{
	struct compilation *c = env->user;
	const struct plan_request *r = c->r;
	if (r->scored)
		return physics_emit_scores(g, c);
	if (r->gradients)
		return physics_emit_gradients(g, c);
	if (r->objective->term)
		return r->mode == PLAN_TRAIN ? physics_emit_objective(g, c) : physics_emit_networks(g, c);
	struct plan *p = c->p;
	struct shape input = batched(c->field ? &c->field->input : &r->data->input, r->batch);
	const struct transform_rest *rest = r->data->rest[p->mode];
	struct model_outputs outputs;
	tid values;
	TRY(emit_array(g, r, "input", rest && rest->values ? rest->input : DTYPE_F32, &input,
	                &c->input));
	TRY(stored_batch_input(g, r, c->input, &values));
	if (c->field)
		TRY(emit_zeros(g, c, &values));
	TRY(model_build(g, g->arena, &r->config->model, p->mode == PLAN_TRAIN, values, r->data->classes,
	                &outputs));
	c->output = model_output_get(&outputs, r->objective->output);
	BUG_IF(c->output == NONE, "the model has no output '%s'", r->objective->output);
	if (c->field)
		TRY(field_emit_cut(g, c->field, c->output, &c->output));
	if (p->mode != PLAN_PREDICT)
		TRY(emit_loss(g, c));
	if (p->mode != PLAN_TRAIN)
		TRY(scaled_target_undo(g, r, c->output, &c->output));
	graph_t(g, c->output)->output = p->mode != PLAN_TRAIN || r->keep_results;
	ports_add(&p->out, "output", c->output);
	return p->mode == PLAN_EVALUATE ? emit_metrics(g, c) : 0;
}

static void collect_params(struct graph *g, struct plan *p, const struct objective *o)
{
	p->param = ARENA_ARRAY(g->arena, tid, g->ntensor);
	p->grad = ARENA_ARRAY(g->arena, tid, g->ntensor);
	for (tid t = 0; t < g->ntensor; t++)
		if (graph_t(g, t)->role == ROLE_PARAM && graph_t(g, t)->alias == NONE &&
		    objective_trains(o, graph_t(g, t)->name))
			p->param[p->nparam++] = t;
}

/* Published networks have layers whose output has no
 * reader. Their params exist but are not trained. */
static void drop_dead_params(struct graph *g, const struct compilation *c)
{
	const struct plan_request *r = c->r;
	struct plan *p = c->p;
	struct buf names = BUF_INIT;
	int n = 0, all = p->nparam;
	for (int i = 0; i < all; i++)
		if (p->grad[i] != NONE) {
			p->param[n] = p->param[i];
			p->grad[n++] = p->grad[i];
		} else {
			buf_printf(&names, "%s%s", i > n ? ", " : "", graph_t(g, p->param[i])->name);
		}
	p->nparam = n;
	/* once: further tries, the plans of a short batch and of further sizes do not repeat it */
	if (n < all && !c->apart && p->batch == r->config->train.batch_size && !r->data->further)
		note("not trained, since the loss does not depend on them: %s", names.data);
	buf_release(&names);
}

/* The inputs of the step, and what it is scaled by. */
static int emit_loss_scale(struct graph *g, struct compilation *c)
{
	const struct variant_value *v = &c->r->config->precision.loss_scale;
	struct shape scalar = { 0 };
	TRY(graph_input(g, "step", DTYPE_I64, &scalar, &c->step));
	if (!loss_scaling_wanted(v))
		return 0;
	g->cur_name = "loss_scale";
	g->cur_loc = v->loc;
	g->cur_phase = PHASE_FORWARD;
	return loss_scaling_emit(g, v, c->step, &c->scaling);
}

/* Elements of a sample's target, or of its output: what a mean without class weights is taken over,
 * but for one over samples. */
static int emit_seed(struct graph *g, struct compilation *c, tid *seed)
{
	struct mean *m = &c->p->mean;
	g->cur_phase = PHASE_FORWARD;
	if (c->r->objective->term) {             /* a mean over the ranks' points */
		m->nominal = 1;
		return mean_emit_seed(g, m, c->loss.weight, *seed, seed);
	}
	double elements = loss_is_by_sample(c->r->objective->loss)
	                      ? 1
	                      : c->elements / (double)c->p->batch;
	m->sum = loss_is_sum(c->r->objective->loss);
	m->nominal = elements * (double)c->r->config->train.batch_size;
	return mean_emit_seed(g, m, c->loss.weight, *seed, seed);
}

static int pass_autodiff(struct graph *g, struct pass_env *env)
{
	struct compilation *c = env->user;
	struct plan *p = c->p;
	if (p->mode != PLAN_TRAIN)
		return 0;
	collect_params(g, p, c->r->objective);
	const int all = p->nparam;
	TRY(optim_drop_frozen(g, c->r->objective->optimizer, &p->nparam, p->param));
	TRY(emit_loss_scale(g, c));
	tid seed = c->scaling.scale;
	if (plan_has_batches(c->r))
		TRY(emit_seed(g, c, &seed));
	TRY(autodiff(g, 1, &c->loss.loss, seed == NONE ? NULL : &seed, p->nparam, p->param, p->grad));
	const bool frozen = p->nparam < all;
	TRY(plan_cut_zero_grads(g, c));
	drop_dead_params(g, c);
	if (p->nparam || frozen)
		return 0;
	return ERR(E_CONFIG, &graph_t(g, c->r->objective->term ? c->loss.loss : c->output)->loc,
	           "the loss depends on no parameter of the model");
}

static int pass_rounded_input(struct graph *g, struct pass_env *env)
{
	const struct compilation *c = env->user;
	const struct transform_rest *rest = c->r->data->rest[c->p->mode];
	if (!rest || rest->values || rest->input == DTYPE_F32)
		return 0;
	return rounded_input_set(g, c->input, rest->input);
}

/* Networks that are not trained take the averages that training keeps, where the store has them. */
static int pass_average(struct graph *g, struct pass_env *env)
{
	const struct compilation *c = env->user;
	if (c->p->mode == PLAN_TRAIN || c->r->scored || c->r->gradients || !c->r->store ||
	    !objectives_average(&c->r->config->objectives))
		return 0;
	for (tid t = 0; t < g->ntensor; t++) {
		struct tensor *x = graph_t(g, t);
		if (x->role != ROLE_PARAM || x->alias != NONE)
			continue;
		const char *name = arena_printf(g->arena, "%s." AVERAGE_LEAF, x->name);
		if (store_find(c->r->store, name))
			graph_rename(g, t, name);
	}
	return 0;
}

/* Runs after pass `fuse`, whose rules match single-rank batch_norm only. */
static int pass_statistics(struct graph *g, struct pass_env *env)
{
	const struct compilation *c = env->user;
	if (c->p->cut)
		return plan_cut_statistics(g, c);
	if (c->p->mode != PLAN_TRAIN || c->r->ranks.sync_group < 2)
		return 0;
	sync_batch_norm_emit(g, c->p->mean.share, true);
	return 0;
}

static int pass_preset(struct graph *g, struct pass_env *env)
{
	struct compilation *c = env->user;
	if (c->r->store)
		store_preset(c->r->store, g);
	return 0;
}

/* Weight copies stay resident, so there are none under a memory limit. */
static int pass_copies(struct graph *g, struct pass_env *env)
{
	const struct compilation *c = env->user;
	return c->p->mode == PLAN_TRAIN ? copies_make(g, env->dev, c->r->limit == INT64_MIN) : 0;
}

static int pass_sums(struct graph *g, struct pass_env *env)
{
	const struct compilation *c = env->user;
	return c->apart ? 0 : pass_in_place(g, env);
}

/* What runs on the second stream lives longer, so nothing does under a memory limit. */
static int pass_aside(struct graph *g, struct pass_env *env)
{
	const struct compilation *c = env->user;
	return c->p->mode == PLAN_TRAIN && c->r->limit == INT64_MIN ? pass_second_stream(g, env) : 0;
}

/* Kernels are planned first, since their workspace counts. */
static int pass_recompute(struct graph *g, struct pass_env *env)
{
	struct compilation *c = env->user;
	const struct memory_limit limit = { c->r->limit, c->r->fixed, c->p->mode != PLAN_TRAIN,
		config_place(c->r->config, "train", "memory"), c->p->batch };
	TRY(exec_new(&c->p->exec, g, c->r->dev, &c->env));
	if (c->r->sweep)
		memory_sweep(&c->p->sweep, c->p->exec, g);
	return memory_fit(&c->p->exec, g, &limit, &c->p->memory);
}

static const struct pass passes[] = {
	{ "build", "the model, the loss and the metrics", pass_build, STAGE_BUILT },
	{ "commute", "ReLU after the max-pool that follows it", pass_commute, STAGE_BUILT },
	{ "partition", "the rows of one subdomain of each sample", plan_pass_partition, STAGE_BUILT },
	{ "autodiff", "gradients of the parameters", pass_autodiff, STAGE_BUILT },
	{ "update", "accumulation, clipping and the optimizer", plan_pass_update, STAGE_BUILT },
	{ "fold", "algebraic identities", pass_fold, STAGE_BUILT },
	{ "cse", "common subexpressions", pass_cse, STAGE_BUILT },
	{ "dce", "dead code", pass_dce, STAGE_BUILT },
	{ "slice_adds", "adds of slices as slices of one add", pass_slice_adds, STAGE_BUILT },
	{ "fuse", "fused ops", pass_fuse, STAGE_BUILT },
	{ "statistics", "synchronous batch normalisation", pass_statistics, STAGE_BUILT },
	{ "piece_statistics", "batch statistics of concatenated channels, once for each piece",
	  pass_piece_statistics, STAGE_BUILT },
	{ "conv_statistics", "batch statistics fused into the convolution before", pass_conv_statistics,
	  STAGE_BUILT },
	{ "prologue", "batch normalisation and ReLU fused into the next convolution", pass_prologue,
	  STAGE_BUILT },
	{ "signs", "signs of activations kept for gradients that need no more", pass_signs,
	  STAGE_BUILT },
	{ "running_statistics", "running statistics of all norms in one node",
	  pass_running_statistics, STAGE_BUILT },
	{ "precision", "element types of the device", pass_precision, STAGE_BUILT },
	{ "rounded_input", "the batch in 16 bits where no more is read of it", pass_rounded_input,
	  STAGE_BUILT },
	{ "average", "averaged weights instead of the last ones", pass_average, STAGE_BUILT },
	{ "preset", "layouts of values that are already in the store", pass_preset, STAGE_BUILT },
	{ "layout", "physical layouts and reorders", pass_layout, STAGE_LAID_OUT },
	{ "copies", "persistent copies of weights as kernels read them", pass_copies, STAGE_LAID_OUT },
	{ "views", "concatenated and sliced channels or rows as views of one buffer", pass_views,
	  STAGE_LAID_OUT },
	{ "sched", "the order of execution", pass_sched, STAGE_LAID_OUT },
	{ "masks", "masks of ReLU from its input, where that is kept", pass_masks, STAGE_LAID_OUT },
	{ "in_place", "results where an operand is that is a view", pass_sums, STAGE_LAID_OUT },
	{ "intake", "batches that the first nodes alone read", pass_intake, STAGE_LAID_OUT },
	{ "second_stream", "gradients to weights and updates during the others in a small step",
	  pass_aside, STAGE_LAID_OUT },
	{ "recompute", "activations recomputed to respect a memory limit", pass_recompute,
	  STAGE_LAID_OUT },
};
#define NPASSES ((int)(sizeof passes / sizeof *passes))

const struct pass *plan_passes(int *n)
{
	*n = NPASSES;
	return passes;
}

struct plan_env plan_env_of(const struct run_config *c, struct wisdom *wisdom)
{
	const struct precision_section *p = &c->precision;
	return (struct plan_env){ .compute = config_compute(c), .tf32 = p->tf32,
		.winograd = p->winograd,
		.deterministic = p->deterministic, .any_threads = c->parallel.reproducible,
		.bf16_ratio = c->chosen.ratio, .wisdom = wisdom };
}

static struct plan_env request_env(const struct plan_request *r)
{
	struct plan_env env = plan_env_of(r->config, r->wisdom);
	env.any_extent = r->any_extent;
	env.winograd &= !r->any_extent;      /* its tiles lie where the field begins */
	return env;
}

static void add_step(const struct compilation *c)
{
	struct plan *p = c->p;
	ports_add(&p->out, PLAN_STEP_MEAN, p->mean.terms == NONE ? c->loss.loss : p->mean.terms);
	ports_add(&p->out, PLAN_STEP_SCALING, c->scaling.state);
	ports_add(&p->out, PLAN_STEP_GUARD, c->guard);
}

/* apart: as in struct compilation; *least: as in struct memory_fit, also after a mistake. */
static int compile_as(struct plan **out, const struct plan_request *r, const struct pass *table,
                      int npass, bool apart, int64_t *least)
{
	struct plan *p = mem_calloc(1, sizeof *p);
	p->mode = r->mode;
	p->batch = r->batch;
	p->mean = (struct mean){ .share = NONE, .votes = NONE, .terms = NONE, .factor = NONE };
	p->g = graph_new();
	bool whole = r->mode != PLAN_TRAIN && r->data->field.input.nd > 0;
	struct compilation c = { .r = r, .env = request_env(r), .p = p,
		.field = whole ? &r->data->field : NULL, .truth = NONE, .apart = apart, .micro = NONE,
		.guard = NONE, .scaling = { NONE, NONE, NONE, NONE } };
	struct pass_env env = { .backend = r->dev->backend, .dev = r->dev, .plan = &c.env,
		.dump = r->dump, .dump_dot = r->dump_dot, .dump_to = stdout, .user = &c };
	int rc = pass_run(p->g, table, npass, &env);
	*least = p->memory.least;
	ports_of_inputs(&p->in, p->g);
	if (p->mode == PLAN_TRAIN && npass > 1)
		add_step(&c);
	if (rc < 0)
		plan_free(p);
	else
		*out = p;
	return rc;
}

int plan_compile(struct plan **out, const struct plan_request *r, const struct pass *table,
                 int npass)
{
	int64_t least;
	return compile_as(out, r, table, npass, false, &least);
}

/* A sum where one of its operands is keeps a buffer that could be computed again. So where a limit
 * is too low with these it is tried without; if it is too low for both, the lower least is
 * reported. */
static int compile_step(struct plan **out, const struct plan_request *r)
{
	const int mark = err_count();
	int64_t least, apart;
	int rc = compile_as(out, r, passes, NPASSES, false, &least);
	if (rc == 0 || least == 0 || r->dev->backend != BACKEND_CUDA)
		return rc;
	err_truncate(mark);
	rc = compile_as(out, r, passes, NPASSES, true, &apart);
	if (rc == 0 || apart <= least)
		return rc;
	err_truncate(mark);
	return compile_as(out, r, passes, NPASSES, false, &least);
}

static int make_plan(struct plan **out, const struct plan_request *r)
{
	const struct plan_env env = request_env(r);
	struct plan *p;
	TRY(compile_step(&p, r));
	int rc = p->exec ? 0 : exec_new(&p->exec, p->g, r->dev, &env);
	if (rc < 0) {
		plan_free(p);
		return rc;
	}
	if (r->mode == PLAN_TRAIN)
		rc = plan_read_steps(p, r->dev);
	if (rc < 0) {
		plan_free(p);
		return rc;
	}
	*out = p;
	return 0;
}

/* Whether it was measured until now. */
static bool stop_measuring(const struct plan_request *r)
{
	const bool measures = r->wisdom && r->wisdom->measure;
	if (measures)
		r->wisdom->measure = false;
	return measures;
}

/* The plan of a request whose sums are apart; NULL: there is none. */
static struct plan *compile_apart(const struct plan_request *r)
{
	const struct plan_env env = request_env(r);
	const int mark = err_count();
	struct plan *p = NULL;
	int64_t unused;
	if (compile_as(&p, r, passes, NPASSES, true, &unused) == 0 && !p->exec &&
	    exec_new(&p->exec, p->g, r->dev, &env) < 0) {
		plan_free(p);
		p = NULL;
	}
	err_truncate(mark);
	return p;
}

int plan_least(const struct plan *p, const struct plan_request *r, int64_t *arena)
{
	const bool measures = stop_measuring(r);
	struct plan *apart = r->dev->backend == BACKEND_CUDA ? compile_apart(r) : NULL;
	int64_t other = INT64_MAX;
	int rc = memory_least(p->exec, p->g, arena);
	if (rc == 0 && apart)
		rc = memory_least(apart->exec, apart->g, &other);
	*arena = other < *arena ? other : *arena;
	plan_free(apart);
	if (measures)
		r->wisdom->measure = true;
	return rc;
}

/* A trial takes the engines that are known; what it compiles is kept for the plan that is run. */
int plan_new(struct plan **out, const struct plan_request *r)
{
	const bool measures = r->trial && stop_measuring(r);
	const int rc = make_plan(out, r);
	if (measures)
		r->wisdom->measure = true;
	return rc;
}

int plan_outline(struct plan **out, const struct plan_request *r)
{
	return plan_compile(out, r, passes, 1);
}

int plan_check(const struct plan_request *r)
{
	struct plan *p;
	TRY(plan_outline(&p, r));
	plan_free(p);
	return 0;
}

/* The passes up to the types, without `prologue`: it queries cuDNN for kernels, which takes longer
 * than all others, and it fuses norms, which read more of an input than 16 bits. */
bool plan_rounds_input(const struct plan_request *r)
{
	const struct plan_env env = request_env(r);
	struct pass table[NPASSES];
	struct plan *p;
	int n = 0;
	for (int i = 0; passes[i].run != pass_rounded_input; i++)
		if (passes[i].run != pass_prologue)
			table[n++] = passes[i];
	if (plan_compile(&p, r, table, n) < 0)
		return false;
	const bool rounds = rounded_input_suffices(p->g, plan_in(p, "input"), env.compute);
	plan_free(p);
	return rounds;
}

void plan_free(struct plan *p)
{
	if (!p)
		return;
	exec_free(p->exec);
	readback_free(p->readback);
	metrics_free(p->metrics);
	graph_free(p->g);
	mem_free(p);
}
