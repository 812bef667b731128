/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Initialisers that keep the variance of what flows through a layer. A weight gets variance
 * gain^2 * v: He (2015) takes v = 2 / fan_in, or 2 / fan_out for the variance of gradients instead,
 * LeCun (1998) 1 / fan_in, Glorot (2010) 2 / (fan_in + fan_out). A uniform distribution on [-a, a)
 * has variance a^2 / 3. */
#include <math.h>

#include "model/init.h"

const char *const weight_init_names[] = {
	[WI_HE_NORMAL] = "he_normal",
	[WI_HE_NORMAL_FAN_OUT] = "he_normal_fan_out",
	[WI_HE_UNIFORM] = "he_uniform",
	[WI_GLOROT_NORMAL] = "glorot_normal", [WI_GLOROT_UNIFORM] = "glorot_uniform",
	[WI_LECUN_NORMAL] = "lecun_normal",   [WI_LECUN_UNIFORM] = "lecun_uniform",
	[WI_CONSTANT] = "constant",           NULL
};

/* Incoming and outgoing connections of one unit of a weight (O, I, k...), counted as PyTorch does:
 * I * prod(k), O * prod(k). */
static void count_fans(const struct shape *w, double *fan_in, double *fan_out)
{
	double receptive = 1;
	for (int i = 2; i < w->nd; i++)
		receptive *= (double)w->d[i];
	*fan_in = (double)w->d[1] * receptive;
	*fan_out = (double)w->d[0] * receptive;
}

struct init init_constant(double value)
{
	return (struct init){ INIT_CONSTANT, value };
}

static struct init uniform(double variance)
{
	return (struct init){ INIT_UNIFORM, sqrt(3 * variance) };
}

static struct init normal(double variance)
{
	return (struct init){ INIT_NORMAL, sqrt(variance) };
}

struct init init_weight(enum weight_init kind, double value, const struct shape *weight)
{
	double in, out, gain = value != 0 ? value * value : 1;
	count_fans(weight, &in, &out);
	switch (kind) {
	case WI_HE_NORMAL: return normal(gain * 2 / in);
	case WI_HE_NORMAL_FAN_OUT: return normal(gain * 2 / out);
	case WI_HE_UNIFORM: return uniform(gain * 2 / in);
	case WI_GLOROT_NORMAL: return normal(gain * 2 / (in + out));
	case WI_GLOROT_UNIFORM: return uniform(gain * 2 / (in + out));
	case WI_LECUN_NORMAL: return normal(gain / in);
	case WI_LECUN_UNIFORM: return uniform(gain / in);
	case WI_CONSTANT: break;
	}
	return init_constant(value);
}
