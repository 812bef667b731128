/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tables of trust ratios and groups. The presets are the variants in published codes, which
 * have little in common but the name. */
#include "optim/settings.h"

#include <fnmatch.h>
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "op/update/update.h"

/* --- tables --- */

enum { EXEMPT_VECTORS, EXEMPT_NONE };
const char *const exempt_names[] = { "vectors", "none", NULL };

static const char *const mode_names[] = { "scale", "clip", NULL };
static const char *const limit_names[] = { "rate", "one", NULL };
static const char *const place_names[] = { "gradient", "update", NULL };
static const char *const decay_names[] = { "beside", "within", "without", NULL };
static const char *const momentum_names[] = { "gradients", "steps", NULL };
static const char *const per_names[] = { "tensor", "layer", "block", NULL };

#define TRUST_FIELDS(eta_, mode_, eps_, momentum_)                                                 \
	FIELD_FLOAT(struct trust, eta, eta_, 1e-12, 1e6, "trust: the ratio is eta |w| / |g|"),         \
	FIELD_ENUM(struct trust, mode, mode_, mode_names,                                              \
	           "scale: the ratio multiplies; clip: only what would be too "                        \
	           "large a step is shortened"),                                                       \
	FIELD_ENUM(struct trust, limit, "rate", limit_names,                                           \
	           "clip: whether the ratio is limited to the learning rate or to one"),               \
	FIELD_ENUM(struct trust, of, "gradient", place_names,                                          \
	           "what is measured and multiplied: the gradient, or the update that "                \
	           "the optimizer makes of it"),                                                       \
	FIELD_ENUM(struct trust, decay, "beside", decay_names,                                         \
	           "weight decay in |g|: beside, |g| + decay |w|, within, |g + decay w|, or without"), \
	FIELD_ENUM(struct trust, per, "tensor", per_names,                                             \
	           "what one ratio is for: a tensor, a layer (names up to the last point) or a "    \
	           "block (up to the first)"),                                                         \
	FIELD_ENUM(struct trust, momentum, momentum_, momentum_names,                                  \
	           "whether the momentum of sgd sums gradients, or steps (gradients times "            \
	           "their rates)"),                                                                    \
	FIELD_FLOAT(struct trust, eps, eps_, 0, 1e6, "added to |g|"),                                  \
	FIELD_FLOAT(struct trust, least, "0", 0, 1e6, "smallest factor"),                              \
	FIELD(struct trust, zero, FT_FLOAT, .dflt = "1", .min = 0, .max = 1e6,                         \
	      .flags = FIELD_NULLABLE,                                                                 \
	      .doc = "factor where |w| or |g| is 0; null: what the formula gives")

static const struct field lars_fields[] = { TRUST_FIELDS("0.001", "scale", "0", "steps"),
	FIELD_END };
static const struct field larc_fields[] = { TRUST_FIELDS("0.002", "clip", "1e-8", "gradients"),
	FIELD_END };

static const struct preset larc_presets[] = {
	{ "apex", "of NVIDIA's Apex", "eta: 0.02, eps: 1e-8, mode: clip, limit: rate, decay: beside" },
	{ "sc18", "of Kurth et al. 2018 in its competition runs: the ratio itself is held "
	  "to one, whatever the rate",
	  "eta: 0.002, eps: 0, mode: clip, limit: one, decay: within, zero: 6.25e-5" },
	{ "sc18-corrected", "sc18 after its correction: the rate is limited to the ratio",
	  "eta: 0.002, eps: 0, mode: clip, limit: rate, decay: within, zero: 6.25e-5" },
	/* NVCaffe's solver computes so on GPUs; its default of eta is not verified. */
	{ "nvcaffe", "of NVCaffe: of the gradient without weight decay, for a momentum of steps",
	  "eta: 0.001, eps: 0, mode: clip, limit: rate, decay: without, momentum: steps" },
	{ "openseq2seq", "of OpenSeq2Seq",
	  "eta: 0.002, eps: 1e-7, least: 1e-7, mode: clip, limit: rate, decay: within, zero: null" },
	{ "stemdl", "of Laanait et al. 2019: a ratio for each block, held to one",
	  "eta: 0.001, eps: 1e-6, least: 1e-4, mode: clip, limit: one, decay: "
	  "within, per: block, zero: null" },
	{ NULL, NULL, NULL }
};

const struct variant trust_variants[] = {
	{ .name = "lars",
	  .doc = "LARS (You, Gitman, Ginsburg 2017): for sgd, with a momentum of whole steps",
	  .fields = lars_fields, .size = sizeof(struct trust) },
	{ .name = "larc", .doc = "LARC: the factor comes before the optimizer, whichever it is",
	  .fields = larc_fields, .size = sizeof(struct trust), .presets = larc_presets },
	{ NULL }
};

