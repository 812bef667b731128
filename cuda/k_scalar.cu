/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Arithmetic on a few numbers on the device, so that a step need not wait for the host: the factor
 * of gradient clipping, the loss scale, trust ratios. Kernels have one thread, or one for each
 * number. */
#include "cuda/device.cuh"

constexpr int POINTERS = 256;

struct pointers {
	const float *p[POINTERS];
};

__global__ void gather(int n, pointers from, float *to)
{
	BEGIN_KERNEL();
	const int i = threadIdx.x;
	if (i < n)
		to[i] = *from.p[i];
}

int k_gather(void *stream, int n, const void *const *from, float *to)
{
	for (int at = 0; at < n; at += POINTERS) {
		pointers p;
		const int m = n - at < POINTERS ? n - at : POINTERS;
		for (int i = 0; i < POINTERS; i++)
			p.p[i] = i < m ? (const float *)from[at + i] : NULL;
		LAUNCH(gather, 1, POINTERS, 0, stream, m, p, to + at);
	}
	return cudaGetLastError();
}

/* If a sum is NaN, so is the factor. */
__global__ void clip_factor(int n, const float *sums, const float *scale, double max_norm,
                            float *out)
{
	BEGIN_KERNEL();
	const double by = scale ? (double)*scale : 1.0;
	double sum = 0;
	for (int i = 0; i < n; i++)
		sum += (double)sums[i];
	const double norm = by * sqrt(sum);
	*out = (float)(norm <= max_norm ? by : by * (max_norm / norm));
}

int k_clip_factor(void *stream, int n, const float *sums, const float *scale, double max_norm,
                  float *out)
{
	LAUNCH(clip_factor, 1, 1, 0, stream, n, sums, scale, max_norm, out);
	return cudaGetLastError();
}

/* --- a sum over ranks --- */

__global__ void sum_give(int64_t n, const float *x, double *message)
{
	BEGIN_KERNEL();
	const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
	if (i == 0)
		message[0] = 1;
	if (i < n + n % 2)
		message[1 + i] = i < n ? (double)x[i] : 0;
}

int k_sum_give(void *stream, int64_t n, const float *x, double *message)
{
	LAUNCH(sum_give, blocks_for(n + n % 2, THREADS), THREADS, 0, stream, n, x, message);
	return cudaGetLastError();
}

__global__ void sum_take(int64_t n, const double *message, float *y)
{
	BEGIN_KERNEL();
	const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = (float)message[1 + i];
}

int k_sum_take(void *stream, int64_t n, const double *message, float *y)
{
	LAUNCH(sum_take, blocks_for(n, THREADS), THREADS, 0, stream, n, message, y);
	return cudaGetLastError();
}

/* --- loss scaling --- */

enum { SCALE, CLEAN, SKIPPED, COUNT, MEAN, SLOW, SQUARE, STATE };

__global__ void loss_scale(const float *s, const void *step, int wide, float start, float *scale,
                           float *inverse, int64_t *made)
{
	BEGIN_KERNEL();
	const int64_t t = wide ? *(const int64_t *)step : (int64_t)*(const int32_t *)step;
	const float v = s[SCALE] > 0 ? s[SCALE] : start;
	if (scale)
		*scale = v;
	if (inverse)
		*inverse = 1 / v;
	if (made)
		*made = t - (int64_t)s[SKIPPED];
}

int k_loss_scale(void *stream, const float *state, const void *step, int wide, float start,
                 float *scale, float *inverse, int64_t *made)
{
	LAUNCH(loss_scale, 1, 1, 0, stream, state, step, wide, start, scale, inverse, made);
	return cudaGetLastError();
}

static __device__ double held(const k_loss_scaling &at, double scale)
{
	return fmin(fmax(scale, at.least), at.most);
}

static __device__ void step_dynamic(const k_loss_scaling &at, double *s, bool overflow)
{
	s[CLEAN] = overflow ? 0 : s[CLEAN] + 1;
	if (overflow)
		s[SCALE] = held(at, s[SCALE] / at.factor);
	if (s[CLEAN] < at.every)
		return;
	s[SCALE] = held(at, s[SCALE] * at.factor);
	s[CLEAN] = 0;
}

static __device__ void step_logmax(const k_loss_scaling &at, double *s, double most, bool overflow)
{
	double x = overflow ? at.log_max : log2(most / s[SCALE]);
	if (!isfinite(x))
		return;
	s[COUNT]++;
	s[MEAN] += 0.01 * (x - s[MEAN]);
	s[SLOW] += 0.001 * (x - s[SLOW]);
	s[SQUARE] += 0.001 * (x * x - s[SQUARE]);
	const double fast = 1 - pow(0.99, s[COUNT]), slow = 1 - pow(0.999, s[COUNT]);
	const double variance = s[SQUARE] / slow - (s[SLOW] / slow) * (s[SLOW] / slow);
	x = at.log_max - (s[MEAN] / fast + 3.09 * sqrt(fmax(0.0, variance)));
	s[SCALE] = held(at, exp2(floor(x + 1.0 / 64)));
}

