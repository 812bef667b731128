/* SPDX-License-Identifier: BSD-3-Clause
 *
 * CosmoFlow: cosmological parameters from the density of matter in a cube of the universe
 * (Mathuriya et al. 2018, arXiv:1808.04728). Five networks go by this name; one shape has them all:
 *
 *   n times   conv [batch norm] leaky relu [pool]     filters double up to max_filters
 *   flatten
 *   m times   [dropout] dense leaky relu [dropout]
 *             [dropout] dense [tanh * scale]
 *
 * They differ in kernels, strides and padding, in what pools and how often, in the slope, and in
 * where dropout is. The number of pools, and for some that of convolutions, follows from the
 * size of the cube. */
#include "base/err.h"
#include "model/cosmoflow.h"
#include "model/op_attr.h"

#define MAX_CONVOLUTIONS 16
#define POOL_STRIDE      2
#define SIDE_LEFT        4 /* extent after the number of convolutions that is chosen by the input's
                            * size */

static const char *const pool_names[] = { [COSMOFLOW_MAX] = "max",
	                                      [COSMOFLOW_AVERAGE] = "average",
	                                      NULL };
static const char *const padding_names[] = { [COSMOFLOW_VALID] = "valid",
	                                         [COSMOFLOW_SAME] = "same",
	                                         [COSMOFLOW_CENTRED] = "centred",
	                                         NULL };
static const char *const flatten_names[] = { [COSMOFLOW_CHANNELS_FIRST] = "channels_first",
	                                         [COSMOFLOW_CHANNELS_LAST] = "channels_last",
	                                         NULL };
static const char *const dropout_names[] = { [COSMOFLOW_BEFORE] = "before",
	                                         [COSMOFLOW_AFTER] = "after",
	                                         NULL };
static const char *const output_names[] = { [COSMOFLOW_LINEAR] = "linear",
	                                        [COSMOFLOW_TANH] = "tanh",
	                                        NULL };

const struct field cosmoflow_fields[] = {
	MODEL_COMMON_FIELDS(struct cosmoflow),
	FIELD_INT(struct cosmoflow, convolutions, "5", 0, MAX_CONVOLUTIONS,
	          "number of convolutions; 0: one for each halving of the shortest side down to 4"),
	FIELD_INT(struct cosmoflow, filters, "32", 1, 1 << 16,
	          "filters of the first convolution; each further one has twice as many as the one "
	          "before"),
	FIELD_INT(struct cosmoflow, max_filters, "512", 1, 1 << 16,
	          "largest number of filters of a convolution"),
	FIELD_INTS(struct cosmoflow, kernel, "3", 1, 255,
	           "kernel of each convolution; one number: of all"),
	FIELD_INTS(struct cosmoflow, stride, "1", 1, 255,
	           "stride of each convolution; one number: of all"),
	FIELD_ENUM(struct cosmoflow, padding, "same", padding_names,
	           "zeros around convolutions; valid: none; same: for input / stride points, an odd "
	           "one at the end (TensorFlow); centred: half the kernel on both sides (LBANN)"),
	FIELD_BOOL(struct cosmoflow, conv_bias, "true",
	           "add a bias to convolutions without batch norm"),
	FIELD_BOOL(struct cosmoflow, batch_norm, "false",
	           "batch norm between convolution and activation"),
	FIELD_FLOAT(struct cosmoflow, eps, "1e-5", 1e-12, 1, "batch norm: added to the variance"),
	FIELD_FLOAT(struct cosmoflow, momentum, "0.1", 0, 1,
	            "batch norm: share of the new batch in the running statistics"),
	FIELD_FLOAT(struct cosmoflow, slope, "0.3", 0, 1e3,
	            "leaky ReLU: factor for values below zero"),
	FIELD_ENUM(struct cosmoflow, pool, "max", pool_names,
	           "kind of pooling; average counts padding as zeros"),
	FIELD_INT(struct cosmoflow, pool_kernel, "2", 1, 255, "side of a pool's window; its step is 2"),
	FIELD_INT(struct cosmoflow, pool_padding, "0", 0, 254, "padding of a pool on both sides"),
	FIELD_INT(struct cosmoflow, pools, "0", 0, MAX_CONVOLUTIONS,
	          "number of convolutions, from the first, with a pool after them; 0: all"),
	FIELD_INT(struct cosmoflow, pool_smallest, "0", 0, 1 << 20,
	          "omit a pool that would leave a side shorter than this; 0: omit none"),
	FIELD_ENUM(struct cosmoflow, flatten, "channels_last", flatten_names,
	           "order of the first dense layer's inputs; channels_last: TensorFlow's"),
	FIELD_INTS(struct cosmoflow, dense, "[128, 64]", 1, 1 << 24,
	           "units of the dense layers before the output"),
	FIELD_FLOAT(struct cosmoflow, dropout, "0.5", 0, 0.99,
	            "share of the values that dropout sets to zero"),
	FIELD_ENUM(struct cosmoflow, dropout_place, "after", dropout_names,
	           "before: dropout on the input of every dense layer, the output "
	           "layer too; after: on the "
	           "activations of the dense layers before the output"),
	FIELD_ENUM(struct cosmoflow, output, "tanh", output_names, "activation of the output"),
	FIELD_FLOAT(struct cosmoflow, output_scale, "1.2", 1e-6, 1e6, "factor on tanh"),
	FIELD_ENUM(struct cosmoflow, init, "glorot_uniform", weight_init_names,
	           "initial values of the weights"),
	FIELD_FLOAT(struct cosmoflow, conv_bias_init, "0", -1e6, 1e6,
	            "initial value of the biases of convolutions"),
	FIELD_FLOAT(struct cosmoflow, dense_bias_init, "0", -1e6, 1e6,
	            "initial value of the biases of dense layers"),
	FIELD_BOOL(struct cosmoflow, output_zero_init, "false",
	           "initialise the weights of the output layer to zero"),
	FIELD_END
};

