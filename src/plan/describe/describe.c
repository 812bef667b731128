/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counting over a planned graph and printing it. Nothing here changes anything. */
#include "plan/describe/describe.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/debug.h"
#include "base/err.h"
#include "graph/cost.h"
#include "graph/dump.h"
#include "op/conv/conv_shape.h"
#include "plan/describe/describe_parts.h"
#include "plan/describe/describe_budget.h"
#include "plan/describe/describe_seen.h"
#include "plan/describe/describe_sources.h"
#include "plan/describe/describe_spatial.h"
#include "plan/describe/memory_map.h"
#include "plan/memory/plan_memory.h"
#include "plan/program.h"
#include "plan/time/proofs.h"
#include "plan/batch/scaled_target.h"
#include "plan/memory/memory_budget.h"
#include "plan/describe/sizes.h"
#include "plan/batch/stored_batch.h"
#include "plan/memory/memory_sweep.h"

/* --- counting --- */

static bool is_entry(const struct tensor *t, enum role role)
{
	return t->role == role && t->alias == NONE;
}

static bool trainable(const struct plan *p, tid t)
{
	for (int i = 0; i < p->nparam; i++)
		if (p->param[i] == t)
			return true;
	return false;
}

static bool counted(const struct node *n)
{
	return n->phase == PHASE_FORWARD && n->op->flags & OP_COUNTED;
}

double describe_forward_flops(const struct plan *p)
{
	double sum = 0;
	for (int i = 0; i < p->g->nnode; i++)
		if (counted(p->g->node[i]))
			sum += op_cost(p->g, p->g->node[i]).flops;
	return sum / (double)p->batch;
}

/* How much more positions a convolution has when it is dense on a grid folded d times: TensorFlow 1
 * padded each dilated axis to a multiple of d, moved the d * d phases into the batch and ran a
 * dense convolution, whose count the SC18 paper quotes. */
static double space_to_batch_factor(const struct graph *g, const struct node *n)
{
	double factor = 1;
	if (strcmp(n->op->name, "conv") != 0)
		return 1;
	struct conv_geom c = conv_geom_get(g, n, CONV_FORWARD);
	for (int a = 0; a < c.ns; a++) {
		int64_t d = c.dilation[a], padded = c.in[a] + c.pad_lo[a] + c.pad_hi[a];
		if (d > 1)
			factor *= (double)((padded + d - 1) / d * d) / (double)c.out[a];
	}
	return factor;
}

/* The flops of one sample where dilated convolutions are counted as run
 * by space-to-batch: that is the 14.41 TFLOP that Kurth et al. 2018
 * give for DeepLabv3+. The plain count without such convolutions. */
static double space_to_batch_flops(const struct plan *p)
{
	double sum = 0;
	for (int i = 0; i < p->g->nnode; i++)
		if (counted(p->g->node[i]))
			sum += op_cost(p->g, p->g->node[i]).flops * space_to_batch_factor(p->g, p->g->node[i]);
	return sum / (double)p->batch;
}

/* Counts elements; returns how many tensors are trained. */
static int parameter_tensors(const struct plan *p, int64_t *elements, int64_t *trained)
{
	*elements = *trained = 0;
	for (tid t = 0; t < p->g->ntensor; t++) {
		const struct tensor *x = graph_t(p->g, t);
		if (!is_entry(x, ROLE_PARAM))
			continue;
		*elements += shape_count(&x->shape);
		*trained += trainable(p, t) ? shape_count(&x->shape) : 0;
	}
	return p->nparam;
}

int64_t describe_parameters(const struct plan *p)
{
	int64_t elements, trained;
	parameter_tensors(p, &elements, &trained);
	return elements;
}

/* --- text --- */

/* "12,345"; buf of 32 bytes, like those of all *_text. */
static const char *count_text(int64_t n, char *buf)
{
	char digits[24];
	int len = snprintf(digits, sizeof digits, "%" PRId64, n), k = 0;
	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0 && digits[i - 1] != '-')
			buf[k++] = ',';
		buf[k++] = digits[i];
	}
	buf[k] = '\0';
	return buf;
}

