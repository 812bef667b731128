/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opens and closes a session, in this order: the data's headers, which give the shapes; plans for
 * these shapes; memory. */
#include "train/run/opening.h"

#include <string.h>

#include "base/debug.h"
#include "base/err.h"
#include "base/fault.h"
#include "base/host.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/trace.h"
#include "comm/nccl.h"
#include "data/dataset.h"
#include "data/transform.h"
#include "graph/cost.h"
#include "model/model.h"
#include "plan/extent/whole.h"
#include "plan/memory/memory_advice.h"
#include "plan/memory/memory_budget.h"
#include "plan/spatial/spatial.h"
#include "plan/sums/messages.h"
#include "plan/sums/micro_tree.h"
#include "plan/physics/physics.h"
#include "plan/time/cluster.h"
#include "plan/time/proofs.h"
#include "plan/time/step_time.h"
#include "plan/sums/reduction.h"
#include "plan/sums/roles.h"
#include "plan/sums/sync_group.h"
#include "plan/sums/sync_reducer.h"
#include "report/jsonl.h"
#include "train/diagnose/account.h"
#include "train/run/compute.h"
#include "train/run/engines.h"
#include "train/run/deferred_plans.h"
#include "train/run/equations.h"
#include "train/diagnose/mistakes.h"
#include "train/run/open_loaders.h"
#include "train/run/ranks.h"
#include "train/diagnose/trained_on.h"

static int compare(const struct session *s, const struct plan *p)
{
	const struct dataset *second = s->validation_set;
	struct ranks_data data = { .train = session_data_fingerprint(s) };
	int64_t within;
	if (second) {
		data.second = dataset_fingerprint(second);
		data.path = dataset_locate(second, 0, &within);
	}
	return ranks_compare(s->comm, s->config, s->dev, &data, !p ? 0 : s->sample ?
	                     roles_fingerprint(p) : graph_fingerprint(p->g));
}

/* Whether the nodes of a plan sum over the ranks that share a sample, and no others. */
static bool sums_by_sample(const struct session *s, enum plan_mode mode)
{
	return s->sample && (mode != PLAN_TRAIN || s->ranks.sync_group <= s->sample->size);
}

/* Opening the reducer is collective. */
static int open_reduction(struct session *s, const struct program *program)
{
	const struct plan *p = program->plan;
	if (p->mode != PLAN_TRAIN || !s->reduction.comm)
		return 0;
	struct reduction *r = session_reduction(s, program->objective);
	const int group = sums_by_sample(s, p->mode) ? 1 : s->ranks.sync_group;
	if (r->sums.gradients)
		return sync_reducer_open(&s->sync, r, p, group);
	TRY(ranks_agree(s->comm, 0, "planning"));
	if (comm_many(s->comm))
		TRY(compare(s, p));
	TRY(reduction_open(r, s->store, p));
	return sync_reducer_open(&s->sync, r, p, group);
}

/* All ranks have the first training plan, those of a sample have any. */
static int open_messages(struct session *s, struct program *p, bool first)
{
	struct reduction *r = session_reduction(s, p->objective);
	struct links sums = r->sums;
	const struct reducer_place where = { s->dev, s->sample, s->sample_nccl, false };
	struct messages_teams teams = { .messages = s->sample, .all = first ? s->comm : s->sample,
		.nccl = s->sample_nccl,
		.gradients = p->plan->buckets ? r->comm : NULL };
	if (!s->sample)
		return 0;
	const bool own = sums_by_sample(s, p->mode);
	if (own)
		TRY(sync_reducer_open_plan(&p->statistics, &sums.statistics, &where, p->plan));
	teams.statistics = own ? s->sample : sync_reducer_team(s->sync, r);
	return messages_open(&p->messages, &teams, p->plan->g, s->dev, &sums,
	                     s->config->train.accumulate);
}

