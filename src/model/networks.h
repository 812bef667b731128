/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The family `networks`: several named networks, made of dense layers or of the layers of family
 * `layers`. Their inputs are coordinates of points, arrays of samples, and outputs of other
 * networks. A network is built wherever an expression of an objective names it (model/expr.h), so
 * one network can be evaluated at several sets of points with the same parameters. Parameters of
 * dense networks are named NETWORK.dense_K.weight and NETWORK.dense_K.bias; those of other layers
 * are named NETWORK, a dot, and the layer's name for them.
 *
 * In an expression a value is (rows, components). A network made of layers reads and returns
 * samples of some shape; the components are the values of a sample in row-major order. */
#ifndef DLX_MODEL_NETWORKS_H
#define DLX_MODEL_NETWORKS_H

#include "model/expr.h"
#include "model/layer.h"

struct networks {
	MODEL_COMMON
	const struct ynode *networks, *let, *noise;
};

extern const struct field networks_fields[];
#define networks_presets NULL      /* every key is the user's */
int networks_check(struct arena *a, const void *config, const struct loc *loc);
int networks_build(struct model_build *b, tid *out);

struct network_fourier {
	int64_t features;                /* number of sines, and of cosines; 0: no Fourier features */
	double scale;
};

struct network_init_from {
	struct init_from from;
	const char *network;             /* name of the network in the file; NULL: the same name */
};

struct network_config {
	struct strings inputs;
	struct ints dense;               /* units of the hidden layers */
	int activation;
	int64_t outputs;
	const struct ynode *input, *output;
	struct network_fourier fourier;
	int init;                        /* enum weight_init */
	struct ynode *layers, *blocks;   /* as in the family `layers`; used instead of `dense` */
	struct ints shape;               /* shape of an input sample of the layers; n 0: that of the
	                                  * inputs */
	struct network_init_from init_from;
	const char *same_as;             /* name of the network whose parameters it shares, or NULL */
};

struct network {
	const char *name;
	struct loc loc;                  /* of the name */
	struct network_config c;
	int nfeature;                    /* number of expressions that replace the inputs; 0: the inputs
	                                  * are used as they are */
	const struct expr **feature;
	const struct expr *output;       /* expression of the inputs and `net` (the raw outputs), or
	                                  * NULL */
	const struct network *owner;     /* network that owns the parameters: itself, unless
	                                  * `same_as` */
	bool frozen;                     /* no objective trains it: it uses running statistics and no
	                                  * dropout */
	int width;                       /* number of components that the first layer reads; 0: not
	                                  * known yet */
	/* Set if the network is made of `layers`. */
	bool layered;
	struct layer_list list;
	struct shape in, out;            /* shapes of a sample; network_find_shape sets them, and
	                                  * c.outputs */
	const char *kinked, *mixes;      /* as in struct expr_name */
};

/* A name that stands for an expression. */
struct let {
	const char *name;
	const struct expr *e;
};

/* Random inputs for networks: one vector for each realization, the same at all points of it. */
struct noise_name {
	const char *name;
	struct loc loc;
	int64_t components;
	int law;                         /* enum noise_kind */
};

/* The model section after reading, in arena a. E_CONFIG, with an entry for every mistake. */
struct networks_read {
	int n, nlet, nnoise;
	struct network *v;
	struct let *let;
	struct noise_name *noise;
};
int networks_read(struct arena *a, const struct networks *c, struct networks_read *out);
const char *network_activation(const struct network *n);
/* The name of the network's activation if it is piecewise linear ("relu"), or NULL. */
const char *network_kinked(const struct network *n);
/* Checks the network's own expressions and sets n->width. components: the number for each input; 0:
 * unknown. */
int network_check(struct expr_scope *s, struct network *n, const int *components);
/* Finds the shapes of a network made of layers. given: shapes of the input samples; a shape without
 * axes is unknown. */
int network_find_shape(struct expr_scope *s, struct network *n, const struct shape *given);
/* Applies the network to its inputs, each (rows, components). All applications share the
 * parameters. training, place: as in struct model_build. */
int network_emit(struct expr_emission *m, struct arena *a, const struct network *n, bool training,
                 int place, const tid *in, tid *out);

/* Shared by the two files of the family: */
/* Builds the network's layers on x (rows, width); the result is (rows, outputs). */
int network_emit_layers(struct graph *g, struct arena *a, const struct network *n, bool training,
                        int place, tid x, tid *out);
/* Reads the list of layers. */
int network_read_layers(struct arena *a, struct network *n);

#endif