#define MLPERF                                                                                   \
	"convolutions: 5, filters: 32, max_filters: 512, stride: 1, padding: same, conv_bias: true, " \
	"batch_norm: false, slope: 0.3, pool: max, pool_kernel: 2, pool_padding: 0, pools: 0, "        \
	"pool_smallest: 0, flatten: channels_last, dense: [128, 64], dropout_place: after, "           \
	"output: tanh, output_scale: 1.2, init: glorot_uniform, conv_bias_init: 0, "                   \
	"dense_bias_init: 0, output_zero_init: false, "
const struct preset cosmoflow_presets[] = {
	{ "sc18",
	  "Mathuriya et al. 2018, one channel of 128 cubed, without the later branches' mistake, a "
	  "third pool without a reader",
	  "convolutions: 7, filters: 16, max_filters: 256, kernel: [3, 4, 4, 3, 3, 2, 2], "
	  "stride: [1, 1, 1, 2, 1, 1, 1], padding: valid, conv_bias: true, batch_norm: false, "
	  "slope: 0.01, pool: average, pool_kernel: 2, pool_padding: 0, pools: 3, pool_smallest: 0, "
	  "flatten: channels_last, dense: [2048, 256], dropout: 0.5, dropout_place: before, "
	  "output: linear, init: glorot_uniform, conv_bias_init: 0.1, dense_bias_init: 0.1, "
	  "output_zero_init: false" },
	{ "lbann-2020",
	  "Oyama et al. 2020 (arXiv:2007.12856), four channels of 128, 256 or 512 cubed; batch_norm is "
	  "free",
	  "convolutions: 7, filters: 16, max_filters: 256, kernel: 3, stride: [1, 1, 1, 2, 1, 1, 1], "
	  "padding: centred, conv_bias: false, eps: 1e-5, momentum: 0.001, slope: 0.01, "
	  "pool: average, pool_kernel: 3, pool_padding: 1, pools: 0, pool_smallest: 2, "
	  "flatten: channels_first, dense: [2048, 256], dropout: 0.2, dropout_place: before, "
	  "output: linear, init: glorot_uniform, dense_bias_init: 0.1, output_zero_init: false" },
	{ "lbann-2023",
	  "LBANN since 2023, which takes log(1 + x) of its input: transform log1p; batch_norm is "
	  "free",
	  "convolutions: 0, filters: 16, max_filters: 256, kernel: 3, stride: 1, padding: centred, "
	  "conv_bias: true, eps: 1e-5, momentum: 0.01, slope: 0.3, pool: average, pool_kernel: 3, "
	  "pool_padding: 1, pools: 0, pool_smallest: 0, flatten: channels_first, dense: [2048, 256], "
	  "dropout: 0.5, dropout_place: after, output: tanh, output_scale: 1.2, init: he_normal, "
	  "conv_bias_init: 0, dense_bias_init: 0, output_zero_init: true" },
	{ "mlperf", "MLPerf HPC 1.0 and later; also the defaults", MLPERF "kernel: 3, dropout: 0.5" },
	{ "mlperf-v0.7", "MLPerf HPC 0.7, kernels of 2", MLPERF "kernel: 2, dropout: 0.5" },
	{ 0 }
};

