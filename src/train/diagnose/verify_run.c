/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each rank has a device, a store and plans of its own, as in a run of several processes. Layouts
 * and buckets are those of rank 0, gradients and statistics are all-reduced, and rows are
 * exchanged, by the same code as in training. */
#include "train/diagnose/verify_run.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "backend/openmp.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "comm/comm.h"
#include "comm/rank_threads.h"
#include "plan/sums/messages.h"
#include "plan/sums/roles.h"
#include "plan/sums/sync_reducer.h"
#include "train/diagnose/verify_batch.h"

#define SAMPLES 3                    /* of a batch; of two, a batch norm of single values would make
                                      * -1 and 1, whatever these are */
#define RATE 0                       /* learning rate: the evaluation has the same weights */
#define SPREAD 0.1                   /* by which initial values are changed, relative to the
                                      * largest */

/* --- what is run --- */

static int64_t samples_of(const struct session *s)
{
	return s->config->train.batch_size < SAMPLES ? s->config->train.batch_size : SAMPLES;
}

/* On the reference device samples come in their stored form, which the first nodes transform, as
 * in the plans of a GPU. In those of a CPU, whose loader does that, they come in float32. */
static void set_form(struct verify_run *r, const struct transform_rest *rest)
{
	memset(r->data.rest, 0, sizeof r->data.rest);
	if (!rest || strcmp(r->device, "reference") != 0)
		return;
	r->rest = *rest;
	if (!rest->values)
		r->rest.input = DTYPE_F32;       /* not rounded to what the layers compute in */
	r->data.rest[PLAN_TRAIN] = r->data.rest[PLAN_EVALUATE] = &r->rest;
}

void verify_begin(struct verify_run *r, const struct session *s, const char *device,
                  const int64_t *extent)
{
	*r = (struct verify_run){ .s = s, .device = device, .config = *s->config, .data = s->data,
		.grid = s->cut.grid, .parts = cut_parts(&s->cut.grid) };
	r->config.train.batch_size = samples_of(s);
	r->config.train.accumulate = 1;
	r->config.train.memory.limit = INT64_MIN;
	r->config.parallel.gradient_lag = 0;
	r->data.field = (struct plan_field){ 0 };
	r->data.target_unknown = true;
	r->data.pinned = false;
	r->data.further = true;              /* notes about the plan were printed already */
	set_form(r, s->data.rest[PLAN_TRAIN]);
	for (int k = 0; k < r->data.input.nd - 1; k++)
		r->data.input.d[k + 1] = extent[k];
}

void verify_end(struct verify_run *r)
{
	arena_free(r->arena);
}

struct plan_request verify_request(const struct verify_run *r, const struct device *dev,
                                   enum plan_mode mode, int subdomain)
{
	struct plan_request q = session_request(r->s, mode, r->config.train.batch_size);
	q.config = &r->config;
	q.dev = dev;
	q.wisdom = NULL;
	q.store = NULL;
	q.data = &r->data;
	q.limit = INT64_MIN;
	q.keep_results = mode == PLAN_TRAIN;
	q.ranks.given = NULL;
	q.ranks.lag = 0;
	q.ranks.ranks = q.ranks.sync_group = subdomain < 0 ? 1 : r->parts;
	q.ranks.summed = subdomain >= 0;
	q.cut = subdomain < 0 ? (struct plan_cut){ { 0, { 1, 1, 1 } }, 0 } :
	        (struct plan_cut){ r->grid, subdomain };
	return q;
}

/* --- values --- */

static int spread_entry(const struct verify_run *r, struct store_entry *e)
{
	const int64_t n = shape_count(&e->shape);
	const uint64_t stream = hash_name(e->name);
	double *v = mem_alloc(sizeof *v * (size_t)n), most = 0;
	int rc = store_get(e, DTYPE_F64, v);
	for (int64_t i = 0; i < n; i++)
		most = fmax(most, fabs(v[i]));
	for (int64_t i = 0; i < n; i++)
		v[i] = (float)(v[i] + SPREAD * (most > 0 ? most : 1) *
		               rng_uniform((uint64_t)r->config.run.seed, stream, 0, (uint64_t)i));
	if (rc == 0)
		rc = store_set(e, DTYPE_F64, v);
	mem_free(v);
	return rc;
}

