/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Device code with a C interface. A launcher enqueues its kernel on the stream (a cudaStream_t) and
 * returns the CUDA runtime's status, 0 for success; it never waits and never allocates. Pointers
 * are device pointers. `type` is an enum dtype of base/types.h: kernels compute in float32 whatever
 * types they load and store. */
#ifndef DLX_CUDA_KERNELS_H
#define DLX_CUDA_KERNELS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A copy of enum dtype, so that .cu files need not include its header; backend/cuda/cuda.c checks
 * that the two agree. */
enum { K_TYPE_F32, K_TYPE_F64, K_TYPE_F16, K_TYPE_BF16, K_TYPE_I8, K_TYPE_U8, K_TYPE_I16,
	K_TYPE_U16, K_TYPE_I32, K_TYPE_I64 };

/* --- element by element (k_map.cu); the result may be x or y --- */

/* The elements of a launcher's tensors. c is 0: n contiguous elements, padding included. Otherwise
 * n elements in rows of c; x, y and z are the distances between rows, in elements, in the
 * launcher's first, second and third tensor. */
struct k_walk {
	int64_t n, c, x, y, z;
};

enum k_unary { K_RELU, K_LEAKY_RELU, K_TANH, K_SIGMOID, K_SOFTPLUS, K_SQUARE, K_SQRT, K_EXP, K_LOG,
	K_SCALE,
	       K_GELU, K_GELU_TANH, K_SILU, K_ELU, K_LOG1P, K_EXPM1, K_SIN, K_COS, K_ABS, K_SIGN,
	       K_POW, K_SLOPE_SILU, K_SLOPE_GELU, K_SLOPE_GELU_TANH };
/* Parameters a and b: a is the slope of leaky_relu, alpha of elu, the exponent of pow, or the order
 * of `slope` (at most K_SLOPE_MOST); scale takes its factor in a and its shift in b. */
#define K_SLOPE_MOST 16
int k_unary(void *stream, enum k_unary op, int type, const struct k_walk *w, float a, float b,
            const void *x, void *y);

enum k_binary { K_ADD, K_SUBTRACT, K_MULTIPLY, K_DIVIDE, K_RELU_GRAD, K_LEAKY_RELU_GRAD,
	K_SCALED_RELU_GRAD,
		K_GELU_GRAD, K_GELU_TANH_GRAD, K_SILU_GRAD, K_ELU_GRAD, K_MINIMUM, K_MAXIMUM };
/* Gradients. For them the argument x is the function's output (for gelu and silu: its input) and
 * the argument y is the gradient to the output. a: the slope, alpha, or the factor of a scaled
 * gradient. */
int k_binary(void *stream, enum k_binary op, int type, const struct k_walk *w, float a,
             const void *x, const void *y, void *z);

/* y = c >= 0 ? a : b, n elements. */
int k_select(void *stream, int type, int64_t n, const void *c, const void *a, const void *b,
             void *y);
/* y = x * *factor, a float32 scalar on the device. */
int k_scale_by(void *stream, int type, const struct k_walk *w, const void *x, const float *factor,
               void *y);
/* Sets all elements to value. Rows of y are w->x elements apart. */
int k_fill(void *stream, int type, const struct k_walk *w, double value, void *y);
/* Converts between any two of f32, f16, bf16, i32, i64, u8, i8 and f64; i16 and u16 may only be
 * `from`. */
int k_cast(void *stream, int from, int to, int64_t n, const void *x, void *y);

/* --- strided copies (k_copy.cu) --- */

#define K_AXES 6
struct k_copy {
	int nd;
	int64_t d[K_AXES], in[K_AXES], out[K_AXES];      /* extents; distances in units */
};
/* unit: bytes that are moved as one: 1, 2, 4, 8 or 16. x and y are aligned to it. */
int k_copy(void *stream, int unit, const struct k_copy *c, const void *x, void *y);

/* --- samples as they are stored (k_input.cu), as op/normalize_input.c has it --- */

/* x: (n, c, points) of type `from`; y: (n, points, c) of
 * type `to`, a float. table: (steps, 3, c). */