/* --- parts --- */

static const struct cosmoflow *config(const struct model_build *b)
{
	return b->config;
}

static const char *path(struct model_build *b, const char *part, int i)
{
	return arena_printf(b->arena, "%s%d", part, i + 1);
}

static int64_t each(const struct ints *v, int i)
{
	return v->v[v->n == 1 ? 0 : i];
}

static int64_t shortest_side(const struct model_build *b, tid x)
{
	const struct shape *s = &graph_t(b->g, x)->shape;
	int64_t side = s->d[s->nd - 1];
	for (int i = 2; i < s->nd; i++)
		side = s->d[i] < side ? s->d[i] : side;
	return side;
}

static int convolutions(const struct model_build *b)
{
	int n = 0;
	if (config(b)->convolutions)
		return (int)config(b)->convolutions;
	for (int64_t side = shortest_side(b, b->input); side >= 2 * SIDE_LEFT; side /= 2)
		n++;
	return n ? n : 1;
}

static int leaky_relu(struct model_build *b, const char *name, tid x, tid *y)
{
	struct op_attr t = op_attr_new(b->g->arena, "leaky_relu");
	op_attr_float(&t, "slope", config(b)->slope);
	return nn_op(b, name, "leaky_relu", t.data, 1, &x, y);
}

/* Is there a pool after convolution i, whose output is x? */
static bool pooled(const struct model_build *b, int i, tid x)
{
	const struct cosmoflow *c = config(b);
	int64_t over = shortest_side(b, x) + 2 * c->pool_padding - c->pool_kernel;
	int64_t left = over < 0 ? 0 : over / POOL_STRIDE + 1;
	return (c->pools == 0 || i < c->pools) && left >= c->pool_smallest;
}

static int pool(struct model_build *b, const char *name, tid x, tid *y)
{
	const struct cosmoflow *c = config(b);
	const char *op = c->pool == COSMOFLOW_MAX ? "max_pool" : "average_pool";
	struct op_attr t = op_attr_new(b->g->arena, op);
	int64_t stride = POOL_STRIDE;
	op_attr_ints(&t, "kernel", 1, &c->pool_kernel);
	op_attr_ints(&t, "stride", 1, &stride);
	op_attr_ints(&t, "pad_lo", 1, &c->pool_padding);
	op_attr_ints(&t, "pad_hi", 1, &c->pool_padding);
	return nn_op(b, name, op, t.data, 1, &x, y);
}

/* (N, C, ...) to (N, features), the channels first or last of what becomes one axis. */
static int flatten(struct model_build *b, tid x, tid *y)
{
	const struct shape *s = &graph_t(b->g, x)->shape;
	int64_t perm[MAXD] = { 0 }, to[2] = { s->d[0], -1 };
	int nd = s->nd;
	*y = x;
	if (config(b)->flatten == COSMOFLOW_CHANNELS_LAST) {
		struct op_attr t = op_attr_new(b->g->arena, "transpose");
		for (int i = 1; i < nd; i++)
			perm[i] = i + 1 < nd ? i + 1 : 1;
		op_attr_ints(&t, "perm", nd, perm);
		TRY(nn_op(b, "channels_last", "transpose", t.data, 1, &x, y));
	}
	struct op_attr t = op_attr_new(b->g->arena, "reshape");
	op_attr_ints(&t, "shape", 2, to);
	return nn_op(b, "flatten", "reshape", t.data, 1, y, y);
}

static int dropout(struct model_build *b, int i, enum cosmoflow_dropout place, tid x, tid *y)
{
	const struct cosmoflow *c = config(b);
	bool here = c->dropout_place == (int)place;
	return nn_dropout(b, path(b, "dropout", i), here ? c->dropout : 0, x, y);
}

/* --- the rows of the table --- */

