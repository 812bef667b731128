/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Converts the store's entries to checkpoint tensors and back. Entries are in the order of first
 * use, so files list tensors in the network's order. */
#include "train/save/state.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "ckpt/version_id.h"
#include "plan/describe/describe_sources.h"
#include "plan/guard.h"
#include "plan/physics/physics.h"
#include "train/run/compute.h"
#include "train/save/levels.h"
#include "train/run/opening.h"
#include "train/run/ranks.h"
#include "train/save/replicas.h"
#include "train/save/shared_read.h"
#include "train/run/target.h"
#include "train/diagnose/trained_on.h"

/* Samples of all ranks in a micro-batch; what positions count. */
static int64_t global_batch(const struct session *s)
{
	return config_rank_batch(s->config) * s->nteams;
}

/* The copy is made once, by the thread of the store that needs it first. */
static int save_to(const struct state_stores *to, struct ckpt_state *state)
{
	int local = 0, run = 0;
	if (to->local) {
		local = ckpt_save(to->local, state);
		state->fill = local < 0 ? state->fill : snapshot_await;
	}
	if (to->run)
		run = ckpt_save(to->run, state);
	return run ? run : local;
}

int state_save(struct session *s, const struct state_stores *to, struct snapshot *snapshot,
               const struct clock *c, const struct state_texts *texts)
{
	struct arena *a = arena_new();
	struct trained_on on = trained_on_write(s, a);
	struct buf order = BUF_INIT;
	describe_order(s, &order);
	struct ckpt_scalar scalars[] = {
		[VALIDATIONS_SCALARS] =              /* those before: validations_write */
		{ "batch", arena_printf(a, "%" PRId64, c->batch) },
		{ "seconds", arena_printf(a, "%a", c->seconds) },
		{ "seed", arena_printf(a, "%" PRId64, s->config->run.seed) },
		{ "batch_size", arena_printf(a, "%" PRId64, global_batch(s)) },
		{ "accumulate", arena_printf(a, "%" PRId64, config_step_batches(s->config)) },
		{ "ranks", arena_printf(a, "%d", s->nteams) },
		{ "data", arena_printf(a, "%016" PRIx64, session_data_fingerprint(s)) },
		{ "order", order.data },
		{ "device", s->dev->name },
		{ "threads", s->threads },
		{ COMPUTE_TYPE, dtype_name(config_compute(s->config)) },
		{ COMPUTE_RATIO, arena_printf(a, "%g", s->config->chosen.ratio) },
		{ "kernels", s->kernels ? s->kernels : "" },
		{ TRAINING_SET, on.set },
		{ TRAINING_TRANSFORMS, on.transforms },
		{ TRAINING_TARGET_TRANSFORMS, on.target_transforms },
		{ TRAINING_UNSCALING, on.unscaling },
	};
	validations_write(&c->validations, s->config, a, scalars);
	const char *meta[TRAINED_ON_META];
	struct ckpt_state state = { .step = c->step, .epoch = c->epoch, .age = texts->age,
		.metric = texts->metric, .metric_name = texts->metric_name, .nmetrics = texts->nmetrics,
		.metrics = texts->metrics, .config = texts->config, .program = texts->program,
		.data = arena_printf(a, "%016" PRIx64, session_data_fingerprint(s)),
		.nscalars = sizeof scalars / sizeof *scalars, .scalar = scalars,
		.nmeta = trained_on_meta(s, a, meta), .meta = meta };
	int rc = snapshot_take(snapshot, &state);
	if (rc == 0)
		rc = save_to(to, &state);
	buf_release(&order);
	arena_free(a);
	return rc;
}

static int restore_from(const struct ckpt_version *v, const struct ckpt_tensor *t,
                        struct store_entry *e)
{
	char want[SHAPE_TEXT], have[SHAPE_TEXT];
	if (!t)
		return ERR(E_CONFIG, NULL, "checkpoint '%s' has no tensor '%s' of this network",
		           ckpt_version_id(v), e->name);
	if (!shape_equal(&t->shape, &e->shape))
		return ERR(E_CONFIG, NULL,
		           "checkpoint '%s': tensor '%s' is %s there and %s in this network",
		           ckpt_version_id(v), e->name, shape_text(&t->shape, have),
		           shape_text(&e->shape, want));
	return store_set(e, t->dtype, t->data);
}

