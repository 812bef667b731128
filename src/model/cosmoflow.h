/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Keys of the `cosmoflow` family. The defaults are the network of MLPerf HPC. */
#ifndef DLX_MODEL_COSMOFLOW_H
#define DLX_MODEL_COSMOFLOW_H

#include "model/nn.h"

enum cosmoflow_pool { COSMOFLOW_MAX, COSMOFLOW_AVERAGE };
enum cosmoflow_padding { COSMOFLOW_VALID, COSMOFLOW_SAME, COSMOFLOW_CENTRED };
enum cosmoflow_flatten { COSMOFLOW_CHANNELS_FIRST, COSMOFLOW_CHANNELS_LAST };
enum cosmoflow_dropout { COSMOFLOW_BEFORE, COSMOFLOW_AFTER };
enum cosmoflow_output { COSMOFLOW_LINEAR, COSMOFLOW_TANH };

struct cosmoflow {
	MODEL_COMMON
	int64_t convolutions;      /* number of convolutions; 0: chosen by the input's size */
	int64_t filters, max_filters;
	struct ints kernel, stride; /* a value for each convolution, or one value for all */
	int padding;               /* enum cosmoflow_padding */
	bool conv_bias;
	bool batch_norm;
	double eps, momentum;
	double slope;
	int pool;                  /* enum cosmoflow_pool */
	int64_t pool_kernel, pool_padding;
	int64_t pools;             /* 0: one after every convolution */
	int64_t pool_smallest;
	int flatten;               /* enum cosmoflow_flatten */
	struct ints dense;
	double dropout;
	int dropout_place;         /* enum cosmoflow_dropout */
	int output;                /* enum cosmoflow_output */
	double output_scale;
	int init;                  /* enum weight_init */
	double conv_bias_init, dense_bias_init;
	bool output_zero_init;
};

extern const struct field cosmoflow_fields[];
extern const struct preset cosmoflow_presets[];
int cosmoflow_check(struct arena *a, const void *config, const struct loc *loc);
int cosmoflow_build(struct model_build *b, tid *out);

#endif