__global__ void loss_scale_update(k_loss_scaling at, int n, const float *maxima, float *state,
                                  float *made)
{
	BEGIN_KERNEL();
	double s[STATE], most = 0;
	for (int i = 0; i < n; i++) {
		const double v = maxima[i];
		most = v != v || v > most ? v : most;
	}
	const bool overflow = !isfinite(most);
	for (int i = 0; i < STATE; i++)
		s[i] = state[i];
	s[SCALE] = s[SCALE] > 0 ? s[SCALE] : at.start;
	s[SKIPPED] += overflow;
	if (at.kind == K_SCALING_DYNAMIC)
		step_dynamic(at, s, overflow);
	else if (at.kind == K_SCALING_LOGMAX)
		step_logmax(at, s, most, overflow);
	for (int i = 0; i < STATE; i++)
		state[i] = (float)s[i];
	if (made)
		*made = overflow ? 0.0f : 1.0f;
}

int k_loss_scale_update(void *stream, const struct k_loss_scaling *at, int n, const float *maxima,
                        float *state, float *made)
{
	LAUNCH(loss_scale_update, 1, 1, 0, stream, *at, n, maxima, state, made);
	return cudaGetLastError();
}

/* --- the guard of steps --- */

enum { NONFINITE, OUTLIERS, IN_A_ROW, FILLED, NEXT, LOSS_Z, NORM_Z, NORM, TOLD };

static __device__ int64_t bounded(double v, int64_t most)
{
	return v >= 1 ? (v < (double)most ? (int64_t)v : most) : 0;
}

static __device__ double z_score(const float *s, int n, double x)
{
	double mean = 0, square = 0;
	for (int i = 0; i < n; i++)
		mean += (double)s[i];
	mean /= (double)n;
	for (int i = 0; i < n; i++)
		square += ((double)s[i] - mean) * ((double)s[i] - mean);
	const double deviation = sqrt(square / (double)n);
	return deviation > 0 ? (x - mean) / deviation : 0;
}

static __device__ bool judge(const k_guard &at, float *s, double loss, double norm, double largest,
                             bool counts)
{
	const int w = at.window;
	const bool known = w > 0 && counts && bounded(s[FILLED], w) == w;
	const double lz = known ? z_score(s + TOLD, w, loss) : 0;
	const double nz = known ? z_score(s + TOLD + w, w, norm) : 0;
	int why = -1;
	s[LOSS_Z] = (float)lz;
	s[NORM_Z] = (float)nz;
	s[NORM] = (float)norm;
	if (lz > at.loss || nz > at.gradient)
		why = OUTLIERS;
	if (at.finite && (!isfinite(loss) || !isfinite(largest)))
		why = NONFINITE;
	if (why >= 0) {
		s[why] += 1;
	} else if (w > 0 && counts && isfinite(loss) && isfinite(norm)) {
		const int64_t i = bounded(s[NEXT], w - 1), filled = bounded(s[FILLED], w);
		s[TOLD + i] = (float)loss;
		s[TOLD + w + i] = (float)norm;
		s[NEXT] = (float)((i + 1) % w);
		s[FILLED] = (float)(filled < w ? filled + 1 : w);
	}
	s[IN_A_ROW] = why >= 0 ? s[IN_A_ROW] + 1 : 0;
	return why < 0;
}

__global__ void step_guard(k_guard at, const float *value, const void *step, int wide,
                           const float *result, const float *apply, const float *scale, float *s,
                           float *made, int64_t *updates)
{
	BEGIN_KERNEL();
	const int64_t t = wide ? *(const int64_t *)step : (int64_t)*(const int32_t *)step;
	double loss = result[0], squares = 0, largest = 0;
	bool counts = true;
	if (at.terms && !at.sum) {
		counts = result[1] != 0;
		loss = counts ? loss / (double)result[1] : 0;
	}
	for (int i = 0; i < at.n; i++) {
		const double v = value[i];
		if (i >= at.maxima)
			squares += v;
		else if (v != v || v > largest)
			largest = v;
	}
	if (updates)
		*updates = t - bounded(s[NONFINITE], 2147483647) - bounded(s[OUTLIERS], 2147483647);
	const double norm = (scale ? (double)*scale : 1.0) * sqrt(squares);
	const bool make = (!apply || *apply != 0) && judge(at, s, loss, norm, largest, counts);
	if (made)
		*made = make ? 1.0f : 0.0f;
}