int verify_spread(const struct verify_run *r, struct store *s)
{
	for (int i = 0; i < store_count(s); i++)
		if (store_is_weight(store_at(s, i)))
			TRY(spread_entry(r, store_at(s, i)));
	return 0;
}

/* Copies to `to`, of shape s, the block that begins at at[] of an array of shape `whole`. */
static void copy_block(const void *from, const struct shape *whole, const int64_t *at, void *to,
                       const struct shape *s, size_t size)
{
	const int last = s->nd - 1;
	for (int64_t row = 0; row < shape_count(s) / s->d[last]; row++) {
		int64_t rest = row, index[MAXD] = { 0 }, i = 0;
		for (int d = last - 1; d >= 0; rest /= s->d[d--])
			index[d] = rest % s->d[d];
		for (int d = 0; d <= last; d++)
			i = i * whole->d[d] + index[d] + at[d];
		memcpy((char *)to + (size_t)(row * s->d[last]) * size,
		       (const char *)from + (size_t)i * size, (size_t)s->d[last] * size);
	}
}

static void cut_array(struct batch_array *x, const struct shape *whole, const struct plan *p,
                      tid t, struct arena *a)
{
	const struct shape *s = &graph_t(p->g, t)->shape;
	int64_t at[MAXD] = { 0 };
	int place[CUT_AXES];
	cut_place(&p->cut->grid, p->subdomain, place);
	for (int k = 0; k < p->cut->grid.axes && p->cut->tensor[t].rows; k++)
		at[p->cut->tensor[t].first + k] = cut_rows(p->cut, t, k, place[k]).lo;
	void *v = arena_alloc(a, (size_t)shape_count(s) * dtype_size(x->dtype));
	copy_block(x->data, whole, at, v, s, dtype_size(x->dtype));
	x->data = v;
	x->each = shape_count(s) / s->d[0];
}

int verify_feed(const struct verify_run *r, struct plan *p, struct arena *a)
{
	static const char *const names[] = { "input", "target" };
	struct batch b = r->batch;
	for (int i = 0; i < 2 && p->cut; i++)
		if (plan_in(p, names[i]) != NONE)
			cut_array(&b.array[i], &r->shape[i], p, plan_in(p, names[i]), a);
	return plan_feed(p, &r->config, &b, &(struct plan_step){ .micros = 1, .all_micros = 1,
	                                                         .rate = RATE });
}

/* --- one rank --- */

enum { TRAIN, EVALUATE, BOTH };

struct verify_rank {
	struct verify_run *r;
	struct comm *c;                      /* NULL: whole samples */
	struct arena *arena;
	struct device *dev;
	struct store *store;
	struct plan *plan[BOTH];
	struct reduction reduction;
	struct sync_reducer *statistics[BOTH];
	struct messages *messages[BOTH];
	void *memory;
	size_t bytes;
};

static pthread_mutex_t planning = PTHREAD_MUTEX_INITIALIZER;

void verify_lock(void)
{
	pthread_mutex_lock(&planning);
}

void verify_unlock(void)
{
	pthread_mutex_unlock(&planning);
}

static int agree(const struct verify_rank *k, int rc, const char *what)
{
	return k->c ? comm_agree(k->c, rc, what) : rc;
}

static int make_plan(struct verify_rank *k, int which, const struct plan_request *q)
{
	verify_lock();
	const int rc = plan_new(&k->plan[which], q);
	verify_unlock();
	return agree(k, rc, "planning");
}

static int plan_training(struct verify_rank *k)
{
	struct plan_request q = verify_request(k->r, k->dev, PLAN_TRAIN, k->c ? k->c->rank : -1);
	struct roles roles;
	TRY(make_plan(k, TRAIN, &q));
	if (!k->c)
		return 0;
	int rc = roles_share(&roles, k->arena, k->c, k->dev, k->plan[TRAIN]);
	if (rc == 0 && roles.differ) {
		plan_free(k->plan[TRAIN]);
		k->plan[TRAIN] = NULL;
		q.store = roles.layouts;
		q.ranks.given = roles.buckets;
		rc = make_plan(k, TRAIN, &q);
	}
	roles_release(&roles);
	return rc;
}

