/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ranks gather their devices' capabilities, and all use the smallest, or the values that rank 0
 * has read from the checkpoint. */
#include "train/run/compute.h"

#include <stdlib.h>
#include <string.h>

#include "backend/bf16_ratio.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "ckpt/ckpt.h"
#include "ckpt/version_id.h"
#include "train/run/ranks.h"

/* From this class on 'auto' takes bf16 on a CPU. In the one below it would gain the time of bytes
 * alone, and gradients of weights in bf16 then take longer than in float32. */
#define FASTER 2.0

/* What a rank's device has. */
struct offer {
	enum dtype type;               /* that 'auto' stands for there */
	struct bf16_ratio ratio;
	int arch;
	bool native;
};

/* What a checkpoint says. */
struct kept {
	bool found;
	char id[64], type[8];          /* type "": nothing, as one of an earlier version */
	double ratio;
};

static bool wants_ratio(const struct session *s)
{
	return s->dev->backend == BACKEND_CPU &&
	       (config_computes_auto(s->config) || config_compute(s->config) == DTYPE_BF16);
}

static struct offer offer_of(const struct session *s)
{
	struct offer o = { .type = DTYPE_F32, .arch = s->dev->arch,
		.native = plan_env_has_bf16(s->dev) };
	if (wants_ratio(s))
		o.ratio = bf16_ratio_find(s->dev);
	if (o.native && (s->dev->backend != BACKEND_CPU || o.ratio.class >= FASTER))
		o.type = DTYPE_BF16;
	return o;
}

/* One rank of a host measures, and the others find what it has kept. */
static struct offer offer_in_turn(const struct session *s)
{
	struct comm *c = s->comm;
	if (!comm_many(c))
		return offer_of(s);
	const bool first = c->local_rank == 0;
	struct offer o = { .type = DTYPE_F32 };
	if (first)
		o = offer_of(s);
	comm_barrier(c, "measuring the processors");
	return first ? o : offer_of(s);
}

/* Whether a has less of what is chosen by than b. */
static bool is_less(const struct offer *a, const struct offer *b)
{
	return a->type != b->type ? a->type == DTYPE_F32 : a->native != b->native ? b->native :
	       a->ratio.class < b->ratio.class;
}

/* The least of all ranks, and whose it is. */
static struct offer agree(struct comm *c, const struct offer *mine, int *rank)
{
	struct offer least = *mine;
	*rank = 0;
	if (!comm_many(c))
		return least;
	struct offer *all = mem_calloc((size_t)c->size, sizeof *all);
	comm_all_gather(c, mine, sizeof *mine, all, "the types that devices compute in");
	least = all[0];
	for (int r = 1; r < c->size; r++)
		if (is_less(&all[r], &least)) {
			least = all[r];
			*rank = r;
		}
	mem_free(all);
	return least;
}

/* --- what a checkpoint was made with --- */

static void read_kept(struct kept *k, const struct ckpt_version *v)
{
	const char *type = ckpt_version_scalar(v, COMPUTE_TYPE);
	const char *ratio = ckpt_version_scalar(v, COMPUTE_RATIO);
	k->found = true;
	snprintf(k->id, sizeof k->id, "%s", ckpt_version_id(v));
	snprintf(k->type, sizeof k->type, "%s", type ? type : "");
	k->ratio = ratio ? strtod(ratio, NULL) : 0;
}

/* A checkpoint that cannot be read is reported when it is. */
static struct kept look(struct session *s, const char *which)
{
	struct kept k = { .found = false };
	const int mark = err_count();
	if (which && comm_first(s->comm)) {
		char *dir = io_join(s->config->run.dir, "checkpoints");
		struct ckpt_version *v = NULL;
		if (ckpt_look(&v, dir, which) == 0 && v)
			read_kept(&k, v);
		ckpt_version_free(v);
		mem_free(dir);
	}
	err_truncate(mark);
	if (which && comm_many(s->comm))
		comm_broadcast(s->comm, &k, sizeof k, 0, "how the checkpoint computed");
	return k;
}

/* --- the choice --- */