/* Whether DLX_DEBUG has plans for a GPU that is not there compiled too (cudnn_list.c). */
static bool compiles(void)
{
	return debug.engines && strcmp(debug.engines, "precompiled") != 0;
}

/* What was planned without a driver is not what one would say. */
static void describe_imagined(const struct session *s, const struct plan *p, struct buf *out)
{
	int products = 0, convolutions = 0;
	for (int i = 0; i < p->g->nnode && s->dev->imagined; i++) {
		const char *impl = exec_impl(p->exec, i);
		products += impl && strcmp(impl, "cublaslt:?") == 0;
		convolutions += impl && strcmp(impl, "cudnn:?") == 0;
	}
	if (!s->dev->imagined)
		return;
	buf_printf(out, "              not there: memory and rates as its "
	           "maker publishes them; convolutions by cuDNN's heuristics,\n"
	           "              %s\n", compiles() ? "with what it compiles at run time" :
	           "without what is measured (--wisdom) or compiled at run time");
	if (products)
		buf_printf(out, "              of %d matrix products the workspace is counted with its "
		           "limit: it is not known without a driver\n", products);
	if (convolutions)
		buf_printf(out, "              of %d convolutions the workspace is not known without cuDNN "
		           "9.8 or a driver, and not counted\n", convolutions);
}

/* Nothing where the config alone says how to compute. */
static void describe_compute(const struct run_config *c, struct buf *out)
{
	if (!c->chosen.why && c->chosen.ratio == 0)
		return;
	buf_printf(out, "compute       %s%s%s\n", dtype_name(config_compute(c)),
	           c->chosen.why ? ", " : "", c->chosen.why ? c->chosen.why : "");
	if (c->chosen.ratio > 0)
		buf_printf(out, "              kernels are chosen for products %g times as fast as in "
		           "f32\n", c->chosen.ratio);
}

static void describe_compute_json(const struct run_config *c, struct buf *out)
{
	buf_printf(out, " \"compute\": {\"type\": \"%s\", \"ratio\": ",
	           dtype_name(config_compute(c)));
	buf_printf(out, c->chosen.ratio > 0 ? "%g" : "null", c->chosen.ratio);
	buf_puts(out, ", \"why\": ");
	if (c->chosen.why)
		buf_json_string(out, c->chosen.why);
	else
		buf_puts(out, "null");
	buf_puts(out, "},\n");
}

static void describe_model(const struct session *s, const struct plan *p, struct buf *out)
{
	char a[SHAPE_TEXT], b[SHAPE_TEXT], n[32], f[32], t[32];
	int64_t elements, trained;
	int tensors = parameter_tensors(p, &elements, &trained);
	double flops = describe_forward_flops(p);
	buf_printf(out, "device        %s\n", s->dev->description);
	if (s->dev->why)
		buf_printf(out, "              %s\n", s->dev->why);
	describe_imagined(s, p, out);
	describe_compute(s->config, out);
	proofs_describe(s->proofs, p, out);
	buf_printf(out, "model         %s: %s parameters in %d tensors", s->config->model.v->name,
	           count_text(trained, n), tensors);
	if (trained < elements)
		buf_printf(out, ", and %s that nothing trains", count_text(elements - trained, n));
	buf_putc(out, '\n');
	if (s->config->physics) {
		describe_physics(s, out);
		return;
	}
	buf_printf(out, "input         %s    output %s\n",
	           shape_text(&graph_t(p->g, plan_in(p, "input"))->shape, a),
	           shape_text(&graph_t(p->g, plan_out(p, "output"))->shape, b));
	stored_batch_describe(p, out);
	buf_printf(out, "arithmetic    %s forward, %s training, each sample%s\n", flops_text(flops, f),
	           flops_text(3 * flops, t), s->parts > 1 ? "'s subdomain" : "");
}