/* --- parameters that were, or are, frozen --- */

/* Parameters of rate 0 have no moments (optim/optimizers.c). A moment that only one of version and
 * network has is one of these if its name is that of a parameter that both have, with a leaf that
 * the other has of other parameters: then the optimizer is the same. */

static bool ends_in(const char *name, const char *leaf)
{
	const size_t n = strlen(name), end = strlen(leaf);
	return n > end && strcmp(name + n - end, leaf) == 0;
}

/* The parameter of the store that a moment's name begins with, or NULL; *leaf: the rest. */
static struct store_entry *param_of(const struct store *store, const char *name, const char **leaf)
{
	char param[512];
	*leaf = strrchr(name, '.');
	if (!*leaf || *leaf - name >= (ptrdiff_t)sizeof param)
		return NULL;
	snprintf(param, sizeof param, "%.*s", (int)(*leaf - name), name);
	struct store_entry *e = store_find(store, param);
	return e && e->role == ROLE_PARAM ? e : NULL;
}

static bool was_frozen(const struct ckpt_version *v, const struct store *store,
                       const struct store_entry *e)
{
	const struct ckpt_state *state = ckpt_version_state(v);
	const char *leaf;
	const struct store_entry *param = param_of(store, e->name, &leaf);
	if (!param || e->role == ROLE_PARAM || ckpt_version_find(v, e->name) ||
	    !ckpt_version_find(v, param->name))
		return false;
	for (int i = 0; i < state->ntensors; i++)
		if (!state->tensor[i].weight && ends_in(state->tensor[i].name, leaf))
			return true;
	return false;
}

static bool is_frozen(const struct store *store, const struct ckpt_tensor *t)
{
	const char *leaf;
	if (t->weight || !param_of(store, t->name, &leaf))
		return false;
	for (int i = 0; i < store_count(store); i++) {
		const struct store_entry *e = store_at(store, i);
		if (e->role != ROLE_PARAM && state_is_kept(e->use) && ends_in(e->name, leaf))
			return true;
	}
	return false;
}

/* What goes on from zero where a checkpoint has none, or one of another window: of a run that
 * leaves out steps from now on, picks points by a residual, or trains what was frozen. */
static bool may_begin(const struct ckpt_version *v, const struct store *store,
                      const struct store_entry *e)
{
	const struct ckpt_tensor *t = ckpt_version_find(v, e->name);
	if (strcmp(e->name, GUARD_STATE) == 0 || physics_is_state(e->name))
		return !t || !shape_equal(&t->shape, &e->shape);
	return was_frozen(v, store, e);
}

static int restore_entry(const struct ckpt_version *v, struct store_entry *e)
{
	return restore_from(v, ckpt_version_find(v, e->name), e);
}

static const char *average_of(struct arena *a, const struct store_entry *e)
{
	return arena_printf(a, "%s." AVERAGE_LEAF, e->name);
}

static int restore_kept(const struct ckpt_version *v, const struct store *store,
                        struct store_entry *e)
{
	if (!may_begin(v, store, e))
		return restore_entry(v, e);
	void *zeros = mem_calloc((size_t)shape_count(&e->shape), dtype_size(e->dtype));
	int rc = store_set(e, e->dtype, zeros);
	mem_free(zeros);
	return rc;
}

/* Parameters that were not trained have no average. */
static int restore_averages(const struct ckpt_version *v, struct store *store)
{
	struct arena *a = arena_new();
	int n = 0, rc = 0;
	for (int i = 0; i < store_count(store) && rc == 0; i++) {
		struct store_entry *e = store_at(store, i);
		const struct ckpt_tensor *t = e->role == ROLE_PARAM ?
		                              ckpt_version_find(v, average_of(a, e)) : NULL;
		if (!t)
			continue;
		rc = restore_from(v, t, e);
		n++;
	}
	arena_free(a);
	if (n == 0)
		note("checkpoint %s has no averaged weights; the last ones are used",
		     version_bare_id(ckpt_version_id(v)));
	return rc;
}