int k_step_guard(void *stream, const struct k_guard *at, const float *value, const void *step,
                 int wide, const float *result, const float *apply, const float *scale,
                 float *state, float *made, int64_t *updates)
{
	LAUNCH(step_guard, 1, 1, 0, stream, *at, value, step, wide, result, apply, scale, state, made,
	       updates);
	return cudaGetLastError();
}

/* --- trust ratios --- */

__global__ void trust_ratio(k_trust at, const float *norm, const float *rate, float *out)
{
	BEGIN_KERNEL();
	const int t = (int)(blockIdx.x * blockDim.x + threadIdx.x);
	double w = 0, g = 0, r;
	if (t >= at.n)
		return;
	if (at.layer && at.layer[t] < 0) {
		out[t] = 1;
		return;
	}
	for (int i = 0; i < at.n; i++)
		if (i == t || (at.layer && at.layer[i] == at.layer[t])) {
			w += (double)norm[i] * norm[i];
			g += (double)norm[at.n + i] * norm[at.n + i];
		}
	w = sqrt(w);
	g = sqrt(g);
	if (g > 0)
		g += at.decay[t] * w;
	if ((w == 0 || g == 0) && at.zero == at.zero) {
		out[t] = (float)at.zero;
		return;
	}
	r = g + at.eps > 0 ? at.eta * w / (g + at.eps) : 1;
	if (at.clip && at.by_rate)
		r /= (double)*rate * at.rate_factor[t];
	r = r > at.least ? r : at.least;
	out[t] = (float)(at.clip && r > 1 ? 1 : r);
}

int k_trust_ratio(void *stream, const struct k_trust *at, const float *norm, const float *rate,
                  float *out)
{
	LAUNCH(trust_ratio, blocks_for(at->n, 64), 64, 0, stream, *at, norm, rate, out);
	return cudaGetLastError();
}

/* --- one mean of many batches --- */

enum { TERM_LOSS, TERM_WEIGHT, TERM_VOTE, TERMS = 4 };

static __device__ int64_t whole(const void *p, int wide)
{
	return wide ? *(const int64_t *)p : (int64_t)*(const int32_t *)p;
}

__global__ void mean_terms(int sum, const float *loss, const float *weight, const float *share,
                           const float *votes, const void *index, int wide, float *terms)
{
	BEGIN_KERNEL();
	const bool anew = !index || whole(index, wide) == 0;
	const float w = *weight, part = *share;
	for (int i = 0; i < TERMS; i++)
		if (anew)
			terms[i] = 0;
	if (part != 0) {
		terms[TERM_LOSS] += sum ? part * *loss : w != 0 ? part * w * *loss : 0;
		terms[TERM_WEIGHT] += part * w;
	}
	for (int i = TERM_VOTE; i < TERMS; i++)
		terms[i] += votes[i - TERM_VOTE];
}

int k_mean_terms(void *stream, int sum, const float *loss, const float *weight, const float *share,
                 const float *votes, const void *index, int wide, float *terms)
{
	LAUNCH(mean_terms, 1, 1, 0, stream, sum, loss, weight, share, votes, index, wide, terms);
	return cudaGetLastError();
}

__global__ void mean_seed(int sum, float nominal, const float *weight, const float *share,
                          const float *scale, float *seed)
{
	BEGIN_KERNEL();
	*seed = *share * (scale ? *scale : 1) * (sum ? 1 : *weight / nominal);
}

int k_mean_seed(void *stream, int sum, float nominal, const float *weight, const float *share,
                const float *scale, float *seed)
{
	LAUNCH(mean_seed, 1, 1, 0, stream, sum, nominal, weight, share, scale, seed);
	return cudaGetLastError();
}

__global__ void mean_factor(int sum, float nominal, const float *terms, const float *inverse,
                            float *factor)
{
	BEGIN_KERNEL();
	const float w = terms[TERM_WEIGHT], mean = w > 0 ? nominal / w : 0;
	*factor = (inverse ? *inverse : 1) * (sum ? nominal : mean);
}

int k_mean_factor(void *stream, int sum, float nominal, const float *terms, const float *inverse,
                  float *factor)
{
	LAUNCH(mean_factor, 1, 1, 0, stream, sum, nominal, terms, inverse, factor);
	return cudaGetLastError();
}

__global__ void mean_lag(const float *now, const void *step, int wide, float *state, float *factor,
                         float *apply, int64_t *made)
{
	BEGIN_KERNEL();
	const int64_t t = whole(step, wide);
	if (factor)
		*factor = state[0];
	if (apply)
		*apply = state[1];
	if (made)
		*made = t > 0 ? t - 1 : 0;
	state[0] = *now;
	state[1] = 1;
}

int k_mean_lag(void *stream, const float *now, const void *step, int wide, float *state,
               float *factor, float *apply, int64_t *made)
{
	LAUNCH(mean_lag, 1, 1, 0, stream, now, step, wide, state, factor, apply, made);
	return cudaGetLastError();
}