static void describe_data(const struct session *s, struct buf *out)
{
	if (s->config->physics)
		return;
	if (!s->train_set) {
		buf_puts(out, "data          not there; planned for the config's 'model.input'\n");
		return;
	}
	int64_t n = dataset_info(s->train_set)->samples;
	buf_printf(out, "data          %" PRId64 " training samples, ", n);
	if (s->ntrain_size)
		buf_printf(out, "of %d sizes, ", 1 + s->ntrain_size);
	if (loader_samples(s->train) > n)
		buf_printf(out, "%" PRId64 " windows of each, ", loader_samples(s->train) / n);
	buf_printf(out, "%" PRId64 " batches an epoch", loader_batches(s->train));
	if (s->validation_set)
		buf_printf(out, "; %" PRId64 " validation samples",
		           dataset_info(s->validation_set)->samples);
	buf_putc(out, '\n');
	struct buf sources = BUF_INIT;
	describe_sources(s, 14, &sources);
	if (sources.len)
		buf_printf(out, "sources       %s\n", sources.data);
	buf_release(&sources);
}

/* The largest of all sizes of samples; 0 if there is no validation. */
static int64_t evaluation_arena(const struct session *s)
{
	int64_t most = 0;
	for (int i = 0; i < s->nprogram; i++) {
		const struct program *p = &s->program[i];
		if (p->mode == PLAN_EVALUATE && p->plan && p->plan->g->arena_bytes > most)
			most = p->plan->g->arena_bytes;
	}
	return most;
}

/* Nothing if there is no validation. */
static void describe_evaluation(const struct session *s, struct buf *out)
{
	char a[32];
	if (session_plan(s, PLAN_EVALUATE))
		buf_printf(out, "              arena of an evaluation %s\n",
		           bytes_text((double)evaluation_arena(s), a));
}

static void describe_memory(const struct plan *p, struct buf *out)
{
	struct plan_memory m;
	char a[32], b[32], c[32], d[32], e[32], f[32], g[32];
	plan_memory(p, &m);
	buf_printf(out, "memory        %s: parameters %s, optimizer and running statistics %s, inputs "
	           "%s,\n              activations %s, gradients %s, workspace %s",
	           bytes_text((double)m.peak, a), bytes_text((double)m.parameters, b),
	           bytes_text((double)m.optimizer, c), bytes_text((double)m.inputs, d),
	           bytes_text((double)m.activations, e), bytes_text((double)m.gradients, f),
	           bytes_text((double)m.workspace, g));
	if (p->g->arena_peak_node != NONE)
		buf_printf(out, " (fullest at node %d '%s')", p->g->arena_peak_node,
		           p->g->node[p->g->arena_peak_node]->name);
	buf_printf(out, "\n              arena %s for a lower bound of %s\n",
	           bytes_text((double)p->g->arena_bytes, a),
	           bytes_text((double)p->g->arena_lower_bound, b));
}

static void describe_largest_batch(const struct session *s, struct buf *out)
{
	struct memory_sweep_batch b;
	int mark = err_count();
	if (memory_sweep_batch(s, &b) < 0) {
		err_truncate(mark);
		return;
	}
	if (b.plain < 0)
		return;
	buf_printf(out, "largest batch %" PRId64, b.plain);
	if (b.recomputed > b.plain)
		buf_printf(out, ", or %" PRId64 " with activations computed again,", b.recomputed);
	buf_printf(out, s->dev->imagined || !strcmp(b.by, "limit") ? " in the %.3g GiB of the %s\n" :
	           " in the %.3g GiB that the %s offers now\n", (double)b.have / (1 << 30), b.by);
}

static void describe_summary(const struct session *s, const struct step_time *t, bool tiles,
                             struct buf *out)
{
	const struct plan *p = session_plan(s, PLAN_TRAIN);
	buf_printf(out, "config        %s: no mistakes found%s\n", s->config->file,
	           s->config->train.epochs || s->config->train.steps ? ""
	           : "; to train it needs 'train.epochs' or 'train.steps'");
	describe_model(s, p, out);
	describe_data(s, out);
	describe_seen(s, tiles, out);
	scaled_target_describe(s, out);
	describe_memory(p, out);
	describe_evaluation(s, out);
	describe_budget(s, out);
	if (!s->config->physics)
		describe_largest_batch(s, out);
	describe_spatial_text(s, t, tiles, out);
	describe_ranks_text(s, p, t, out);
	buf_printf(out, "plan          %d nodes, fingerprint %016" PRIx64 "%s", p->g->nnode,
	           graph_fingerprint(p->g), s->ntrain_size ? "" : "\n");
	if (s->ntrain_size)
		buf_printf(out, ", for the largest samples; %d more for the other size%s\n",
		           s->ntrain_size, s->ntrain_size > 1 ? "s" : "");
}