static struct plan_request request(const struct session *s, const struct program *p,
                                   const struct plan_data *data)
{
	const struct plan *first = session_plan(s, PLAN_TRAIN);
	struct plan_request r = session_request(s, p->mode, p->batch);
	r.data = data;
	r.objective = &s->config->objectives.v[p->objective];
	r.scored = p->scored;
	r.gradients = p->gradients;
	if (p->objective)
		r.ranks.given = s->further[p->objective - 1].given;
	r.any_extent = p->mode == PLAN_PREDICT && s->tiles_agree;
	r.fixed = first ? first->memory.fixed : 0;
	r.sweep = s->need & SESSION_SWEEP;
	r.keep_results = s->need & SESSION_DUMP;
	r.dump = s->dump;
	r.dump_dot = s->dump_dot;
	return r;
}

static int check_room(const struct session *s, const struct plan *p)
{
	int rc = memory_budget_check(s, p);
	if (rc == E_TOO_LARGE && p->mode == PLAN_PREDICT && !s->tiles)
		err_context(rc, "- '--tile auto' predicts in tiles that fit");
	return rc;
}

/* The ranks with whom proofs of this plan are shared: all have the first of training. Others, such
 * as a short batch's, some ranks may have alone. */
static struct comm *proving_with(struct session *s, const struct program *p)
{
	return p->mode == PLAN_TRAIN && !session_reduction(s, p->objective)->sums.gradients ?
	       s->comm : NULL;
}

/* Makes a plan, and again for as long as proofs find kernels that are to be passed over. */
static int make_plan(struct session *s, struct program *p, const struct plan_request *r)
{
	struct comm *c = proving_with(s, p);
	struct plan **out = &p->plan;
	bool again = true;
	int rc = 0;
	while (again) {
		*out = NULL;
		engines_await(s->engines, s->comm);
		rc = plan_new(out, r);
		const int shared = engines_share(s->engines, s->comm, s->wisdom);
		if (rc == E_CONFIG)
			memory_advice_limit(s, rc);
		rc = rc == 0 ? shared : rc;
		if (!(s->need & SESSION_RUN) || run_is_export(s))
			break;
		rc = ranks_agree(c, rc, "planning");
		again = rc == 0 && proofs_make(s->proofs, *out, c);
		if (again)
			plan_free(*out);
	}
	return rc;
}

/* Makes the first training plan of all ranks, whose graphs are of parts of a sample, once more
 * where layouts and buckets are not those of rank 0. */
static int make_alike(struct session *s, struct program *p, struct plan_request *r)
{
	struct roles roles;
	int rc = roles_share(&roles, s->config->arena, s->comm, s->dev, p->plan);
	if (rc == 0 && roles.differ) {
		plan_free(p->plan);
		r->store = roles.layouts;
		r->ranks.given = roles.buckets;
		rc = make_plan(s, p, r);
	}
	roles_release(&roles);
	return rc;
}

/* The ranks of a sample plan different subdomains, so one alone may lack the memory. */
static int make_fitting(struct session *s, struct program *p)
{
	const struct plan_data data = program_data(s, p);
	struct plan_request r = request(s, p, &data);
	TRY(make_plan(s, p, &r));
	if (s->sample && p == s->program && p->mode == PLAN_TRAIN && s->need & SESSION_RUN)
		TRY(make_alike(s, p, &r));
	return (s->need & SESSION_RUN) && !(s->need & SESSION_NO_DATA) ? check_room(s, p->plan) : 0;
}