struct k_samples {
	int from, to, steps;
	int64_t n, c, points, mask;
	const float *table;
};
int k_normalize_input(void *stream, const struct k_samples *s, const void *x, void *y);

/* --- channels of channels-last tensors (k_channels.cu) --- */

/* y[row][channel] += bias[channel], in place; stride: elements from row to row. */
int k_add_bias(void *stream, int type, int64_t rows, int64_t c, int64_t stride, const float *bias,
               void *y);
/* sum[channel] over the rows, float32, in a fixed order. ws: k_channels_workspace bytes. */
int k_channel_sum(void *stream, int type, int64_t rows, int64_t c, int64_t stride, const void *x,
                  float *sum, void *ws);
int64_t k_channels_workspace(int64_t rows, int64_t c);

/* --- batch normalisation (k_norm.cu) --- */

/* A matrix with c channels per row; rows are `stride` elements apart. p is NULL if the tensor is
 * absent. */
struct k_rows {
	void *p;
	int64_t stride;
};

/* y = f((x - mean) * rstd * gamma + beta [+ residual]). If `act` is set, f multiplies negative
 * values by `slope` (slope 0 is ReLU); otherwise f is the identity. signs: optional output, one bit
 * for each value of y that is set if it is above zero: channel c is bit c % 8 of byte c / 8 of its
 * row. c is a multiple of 8 then. */
struct k_norm {
	int64_t rows, c;
	int type, act;
	float slope;
	double eps;
	struct k_rows x, residual, y, signs;
	const float *gamma, *beta;
	float *mean, *rstd, *variance;
};
/* Computes and uses the batch's statistics. mean, rstd and variance are outputs, each of which may
 * be NULL. */
int k_norm_forward(void *stream, const struct k_norm *n, void *ws);
/* Computes only the statistics, from x and eps. */
int k_norm_statistics(void *stream, const struct k_norm *n, void *ws);
/* The same statistics, computed from the sums over the rows of x and of its squares. */
int k_norm_from_sums(void *stream, const struct k_norm *n, const float *sum, const float *squares);
/* mean is an input; so is rstd, or variance if rstd is NULL. */
int k_norm_inference(void *stream, const struct k_norm *n, void *ws);

/* The norm as one multiply-add per channel, x * scale + shift: scale = gamma * rstd, shift = beta -
 * mean * scale. scale and shift are float32 or 16-bit vectors. */
struct k_norm_vectors {
	int64_t c;
	int type;
	const float *gamma, *beta, *mean, *rstd;
	void *scale, *shift;
};
int k_norm_vectors_run(void *stream, const struct k_norm_vectors *v);

/* The source of the sign of z, the argument of f: no sign is needed (ALL), recomputed from x, from
 * y, or from the stored bits, `signs`. */
enum k_norm_mask { K_NORM_ALL, K_NORM_FROM_X, K_NORM_FROM_Y, K_NORM_FROM_SIGNS };
struct k_norm_grad {
	int64_t rows, c;
	int type;
	enum k_norm_mask mask;
	float slope;
	struct k_rows x, dy, second, y, signs, addend;
	struct k_rows dx, masked;                /* masked: optional output, the gradient of z; it may
	                                          * share dy's memory. dx may be absent if `masked` is
	                                          * present. */
	const float *gamma, *beta, *mean, *rstd;
	const float *variance;                   /* inference only (else NULL): rstd is computed from it
	                                          * and eps, and dx from dy alone */
	double eps;
	float *dgamma, *dbeta;
};
int k_norm_backward(void *stream, const struct k_norm_grad *g, void *ws);
/* Computes only dx: dy is masked already, and dgamma and dbeta are inputs. */
int k_norm_backward_rest(void *stream, const struct k_norm_grad *g);

/* The same with statistics over the batches of all ranks. `give` writes this rank's message, 1 + 2
 * c doubles (op/norm/norm_sync.c documents its content); the caller sums the messages over the
 * ranks; `take` computes the result from the sum. share: a number on the device; 0: this rank's
 * batch does not count. */
int k_norm_forward_give(void *stream, const struct k_norm *n, const float *share, double *message,
                        void *ws);