/* What goes wrong while kernels are tried is no matter of the config: then there is no
 * prediction. */
static struct step_time predict(const struct session *s)
{
	struct step_time t;
	int mark = err_count();
	if (step_time_predict(&t, s, session_plan(s, PLAN_TRAIN)) < 0) {
		err_truncate(mark);
		t.ceilings = (struct node_rates){ 0 };
	}
	return t;
}

/* Predicts only where something of it is printed. */
void describe_check(const struct session *s, struct buf *out)
{
	struct step_time t = { 0 };
	if (session_plan(s, PLAN_TRAIN)->buckets)
		t = predict(s);
	describe_summary(s, &t, false, out);
	step_time_release(&t);
}

/* --- the nodes --- */

/* A tensor's bytes, and its offset in the step arena or, outside of it, the role of its buffer. */
static void describe_place(const struct graph *g, tid t, char offset[24], char bytes[24])
{
	static const char *const elsewhere[] = {
		[ROLE_ACTIVATION] = "", [ROLE_INPUT] = "input", [ROLE_CONSTANT] = "constant",
		[ROLE_PARAM] = "parameter",
		[ROLE_STATE] = "state"
	};
	if (graph_t(g, t)->offset < 0)
		snprintf(offset, 24, "%s", elsewhere[graph_t(g, graph_root(g, t))->role]);
	else
		snprintf(offset, 24, "%" PRId64, graph_t(g, t)->offset);
	snprintf(bytes, 24, "%" PRId64, graph_t(g, t)->bytes);
}

/* Why there is a reorder: the node that wants this layout, and the nodes with another one. */
static void describe_reorder(const struct graph *g, const struct node *n, struct buf *out)
{
	const struct node *reader = NULL;
	for (int i = n->id + 1; i < g->nnode && !reader; i++)
		for (int k = 0; k < g->node[i]->nin; k++)
			if (g->node[i]->in[k] == n->out[0])
				reader = g->node[i];
	if (reader)
		buf_printf(out, " for %s %d", reader->op->name, reader->id);
	nid made = graph_t(g, n->in[0])->producer;
	enum role role = graph_t(g, graph_root(g, n->in[0]))->role;
	if (role == ROLE_PARAM)
		buf_puts(out, ", other kernels have the parameter otherwise");
	else if (role == ROLE_INPUT)
		buf_puts(out, ", of an input");
	else if (made != NONE)
		buf_printf(out, ", made otherwise by %s %d", g->node[made]->op->name, made);
}

static void describe_kernels(const struct plan *p, struct buf *out)
{
	static const char *const phases[] = { "forward", "backward", "update" };
	buf_printf(out, "\n%5s  %-8s  %-26s %-30s %-18s %-12s %12s %12s %10s  %s\n", "node", "phase",
	           "op", "layer", "output", "layout", "offset", "bytes", "GFLOP", "kernel");
	for (int i = 0; i < p->g->nnode; i++) {
		const struct node *n = p->g->node[i];
		char shape[SHAPE_TEXT] = "", layout[LAYOUT_TEXT] = "", offset[24] = "", bytes[24] = "";
		if (n->nout && n->out[0] != NONE) {
			const struct tensor *t = graph_t(p->g, n->out[0]);
			shape_text(&t->shape, shape);
			layout_text(&t->layout, &t->shape, layout);
			describe_place(p->g, n->out[0], offset, bytes);
		}
		const char *impl = exec_impl(p->exec, i);
		buf_printf(out, "%5d  %-8s  %-26s %-30s %-18s %-12s %12s %12s %10.4f  %s", i,
		           phases[n->phase], n->op->name, n->name ? n->name : "", shape, layout, offset,
		           bytes, op_cost(p->g, n).flops / 1e9, impl ? impl : "");
		if (strcmp(n->op->name, "reorder") == 0)
			describe_reorder(p->g, n, out);
		buf_putc(out, '\n');
	}
}