int session_make_plan(struct session *s, struct program *p)
{
	double start = io_seconds();
	size_t before = s->dev->memory->used;
	int rc = make_fitting(s, p);
	TRY(s->sample && s->need & SESSION_RUN ? comm_agree(s->sample, rc, "planning") : rc);
	proofs_say(s->proofs);
	s->table_bytes += s->dev->memory->used - before;
	trace_mark(TRACE_RUN, "plan", start);
	const struct buckets **given = p->objective ? &s->further[p->objective - 1].given :
	                               &s->ranks.given;
	if (!*given && p->plan->buckets)
		*given = buckets_copy(s->config->arena, p->plan->buckets);
	if (s->need & SESSION_RUN) {
		TRY(open_reduction(s, p));
		TRY(open_messages(s, p, p == s->program && p->mode == PLAN_TRAIN));
	}
	start = io_seconds();
	/* Fixes the layouts of params and states for the plans that follow. */
	TRY(s->need & SESSION_RUN ? store_add(s->store, p->plan->g) : store_note(s->store, p->plan->g));
	trace_mark(TRACE_RUN, "initial values", start);
	size_t bytes = exec_arena_bytes(p->plan->exec);
	if (bytes > s->arena_bytes)
		s->arena_bytes = bytes;
	return 0;
}

/* Whether a training comes to the last batch of an epoch. */
static bool ends_epoch(const struct session *s)
{
	const int64_t steps = s->config->train.steps;
	return steps ? steps >= loader_steps(s->train) : s->config->train.epochs > 0;
}

/* Finds the errors of a program whose plan is not made, or later. */
static int check_program(const struct session *s, const struct program *p)
{
	const struct plan_data data = program_data(s, p);
	struct plan_request r = request(s, p, &data);
	if (p->mode == PLAN_TRAIN && (!s->train || !ends_epoch(s)))
		return 0;
	r.dump = p->mode == PLAN_TRAIN ? NULL : r.dump;
	int rc = plan_check(&r);
	if (rc < 0 && p->short_batch)
		err_context(rc, "for the last batch of an epoch, of %lld; "
		            "'data: {keep_short_batch: false}' leaves it out", (long long)p->batch);
	return rc;
}

/* Where nothing is run, a short batch, which needs less than the full one, is left out. */
static int plan_program(struct session *s, struct program *p)
{
	const bool deferred = p->mode != PLAN_PREDICT && p->filled && deferred_wanted(s);
	if (p->mode == PLAN_EVALUATE && deferred_wanted(s))
		return p->short_batch ? 0 : check_program(s, p);
	if (!p->short_batch)
		return session_make_plan(s, p);
	if (p->mode == PLAN_TRAIN)
		TRY(check_program(s, p));
	return deferred || !(s->need & SESSION_RUN) ? 0 : session_make_plan(s, p);
}

#define HOST_RANKS 8             /* GPUs of most hosts that have some */

/* Hosts of ranks that are only planned for: without a number, as many as are full. */
static int hosts_of(const struct session *s, const struct session_options *o)
{
	return o->hosts ? o->hosts : s->cluster ? cluster_hosts(s->cluster, o->ranks) :
	       (o->ranks + HOST_RANKS - 1) / HOST_RANKS;
}

/* Ranks that share this host's processors. Those that are not there have hosts like it. */
static int sharing(const struct session *s, const struct session_options *o)
{
	struct comm *c = s->comm;
	int hosts = hosts_of(s, o);
	if (o->sharing)
		return o->sharing;
	return comm_many(c) || o->ranks < 2 ? ranks_sharing(c) : (o->ranks + hosts - 1) / hosts;
}

static void place_ranks(struct session *s, const struct session_options *o)
{
	if (comm_many(s->comm))
		rank_grid_learn(&s->grid, s->config->arena, s->comm);
	else
		rank_grid_assume(&s->grid, s->config->arena, hosts_of(s, o), o->ranks);
}

/* Gradients are divided by the rates and links of a described device, by which the step will be
 * predicted, and not by those of this machine. */
static void plan_for_cluster(struct session *s)
{
	if (s->cluster && cluster_rates(s->cluster, &s->ranks.rates))
		cluster_linkmodel(&s->link, s->cluster, &s->grid,
		                  s->config->precision.wire != 0 || s->config->micros.all > 0);
}