int k_norm_forward_take(void *stream, const struct k_norm *n, const double *message, void *ws);
int k_norm_backward_give(void *stream, const struct k_norm_grad *g, const float *share,
                         double *message, void *ws);
int k_norm_backward_take(void *stream, const struct k_norm_grad *g, const float *share,
                         const double *message, void *ws);
int64_t k_norm_workspace(int64_t rows, int64_t c);

/* --- what follows a convolution (k_epilogue.cu) --- */

/* y = f(made * scale + shift + addend), where `made` is the convolution's result and scale and
 * shift are vectors over the channels. K_ACT_RELU: f multiplies negative values by `slope`;
 * K_ACT_MASK: f multiplies by `slope` where `mask` is not above zero. Absent operands are NULL.
 * made, addend and mask are of type `from`; y is of that type or float32, and may be `made`. */
enum k_act { K_ACT_NONE, K_ACT_RELU, K_ACT_MASK };
struct k_epilogue {
	int64_t rows, c;
	int from, to;
	enum k_act act;
	float slope;
	const float *scale, *shift;
	struct k_rows made, addend, mask, y;
};
int k_epilogue_run(void *stream, const struct k_epilogue *e);

/* Computes the vectors scale and shift for which x * scale + shift equals (x + bias - mean) /
 * sqrt(variance + eps) * gamma + beta. bias may be NULL. */
struct k_fold {
	int64_t c;
	double eps;
	const float *gamma, *beta, *mean, *variance, *bias;
	float *scale, *shift;
};
int k_fold_norm(void *stream, const struct k_fold *f);

/* --- pooling and resizing, channels-last and dense (k_window.cu) --- */

/* One to three spatial axes; absent ones have extent 1. k: the window's extents; s: its strides;
 * lo: padding before the first pixel. Tensors have fewer than 2^31 pixels. */
struct k_window {
	int64_t n, c;
	int in[3], out[3], k[3], s[3], lo[3];
	int count_padding;
};
/* index: the place of each maximum in its window, as int32 if `wide` is set, else as uint8.
 * k_max_pool accepts NULL. */
int k_max_pool(void *stream, int type, const struct k_window *w, const void *x, void *y, int wide,
               void *index);
int k_max_pool_grad(void *stream, int type, const struct k_window *w, const void *dy, int wide,
                    const void *index, void *dx);
int k_max_pool_gather(void *stream, int type, const struct k_window *w, const void *x, int wide,
                      const void *index, void *y);
int k_average_pool(void *stream, int type, const struct k_window *w, const void *x, void *y);
int k_average_pool_grad(void *stream, int type, const struct k_window *w, const void *dy, void *dx);

/* The interpolation table, on the device. Entries first[a][i] .. first[a][i + 1] - 1 of axis a are
 * the sources of result index i: the index `from` and its weight. */
struct k_resize {
	const int32_t *first[3], *from[3];
	const float *weight[3];
};
/* Of w, only n, c, in and out are used. */
int k_resample(void *stream, int type, const struct k_window *w, const struct k_resize *m,
               const void *x, void *y);

/* --- softmax of rows of c values (k_softmax.cu); y may be x, dx may be y or dy --- */

int k_softmax(void *stream, int type, int64_t rows, int64_t c, const void *x, void *y);
int k_softmax_grad(void *stream, int type, int64_t rows, int64_t c, const void *y, const void *dy,
                   void *dx);

/* --- reductions (k_reduce.cu) --- */

#define K_LEVELS 6
/* A loop nest: levels, outermost first; strides of its elements in x and y. */
struct k_nest {
	int n;
	int64_t count, size[K_LEVELS], x[K_LEVELS], y[K_LEVELS];
};
/* For each element of the nest `kept` and for each of `columns` adjacent elements of x: y = factor
 * * the sum (k_max: the maximum) over the nest `summed`. The results of adjacent columns are
 * column_y elements apart in y. */