void describe_text(const struct session *s, struct buf *out)
{
	struct arena *a = arena_new();
	struct step_time t = predict(s);
	describe_summary(s, &t, true, out);
	memory_sweep_text(s, out);
	describe_time_text(s, &t, out);
	step_time_release(&t);
	describe_kernels(session_plan(s, PLAN_TRAIN), out);
	memory_map_text(session_plan(s, PLAN_TRAIN), out);
	buf_puts(out, "\neffective config:\n\n");
	ytree_write(out, config_effective(s->config, a));
	arena_free(a);
}

void describe_dot(const struct session *s, struct buf *out)
{
	graph_dump_dot(session_plan(s, PLAN_TRAIN)->g, out);
}

void describe_svg(const struct session *s, struct buf *out)
{
	const char *family = s->config->model.v->name, *name = s->config->run.name;
	struct buf network = BUF_INIT;
	buf_printf(&network, name && strcmp(name, family) != 0 ? "%s (%s)" : "%s", family, name);
	memory_map_svg(session_plan(s, PLAN_TRAIN), network.data, out);
	buf_release(&network);
}

/* forward_space_to_batch is printed only if the network has a dilated convolution. */
static void describe_flops_json(const struct plan *p, struct buf *out)
{
	double flops = describe_forward_flops(p), folded = space_to_batch_flops(p);
	buf_printf(out, " \"flops\": {\"forward\": %.0f, \"training\": %.0f", flops, 3 * flops);
	if (folded != flops)
		buf_printf(out, ", \"forward_space_to_batch\": %.0f, \"training_space_to_batch\": %.0f",
		           folded, 3 * folded);
	buf_puts(out, "},\n");
}

static void describe_peak_json(const struct plan *p, struct buf *out)
{
	const struct graph *g = p->g;
	buf_printf(out, ", \"arena\": %" PRId64 ", \"lower_bound\": %" PRId64, g->arena_bytes,
	           g->arena_lower_bound);
	if (g->arena_peak_node == NONE)
		return;
	buf_puts(out, ", \"peak_node\": ");
	buf_json_string(out, g->node[g->arena_peak_node]->name);
}

void describe_json(const struct session *s, struct buf *out)
{
	const struct plan *p = session_plan(s, PLAN_TRAIN);
	struct arena *a = arena_new();
	struct step_time t = predict(s);
	struct plan_memory m;
	int64_t elements, trained;
	int tensors = parameter_tensors(p, &elements, &trained);
	plan_memory(p, &m);
	buf_puts(out, "{\"model\": {\"family\": ");
	buf_json_string(out, s->config->model.v->name);
	buf_printf(out, ", \"parameters\": %" PRId64 ", \"trainable_parameters\": %" PRId64
	           ", \"tensors\": %d},\n", elements, trained, tensors);
	describe_compute_json(s->config, out);
	describe_flops_json(p, out);
	buf_printf(out, " \"memory\": {\"parameters\": %" PRId64 ", \"gradients\": %" PRId64
	           ", \"optimizer\": %" PRId64 ", \"activations\": %" PRId64 ", \"workspace\": %" PRId64
	           ", \"inputs\": %" PRId64
	           ", \"peak\": %" PRId64, m.parameters, m.gradients, m.optimizer, m.activations,
	           m.workspace, m.inputs, m.peak);
	describe_peak_json(p, out);
	if (session_plan(s, PLAN_EVALUATE))
		buf_printf(out, ", \"evaluation_arena\": %" PRId64, evaluation_arena(s));
	memory_budget_json(s, out);
	memory_sweep_json(s, out);
	buf_puts(out, "},\n");
	describe_sources_json(s, out);
	describe_seen_json(s, out);
	scaled_target_json(s, out);
	describe_time_json(s, &t, out);
	describe_spatial_json(s, &t, out);
	describe_ranks_json(s, p, &t, out);
	proofs_json(s->proofs, p, out);
	step_time_release(&t);
	buf_puts(out, ",\n \"memory_map\": ");
	memory_map_json(p, out);
	buf_printf(out, ",\n \"nodes\": %d, \"fingerprint\": \"%016" PRIx64 "\",\n \"config\": ",
	           p->g->nnode, graph_fingerprint(p->g));
	ytree_write_json(out, config_effective(s->config, a));
	buf_puts(out, "}\n");
	arena_free(a);
}
