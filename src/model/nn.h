/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Layers with parameters, for the families' build functions. Each call names its parameters under a
 * dotted path with PyTorch's names ("PATH.weight", "PATH.bias", "PATH.running_mean"), sets the
 * context for errors, and emits the layer's nodes. */
#ifndef DLX_MODEL_NN_H
#define DLX_MODEL_NN_H

#include "model/model.h"

enum padding_kind { PADDING_VALID, PADDING_SAME, PADDING_EXPLICIT };

/* How weights are initialised: key `init` of layers and families. */
enum weight_init {
	WI_HE_NORMAL,
	WI_HE_NORMAL_FAN_OUT,
	WI_HE_UNIFORM,
	WI_GLOROT_NORMAL,
	WI_GLOROT_UNIFORM,
	WI_LECUN_NORMAL,
	WI_LECUN_UNIFORM,
	WI_CONSTANT
};
extern const char *const weight_init_names[];

struct nn_conv {
	int64_t filters;
	/* An entry for each spatial axis of the input; 0 means 1. */
	int64_t kernel[3], stride[3], dilation[3];
	int64_t pad_lo[3], pad_hi[3]; /* PADDING_EXPLICIT */
	int64_t groups;               /* 0: 1 */
	enum padding_kind padding;    /* SAME: output = ceil(input / stride), the odd one at the end */
	bool bias;
	enum weight_init init;
	double init_value;         /* the constant of WI_CONSTANT; a gain for the others (0: 1) */
	double bias_value;         /* initial value of the bias */
	int64_t output_padding[3]; /* transposed, not SAME: added to the output's size */
	/* transposed, SAME: the size of the output, from input * stride - (stride - 1) to
	 * input * stride; 0: input * stride */
	int64_t output_size[3];
};

/* Padding SAME, and the same kernel and stride along each axis. */
struct nn_conv nn_conv_same(int64_t filters, int64_t kernel, int64_t stride, bool bias,
                            enum weight_init init);
/* x: (N, C, [D, [H,]] W). path is copied. Errors are at b->loc. */
int nn_conv(struct model_build *b, const char *path, const struct nn_conv *c, tid x, tid *y);
int nn_conv_transpose(struct model_build *b, const char *path, const struct nn_conv *c, tid x,
                      tid *y);
int nn_dense(struct model_build *b, const char *path, int64_t units, bool bias,
             enum weight_init init, tid x, tid *y);
struct nn_dense {
	int64_t units;
	bool bias;
	enum weight_init init;
	double init_value, bias_value; /* as in nn_conv */
};
/* As nn_dense, with all options. */
int nn_dense_layer(struct model_build *b, const char *path, const struct nn_dense *c, tid x,
                   tid *y);
/* Makes only the parameters of a dense layer whose input has this many columns; bias may be NULL.
 * Nodes emitted next get the layer's name. */
int nn_dense_params(struct model_build *b, const char *path, const struct nn_dense *c,
                    int64_t columns, tid *weight, tid *bias);
struct nn_batch_norm {
	double eps, momentum; /* momentum: share of the new value (PyTorch) */
	double gamma_init;
};
int nn_batch_norm(struct model_build *b, const char *path, const struct nn_batch_norm *c, tid x,
                  tid *y);
/* Normalisation within a sample; training and evaluation are the same. */
enum nn_norm { NN_NORM_GROUPS, NN_NORM_CHANNELS, NN_NORM_POINTS };
struct nn_group_norm {
	int64_t groups; /* NN_NORM_GROUPS */
	double eps;
	bool affine;    /* with a scale and a shift of each channel */
};
int nn_group_norm(struct model_build *b, const char *path, enum nn_norm kind,
                  const struct nn_group_norm *c, tid x, tid *y);
/* *y is x itself in evaluation. */
int nn_dropout(struct model_build *b, const char *path, double rate, tid x, tid *y);
const struct shape *nn_shape(const struct model_build *b, tid x);
/* Returns "part.leaf", allocated in b's arena. */
const char *nn_join(struct model_build *b, const char *part, const char *leaf);
int nn_relu(struct model_build *b, const char *path, tid x, tid *y);
/* Concatenates n tensors along the channels; if n is 1, *y is in[0] itself. */
int nn_concat(struct model_build *b, const char *path, int n, const tid *in, tid *y);
/* Any op by its name; *y is its first output. attr: the op's struct, or NULL for its defaults. */
int nn_op(struct model_build *b, const char *path, const char *op, const void *attr, int nin,
          const tid *in, tid *y);
/* max_pool or average_pool with the same kernel and stride on every axis. The windows cover the
 * whole input: the input is padded at the end if the last window needs it, and padding does not
 * count. */
int nn_pool(struct model_build *b, const char *path, const char *op, int64_t kernel, int64_t stride,
            tid x, tid *y);

#endif