struct k_reduce {
	struct k_nest kept, summed;
	int64_t columns, column_y;
	double factor;
	int max;
};
/* to: the type of y: `type` or f32. */
int k_reduce_run(void *stream, int type, int to, const struct k_reduce *r, const void *x, void *y,
                 void *ws);
int64_t k_reduce_workspace(const struct k_reduce *r);
/* dx = dy at the first maximum of each result, 0 elsewhere. columns is 1; the y strides of `kept`
 * are those of dy, and `summed` is in row-major order. */
int k_max_grad(void *stream, int type, const struct k_reduce *r, const void *x, const void *dy,
               void *dx);

/* --- many tensors at once, float32 (k_bundle.cu) --- */

/* A launch passes its table by value. The limit is 32 KiB since CUDA 12.1 for compute capability
 * 7.0 and later, 4 KiB before. */
#define K_TENSORS 448
#define K_PIECE 8192
/* first[t]: the number of blocks before tensor t. A block handles K_PIECE elements, the last one of
 * a tensor the rest. first[n]: the number of all blocks. */
struct k_table {
	int n;
	int first[K_TENSORS + 1];
	int64_t count[K_TENSORS];
	void *p[6][K_TENSORS];
	float decay[K_TENSORS], factor[K_TENSORS];
	unsigned char type[K_TENSORS];       /* element type of the gradient */
};
/* The number of tensors that a launch accepts on this machine. Tables above 4 KiB need a driver
 * newer than that of CUDA 12.0. */
int k_tensors(void);

/* The columns of p: new weights, weights, gradients (any float type), the first state, the second
 * state, and a copy of the new weights in copy_type (or NULL). */
enum k_descent_kind { K_SGD, K_SGD_MOMENTUM, K_ADAM, K_RMSPROP, K_RMSPROP_MOMENTUM };
struct k_descent {
	const float *rate, *scale, *apply, *trust;       /* device pointers; all but rate may be NULL */
	int first_group;                                 /* the table's first group, as an index into
	                                                  * trust */
	int decoupled, direction, nesterov, rate_inside, eps_inside;
	int copy_type;
	float momentum, one_less_beta1, beta2, one_less_beta2, eps;
	const void *step;                                /* number of updates so far (Adam), on the
	                                                  * device: int64 if wide, else int32 */
	int wide;
	double log_beta1, log_beta2;
};
int k_descend(void *stream, enum k_descent_kind kind, const struct k_descent *d,
              const struct k_table *a);
/* The columns of p: accumulators, gradients (any float type). The other arguments are those of the
 * op accumulate (op/update/update.c). */
int k_accumulate(void *stream, const struct k_table *a, const void *place, int wide, int level,
                 int all);
/* The columns of p: results, values. result = factor * value. */
int k_scaled(void *stream, const struct k_table *a, float factor);
/* k_scaled_to: the same with results of another float type. k_widened: converts values of another
 * float type to float32. */
int k_scaled_to(void *stream, int type, const struct k_table *a, float factor);
int k_widened(void *stream, int type, const struct k_table *a);

/* The columns of p: running values r, new values x. r = keep r + factor x; if `finite` is set, r
 * stays as it is wherever x is not finite. */
int k_ema_update(void *stream, const struct k_table *a, float keep, int finite);

/* The op weight_average (op/update/weight_average.c). The columns of p: averages, weights. */
enum k_warmup { K_WARMUP_BIAS, K_WARMUP_RAMP, K_WARMUP_NONE };
struct k_averaging {
	enum k_warmup warmup;
	double decay, start;
	const void *step;
	const float *apply;          /* 0: the step is left out; may be NULL */
	int wide;
};
int k_average(void *stream, const struct k_table *a, const struct k_averaging *how);

/* The columns of p: gradients (any float type) and, for K_NORMS only, weights. For the norms the
 * gradients are multiplied by *scale, and then decay times the weights is added to them. */
enum k_bundle_kind { K_SQUARES, K_MAX_ABS, K_NORMS };
/* part: one partial result for each block; two for K_NORMS. */
int k_bundle_parts(void *stream, enum k_bundle_kind kind, const struct k_table *a,
                   const float *scale, double *part);