/* The step of a dump is the one its batch is of. */
static int plan_ranks(struct session *s, const struct session_options *o)
{
	TRY(reduction_plan(&s->ranks, &s->link, s->config, &s->reduction, &s->grid));
	plan_for_cluster(s);
	if (o->need & SESSION_TRAIN)
		TRY(sync_group_size(s->config, s->ranks.ranks, s->parts, &s->ranks.sync_group));
	if (o->need & SESSION_DUMP)
		s->ranks.lag = 0;
	return 0;
}

/* Further sizes of samples have plans like the first's, by which the layouts of values in the store
 * and the buckets of gradients are fixed. */
static int plan_train_sizes(struct session *s)
{
	for (int i = 0; i < s->nprogram && s->program[i].mode == PLAN_TRAIN; i++) {
		struct program *p = &s->program[i];
		char text[SHAPE_TEXT];
		int rc = plan_program(s, p);
		if (rc < 0 && p->size > 0)
			err_context(rc, "for training samples of %s",
			            shape_text(loader_size(s->train, p->size).input, text));
		TRY(rc);
	}
	return 0;
}

static int plan_training(struct session *s)
{
	struct buf kernels = BUF_INIT;
	if (!(s->need & SESSION_TRAIN))
		return 0;
	TRY(ranks_agree(s->comm, plan_train_sizes(s), "planning"));
	proofs_state(s->proofs, &kernels);
	s->kernels = kernels.len ? arena_strdup(s->config->arena, kernels.data) : NULL;
	buf_release(&kernels);
	return 0;
}

static int plan_the_rest(struct session *s)
{
	for (int i = 0; i < s->nprogram; i++) {
		struct program *p = &s->program[i];
		if (p->mode == PLAN_TRAIN)
			continue;
		int rc = plan_program(s, p);
		if (rc < 0 && rc != E_TOO_LARGE && p->mode == PLAN_EVALUATE &&
		    (whole_differs(s) || s->nsize))
			err_context(rc, "in validation, which sees whole samples; '- crop: {size: ..., "
			            "validation: centre}' validates on windows");
		TRY(rc);
	}
	return 0;
}

static void free_arena(struct session *s)
{
	if (s->arena)
		device_free(s->dev, s->arena, s->bound_bytes + EXEC_ARENA_SLACK);
	s->arena = NULL;
	if (s->dev)
		s->dev->memory->scratch_bytes = 0;
}

int session_bind_program(struct session *s, const struct program *p)
{
	TRY(exec_bind(p->plan->exec, s->store, s->arena, p->messages ? messages_links(p->messages) :
	              &session_reduction(s, p->objective)->sums));
	const bool sleeps = debug.sleep && p->mode == PLAN_TRAIN && !s->dev->driver;
	return sleeps ? step_time_sleep(s, p->plan) : 0;
}

int session_bind(struct session *s)
{
	double start = io_seconds();
	free_arena(s);
	memory_budget_warn(s);
	s->bound_bytes = s->arena_bytes + (fault_hits("arena", ++s->arenas) ? 4096 : 0);
	s->arena = device_alloc(s->dev, s->bound_bytes + EXEC_ARENA_SLACK);
	if (!s->arena)
		return ERR(E_NOMEM, NULL, "no memory for the step: %zu bytes of activations and "
		           "workspace; make 'train.batch_size' smaller (with 'train.accumulate' larger)",
		           s->arena_bytes);
	s->dev->memory->scratch = s->arena;
	s->dev->memory->scratch_bytes = s->bound_bytes;
	for (int i = 0; i < s->nprogram; i++)
		if (s->program[i].plan)
			TRY(session_bind_program(s, &s->program[i]));
	trace_mark(TRACE_RUN, "code", start);
	start = io_seconds();
	device_populate(s->dev, s->arena, s->arena_bytes);
	trace_mark(TRACE_RUN, "memory", start);
	TRY(account_check(s));
	account_outside(s);
	return 0;
}

