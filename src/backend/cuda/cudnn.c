/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Convolutions as cuDNN operation graphs: the convolution with an optional epilogue or prologue of
 * pointwise operations (pass/fuse_rules.c lists the chains with engines). Intermediate results are
 * virtual tensors: float32 after the convolution; before it the type of the convolution's
 * input, since no engine takes another one. */
#include "backend/cuda/cudnn.h"

#include <stdio.h>
#include <string.h>

#include "backend/cuda/cuda_time.h"
#include "backend/cuda/cudnn_engine.h"
#include "backend/cuda/cudnn_shared.h"
#include "backend/proof/passed.h"
#include "base/debug.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"

/* The most engines per problem that cuDNN compiles at run time to be measured. Compiling one takes
 * 0.3 to 0.8 s; for a fused data gradient, which has up to nine proposals, 2 s. */
#define COMPILED 2
#define SLOW_COMPILED 1

int cudnn_open(struct cudnn **out, void *stream, const char *name)
{
	cudnnHandle_t h;
	TRY(cudnn_load());
	TRY(cudnn_start(&h, stream));
	struct cudnn *c = *out = mem_calloc(1, sizeof *c);
	c->handle = h;
	c->table = mem_calloc(1, sizeof *c->table);
	c->stream = stream;
	c->version = cudnn_version();
	snprintf(c->name, sizeof c->name, "%s", name);
	return 0;
}