int k_bundle_join(void *stream, enum k_bundle_kind kind, int64_t n, const double *part, float *out);
/* Adds up the partial results to both norms of each tensor of the table. */
int k_bundle_norms(void *stream, const struct k_table *a, const double *part, float *first,
                   float *second);

/* --- progress of all-reduces (k_sums.cu) --- */

/* Counters in memory that both the GPU and the host can read. */
struct k_sums {
	uint64_t begun, done;                            /* number of all-reduces begun, and done */
	uint64_t bytes;                                  /* bytes of the all-reduces that are done */
	int64_t group;                                   /* the last group that was begun */
	uint64_t wanted_at, done_at;                     /* nanoseconds on the GPU's clock: at a step's
	                                                  * first wait, and at its last sum */
	uint64_t waited;                                 /* nanoseconds for which the computation's
	                                                  * stream waited */
};
enum k_sums_kind { K_SUM_BEGINS, K_SUM_DONE, K_SUM_WANTED, K_SUM_BEGINS_HERE, K_SUM_DONE_HERE };
/* Sums the values of n ranks into sum[i], in the order of comm/sum.h. The values of rank q begin at
 * parts + q * each; those of this rank, number `me`, are in `sum`. */
int k_sum_ranks(void *stream, int n, int me, int64_t count, int64_t each, const float *parts,
                float *sum);
int k_note_sum(void *stream, enum k_sums_kind kind, struct k_sums *s, int64_t group,
               uint64_t bytes);

/* --- a few numbers (k_scalar.cu) --- */

/* to[i] = *from[i]. `from` is an array in host memory; its pointers are device pointers. */
int k_gather(void *stream, int n, const void *const *from, float *to);
int k_clip_factor(void *stream, int n, const float *sums, const float *scale, double max_norm,
                  float *out);

/* A sum over ranks (op/place_sum.c): `give` writes the message, 1 double and n more, to an even
 * number of them; `take` reads the sum of the messages. */
int k_sum_give(void *stream, int64_t n, const float *x, double *message);
int k_sum_take(void *stream, int64_t n, const double *message, float *y);

/* The op loss_scale (op/update/loss_scale.c). */
enum k_scaling_kind { K_SCALING_FIXED, K_SCALING_DYNAMIC, K_SCALING_LOGMAX };
struct k_loss_scaling {
	enum k_scaling_kind kind;
	double start, least, most, factor, log_max, every;
};
int k_loss_scale(void *stream, const float *state, const void *step, int wide, float start,
                 float *scale, float *inverse, int64_t *made);
int k_loss_scale_update(void *stream, const struct k_loss_scaling *at, int n, const float *maxima,
                        float *state, float *made);

/* The op step_guard (op/update/step_guard.c): n values on the device, of which the first `maxima`
 * are maxima. apply and scale may be NULL. */
struct k_guard {
	int finite, sum, terms;
	double loss, gradient;
	int maxima, n, window;
};
int k_step_guard(void *stream, const struct k_guard *at, const float *value, const void *step,
                 int wide, const float *result, const float *apply, const float *scale,
                 float *state, float *made, int64_t *updates);

/* The op of op/update/trust.c: lists of n numbers on the device. layer may be NULL. */
struct k_trust {
	int n, clip, by_rate;
	double eta, eps, least, zero;
	const double *decay, *rate_factor;
	const int32_t *layer;
};
int k_trust_ratio(void *stream, const struct k_trust *at, const float *norm, const float *rate,
                  float *out);

/* --- losses and metrics (k_loss.cu) --- */

/* n labels with these extents and strides. dense: they are contiguous in row-major order. ignore:
 * the label that is left out; INT64_MIN: none. */
struct k_labels {
	int64_t n, ignore;
	int classes, nd, dense;
	int64_t d[K_LEVELS], stride[K_LEVELS];
};
/* Labels that are not a class: their number (if it is 0 the other members are undefined), the
 * row-major index of the first one, and its value. */