static int copy_entry(const struct store_entry *from, struct store_entry *to)
{
	void *plain = mem_alloc((size_t)shape_count(&from->shape) * dtype_size(from->dtype));
	int rc = store_get(from, from->dtype, plain);
	if (rc == 0)
		rc = store_set(to, from->dtype, plain);
	mem_free(plain);
	return rc;
}

int state_begin_averages(struct store *store)
{
	struct arena *a = arena_new();
	int rc = 0;
	for (int i = 0; i < store_count(store) && rc == 0; i++) {
		const struct store_entry *e = store_at(store, i);
		struct store_entry *average = e->role == ROLE_PARAM ? store_find(store, average_of(a, e)) :
		                              NULL;
		if (average)
			rc = copy_entry(e, average);
	}
	arena_free(a);
	return rc;
}

static int refuse_foreign(const struct ckpt_version *v, const struct store *store)
{
	const struct ckpt_state *state = ckpt_version_state(v);
	for (int i = 0; i < state->ntensors; i++)
		if (!store_find(store, state->tensor[i].name) &&
		    strcmp(state->tensor[i].name, GUARD_STATE) != 0 &&
		    !physics_is_state(state->tensor[i].name) &&
		    !is_frozen(store, &state->tensor[i]))
			return ERR(E_CONFIG, NULL,
			           "checkpoint '%s' has a tensor '%s' that this network has not",
			           ckpt_version_id(v), state->tensor[i].name);
	return 0;
}

static int check_scalar(const struct ckpt_version *v, const char *name, const char *want,
                        const char *what)
{
	const char *have = ckpt_version_scalar(v, name);
	if (have && strcmp(have, want) == 0)
		return 0;
	return ERR(E_CONFIG, NULL, "checkpoint '%s' was made with %s %s, this run has %s; to continue "
	           "from its weights alone give them as 'model.init_from'", ckpt_version_id(v), what,
	           have ? have : "unknown", want);
}

#define SIZES_RESUME "with samples of several sizes a run goes on within an epoch only with the " \
	"'train.global_batch_size' and 'train.accumulate' that it had"

/* Where the data are others: in what they do not fit those that the checkpoint was made with. */
static int check_data(const struct session *s, const struct ckpt_version *v,
                      const char *fingerprint)
{
	const char *have = ckpt_version_scalar(v, "data"), *text = ckpt_version_scalar(v, TRAINING_SET);
	struct dataset *then;
	char name[96];
	int rc;
	if (!text || (have && strcmp(have, fingerprint) == 0))
		return 0;
	snprintf(name, sizeof name, "checkpoint %s", ckpt_version_id(v));
	TRY(dataset_from_description(&then, name, text));
	rc = dataset_agree_sets(s->train_set, then);
	dataset_free(then);
	return rc < 0 ? err_locate(rc, &s->config->data.train.loc[0]) : 0;
}

static int check_scalars(struct session *s, const struct ckpt_version *v)
{
	char text[32];
	snprintf(text, sizeof text, "%" PRId64, s->config->run.seed);
	TRY(check_scalar(v, "seed", text, "seed"));
	snprintf(text, sizeof text, "%016" PRIx64, session_data_fingerprint(s));
	TRY(check_data(s, v, text));
	return check_scalar(v, "data", text, "training data");
}

static int number(const struct ckpt_version *v, const char *name, double *out)
{
	const char *text = ckpt_version_scalar(v, name);
	char *end;
	if (!text)
		return ERR(E_DATA, NULL, "checkpoint '%s' has no '%s'", ckpt_version_id(v), name);
	*out = strtod(text, &end);
	if (*end || end == text)
		return ERR(E_DATA, NULL, "checkpoint '%s': bad '%s'", ckpt_version_id(v), name);
	return 0;
}

/* Where samples have several sizes, the order of an epoch depends on what a step has: within one a
 * run goes on with as many samples in a step. */