/* Float64 is a device of its own. */
static int open_double(struct session *s, const struct session_options *o, const char *name)
{
	const bool chosen = strcmp(name, "auto") == 0;
	if (o->gpu || strcmp(name, "cuda") == 0)
		return ERR(E_UNSUPPORTED, config_place(s->config, "precision", "compute"),
		           "a GPU does not compute in f64 here; 'device: cpu' does, for dense networks");
	TRY(device_open(&s->dev, strcmp(name, "reference") == 0 ? name : DEVICE_DOUBLE));
	if (chosen)
		s->dev->why = "'device: auto' takes the CPU, which alone computes in f64";
	return 0;
}

static int open_device(struct session *s, const struct session_options *o)
{
	const struct run_config *c = s->config;
	const char *name = o->device ? o->device : device_names[c->device];
	TRY(config_compute(c) == DTYPE_F64 ? open_double(s, o, name) :
	    o->gpu ? device_open_described(&s->dev, o->gpu) :
	    device_open_rank(&s->dev, name, s->comm ? comm_host_place(s->comm) : 0));
	s->reduction = (struct reduction){ .dev = s->dev,
		.comm = reduction_wanted(s->comm) ? s->comm : NULL, .planned = s->nranks };
	s->further = ARENA_ARRAY(c->arena, struct further_reduction, c->objectives.n);
	for (int k = 1; k < c->objectives.n; k++)
		s->further[k - 1].reduction = s->reduction;
	s->wisdom = comm_first(s->comm) ? o->wisdom : NULL;
	TRY(engines_open(&s->engines, s->comm, o->wisdom));
	TRY(micro_tree_check_ranks(c, s->dev, s->reduction.comm));
	s->store = store_new(s->dev, (uint64_t)c->run.seed);
	return 0;
}

/* Of rank 0. What the run has saved may be in a store that is not there now; its records say so
 * where even the folder of its checkpoints is gone. */
static int look_at_store(const struct session *s)
{
	const char *run = s->config->run.dir;
	if (!io_is_folder(run))
		return 0;
	char *dir = io_join(run, "checkpoints"), *link = io_join(dir, "run.json"),
	     *lines = io_join(run, "metrics.jsonl");
	const int rc = ckpt_present(dir, !io_exists(link) && jsonl_saved(lines));
	if (rc == 0 && !(s->need & SESSION_TRAIN))
		ckpt_note_copy(dir);
	mem_free(lines);
	mem_free(link);
	mem_free(dir);
	return rc;
}

static int open_cluster(struct session *s, const struct session_options *o)
{
	s->times = o->times;
	if (!o->cluster)
		return 0;
	struct cluster *c;
	TRY(cluster_load(&c, s->config->arena, o->cluster));
	if (o->noise)
		c->noise = *o->noise;
	s->cluster = c;
	return cluster_check_ranks(s->cluster, s->nranks);
}

static int open_all(struct session *s, const struct session_options *o)
{
	struct comm *c = s->comm;
	TRY(ranks_agree(c, open_cluster(s, o), "the cluster's file"));
	TRY(ranks_agree(c, comm_first(c) ? look_at_store(s) : 0, "looking for the run's checkpoints"));
	TRY(ranks_agree(c, spatial_begin(s), "sharing the samples"));
	if (!spatial_is_auto(s->config->parallel.spatial))
		TRY(ranks_agree(c, config_share_batch(s->config, s->nteams), "sharing the batch"));
	place_ranks(s, o);
	double start = io_seconds();
	if (o->weights)
		TRY(trained_on_find(s, o->weights));
	TRY(session_open_sets(s, o));
	if (o->need & SESSION_TRAIN)
		TRY(trained_on_adopt(s, o->resume));
	trace_mark(TRACE_RUN, "data", start);
	host_share(sharing(s, o));
	ranks_share_isa(c);
	TRY(ranks_agree(c, open_device(s, o), "opening the device"));
	TRY(ranks_agree(c, spatial_check_device(s), "opening the device"));
	TRY(compute_settle(s, o->weights ? o->weights : o->resume));
	proofs_open(&s->proofs, s->dev, c);
	if (o->need & SESSION_TRAIN)
		TRY(ranks_agree(c, reduction_meet(&s->reduction), "connecting the GPUs"));
	TRY(ranks_agree(c, session_open_stage(s, o), "opening the folder of 'data.stage'"));
	if (s->stage && !s->stage_borrowed)
		TRY(ranks_agree(c, staging_begin(s->stage), "staging"));
	TRY(session_settle_cut(s, o));
	TRY(ranks_agree(c, session_open_loaders(s, o), "starting to read the data"));
	TRY(ranks_agree(c, plan_ranks(s, o), "the times of sums"));
	TRY(ranks_agree(c, spatial_meet(s), "connecting the ranks of a sample"));
	TRY(ranks_agree(c, spatial_set_windows(s), "cutting the samples"));
	session_list_programs(s);
	mistakes_warn_data(s);
	TRY(plan_training(s));
	mistakes_warn_network(s);
	TRY(ranks_agree(c, plan_the_rest(s), "planning"));
	if (!(o->need & SESSION_TRAIN))
		TRY(compare(s, NULL));
	bool runs = o->need & SESSION_RUN && !run_is_export(s);
	return ranks_agree(c, runs ? session_bind(s) : 0, "memory");
}