struct k_bad {
	int64_t count, at;
	int32_t value;
};
enum k_loss_reduction { K_LOSS_MEAN, K_LOSS_MEAN_PIXELS, K_LOSS_SUM };
struct k_loss {
	struct k_labels labels;
	enum k_loss_reduction reduction;
	int64_t samples;
	double scale, gamma, smoothing;
};
/* The inputs of a loss and of its gradient. */
struct k_loss_in {
	const void *x;                   /* logits or predictions, of `type` */
	const void *y;                   /* labels (int32), or targets (float32) for k_element_* */
	const float *weights;            /* one weight for each class or channel, or NULL */
};
/* The outputs of a loss: two scalars, `loss` and `weight`; `kept`, which the gradient reads
 * (cross-entropy: log-sum-exp; Dice: its table; element-wise losses: NULL); and the invalid labels
 * or targets. */
struct k_loss_out {
	float *loss, *weight, *kept;
	struct k_bad *bad;
};
/* Additional inputs of a gradient: the loss's outputs `kept` and `weight`, and the gradient of
 * `loss`. */
struct k_loss_back {
	const float *kept, *weight, *dloss;
};

int64_t k_loss_workspace(void);
/* out->weight and out->kept may be NULL. */
int k_cross_entropy(void *stream, int type, const struct k_loss *c, const struct k_loss_in *in,
                    const struct k_loss_out *out, void *ws);
/* to: the type of dx: `type`; or any float type if `type` is f32. in->x and dx may share memory if
 * their types are equal. */
int k_cross_entropy_grad(void *stream, int type, int to, const struct k_loss *c,
                         const struct k_loss_in *in, const struct k_loss_back *back, void *dx);

int64_t k_confusion_workspace(int64_t classes);
int k_confusion(void *stream, int type, const struct k_labels *l, const void *x, const int32_t *y,
                double *out, struct k_bad *bad, void *ws);
int k_iou_per_sample(void *stream, int type, const struct k_labels *l, int64_t samples,
                     const void *x, const int32_t *y, double *out, struct k_bad *bad, void *ws);

/* counts[r]: the number of labels whose logit is exceeded by r others. ws: k_label_ranks_workspace
 * bytes. */
int64_t k_label_ranks_workspace(int64_t classes);
int k_label_ranks(void *stream, int type, const struct k_labels *l, const void *x, const int32_t *y,
                  double *counts, struct k_bad *bad, void *ws);

/* The mean of a function of x - t. x is of `type`, everything else float32. weight: n values, or
 * NULL. ws: k_loss_workspace bytes. */
enum k_error_kind { K_ERROR_ABSOLUTE, K_ERROR_SQUARE, K_ERROR_HUBER };
struct k_error {
	enum k_error_kind kind;
	float delta;                     /* the threshold of K_ERROR_HUBER */
	int64_t n;
};
int k_pointwise_error(void *stream, int type, const struct k_error *c, const void *x,
                      const float *t, float *mean, float *weight, void *ws);
/* to: the type of dx: `type` or f32. */
int k_pointwise_error_grad(void *stream, int type, int to, const struct k_error *c, const void *x,
                           const float *t, const float *dloss, void *dx);

/* Element-wise losses (k_element.cu, op/loss/element.c) of n elements in rows of `channels`. An
 * invalid target is reported by the bits of its float value. ws: k_element_workspace bytes. */
enum k_element_kind { K_ELEMENT_SQUARE, K_ELEMENT_ABSOLUTE, K_ELEMENT_HUBER, K_ELEMENT_LOGISTIC };
struct k_element {
	enum k_element_kind kind;
	int skip_nan;
	float delta, skip;
	int64_t n, channels;
};
int64_t k_element_workspace(void);
int k_element_loss(void *stream, int type, const struct k_element *c, const struct k_loss_in *in,
                   const struct k_loss_out *out, void *ws);
/* dx may be in->x or in->y. back->kept is ignored. */
int k_element_grad(void *stream, int type, int to, const struct k_element *c,
                   const struct k_loss_in *in, const struct k_loss_back *back, void *dx);

/* The Dice loss (k_dice.cu, op/loss/dice.c). groups: the number of groups of points, each
 * with its own Dice coefficients (one for each sample, or a single one); samples: samples in the
 * batch. ws: k_dice_workspace bytes. */