static int plan_evaluation(struct verify_rank *k)
{
	struct plan_request q = verify_request(k->r, k->dev, PLAN_EVALUATE, k->c ? k->c->rank : -1);
	q.store = k->store;
	return make_plan(k, EVALUATE, &q);
}

static int open_messages(struct verify_rank *k, int which)
{
	const struct plan *p = k->plan[which];
	struct links sums = k->reduction.sums;
	const struct reducer_place where = { k->dev, k->c, NULL, false };
	const struct messages_teams teams = { .messages = k->c, .all = k->c,
		.gradients = which == TRAIN ? k->c : NULL, .statistics = k->c };
	if (!k->c)
		return 0;
	TRY(sync_reducer_open_plan(&k->statistics[which], &sums.statistics, &where, p));
	return messages_open(&k->messages[which], &teams, p->g, k->dev, &sums, 1);
}

static int bind(struct verify_rank *k)
{
	int rc = 0;
	for (int i = 0; i < BOTH; i++)
		if (exec_arena_bytes(k->plan[i]->exec) > k->bytes)
			k->bytes = exec_arena_bytes(k->plan[i]->exec);
	k->bytes += EXEC_ARENA_SLACK;
	k->memory = device_alloc(k->dev, k->bytes);
	if (!k->memory)
		return ERR(E_NOMEM, NULL, "no memory for a step of %zu bytes; '--verify-partition=SIZE' "
		           "takes smaller samples", k->bytes);
	verify_lock();
	for (int i = 0; i < BOTH && rc == 0; i++)
		rc = exec_bind(k->plan[i]->exec, k->store, k->memory,
		               k->c ? messages_links(k->messages[i]) : NULL);
	verify_unlock();
	return rc;
}

static int open_rank(struct verify_rank *k)
{
	k->arena = arena_new();
	TRY(agree(k, device_open(&k->dev, k->r->device), "opening the device"));
	if (k->c)
		openmp_divide(k->c->size);
	k->store = store_new(k->dev, (uint64_t)k->r->config.run.seed);
	k->reduction = (struct reduction){ .dev = k->dev, .comm = k->c };
	TRY(plan_training(k));
	if (k->c)
		TRY(agree(k, reduction_open(&k->reduction, k->store, k->plan[TRAIN]), "the sums"));
	TRY(agree(k, open_messages(k, TRAIN), "the messages"));
	TRY(agree(k, store_add(k->store, k->plan[TRAIN]->g), "initial values"));
	TRY(plan_evaluation(k));
	TRY(agree(k, open_messages(k, EVALUATE), "the messages"));
	TRY(agree(k, store_add(k->store, k->plan[EVALUATE]->g), "initial values"));
	int rc = bind(k);
	if (rc == 0)
		rc = verify_spread(k->r, k->store);
	if (rc == 0 && !k->c)
		verify_batch(k->r, k->plan[TRAIN]);
	return agree(k, rc, "memory");
}

static void close_rank(struct verify_rank *k)
{
	for (int i = BOTH; i-- > 0;) {
		messages_close(k->messages[i]);
		sync_reducer_close_plan(k->statistics[i]);
		plan_free(k->plan[i]);
	}
	if (k->c)
		reduction_close(&k->reduction);
	store_free(k->store);
	if (k->memory)
		device_free(k->dev, k->memory, k->bytes);
	device_close(k->dev);
	arena_free(k->arena);
}

/* --- results --- */

static struct verify_value *add(struct verify_values *v, enum verify_kind kind, const char *name,
                                const struct loc *loc, int64_t n)
{
	struct verify_value *x = &v->value[v->n++];
	*x = (struct verify_value){ .kind = kind, .name = arena_strdup(v->arena, name), .n = n,
		.v = ARENA_ARRAY(v->arena, double, n + 1) };
	if (loc)
		x->loc = *loc;
	return x;
}