static int conv_block(struct model_build *b, int i, int64_t filters, tid x, tid *y)
{
	const struct cosmoflow *c = config(b);
	int64_t k = each(&c->kernel, i), s = each(&c->stride, i);
	int64_t pad = c->padding == COSMOFLOW_CENTRED ? k / 2 : 0;
	struct nn_conv conv = { .filters = filters,
		                    .kernel = { k, k, k },
		                    .stride = { s, s, s },
		                    .pad_lo = { pad, pad, pad },
		                    .pad_hi = { pad, pad, pad },
		                    .padding = c->padding == COSMOFLOW_SAME ? PADDING_SAME
		                                                            : PADDING_EXPLICIT,
		                    .bias = c->conv_bias && !c->batch_norm,
		                    .bias_value = c->conv_bias_init,
		                    .init = (enum weight_init)c->init };
	struct nn_batch_norm norm = { c->eps, c->momentum, 1 };
	TRY(nn_conv(b, path(b, "conv", i), &conv, x, y));
	if (c->batch_norm)
		TRY(nn_batch_norm(b, path(b, "norm", i), &norm, *y, y));
	TRY(leaky_relu(b, path(b, "act", i), *y, y));
	return pooled(b, i, *y) ? pool(b, path(b, "pool", i), *y, y) : 0;
}

static int dense(struct model_build *b, int i, int64_t units, bool last, tid x, tid *y)
{
	const struct cosmoflow *c = config(b);
	bool zero = last && c->output_zero_init;
	struct nn_dense d = { .units = units,
		                  .bias = true,
		                  .bias_value = c->dense_bias_init,
		                  .init = zero ? WI_CONSTANT : (enum weight_init)c->init };
	TRY(dropout(b, i, COSMOFLOW_BEFORE, x, &x));
	return nn_dense_layer(b, path(b, "fc", i), &d, x, y);
}

static int hidden(struct model_build *b, int i, int64_t units, tid x, tid *y)
{
	TRY(dense(b, i, units, false, x, y));
	TRY(leaky_relu(b, path(b, "fc_act", i), *y, y));
	return dropout(b, i, COSMOFLOW_AFTER, *y, y);
}

static int output(struct model_build *b, int i, tid x, tid *y)
{
	const struct cosmoflow *c = config(b);
	TRY(dense(b, i, b->classes, true, x, y));
	if (c->output == COSMOFLOW_LINEAR)
		return 0;
	struct op_attr t = op_attr_new(b->g->arena, "scale");
	op_attr_float(&t, "factor", c->output_scale);
	TRY(nn_op(b, "tanh", "tanh", NULL, 1, y, y));
	return nn_op(b, "output_scale", "scale", t.data, 1, y, y);
}

static int check_list(const char *key, const struct ints *v, int n, const struct loc *loc)
{
	if (v->n == 1 || v->n == n)
		return 0;
	return ERR(E_CONFIG, loc,
	           "'%s' has %d numbers for %d convolutions; give one for each or one for all", key,
	           v->n, n);
}

/* The checks that need the number of convolutions. */
static int check_lists(const struct cosmoflow *c, int n, const struct loc *loc)
{
	int rc = check_list("kernel", &c->kernel, n, loc);
	int r = check_list("stride", &c->stride, n, loc);
	return rc ? rc : r;
}

int cosmoflow_check(struct arena *a, const void *config, const struct loc *loc)
{
	const struct cosmoflow *c = config;
	int rc = c->convolutions ? check_lists(c, (int)c->convolutions, loc) : 0;
	if (c->pool_padding >= c->pool_kernel)
		rc = ERR(E_CONFIG, loc, "'pool_padding' is %lld and must be less than 'pool_kernel', %lld",
		         (long long)c->pool_padding, (long long)c->pool_kernel);
	return rc;
}

int cosmoflow_build(struct model_build *b, tid *out)
{
	const struct cosmoflow *c = config(b);
	int n = convolutions(b), units = c->dense.n;
	int64_t filters = c->filters;
	tid x = b->input;
	TRY(check_lists(c, n, &b->loc));
	for (int i = 0; i < n; i++) {
		filters = filters < c->max_filters ? filters : c->max_filters;
		TRY(conv_block(b, i, filters, x, &x));
		filters *= 2;
	}
	TRY(flatten(b, x, &x));
	for (int i = 0; i < units; i++)
		TRY(hidden(b, i, c->dense.v[i], x, &x));
	return output(b, units, x, out);
}