static int restore_among_sizes(struct session *s, const struct ckpt_version *v, double at)
{
	char batch[32], each[32];
	snprintf(batch, sizeof batch, "%" PRId64, global_batch(s));
	snprintf(each, sizeof each, "%" PRId64, config_step_batches(s->config));
	if (!(at >= 0 && at < (double)loader_batches(s->train)))
		return ERR(E_DATA, NULL, "checkpoint '%s' is of batch %g of an epoch of %" PRId64
		           " batches", ckpt_version_id(v), at, loader_batches(s->train));
	if (at == 0)
		return 0;
	TRYC(check_scalar(v, "batch_size", batch, "batch size"), SIZES_RESUME);
	TRYC(check_scalar(v, "accumulate", each, "train.accumulate"), SIZES_RESUME);
	return 0;
}

/* Hosts that shuffle their own samples have read others of an epoch than other hosts would have.
 * Checkpoints of earlier versions do not say in which order. */
static int check_order(const struct session *s, const struct ckpt_version *v, double batch)
{
	const char *was = ckpt_version_scalar(v, "order");
	struct buf now = BUF_INIT;
	int rc = 0;
	describe_order(s, &now);
	if (was && batch > 0 && strcmp(was, now.data) != 0 &&
	    (strstr(was, "within") || strstr(now.data, "within")))
		rc = ERR(E_CONFIG, s->config->data.shuffle ? &s->config->data.shuffle->loc : NULL,
		         "checkpoint '%s' is of the middle of an epoch, whose samples were %s; now they "
		         "are %s, and some would come twice or not at all; continue as then, or from the "
		         "checkpoint of an epoch's end", ckpt_version_id(v), was, now.data);
	buf_release(&now);
	return rc;
}

/* The position within the epoch, in batches of this run. A run on another number of ranks has
 * larger or smaller batches, and resumes only where both have a step's end. */
static int restore_position(struct session *s, const struct ckpt_version *v, int64_t *batch)
{
	const char *one = s->parts > 1 ? "team" : "rank";
	double at, size, ranks = 1;
	char text[32];
	int64_t now = global_batch(s), step = now * config_step_batches(s->config), samples;
	TRY(number(v, "batch", &at));
	TRY(number(v, "batch_size", &size));
	TRY(check_order(s, v, at));
	if (s->ntrain_size) {
		*batch = (int64_t)at;
		return restore_among_sizes(s, v, at);
	}
	if (ckpt_version_scalar(v, "ranks"))
		TRY(number(v, "ranks", &ranks));
	if (!(at >= 0 && at < 0x1p53 && size >= 1 && at * size < (double)loader_samples(s->train) &&
	      ranks >= 1 && ranks < 0x1p31))
		return ERR(E_DATA, NULL,
		           "checkpoint '%s' is of batch %g, of %g samples each, of an epoch of %" PRId64
		           " samples", ckpt_version_id(v), at, size, loader_samples(s->train));
	snprintf(text, sizeof text, "%" PRId64, now);
	if ((int64_t)ranks == s->nteams ||
	    (int64_t)size != (int64_t)ranks * config_rank_batch(s->config))
		TRY(check_scalar(v, "batch_size", text, "batch size"));
	samples = (int64_t)at * (int64_t)size;
	*batch = samples / now;
	if ((int64_t)size == now)
		return 0;
	if (samples % step)
		return ERR(E_CONFIG, NULL, "checkpoint '%s' was made by %d %s%s after %" PRId64
		           " samples of an epoch, where no step of %d %s%s with %" PRId64
		           " samples begins; continue with a 'train.global_batch_size' of %" PRId64 ", or "
		           "from the checkpoint of an epoch's end", ckpt_version_id(v), (int)ranks, one,
		           ranks > 1 ? "s" : "", samples, s->nteams, one,
		           s->nteams > 1 ? "s" : "", step, (int64_t)size);
	note("a batch now has %" PRId64 " samples, for %d %s%s; checkpoint '%s' was made with %" PRId64
	     ", by %d", now, s->nteams, one, s->nteams > 1 ? "s" : "", ckpt_version_id(v),
	     (int64_t)size, (int)ranks);
	return 0;
}