static int read_gradients(const struct plan *p, struct verify_values *out)
{
	for (int i = 0; i < p->nparam; i++) {
		const struct tensor *x = graph_t(p->g, p->param[i]);
		struct verify_value *v = add(out, VERIFY_GRADIENT, x->name, &x->loc,
		                             shape_count(&x->shape));
		TRY(exec_read(p->exec, p->grad[i], DTYPE_F64, v->v));
	}
	return 0;
}

static int read_statistics(const struct store *s, struct verify_values *out)
{
	for (int i = 0; i < store_count(s); i++) {
		const struct store_entry *e = store_at(s, i);
		if (e->role != ROLE_STATE || !store_is_weight(e))
			continue;
		struct verify_value *v = add(out, VERIFY_STATISTIC, e->name, NULL, shape_count(&e->shape));
		TRY(store_get(e, DTYPE_F64, v->v));
	}
	return 0;
}

/* Counts that each subdomain has made of whole samples are subdomain 0's. */
static int read_metrics(const struct verify_run *r, const struct plan *p,
                        struct verify_values *out)
{
	struct verify_value *loss = add(out, VERIFY_METRIC, loss_is_sum(&r->config.loss) ?
	                                "sum of losses" : VERIFY_MEAN, NULL, 1);
	TRY(exec_read(p->exec, plan_out(p, "loss"), DTYPE_F64, loss->v));
	TRY(exec_read(p->exec, plan_out(p, "weight"), DTYPE_F64, &out->weight));
	for (int i = 0; i < p->nmetric; i++) {
		const struct tensor *x = graph_t(p->g, p->metric[i]);
		struct verify_value *v = add(out, VERIFY_METRIC, x->name, NULL, shape_count(&x->shape));
		TRY(exec_read(p->exec, p->metric[i], DTYPE_F64, v->v));
		if (p->cut && p->metric_once[i] && p->subdomain > 0)
			memset(v->v, 0, sizeof(double) * (size_t)v->n);
	}
	return 0;
}

static int run_step(struct verify_rank *k, struct verify_values *out)
{
	struct plan *p = k->plan[TRAIN], *e = k->plan[EVALUATE];
	struct plan_result result;
	TRY(verify_feed(k->r, p, k->arena));
	TRY(exec_run(p->exec, ~0u));
	TRY(plan_ask(p));
	TRY(plan_result(p, &result));
	*add(out, VERIFY_LOSS, "loss", NULL, 1)->v = result.loss;
	TRY(read_gradients(p, out));
	TRY(read_statistics(k->store, out));
	TRY(verify_feed(k->r, e, k->arena));
	TRY(exec_run(e->exec, ~0u));
	return read_metrics(k->r, e, out);
}

static int run_rank(struct verify_run *r, struct comm *c, struct verify_values *out)
{
	struct verify_rank k = { .r = r, .c = c };
	int rc = open_rank(&k);
	if (rc == 0) {
		out->arena = arena_new();
		out->value = ARENA_ARRAY(out->arena, struct verify_value, k.plan[TRAIN]->nparam +
		                         store_count(k.store) + METRICS_OUTPUTS + 2);
		rc = run_step(&k, out);
	}
	close_rank(&k);
	return rc;
}

int verify_whole(struct verify_run *r, struct verify_values *out)
{
	return run_rank(r, NULL, out);
}

/* A struct of one rank's results for each thread. */
struct verify_team {
	struct verify_run *r;
	struct verify_values *out;
};

static int run_thread(struct comm *c, void *arg)
{
	struct verify_team *team = arg;
	return run_rank(team->r, c, &team->out[c->rank]);
}

int verify_cut(struct verify_run *r, struct verify_values *out)
{
	return rank_threads_run(r->parts, r->config.parallel.timeout, run_thread,
	                        &(struct verify_team){ r, out });
}

void verify_values_release(struct verify_values *v)
{
	arena_free(v->arena);
	*v = (struct verify_values){ 0 };
}