struct k_dice {
	struct k_labels labels;
	int64_t groups, samples;
	int squared, background, per_batch;
	double smooth_numerator, smooth_denominator, dice, cross_entropy;
};
int64_t k_dice_workspace(const struct k_dice *c);
int k_dice_loss(void *stream, int type, const struct k_dice *c, const struct k_loss_in *in,
                const struct k_loss_out *out, void *ws);
/* The same if the points of each sample are divided among ranks. `give` writes this rank's message,
 * 1 double and 4 for each class of each group; the caller sums the messages over the ranks; `take`
 * computes the result from the sum, and from what `give` left in ws. */
int k_dice_give(void *stream, int type, const struct k_dice *c, const struct k_loss_in *in,
                double *message, void *ws);
int k_dice_take(void *stream, const struct k_dice *c, const struct k_loss_in *in, double *message,
                const struct k_loss_out *out, void *ws);
/* to: the type of dx: `type` or f32. in->x and dx may share memory if their types are equal.
 * in->weights and back->weight are ignored. */
int k_dice_grad(void *stream, int type, int to, const struct k_dice *c, const struct k_loss_in *in,
                const struct k_loss_back *back, void *dx);

/* --- metrics by channel (k_metric.cu), as op/loss/channel_sums.c has them --- */

enum k_leave_out { K_LEAVE_NAN = 1, K_LEAVE_VALUE };
struct k_channel_sums {
	int64_t points, channels;        /* the channels of a point are adjacent */
	int leave_out;                   /* which values are left out: enum k_leave_out, or 0 for
	                                  * none */
	float value;
};
int64_t k_channel_sums_workspace(const struct k_channel_sums *s);
/* out: the sums of each channel, (channels, 7) for k_error_sums and (channels, 4) for the other
 * one. */
int k_error_sums(void *stream, int type, const struct k_channel_sums *s, const void *x,
                 const float *t, double *out, void *ws);
int k_flag_counts(void *stream, int type, const struct k_channel_sums *s, const void *x,
                  const float *t, double *out, void *ws);

/* --- one mean of many batches (k_scalar.cu), as op/loss/mean.c has it --- */

/* index: may be NULL; wide: it is int64, else int32. */
int k_mean_terms(void *stream, int sum, const float *loss, const float *weight, const float *share,
                 const float *votes, const void *index, int wide, float *terms);
/* scale may be NULL. */
int k_mean_seed(void *stream, int sum, float nominal, const float *weight, const float *share,
                const float *scale, float *seed);
/* inverse may be NULL. */
int k_mean_factor(void *stream, int sum, float nominal, const float *terms, const float *inverse,
                  float *factor);
int k_mean_lag(void *stream, const float *now, const void *step, int wide, float *state,
               float *factor, float *apply, int64_t *made);

/* --- random numbers (k_random.cu) --- */

/* n elements, `each` per sample, numbered in memory order, in rows of c; x, y, z: the distance
 * between rows of each tensor, in elements. An element is dropped if its 16 random bits are below
 * `drop`. If axes is not 0, x is a piece of size d that begins at `at` of a tensor of size `whole`,
 * by whose memory order elements are numbered, from multiples of `padded` on for each sample. */
#define K_DROPOUT_AXES 3
struct k_dropout {
	int64_t n, each, c, x, y, z, stream;
	int64_t padded, d[K_DROPOUT_AXES], whole[K_DROPOUT_AXES], at[K_DROPOUT_AXES];
	int axes;
	uint32_t drop;
	float scale;
	int relu;
};
/* key, on the device: the seed, the step, and the place of the first sample. z: also receives
 * relu(x); may be NULL. */
int k_dropout_run(void *stream, int type, const struct k_dropout *d, const int64_t *key,
                  const void *x, void *y, void *z);

/* Random numbers, normal or uniform. y: (rows, each), float32. */
struct k_noise {
	int64_t rows, each, stream;
	int normal;
};
int k_noise_run(void *stream, const struct k_noise *d, const int64_t *key, float *y);

#ifdef __cplusplus
}
#endif
#endif