/* On a CPU the bits of sums depend on the number of threads, which divide them. On a GPU they do
 * not; checkpoints of earlier versions do not have the number. */
static void compare_threads(const struct session *s, const struct ckpt_version *v)
{
	const char *was = ckpt_version_scalar(v, "threads");
	if (!was || s->config->parallel.reproducible || strcmp(s->dev->name, "cpu") != 0 ||
	    strcmp(was, s->threads) == 0)
		return;
	warn("checkpoint '%s' was made with other threads (%s; now %s): the bits will not be those of "
	     "a run that never stopped; OMP_NUM_THREADS sets the number%s", ckpt_version_id(v), was,
	     s->threads, s->parts > 1 ? "" : ", 'parallel.reproducible' makes it not matter");
}

/* The instruction set, and implementations that are passed over, decide which kernels there are. */
static void compare_kernels(const struct session *s, const struct ckpt_version *v)
{
	const char *was = ckpt_version_scalar(v, "kernels");
	if (!was || !*was || !s->kernels || strcmp(was, s->kernels) == 0)
		return;
	warn("checkpoint '%s' was made with other kernels (%s; now %s): the bits will not be those of "
	     "a run that never stopped", ckpt_version_id(v), was, s->kernels);
}

static int restore(struct session *s, const struct ckpt_version *v, struct clock *c)
{
	TRY(check_scalars(s, v));
	TRY(restore_position(s, v, &c->batch));
	TRY(refuse_foreign(v, s->store));
	compare_threads(s, v);
	compute_compare(s, v);
	compare_kernels(s, v);
	for (int i = 0; i < store_count(s->store); i++)
		if (state_is_kept(store_at(s->store, i)->use))
			TRY(restore_kept(v, s->store, store_at(s->store, i)));
	TRY(validations_read(&c->validations, s->config, v));
	TRY(number(v, "seconds", &c->seconds));
	c->step = ckpt_version_state(v)->step;
	c->epoch = ckpt_version_state(v)->epoch;
	c->metric = ckpt_version_state(v)->metric;
	if (c->batch == loader_batches(s->train)) {   /* what is left fills no batch of these ranks */
		c->batch = 0;
		c->epoch++;
	}
	c->reached = target_reached_in(s->config, v);
	return 0;
}

static int load(struct session *s, const char *dir, const char *which, struct clock *c, bool *found,
                char id[64])
{
	struct ckpt_version *v;
	TRY(shared_read(&v, s->comm, dir, which));
	*found = v != NULL;
	if (!v)
		return 0;
	snprintf(id, 64, "%s", ckpt_version_id(v));
	int rc = restore(s, v, c);
	ckpt_version_free(v);
	return rc;
}

/* What one rank has read, to be broadcast. */
struct loaded {
	struct clock clock;
	bool found;
	char id[64];
};

static int share_loaded(struct session *s, const struct loaded *mine, int rc, int root,
                        struct loaded *out)
{
	*out = *mine;
	TRY(ranks_agree(s->comm, rc, "reading the checkpoint"));
	if (comm_many(s->comm))
		comm_broadcast(s->comm, out, sizeof *out, root, "the checkpoint's position");
	return out->found ? replicas_begin_from(s->comm, s->store, root) : 0;
}

int state_load(struct session *s, const char *dir, const char *which, struct clock *c, bool *found,
               char id[64])
{
	struct loaded l = { .clock = *c };
	int rc = load(s, dir, which, &l.clock, &l.found, l.id);
	TRY(share_loaded(s, &l, rc, 0, &l));
	*c = l.clock;
	*found = l.found;
	snprintf(id, 64, "%s", l.id);
	return 0;
}

/* --- from several stores --- */

/* What rank 0 has found in the run's store. */
struct found {
	int rc;
	struct ckpt_age age;           /* 0: nothing */
};

