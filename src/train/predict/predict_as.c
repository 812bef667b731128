/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Softmax and sigmoid in double precision: a value does not depend on the number of threads or
 * ranks. */
#include "train/predict/predict_as.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/log.h"

const char *const predict_as_names[] = {
	[PREDICT_DEFAULT] = "default", [PREDICT_LOGITS] = "logits",
	[PREDICT_PROBABILITIES] = "probabilities", [PREDICT_CLASSES] = "classes", NULL
};

enum dtype predict_as_dtype(enum predict_as as)
{
	return as == PREDICT_CLASSES || as == PREDICT_FLAGS ? DTYPE_I32 : DTYPE_F32;
}

struct shape predict_as_shape(enum predict_as as, const struct shape *output)
{
	return as == PREDICT_CLASSES ? shape_of(output->nd - 1, output->d + 1) : *output;
}

int64_t predict_largest(const float *v, int64_t channels, int64_t step)
{
	int64_t best = 0;
	for (int64_t c = 1; c < channels; c++)
		if (v[c * step] > v[best * step])
			best = c;
	return best;
}

bool predict_flag(float logit)
{
	return logit > 0;
}

static void softmax(float *v, int64_t channels, int64_t step)
{
	const double top = (double)v[predict_largest(v, channels, step) * step];
	double sum = 0;
	for (int64_t c = 0; c < channels; c++)
		sum += exp((double)v[c * step] - top);
	for (int64_t c = 0; c < channels; c++)
		v[c * step] = (float)(exp((double)v[c * step] - top) / sum);
}

static float sigmoid(float logit)
{
	return (float)(1 / (1 + exp(-(double)logit)));
}

static void change_channels(enum predict_as as, float *v, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		if (as == PREDICT_SIGMOID) {
			v[i] = sigmoid(v[i]);
		} else {
			const int32_t flag = predict_flag(v[i]);

			memcpy(v + i, &flag, sizeof flag);
		}
	}
}

void predict_as_change(enum predict_as as, float *output, int64_t channels, int64_t points)
{
	if (as == PREDICT_SIGMOID || as == PREDICT_FLAGS)
		change_channels(as, output, channels * points);
	for (int64_t i = 0; i < points; i++) {
		if (as == PREDICT_PROBABILITIES) {
			softmax(output + i, channels, points);
		} else if (as == PREDICT_CLASSES) {
			/* element i of the first channel, whose values at other points are still to be read */
			const int32_t n = (int32_t)predict_largest(output + i, channels, points);

			memcpy(output + i, &n, sizeof n);
		}
	}
}

void predict_bad_look(struct predict_bad *b, int64_t sample, const float *output, int64_t n)
{
	int64_t i = 0;
	if (b->n && b->last == sample)
		return;
	while (i < n && isfinite(output[i]))
		i++;
	if (i == n)
		return;
	b->last = sample;
	b->first = b->n++ ? b->first : sample;
}

void predict_bad_warn(const struct predict_bad *b, const char *out)
{
	if (b->n)
		warn("'%s': %" PRId64 " sample%s, the first of which is %" PRId64 ", with outputs of the "
		     "network that are not finite", out, b->n, b->n == 1 ? "" : "s", b->first);
}