int session_open(struct session **out, struct run_config *config, const struct session_options *o)
{
	struct session *s = mem_calloc(1, sizeof *s);
	struct session_options given = *o;
	if (!(o->need & SESSION_RUN) && o->ranks < 2)
		given.ranks = spatial_ranks(config);
	o = &given;
	s->config = config;
	s->comm = o->comm;
	s->nranks = !comm_many(o->comm) && o->ranks > 1 ? o->ranks : comm_count(o->comm);
	s->need = o->need;
	s->host_ranks = o->host_ranks;
	s->dump = o->dump;
	s->dump_dot = o->dump_dot;
	int rc = open_all(s, o);
	if (rc < 0) {
		session_close(s);
		return rc;
	}
	*out = s;
	return 0;
}

/* Whether this rank failed alone: then the other ranks will not reach the collective close. */
static bool failed_alone(const struct session *s)
{
	return comm_many(s->comm) && err_count() > 0 && ranks_failure() == RANKS_ALONE;
}

void session_close(struct session *s)
{
	if (!s)
		return;
	for (int i = 0; i < s->nprogram; i++)
		plan_free(s->program[i].plan);
	if (failed_alone(s) && !s->stage_borrowed)
		staging_give_up(s->stage);
	session_close_loaders(s);
	staging_close(s->stage_borrowed ? NULL : s->stage, failed_alone(s));
	equations_free(s->equations);
	dataset_free(s->train_set);
	if (!s->set_borrowed)
		dataset_free(s->validation_set);
	store_free(s->store);
	proofs_free(s->proofs);
	for (int i = s->nprogram - 1; i >= 0 && !failed_alone(s); i--) {
		messages_close(s->program[i].messages);
		sync_reducer_close_plan(s->program[i].statistics);
	}
	if (s->dev && !failed_alone(s)) {
		sync_reducer_close(s->sync, &s->reduction);
		nccl_close(s->sample_nccl);
		reduction_close(&s->reduction);
		for (int k = 1; k < s->config->objectives.n; k++)
			reduction_close(&s->further[k - 1].reduction);
		comm_subgroup_close(s->sample);
	}
	free_arena(s);
	engines_close(s->engines, s->wisdom);
	device_close(s->dev);
	config_free(s->config);
	mem_free(s);
}

struct plan *session_plan_of(const struct session *s, int objective, const struct batch *b)
{
	return session_plan_for(s, PLAN_TRAIN, objective, b->size, b->n);
}

bool session_validates(const struct session *s)
{
	return s->validation || s->compares;
}

bool session_overlaps(const struct session *s)
{
	return s->dev->driver && !s->dev->each && !trace_on() && !comm_many(s->comm) &&
	       !(s->config->physics && physics_watches(s->config));
}
