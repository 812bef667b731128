/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The family `networks`: several named networks of dense layers, whose inputs are coordinates of
 * points and outputs of other networks. They are built where an expression of an objective names
 * them (model/expr.h), so that one network is evaluated at several sets of points with the same
 * parameters, which are called NETWORK.dense_K.weight and .bias. */
#ifndef DLX_MODEL_NETWORKS_H
#define DLX_MODEL_NETWORKS_H

#include "model/expr.h"
#include "model/model.h"

struct networks {
	MODEL_COMMON
	const struct ynode *networks, *let, *noise;
};

extern const struct field networks_fields[];
#define networks_presets NULL      /* every key is the user's */
int networks_check(struct arena *a, const void *config, const struct loc *loc);
int networks_build(struct model_build *b, tid *out);

struct network_fourier {
	int64_t features;                /* sines, and as many cosines; 0: none */
	double scale;
};

struct network_config {
	struct strings inputs;
	struct ints dense;               /* units of the hidden layers */
	int activation;
	int64_t outputs;
	const struct ynode *input, *output;
	struct network_fourier fourier;
	int init;                        /* enum weight_init */
};

struct network {
	const char *name;
	struct loc loc;                  /* of the name */
	struct network_config c;
	int nfeature;                    /* expressions of the inputs in their place; 0: inputs alone */
	const struct expr **feature;
	const struct expr *output;       /* of the inputs and `net`, or NULL */
};

/* A name that stands for an expression. */
struct let {
	const char *name;
	const struct expr *e;
};

/* Random numbers that a network may take: one vector for each realization, the same at all its
 * points. */
struct noise_name {
	const char *name;
	struct loc loc;
	int64_t components;
	int law;                         /* enum noise_kind */
};

/* What the model section comes to; in a. E_CONFIG, with an entry for every mistake. */
struct networks_read {
	int n, nlet, nnoise;
	struct network *v;
	struct let *let;
	struct noise_name *noise;
};
int networks_read(struct arena *a, const struct networks *c, struct networks_read *out);
const char *network_activation(const struct network *n);
/* The name by which an activation is piecewise linear ("relu"), or NULL. */
const char *network_kinked(const struct network *n);
/* Checks the network's own expressions. components: of each input. */
int network_check(struct expr_scope *s, const struct network *n, const int *components);
/* Applies the network to its inputs, (rows, components) each, with these parameters at all
 * places. */
int network_emit(struct expr_emission *m, struct arena *a, const struct network *n, const tid *in,
                 tid *out);

#endif