static void put_reason(const struct session *s, const struct offer *o, struct buf *out)
{
	const bool bf16 = o->type == DTYPE_BF16;
	const char *core = o->ratio.core ? " of one core" : "";
	if (s->dev->backend == BACKEND_REFERENCE)
		buf_puts(out, "the reference computes in float64");
	else if (s->dev->backend == BACKEND_CUDA)
		buf_printf(out, "compute capability %d.%d %s instructions for bf16", o->arch / 10,
		           o->arch % 10, bf16 ? "has" : "has no");
	else if (!o->native)
		buf_puts(out, "there are no instructions for bf16");
	else if (bf16)
		buf_printf(out, "products%s run at %.0f GFLOP/s against %.0f in f32", core,
		           o->ratio.bf16 / 1e9, o->ratio.f32 / 1e9);
	else
		buf_printf(out, "products%s run at %.0f GFLOP/s, in bf16 at %.0f, which is not about twice "
		           "as fast", core, o->ratio.f32 / 1e9, o->ratio.bf16 / 1e9);
}

static const char *reason(const struct session *s, const struct offer *o, int rank)
{
	struct buf text = BUF_INIT;
	buf_puts(&text, "chosen by 'auto': ");
	if (rank > 0)
		buf_printf(&text, "on rank %d ", rank);
	put_reason(s, o, &text);
	const char *kept = arena_strdup(s->config->arena, text.data);
	buf_release(&text);
	return kept;
}

static bool is_cpu_bf16(const struct session *s)
{
	return s->dev->backend == BACKEND_CPU && config_compute(s->config) == DTYPE_BF16;
}

/* By what the ranks' devices have. Returns the class of their products, also where the type is
 * float32. */
static double choose(struct session *s)
{
	struct compute_choice *chosen = &s->config->chosen;
	const struct offer mine = offer_in_turn(s);
	int rank;
	const struct offer least = agree(s->comm, &mine, &rank);
	chosen->type = least.type;
	if (config_computes_auto(s->config))
		chosen->why = reason(s, &least, rank);
	chosen->ratio = is_cpu_bf16(s) ? least.ratio.class : 0;
	return least.ratio.class;
}

/* The checkpoint's choice in place of that, where the class is `here`. */
static void keep(struct session *s, const struct kept *k, double here)
{
	struct run_config *c = s->config;
	const int type = dtype_find(k->type);
	if (config_computes_auto(c) && (type == DTYPE_F32 || type == DTYPE_BF16)) {
		c->chosen.type = (enum dtype)type;
		c->chosen.why = arena_printf(c->arena, "as 'auto' has chosen for checkpoint %s",
		                             version_bare_id(k->id));
	}
	c->chosen.ratio = !is_cpu_bf16(s) ? 0 : type == DTYPE_BF16 ? k->ratio : here;
	if (is_cpu_bf16(s) && c->chosen.ratio != here && s->need & SESSION_TRAIN)
		note("the kernels are those of checkpoint %s, chosen for products in bf16 %g times as fast "
		     "as in f32; on this machine they would be chosen for %g times", version_bare_id(k->id),
		     c->chosen.ratio, here);
}

static int check(const struct session *s, const struct kept *k)
{
	const struct run_config *c = s->config;
	const struct plan_env env = plan_env_of(c, s->engines);
	int rc = plan_env_check(&env, s->dev, c->precision.allow_emulation);
	if (rc < 0 && config_computes_auto(c))
		err_context(rc, "'auto' keeps the type of checkpoint %s; '--set precision.compute=f32' "
		            "goes on in another one", version_bare_id(k->id));
	return rc < 0 ? err_locate(rc, config_place(c, "precision", "compute")) : 0;
}

/* Nothing here depends on the rank's device, which another rank may have otherwise. */
int compute_settle(struct session *s, const char *which)
{
	struct kept k = { .found = false };
	if (config_computes_auto(s->config) || config_compute(s->config) == DTYPE_BF16) {
		const double here = choose(s);
		k = look(s, which);
		if (k.found && k.type[0])
			keep(s, &k, here);
	}
	return ranks_agree(s->comm, check(s, &k), "the type to compute in");
}

void compute_compare(const struct session *s, const struct ckpt_version *v)
{
	const char *type = dtype_name(config_compute(s->config));
	struct kept k;
	read_kept(&k, v);
	if (!k.type[0] || (strcmp(k.type, type) != 0 && !config_computes_auto(s->config)))
		return;
	if (strcmp(k.type, type) != 0)
		warn("checkpoint '%s' was made in %s, and 'auto' has chosen %s: the bits will not be those "
		     "of a run that never stopped", k.id, k.type, type);
	else if (is_cpu_bf16(s) && k.ratio != s->config->chosen.ratio)
		warn("checkpoint '%s' was made with other kernels, chosen for products in bf16 %g times as "
		     "fast as in f32 (now %g): the bits will not be those of a run that never stopped",
		     k.id, k.ratio, s->config->chosen.ratio);
}