int cudnn_open_described(struct cudnn **out, const char *json, const char *name)
{
	struct cudnn_set s = { .status = CUDNN_STATUS_SUCCESS };
	TRY(cudnn_load());
	desc d = cudnn_make(&s, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
	cudnn_put(&s, d, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
	          (int64_t)strlen(json), json);
	cudnn_finalize(&s, d);
	if (s.status != CUDNN_STATUS_SUCCESS) {
		cudnn_release(&s);
		return cudnn_check(s.status, "no description of a GPU");
	}
	struct cudnn *c = *out = mem_calloc(1, sizeof *c);
	c->device = d;
	c->table = mem_calloc(1, sizeof *c->table);
	c->version = cudnn_version();
	snprintf(c->name, sizeof c->name, "%s", name);
	return 0;
}

void cudnn_open_absent(struct cudnn **out)
{
	*out = mem_calloc(1, sizeof **out);
}

void cudnn_leave_unknown(struct cudnn *c)
{
	c->leave_unknown = true;
}

int cudnn_use_stream(struct cudnn *c, void *stream)
{
	return cudnn_enter(c->handle, stream);
}

bool cudnn_runs(const struct cudnn *c)
{
	return c->handle != NULL;
}

void cudnn_trim(struct cudnn *c)
{
	if (c->table)
		cudnn_table_trim(c->table);
}

void cudnn_close(struct cudnn *c)
{
	if (!c)
		return;
	if (c->table)
		cudnn_table_release(c->table);
	mem_free(c->table);
	cudnn_stop(c->handle);
	if (c->device) {
		struct cudnn_set s = { .made = { c->device }, .n = 1 };
		cudnn_release(&s);
	}
	mem_free(c);
}

/* --- description --- */

enum uid { UID_X = 1, UID_W, UID_Y, UID_SCALE, UID_BIAS, UID_ADDEND, UID_MASK, UID_SUM, UID_SQUARES,
	UID_IN_SCALE, UID_IN_SHIFT, UID_MEAN, UID_RSTD, UID_GAMMA, UID_BETA, UID_DZ, UID_DGAMMA,
	UID_DBETA, UID_COMBINE, UID_BETWEEN = UID_COMBINE + 3 };

struct cudnn_plan {
	const struct cudnn *c;
	struct cudnn_shared *shared; /* NULL: "cudnn:?" */
	int64_t uid[CUDNN_ARGUMENTS];        /* cuDNN's ids of the arguments of cudnn_plan_run, in their
	                                      * order */
	size_t bytes[CUDNN_ARGUMENTS];
	int n;
	void *scratch[CUDNN_ARGUMENTS + 1];  /* stand-ins for the arguments while engines are timed; the
	                                      * workspace last */
	size_t room;                 /* bytes of the workspace for trials */
	char name[32], impl[CUDNN_IMPL];     /* the engine's name in a plan; its name in proofs */
	uint64_t key;                /* hash of the problem, for proofs */
};

static void add_argument(struct cudnn_plan *p, enum uid uid, const struct layout *l,
                         enum dtype type)
{
	p->uid[p->n] = uid;
	p->bytes[p->n++] = (size_t)layout_elements(l) * dtype_size(type);
}

/* The convolution's result, and its number of channels. */
static const struct layout *result_of(const struct cudnn_conv *v)
{
	return v->kind == CONV_FORWARD ? v->y : v->kind == CONV_BACKWARD_DATA ? v->x : v->w;
}

static int64_t channels_of(const struct cudnn_conv *v)
{
	return v->kind == CONV_FORWARD ? v->geom.co : v->geom.ci;
}

static struct layout vector_layout(int64_t c)
{
	return (struct layout){ .nd = 1, .dims = { c }, .stride = { 1 } };
}

static enum dtype prologue_type(const struct cudnn_conv *v)
{
	return v->kind == CONV_FORWARD ? DTYPE_F32 : v->type;
}

static void list_norm_arguments(struct cudnn_plan *p, const struct cudnn_conv *v)
{
	const struct layout vector = vector_layout(v->geom.ci);
	add_argument(p, UID_X, v->x, v->type);
	for (int uid = UID_MEAN; uid <= UID_BETA; uid++)
		add_argument(p, (enum uid)uid, &vector, DTYPE_F32);
	add_argument(p, UID_DZ, v->x, v->type);
	for (int uid = UID_DGAMMA; uid < UID_BETWEEN; uid++)
		add_argument(p, (enum uid)uid, &vector, DTYPE_F32);
}

static void list_arguments(struct cudnn_plan *p, const struct cudnn_conv *v)
{
	const struct layout vector = vector_layout(channels_of(v)),
	                    of_input = vector_layout(v->geom.ci);
	const struct { enum uid uid; const struct layout *l; } all[] = { { UID_X, v->x },
		{ UID_W, v->w }, { UID_Y, v->y } };
	static const int order[][3] = { [CONV_FORWARD] = { 0, 1, 2 },
		[CONV_BACKWARD_DATA] = { 2, 1, 0 },
		[CONV_BACKWARD_WEIGHTS] = { 0, 2, 1 } };
	const int *o = order[v->kind];
	for (int i = 0; i < 2; i++)
		add_argument(p, all[o[i]].uid, all[o[i]].l, v->type);
	if (v->norm_sums) {
		list_norm_arguments(p, v);
		return;
	}
	for (int uid = UID_IN_SCALE; uid <= UID_IN_SHIFT && v->normalises; uid++)
		add_argument(p, (enum uid)uid, &of_input, prologue_type(v));
	if (v->scale)
		add_argument(p, UID_SCALE, &vector, DTYPE_F32);
	if (v->bias)
		add_argument(p, UID_BIAS, &vector, DTYPE_F32);
	if (v->addend)
		add_argument(p, UID_ADDEND, result_of(v), v->type);
	if (v->mask)
		add_argument(p, UID_MASK, result_of(v), v->type);
	add_argument(p, all[o[2]].uid, all[o[2]].l, v->type);
	if (!v->statistics)
		return;
	add_argument(p, UID_SUM, &vector, DTYPE_F32);
	add_argument(p, UID_SQUARES, &vector, DTYPE_F32);
}

/* A chain of operations under construction; each works on the result of the one before. */
struct chain {
	struct cudnn_set *s;
	const struct cudnn_conv *v;
	desc op[8], at;              /* at: the last result */
	int n, left;                 /* operations that follow the current one */
};

/* The result of the next operation: in memory if it is the last, else virtual. */
static desc next_result(struct chain *k)
{
	static const int64_t uid[] = { [CONV_FORWARD] = UID_Y, [CONV_BACKWARD_DATA] = UID_X,
		[CONV_BACKWARD_WEIGHTS] = UID_W };
	const bool last = k->left-- == 0;
	return cudnn_tensor(k->s, last ? uid[k->v->kind] : UID_BETWEEN + k->n,
	                    last ? k->v->type : DTYPE_F32, result_of(k->v), !last);
}

static desc channels(const struct chain *k, enum uid uid, enum dtype type, int64_t c)
{
	const int nd = result_of(k->v)->nd;
	return cudnn_channels(k->s, uid, type, nd < 4 ? 4 : nd, c);
}

static desc vector_of(const struct chain *k, enum uid uid)
{
	return channels(k, uid, DTYPE_F32, channels_of(k->v));
}

static desc like_result(const struct chain *k, enum uid uid)
{
	return cudnn_tensor(k->s, uid, k->v->type, result_of(k->v), false);
}

/* An intermediate result of x's shape. */
static desc like_input(const struct chain *k, int uid, enum dtype type)
{
	return cudnn_tensor(k->s, uid, type, k->v->x, true);
}

/* The convolution's input x. */
static desc input_of(struct chain *k)
{
	const struct cudnn_conv *v = k->v;
	const enum dtype type = prologue_type(v);
	desc x = cudnn_tensor(k->s, UID_X, v->type, v->x, false);
	if (!v->normalises)
		return x;
	enum { FROM = UID_BETWEEN + 16 };
	desc scaled = like_input(k, FROM, v->type), shifted = like_input(k, FROM + 1, v->type),
	     z = like_input(k, FROM + 2, v->type);
	k->op[k->n++] = cudnn_multiply(k->s, x, channels(k, UID_IN_SCALE, type, v->geom.ci), scaled);
	k->op[k->n++] = cudnn_add(k->s, scaled, channels(k, UID_IN_SHIFT, type, v->geom.ci), shifted);
	k->op[k->n++] = cudnn_relu(k->s, shifted, 0, z);
	return z;
}

static void add_convolution(struct chain *k)
{
	const struct cudnn_conv *v = k->v;
	desc made = next_result(k);
	desc x = v->kind == CONV_BACKWARD_DATA ? made : input_of(k);
	desc w = v->kind == CONV_BACKWARD_WEIGHTS ? made : cudnn_tensor(k->s, UID_W, v->type,
	                                                                v->w, false);
	desc y = v->kind == CONV_FORWARD ? made : cudnn_tensor(k->s, UID_Y, v->type, v->y, false);
	k->op[k->n++] = cudnn_convolution(k->s, v->kind, &v->geom, x, w, y);
	k->at = made;
}

typedef desc (*two_operands)(struct cudnn_set *s, desc a, desc b, desc y);

static void add_operation(struct chain *k, two_operands make, desc with)
{
	desc made = next_result(k);
	k->op[k->n++] = make(k->s, k->at, with, made);
	k->at = made;
}

static void add_relu(struct chain *k)
{
	const struct cudnn_conv *v = k->v;
	desc made = next_result(k);
	k->op[k->n++] = v->relu ? cudnn_relu(k->s, k->at, v->slope, made) :
	                cudnn_relu_gradient(k->s, k->at, like_result(k, UID_MASK), v->slope, made);
}

/* The gradient to x through ReLU, whose input is recomputed, and the norm's sums over it. */
static desc describe_norm_sums(struct cudnn_set *s, const struct cudnn *c,
                               const struct cudnn_conv *v)
{
	struct chain k = { .s = s, .v = v, .left = 1 };
	desc vector[4], out[5], between[4];
	for (int i = 0; i < 4; i++)
		vector[i] = vector_of(&k, (enum uid)(UID_MEAN + i));
	for (int i = 0; i < 5; i++)
		out[i] = vector_of(&k, (enum uid)(UID_DGAMMA + i));
	add_convolution(&k);
	for (int i = 0; i < 4; i++)
		between[i] = like_input(&k, UID_BETWEEN + 16 + i, DTYPE_F32);
	desc x = cudnn_tensor(s, UID_X, v->type, v->x, false),
	     dz = cudnn_tensor(s, UID_DZ, v->type, v->x, false);
	k.op[k.n++] = cudnn_subtract(s, x, vector[0], between[0]);
	k.op[k.n++] = cudnn_multiply(s, between[0], vector[1], between[1]);
	k.op[k.n++] = cudnn_multiply(s, between[1], vector[2], between[2]);
	k.op[k.n++] = cudnn_add(s, between[2], vector[3], between[3]);
	k.op[k.n++] = cudnn_relu_gradient(s, k.at, between[3], 0, dz);
	k.op[k.n++] = cudnn_norm_sums(s, (desc[]){ x, dz, vector[0], vector[1], vector[2] }, out);
	return cudnn_graph(s, c, k.n, k.op);
}

/* The operations of a convolution, and of what follows it. */
static desc describe(struct cudnn_set *s, const struct cudnn *c, const struct cudnn_conv *v)
{
	struct chain k = { .s = s, .v = v,
		.left = v->scale + v->bias + v->addend + (v->relu || v->mask) };
	if (v->norm_sums)
		return describe_norm_sums(s, c, v);
	add_convolution(&k);
	if (v->scale)
		add_operation(&k, cudnn_multiply, vector_of(&k, UID_SCALE));
	if (v->bias)
		add_operation(&k, cudnn_add, vector_of(&k, UID_BIAS));
	if (v->addend)
		add_operation(&k, cudnn_add, like_result(&k, UID_ADDEND));
	if (v->relu || v->mask)
		add_relu(&k);
	if (v->statistics)
		k.op[k.n++] = cudnn_statistics(s, k.at, vector_of(&k, UID_SUM), vector_of(&k, UID_SQUARES));
	return cudnn_graph(s, c, k.n, k.op);
}

static void name_layout(struct buf *b, const char *name, const struct layout *l)
{
	buf_printf(b, " %s", name);
	layout_name(l, b);
}

/* Everything that the choice of an engine may depend on. */
static void name_problem(struct buf *b, const struct cudnn_conv *v)
{
	static const char *const kind[] = { [CONV_FORWARD] = "forward", [CONV_BACKWARD_DATA] = "data",
		[CONV_BACKWARD_WEIGHTS] = "weights" };
	buf_printf(b, "conv-%s%s%s%s%s%s%s%s%s %s", kind[v->kind], v->normalises ? "+normalises" : "",
	           v->norm_sums ? "+norm-sums" : "", v->scale ? "+scale" : "", v->bias ? "+bias" : "",
	           v->addend ? "+add" : "", v->relu ? "+relu" : "", v->mask ? "+mask" : "",
	           v->statistics ? "+statistics" : "", dtype_name(v->type));
	if ((v->relu || v->mask) && v->slope != 0)
		buf_printf(b, " slope %.9g", (double)v->slope);
	name_layout(b, "x", v->x);
	name_layout(b, "w", v->w);
	name_layout(b, "y", v->y);
	for (int i = 0; i < v->geom.ns; i++)
		buf_printf(b, " s%lld d%lld p%lld,%lld", (long long)v->geom.stride[i],
		           (long long)v->geom.dilation[i], (long long)v->geom.pad_lo[i],
		           (long long)v->geom.pad_hi[i]);
	buf_printf(b, "%s%s", v->deterministic ? " deterministic" : "", v->tf32 ? " tf32" : "");
}

/* --- running --- */

static int run(const struct cudnn_plan *p, desc plan, void *const *argument, void *ws)
{
	struct cudnn_set s = { .status = CUDNN_STATUS_SUCCESS };
	desc pack = cudnn_make(&s, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
	cudnn_put(&s, pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, p->n, p->uid);
	cudnn_put(&s, pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, p->n, argument);
	cudnn_put(&s, pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &ws);
	cudnn_finalize(&s, pack);
	cudnn_execute(&s, p->c, plan, pack);
	cudnn_release(&s);
	return cudnn_check(s.status, "running a convolution");
}

int cudnn_plan_run(const struct cudnn_plan *p, void *const *argument, void *ws)
{
	return run(p, p->shared->engine.plan, argument, ws);
}

/* --- measuring --- */

struct trial {
	const struct cudnn_plan *p;
	const struct cudnn_engine *e;
};

static int run_trial(void *user)
{
	const struct trial *t = user;
	return run(t->p, t->e->plan, t->p->scratch, t->p->scratch[CUDNN_ARGUMENTS]);
}

/* Room for the workspace of a trial, which stays for the next one. */
static int make_room(struct cudnn_plan *p, size_t bytes)
{
	if (p->scratch[CUDNN_ARGUMENTS] && bytes <= p->room)
		return 0;
	cuda_scratch_free(p->scratch[CUDNN_ARGUMENTS]);
	p->room = bytes;
	return cuda_scratch(&p->scratch[CUDNN_ARGUMENTS], bytes);
}

/* Memory for the arguments, when the first engine is measured. */
static int make_arguments(struct cudnn_plan *p)
{
	int rc = 0;
	for (int i = 0; i < p->n && rc == 0 && !p->scratch[i]; i++)
		rc = cuda_scratch(&p->scratch[i], p->bytes[i]);
	return rc;
}

/* An engine that fails, or whose workspace is not to be had, is not taken. */
static double measure(void *user, const struct cudnn_engine *e, double much)
{
	struct cudnn_plan *p = user;
	struct trial t = { p, e };
	double us = -1;
	int mark = err_count();
	if (make_arguments(p) < 0 || make_room(p, e->ws_bytes) < 0 ||
	    cuda_time(p->c->stream, run_trial, &t, much, &us) < 0)
		us = -1;
	err_truncate(mark);
	return us;
}

static void free_scratch(struct cudnn_plan *p)
{
	for (int i = 0; i <= CUDNN_ARGUMENTS; i++) {
		cuda_scratch_free(p->scratch[i]);
		p->scratch[i] = NULL;
	}
}

static bool choose(struct cudnn_plan *p, struct cudnn_shared *s, struct wisdom *w,
                   struct cudnn_demand *want, desc graph)
{
	want->user = p;
	want->measure = p->c->handle ? measure : NULL;
	bool found = cudnn_engine_choose(&s->engine, p->c, graph, w, want);
	free_scratch(p);
	return found;
}

/* --- sharing --- */

/* The key of a query: the problem, the choice of engine (by wisdom, the fastest, or the first), and
 * how many have been found wrong. */
static void name_question(struct buf *b, const struct cudnn *c, const struct wisdom *w,
                          const struct cudnn_demand *want)
{
	const char *known = cudnn_known(c, w, want->problem);
	buf_clear(b);
	buf_printf(b, "%s%s %s", want->problem, want->best_only ? " recommended" : "",
	           known ? known : w && w->measure ? "fastest" : "first");
	if (passed_of(want->key))
		buf_printf(b, " but %d", passed_of(want->key));
}

/* Queries cuDNN. The engines of a described GPU never run, so only their properties are stored. */
static int ask(struct cudnn_plan *p, struct wisdom *w, const struct cudnn_conv *v,
               struct cudnn_demand *want, struct buf *question)
{
	struct cudnn_shared new = { 0 };
	desc graph = describe(&new.graph, p->c, v);
	if (new.graph.status != CUDNN_STATUS_SUCCESS) {
		cudnn_shared_drop(&new);
		return cudnn_check(new.graph.status, "no description of this convolution");
	}
	new.found = choose(p, &new, w, want, graph);
	if (!new.found || !p->c->handle)
		cudnn_shared_drop(&new);
	name_question(question, p->c, w, want);        /* the fastest has a name now */
	p->shared = cudnn_shared_add(p->c->table, question->data);
	BUG_IF(p->shared->users > 0, "an engine that is in use is chosen again");
	cudnn_shared_drop(p->shared);
	new.question = p->shared->question;
	*p->shared = new;
	return 0;
}

/* Identical problems share one engine while any plan refers to it. */
static int share(struct cudnn_plan *p, struct wisdom *w, const struct cudnn_conv *v,
                 struct cudnn_demand *want)
{
	struct buf question = BUF_INIT;
	int rc = 0;
	name_question(&question, p->c, w, want);
	p->shared = cudnn_shared_find(p->c->table, question.data);
	if (!p->shared || (p->shared->found && !p->shared->engine.plan && p->c->handle))
		rc = ask(p, w, v, want, &question);
	buf_release(&question);
	if (rc == 0)
		p->shared->users++;
	return rc;
}

static bool is_chain(const struct cudnn_conv *v)
{
	return v->scale || v->bias || v->addend || v->relu || v->mask || v->normalises || v->norm_sums;
}

/* On an H100 engine 1 of cuDNN 9.19 has wrong gradients to the weights in 16 bits: for weights of 5
 * rows over one row of x, two groups and three axes. It is proposed for little else, and no network
 * of test/bench takes it by time. */
static int64_t wrong_engine(const struct cudnn_conv *v)
{
	return v->kind == CONV_BACKWARD_WEIGHTS && !is_chain(v) ? 1 : -1;
}

static int explain_absence(const struct cudnn_plan *p, const struct cudnn_demand *want)
{
	const cudnnStatus_t refused = p->shared->engine.refused;
	const int wrong = passed_of(want->key);
	const int rc = ERR(E_UNSUPPORTED, NULL, "cuDNN %zu has no engine for this convolution%s%s%s%s",
	                   p->c->version,
	                   want->deterministic ? " that gives the same bits each time" : "",
	                   want->exact ? " in full float32" : "",
	                   refused ? "; the last that it proposes cannot be built: " : "",
	                   refused ? cudnn_status(refused) : "");
	return wrong ? err_context(rc, "but for %d that failed their proof here; "
	                           "DLX_DEBUG=proof=no takes them", wrong) : rc;
}

static int build(struct cudnn_plan *p, struct wisdom *wisdom, const struct cudnn_conv *v)
{
	struct buf problem = BUF_INIT, key = BUF_INIT;
	name_problem(&problem, v);
	buf_printf(&key, "%s cudnn-%zu", problem.data, p->c->version);
	p->key = hash_name(key.data);
	buf_release(&key);
	struct cudnn_demand want = {
		.deterministic = v->deterministic, .exact = v->type == DTYPE_F32 && !v->tf32,
		.best_only = v->best_only, .wrong = wrong_engine(v), .problem = problem.data,
		.key = p->key,
		.compile = v->kind == CONV_BACKWARD_DATA && is_chain(v) ? SLOW_COMPILED : COMPILED };
	int rc = share(p, wisdom, v, &want);
	buf_release(&problem);
	TRY(rc);
	if (!p->shared->found)
		return explain_absence(p, &want);
	cudnn_engine_impl(p->shared->engine.name, p->impl);
	snprintf(p->name, sizeof p->name, "cudnn:%s", strchr(p->shared->engine.name, ':') + 1);
	return 0;
}

/* Engines of cuDNN 9.19 that sum over pixels while they write have other bits each time on an H100,
 * which none of their notes says. */
static bool has_other_bits(const struct cudnn_conv *v)
{
	return v->deterministic && (v->statistics || v->norm_sums);
}

static int plan(struct cudnn_plan *p, struct wisdom *wisdom, const struct cudnn_conv *v)
{
	if (!p->c->version)
		return ERR(E_UNSUPPORTED, NULL, "cuDNN is not there to plan a convolution");
	if (has_other_bits(v))
		return ERR(E_UNSUPPORTED, NULL, "cuDNN's engines that sum what they write do not give the "
		           "same bits each time");
	if (debug_skips("chains") && (is_chain(v) || v->statistics))
		return ERR(E_UNSUPPORTED, NULL, "by DLX_DEBUG=skip=chains cuDNN plans nothing with a "
		           "convolution");
	return build(p, wisdom, v);
}

int cudnn_conv_new(struct cudnn_plan **out, const struct cudnn *c, struct wisdom *wisdom,
                   const struct cudnn_conv *v)
{
	struct cudnn_plan *p = mem_calloc(1, sizeof *p);
	const int mark = err_count();
	p->c = c;
	list_arguments(p, v);
	int rc = plan(p, wisdom, v);
	if (rc == E_UNSUPPORTED && c->leave_unknown && !is_chain(v)) {
		err_truncate(mark);
		snprintf(p->name, sizeof p->name, "cudnn:?");
		rc = 0;
	}
	if (rc < 0)
		cudnn_plan_free(p);
	else
		*out = p;
	return rc;
}

const char *cudnn_plan_name(const struct cudnn_plan *p)
{
	return p->name;
}

struct kernel_choice cudnn_plan_choice(const struct cudnn_plan *p)
{
	return (struct kernel_choice){ p->shared ? p->impl : NULL, p->key };
}

size_t cudnn_plan_workspace(const struct cudnn_plan *p)
{
	return p->shared ? p->shared->engine.ws_bytes : 0;
}

void cudnn_plan_free(struct cudnn_plan *p)
{
	if (!p)
		return;
	cudnn_shared_leave(p->shared);
	mem_free(p);
}
