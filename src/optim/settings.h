/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Keys that every optimizer's section has: learning rate, weight decay, trust ratio, and groups of
 * parameters with other settings; and the resulting settings of each parameter. */
#ifndef DLX_OPTIM_SETTINGS_H
#define DLX_OPTIM_SETTINGS_H

#include "optim/optim.h"

enum trust_mode { TRUST_SCALE, TRUST_CLIP };
enum trust_limit { LIMIT_RATE, LIMIT_ONE };
enum trust_of { OF_GRADIENT, OF_UPDATE };
enum trust_decay { DECAY_BESIDE, DECAY_WITHIN, DECAY_WITHOUT };
enum trust_momentum { MOMENTUM_GRADIENTS, MOMENTUM_STEPS };
enum trust_per { PER_TENSOR, PER_LAYER, PER_BLOCK };

struct trust {
	double eta, eps, least, zero;
	int mode, limit, of, decay, per, momentum;
};

/* First in every optimizer's struct. */
struct average {
	double decay;                /* NaN: no averages */
	int warmup;
	int64_t start;
};

struct optimizer {
	double learning_rate, weight_decay;
	int exempt;
	struct variant_value trust;
	struct sections groups;
	struct average average;
};

extern const char *const exempt_names[];
extern const struct variant trust_variants[];
extern const struct variant group_row[];
extern const struct field average_fields[];

/* Rows of the table of struct s, whose member `common` is a struct optimizer. Only optimizers that
 * have a trust ratio use OPTIMIZER_TRUST. */
#define COMMON_(s, m, t, ...)                                                                     \
	FIELD_AT(#m, t, offsetof(s, common) + offsetof(struct optimizer, m), __VA_ARGS__)
#define OPTIMIZER_RATE(s, rate)                                                                   \
	COMMON_(s, learning_rate, FT_FLOAT, .dflt = rate, .min = 0, .max = 1e6,                       \
	        .doc = "base rate; the schedule multiplies it")
#define OPTIMIZER_DECAY(s, decay)                                                                 \
	COMMON_(s, weight_decay, FT_FLOAT, .dflt = decay, .min = 0, .max = 1e6,                       \
	        .doc = "pull of every weight towards zero")
#define OPTIMIZER_TRUST(s)                                                                        \
	COMMON_(s, trust, FT_VARIANT, .dflt = "null", .variants = trust_variants,                     \
	        .flags = FIELD_NULLABLE,                                                              \
	        .doc = "rates by layer, from the norms of weights and gradients")
#define OPTIMIZER_GROUPS(s)                                                                       \
	COMMON_(s, exempt, FT_ENUM, .dflt = "vectors", .choices = exempt_names,                       \
	        .doc = "what has neither weight decay nor trust ratio: vectors (biases, scales and "  \
	               "shifts of normalisation) or none"),                                           \
	COMMON_(s, groups, FT_SECTIONS, .variants = group_row,                                        \
	        .doc = "parameters treated in their own way; the first entry that matches counts"),   \
	COMMON_(s, average, FT_SECTION, .sub = average_fields,                                        \
	        .doc = "moving average of the weights, for evaluation; see AVERAGED WEIGHTS")

/* Checks what the tables of keys cannot. */
int settings_check(const struct optimizer *o, bool sgd, const struct loc *loc);

/* How one parameter is updated. */
struct setting {
	double weight_decay, rate_factor;
	bool trust;
};
struct setting settings_of(const struct optimizer *o, const struct tensor *param);
/* E_CONFIG if a group matches none of the network's n params. */
int settings_match(struct graph *g, const struct optimizer *o, int n, const tid *param);
/* The length of the prefix of a parameter's name that all parameters with the same trust ratio
 * share. */
size_t settings_prefix(const char *name, int per);

#endif
