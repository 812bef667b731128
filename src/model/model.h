/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Translates the config's `model` section to nodes of a graph. Each family of networks is one file
 * with a row in families.h: its keys, its documentation, and a build function that reads like the
 * table in the paper. A family only emits nodes and never reads data. */
#ifndef DLX_MODEL_MODEL_H
#define DLX_MODEL_MODEL_H

#include "graph/op.h"
#include "yaml/schema.h"

struct model_input {
	int64_t channels;
	struct ints size;                  /* [height, width] or [depth, height, width] */
};

struct init_from {
	const char *file;                  /* safetensors, or NULL */
	bool strict;                       /* true: the file must have exactly the network's tensors;
	                                    * false: tensors that fit are used */
};

/* The keys every family has, first in its struct and table. */
#define MODEL_COMMON                                                                     \
	struct model_input input;          /* channels 0 / size empty: taken from the data */  \
	int64_t classes;                   /* output channels; 0: taken from the data */       \
	struct init_from init_from;
extern const struct field model_input_fields[], init_from_fields[];
#define MODEL_COMMON_FIELDS(s)                                               \
	FIELD_SECTION(s, input, model_input_fields,                              \
	              "shape of one input sample; default: as in the data"),     \
	FIELD_INT(s, classes, "0", 0, 1 << 20,                                   \
	          "output channels; 0: as many as the data has classes"),        \
	FIELD_SECTION(s, init_from, init_from_fields,                            \
	              "initial weights: a safetensors file, or these keys")
struct model_common {
	MODEL_COMMON
};

/* The outputs of a network: the first is what build functions return; others have names. */
#define MODEL_OUTPUTS 8
struct model_outputs {
	int n;
	struct {
		const char *name;
		tid t;
	} v[MODEL_OUTPUTS];
};

/* The arguments of a build function. */
struct model_build {
	struct graph *g;
	struct arena *arena;
	bool training;       /* true: batch statistics and dropout; false: running statistics and no
	                      * dropout */
	tid input;                         /* (N, C, [D,] H, W) */
	int64_t classes;
	const void *config;                /* the family's struct */
	struct loc loc;                    /* of the model section */
	struct model_outputs *outputs;     /* model_output adds to these */
	/* number of this build if a network is built several times in one graph, on different inputs;
	 * else 0. Builds other than 0 use different dropout masks and do not update the running
	 * statistics */
	int place;
};
/* Names an output of the network. */
void model_output(struct model_build *b, const char *name, tid t);
/* The output of this name (NULL: the first one), or NONE if there is none. */
tid model_output_get(const struct model_outputs *o, const char *name);

struct family {
	const char *name, *doc;
	const struct field *fields;
	size_t size;
	/* Optional. Reports mistakes that the table of keys cannot detect but that can be found without
	 * a graph. */
	int (*check)(struct arena *a, const void *config, const struct loc *loc);
	int (*build)(struct model_build *b, tid *out);
};
extern const struct variant model_variants[];            /* a row owns its family */

/* Reads the `model` section, whose key `family` names the
 * variant, and checks it. what: as in schema_read. For tests: a run reads its whole config. */
int model_read(struct arena *a, const struct ynode *section, const char *what,
               struct variant_value *out);
/* Checks a section that its table accepts, without a graph or data. */
int model_check(struct arena *a, const struct variant_value *m);

/* Builds the network that m describes (a variant whose `own` is its family) into g. input: a tensor
 * of g. The first entry of *out is the logits or the prediction, with `classes` channels. */
int model_build(struct graph *g, struct arena *a, const struct variant_value *m, bool training,
                tid input, int64_t classes, struct model_outputs *out);

#endif