struct group {
	const char *match;
	double weight_decay, learning_rate_factor;
	int trust;
};
enum { GROUP_TRUST_NONE, GROUP_TRUST_APPLY };
static const char *const group_trust_names[] = { "none", "apply", NULL };
static const struct field group_fields[] = {
	FIELD_STRING(struct group, match, "",
	             "names of parameters, with * and ? as in the shell: '*.bias'"),
	FIELD(struct group, weight_decay, FT_FLOAT, .dflt = "null", .min = 0, .max = 1e6,
	      .flags = FIELD_NULLABLE,
	      .doc = "in place of the optimizer's; null: as without the group"),
	FIELD(struct group, trust, FT_ENUM, .dflt = "null", .choices = group_trust_names,
	      .flags = FIELD_NULLABLE,
	      .doc = "whether the trust ratio applies; null: as without the group"),
	FIELD_FLOAT(struct group, learning_rate_factor, "1", 0, 1e6,
	            "factor of the learning rate; 0: frozen; checkpoints store such parameters once"),
	FIELD_END
};
const struct variant group_row[] = {
	{ .name = "group", .doc = "parameters by name", .fields = group_fields,
	  .size = sizeof(struct group) },
	{ NULL }
};

const struct field average_fields[] = {
	FIELD(struct average, decay, FT_FLOAT, .dflt = "null", .min = 0, .max = 0.9999999999,
	      .flags = FIELD_NULLABLE | FIELD_SHORTHAND,
	      .doc = "share of the average that each update keeps; null: no average"),
	FIELD_ENUM(struct average, warmup, "bias", average_warmup_names,
	           "warm-up of the average: bias, corrected as Adam's moments are; ramp, the decay "
	           "rises as (1 + t) / (10 + t); "
	           "none, the initial weights count in full"),
	FIELD_INT(struct average, start, "0", 0, 1e15,
	          "updates before the average begins; until then it is the weights"),
	FIELD_END
};

/* --- the contract --- */

int settings_check(const struct optimizer *o, bool sgd, const struct loc *loc)
{
	const struct variant_value *v = &o->trust;
	const struct trust *t = v->data;
	if (!v->v)
		return 0;
	if (v->v->fields == lars_fields && !sgd)
		return ERR(E_CONFIG, &v->loc,
		           "'lars' is a form of sgd; expected 'larc', or the optimizer 'lamb'");
	if (v->v->fields == larc_fields && t->momentum == MOMENTUM_STEPS &&
	    (!sgd || t->of == OF_UPDATE))
		return ERR(E_CONFIG, &v->loc, "a momentum of steps is for sgd and a ratio of the gradient; "
		           "expected 'momentum: gradients'");
	if (v->v->fields == lars_fields && t->of == OF_UPDATE)
		return ERR(E_CONFIG, &v->loc,
		           "'lars' is measured on the gradient; expected 'of: gradient', or 'larc'");
	return 0;
}

/* Vectors have one axis or none. */
static struct setting setting_of(const struct optimizer *o, const struct group *group,
                                 const struct tensor *w)
{
	bool plain = o->exempt == EXEMPT_VECTORS && w->shape.nd <= 1;
	struct setting s = { plain ? 0 : o->weight_decay, 1, !plain };
	if (!group)
		return s;
	if (!isnan(group->weight_decay))
		s.weight_decay = group->weight_decay;
	if (group->trust >= 0)
		s.trust = group->trust == GROUP_TRUST_APPLY;
	s.rate_factor = group->learning_rate_factor;
	return s;
}

/* The number of the first one that matches, or -1. */
static int group_of(const struct optimizer *o, const char *name)
{
	const struct group *group = o->groups.v;
	for (int i = 0; i < o->groups.n; i++)
		if (fnmatch(group[i].match, name, 0) == 0)
			return i;
	return -1;
}

struct setting settings_of(const struct optimizer *o, const struct tensor *param)
{
	const int i = group_of(o, param->name);
	return setting_of(o, i < 0 ? NULL : (const struct group *)o->groups.v + i, param);
}

int settings_match(struct graph *g, const struct optimizer *o, int n, const tid *param)
{
	bool *used = ARENA_ARRAY(g->arena, bool, o->groups.n + 1);
	for (int i = 0; i < n; i++)
		used[1 + group_of(o, graph_t(g, param[i])->name)] = true;
	for (int i = 0; i < o->groups.n; i++)
		if (!used[1 + i])
			return ERR(E_CONFIG, &o->groups.loc[i],
			           "'%s' matches no parameter that is left by the entries before it",
			           ((const struct group *)o->groups.v)[i].match);
	return 0;
}

size_t settings_prefix(const char *name, int per)
{
	const char *dot = per == PER_LAYER ? strrchr(name, '.') : per == PER_BLOCK ? strchr(name, '.') :
	                  NULL;
	return dot ? (size_t)(dot - name) : strlen(name);
}
