/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The family `networks`: several named networks, of dense layers or of what the family `layers`
 * has, whose inputs are coordinates of points, arrays of samples and outputs of other networks.
 * They are built where an expression of an objective names them (model/expr.h), so that one network
 * is evaluated at several sets of points with the same parameters. These are called
 * NETWORK.dense_K.weight and .bias, or NETWORK and a dot and what the layer calls them.
 *
 * To an expression a value is (rows, components). A network of layers takes and gives samples of a
 * shape, whose values in row-major order are these components. */
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
	int64_t features;                /* sines, and as many cosines; 0: none */
	double scale;
};

struct network_init_from {
	struct init_from from;
	const char *network;             /* of the file; NULL: of the same name */
};

struct network_config {
	struct strings inputs;
	struct ints dense;               /* units of the hidden layers */
	int activation;
	int64_t outputs;
	const struct ynode *input, *output;
	struct network_fourier fourier;
	int init;                        /* enum weight_init */
	struct ynode *layers, *blocks;   /* as in the family `layers`, in the place of `dense` */
	struct ints shape;               /* of a sample that they take; n 0: as the inputs have it */
	struct network_init_from init_from;
	const char *same_as;             /* the network whose parameters it has, or NULL */
};

struct network {
	const char *name;
	struct loc loc;                  /* of the name */
	struct network_config c;
	int nfeature;                    /* expressions of the inputs in their place; 0: inputs alone */
	const struct expr **feature;
	const struct expr *output;       /* of the inputs and `net`, or NULL */
	const struct network *owner;     /* of the parameters: itself, unless `same_as` */
	bool frozen;                     /* no objective trains it: running statistics, no dropout */
	int width;                       /* components that the first layer reads; 0: not known yet */
	/* Of layers. */
	bool layered;
	struct layer_list list;
	struct shape in, out;            /* of a sample, set by network_find_shape, as c.outputs */
	const char *kinked, *mixes;      /* as in struct expr_name */
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
/* Checks the network's own expressions, and fills n->width. components: of each input; 0: not
 * known. */
int network_check(struct expr_scope *s, struct network *n, const int *components);
/* Finds the shapes of a network of layers whose inputs are samples of these shapes, without axes
 * where that is not known. */
int network_find_shape(struct expr_scope *s, struct network *n, const struct shape *given);
/* Applies the network to its inputs, (rows, components) each, with the same parameters at all
 * places. training, place: as in struct model_build. */
int network_emit(struct expr_emission *m, struct arena *a, const struct network *n, bool training,
                 int place, const tid *in, tid *out);

/* For the two files: */
/* Builds the layers, which are read at the same place as the network, on x (rows, width): (rows,
 * outputs). */
int network_emit_layers(struct graph *g, struct arena *a, const struct network *n, bool training,
                        int place, tid x, tid *out);
/* Reads the list of layers. */
int network_read_layers(struct arena *a, struct network *n);

#endif