static struct found tell(struct comm *c, int rc, const struct ckpt_version *v)
{
	struct found f = { rc, v ? ckpt_version_state(v)->age : (struct ckpt_age){ 0 } };
	if (comm_many(c))
		comm_broadcast(c, &f, sizeof f, 0, "which checkpoint is newest");
	return f;
}

/* Whether the run's store says that it has a version as new as l->newest: that one is taken then,
 * from which steps can be made again. */
static bool store_is_as_new(struct comm *c, const struct levels *l, const char *dir,
                           const char *which)
{
	const int mark = err_count();
	struct ckpt_version *v = NULL;
	const int rc = comm_first(c) ? ckpt_look(&v, dir, which) : 0;
	const struct found f = tell(c, rc, v);
	err_truncate(mark);
	ckpt_version_free(v);
	return !levels_older(f.age, l->newest);
}

/* *v: what this rank is to restore, or NULL. Returns the rank that has it on its host's disk, or
 * -1: rank 0 has it from the run's store. */
static int choose(struct session *s, const struct levels *l, const char *dir, const char *which,
                  struct ckpt_version **v, int *rc)
{
	const int mark = err_count();
	*rc = 0;
	if (l->root >= 0 && !store_is_as_new(s->comm, l, dir, which))
		return l->root;
	struct ckpt_version *read = NULL;
	*rc = shared_read(&read, s->comm, dir, which);
	if (l->root >= 0) {            /* the newest one may be damaged */
		const struct found f = tell(s->comm, *rc, read);
		if (f.rc < 0 || levels_older(f.age, l->newest)) {
			err_truncate(mark);
			ckpt_version_free(read);
			*rc = 0;
			return l->root;
		}
	}
	ckpt_version_free(*v);
	*v = read;
	return -1;
}

int state_resume(struct session *s, const char *dir, const char *local, const char *which,
                 struct clock *c, struct state_resumed *out)
{
	const bool newest = strcmp(which, "auto") == 0 || strcmp(which, "last") == 0;
	struct ckpt_version *v = NULL;
	struct loaded mine = { .clock = *c }, got;
	struct levels levels, none = { .root = -1 };
	int rc;
	levels_look(&levels, s->comm, local, newest ? which : NULL, &v);
	const int rank = choose(s, newest ? &levels : &none, dir, which, &v, &rc);
	const int root = rank > 0 ? rank : 0;
	if (v && rc == 0 && root == (s->comm ? s->comm->rank : 0)) {
		mine.found = true;
		snprintf(mine.id, sizeof mine.id, "%s", ckpt_version_id(v));
		rc = restore(s, v, &mine.clock);
	}
	ckpt_version_free(v);
	TRY(share_loaded(s, &mine, rc, root, &got));
	*c = got.clock;
	*out = (struct state_resumed){ .found = got.found, .rank = rank,
		.newest = levels.newest };
	snprintf(out->id, sizeof out->id, "%s", got.id);
	return 0;
}

static int load_weights(struct session *s, const char *dir, const char *which, bool averaged,
                        bool *found, char id[64])
{
	struct store *store = s->store;
	struct ckpt_version *v;
	int rc = 0;
	TRY(shared_read(&v, s->comm, dir, which));
	*found = v != NULL;
	if (!v)
		return 0;
	snprintf(id, 64, "%s", ckpt_version_id(v));
	for (int i = 0; i < store_count(store) && rc == 0; i++)
		if (store_is_weight(store_at(store, i)))
			rc = restore_entry(v, store_at(store, i));
	if (averaged && rc == 0)
		rc = restore_averages(v, store);
	ckpt_version_free(v);
	return rc;
}

int state_load_weights(struct session *s, const char *dir, const char *which, bool averaged,
                       bool *found, char id[64])
{
	*found = false;
	int rc = load_weights(s, dir, which, averaged, found, id);
	TRY(ranks_agree(s->comm, rc, "reading the checkpoint"));
	if (comm_many(s->comm))
		comm_broadcast(s->comm, found, sizeof *found, 0, "whether there is a checkpoint");
	return *found ? replicas_begin(s->comm, s->store) : 0;
}
