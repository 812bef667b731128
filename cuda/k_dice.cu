/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Soft Dice, with or without cross-entropy (op/loss/dice.c). The first kernel stores log-sum-exp of
 * every point. Then each block sums one class over a chunk of a group's points. Finally one block
 * adds the chunks in order and computes the loss and the gradient's table. If the points of a
 * sample are divided among ranks, each rank adds its chunks and writes the sums to a message, and
 * the last kernel reads the sum of all messages as one chunk. */
#include "cuda/loss.cuh"

constexpr int SUMS = 4;                  /* sums for each class: both, share, labels, entropy */
constexpr int TABLE = 3;
constexpr int CHUNKS = 64;               /* the most chunks of a group */

static int64_t chunk_points(const k_dice *c)
{
	const int64_t points = c->labels.n / c->groups, least = 4 * THREADS;
	const int64_t each = (points + CHUNKS - 1) / CHUNKS;
	return each > least ? each : least;
}

static int64_t chunks_of(const k_dice *c)
{
	const int64_t each = chunk_points(c);
	return (c->labels.n / c->groups + each - 1) / each;
}

/* Bytes for the blocks' reports of bad labels, their sums, the table in double, and log-sum-exp. */
int64_t k_dice_workspace(const struct k_dice *c)
{
	const int64_t cells = c->groups * c->labels.classes;
	return BLOCKS * (int64_t)sizeof(block_part) +
	       cells * (chunks_of(c) * SUMS + TABLE + 2) * (int64_t)sizeof(double) +
	       c->labels.n * (int64_t)sizeof(float);
}

template <typename T, int LANES>
__global__ void dice_shares(k_dice c, const T *x, const int32_t *y, float *lse, block_part *parts)
{
	BEGIN_KERNEL();
	__shared__ block_part room[THREADS];
	const int lane = threadIdx.x % LANES;
	const int64_t step = (int64_t)gridDim.x * (THREADS / LANES);
	block_part sum = { 0, 0, 0, 0 };
	for (int64_t p = (int64_t)blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES; p < c.labels.n;
	     p += step) {
		const T *row = x + p * c.labels.classes;
		float most;
		const float s = shifted_exp_sum<T, LANES>(row, c.labels.classes, lane, &most);
		if (lane)
			continue;
		const int label = y[label_at(c.labels, p)];
		lse[p] = most + logf(s);
		if (!is_class(c.labels, label) && label != c.labels.ignore)
			sum.at = sum.bad++ ? sum.at : p;
	}
	sum = block_sum(sum, room);
	if (threadIdx.x == 0)
		parts[blockIdx.x] = sum;
}

/* Block (g C + k) chunks + i sums class k over chunk i of group g. */
template <typename T> __global__ void dice_parts(k_dice c, int64_t chunks, int64_t each, const T *x,
                                                 const int32_t *y, const float *lse, double *sums)
{
	BEGIN_KERNEL();
	__shared__ double room[SUMS][THREADS];
	const int64_t block = blockIdx.x, points = c.labels.n / c.groups;
	const int64_t cell = block / chunks, group = cell / c.labels.classes;
	const int k = (int)(cell % c.labels.classes), t = threadIdx.x;
	const int64_t from = block % chunks * each, to = from + each < points ? from + each : points;
	double sum[SUMS] = { 0, 0, 0, 0 };
	for (int64_t i = from + t; i < to; i += THREADS) {
		const int64_t p = group * points + i;
		const int label = y[label_at(c.labels, p)];
		if (!is_class(c.labels, label))
			continue;
		const float e = lse[p] - as_float(x[p * c.labels.classes + k]);
		const double q = (double)expf(-e);
		sum[1] += c.squared ? q * q : q;
		if (label != k)
			continue;
		sum[0] += q;
		sum[2] += 1;
		sum[3] += (double)e;
	}
	for (int j = 0; j < SUMS; j++)
		room[j][t] = sum[j];
	for (int n = THREADS / 2; n > 0; n /= 2) {
		__syncthreads();
		for (int j = 0; j < SUMS && t < n; j++)
			room[j][t] += room[j][t + n];
	}
	__syncthreads();
	if (t < SUMS)
		sums[block * SUMS + t] = room[t][0];
}

static __device__ __forceinline__ double weight_of(const float *weights, int64_t k)
{
	return weights ? (double)weights[k] : 1.0;
}

/* Computes L of a group into *loss, and its part of the table, not yet divided by the number of
 * groups. sums: `chunks` entries of SUMS values for each class; the first one is overwritten by
 * their sum. *counted: whether the group has a point that counts. */
static __device__ void finish_group(const k_dice &c, int64_t chunks, double *sums,
                                    const float *weights, double *table, double *loss,
                                    double *counted)
{
	const int64_t n = c.labels.classes;
	double all = 0, some = 0, weight = 0, entropy = 0, dice = 0;
	for (int64_t k = 0; k < n; k++) {
		double *s = sums + k * chunks * SUMS;
		for (int64_t i = SUMS; i < chunks * SUMS; i++)
			s[i % SUMS] += s[i];
		all += c.background || k > 0 ? weight_of(weights, k) : 0;
		some += s[2];
		weight += weight_of(weights, k) * s[2];
		entropy += weight_of(weights, k) * s[3];
	}
	for (int64_t k = 0; k < n; k++) {
		const double *s = sums + k * chunks * SUMS;
		const double below = s[1] + s[2] + c.smooth_denominator,
		             d = (2 * s[0] + c.smooth_numerator) / below,
		             a = all > 0 && (c.background || k > 0) ? weight_of(weights, k) / all : 0;
		dice += a * (1 - d);
		table[k] = -2 * c.dice * a / below;
		table[n + k] = (c.squared ? 2 : 1) * c.dice * a * d / below;
		table[2 * n + k] = weight > 0 ? c.cross_entropy * weight_of(weights, k) / weight : 0;
	}
	*counted = some > 0;
	*loss = some > 0 ? c.dice * dice + (weight > 0 ? c.cross_entropy * entropy / weight : 0) : 0;
}

/* The workspace, by which the kernels pass data to each other. */
struct dice_room {
	int blocks;                          /* blocks of dice_shares */
	int64_t chunks;                      /* chunks for each class of a group */
	block_part *parts;                   /* (blocks): bad labels */
	double *sums;                        /* (groups, classes, chunks, SUMS) */
	double *exact;                       /* (groups, TABLE, classes) */
	double *results;                     /* (groups, 2): L, and whether the group counts */
	float *lse;                          /* (points) */
};

static dice_room room_in(const k_dice *c, int blocks, void *ws)
{
	const int64_t cells = c->groups * c->labels.classes, chunks = chunks_of(c);
	block_part *parts = (block_part *)ws;
	double *sums = (double *)(parts + BLOCKS), *exact = sums + cells * chunks * SUMS,
	       *results = exact + cells * TABLE;
	return { blocks, chunks, parts, sums, exact, results, (float *)(results + 2 * cells) };
}

/* The message: 1, to count the ranks, then the sums of each class of each group. */
__global__ void dice_message(int64_t cells, int64_t chunks, const double *sums, double *message)
{
	BEGIN_KERNEL();
	const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= cells * SUMS)
		return;
	const double *part = sums + i / SUMS * chunks * SUMS + i % SUMS;
	double sum = 0;
	for (int64_t j = 0; j < chunks; j++)
		sum += part[j * SUMS];
	message[1 + i] = sum;
	if (i == 0)
		message[0] = 1;
}

/* *ranks: the factor of the table (op/loss/dice.c); NULL: 1. */
__global__ void dice_join(k_dice c, dice_room r, const int32_t *y, const float *weights,
                          const double *ranks, k_loss_out out)
{
	BEGIN_KERNEL();
	__shared__ block_part room[THREADS];
	__shared__ double groups;
	const int64_t n = c.labels.classes;
	const block_part sum = parts_sum(r.blocks, r.parts, room);
	for (int64_t g = threadIdx.x; g < c.groups; g += THREADS)
		finish_group(c, r.chunks, r.sums + g * n * r.chunks * SUMS, weights,
		             r.exact + g * TABLE * n, &r.results[2 * g], &r.results[2 * g + 1]);
	__syncthreads();
	if (threadIdx.x == 0) {
		double total = 0, counted = 0;
		for (int64_t g = 0; g < c.groups; g++) {
			total += r.results[2 * g];
			counted += r.results[2 * g + 1];
		}
		groups = counted;
		*out.loss = (float)(counted > 0 ? total / counted : 0);
		*out.weight = (float)(c.per_batch && counted > 0 ? (double)c.samples : counted);
		report(c.labels, y, sum.bad, sum.at, out.bad);
	}
	__syncthreads();
	const double factor = ranks ? *ranks : 1;
	for (int64_t i = threadIdx.x; i < c.groups * TABLE * n; i += THREADS)
		out.kept[i] = (float)(r.results[2 * (i / (TABLE * n)) + 1] > 0 ?
		                      r.exact[i] * factor / groups : 0);
}

static dice_room room_of(const k_dice *c, void *ws)
{
	const int64_t each = c->labels.classes <= NARROW ? THREADS : THREADS / 32;
	return room_in(c, blocks_of(c->labels.n, each), ws);
}

/* The sums of all chunks. */
static int sum_parts(void *stream, int type, const struct k_dice *c, const struct k_loss_in *in,
                     const dice_room &r)
{
	const int32_t *y = (const int32_t *)in->y;
	const int64_t part_blocks = c->groups * c->labels.classes * r.chunks;
	if (part_blocks > 0x7fffffff)
		return cudaErrorInvalidValue;
	if (c->labels.classes <= NARROW)
		FLOAT_TYPES(type, T, LAUNCH((dice_shares<T, 1>), r.blocks, THREADS, 0, stream, *c,
		                            (const T *)in->x, y, r.lse, r.parts))
	else
		FLOAT_TYPES(type, T, LAUNCH((dice_shares<T, 32>), r.blocks, THREADS, 0, stream, *c,
		                            (const T *)in->x, y, r.lse, r.parts))
	FLOAT_TYPES(type, T, LAUNCH(dice_parts<T>, (int)part_blocks, THREADS, 0, stream, *c, r.chunks,
	                            chunk_points(c), (const T *)in->x, y, (const float *)r.lse, r.sums))
	return cudaGetLastError();
}

int k_dice_loss(void *stream, int type, const struct k_dice *c, const struct k_loss_in *in,
                const struct k_loss_out *out, void *ws)
{
	const dice_room r = room_of(c, ws);
	const int failed = sum_parts(stream, type, c, in, r);
	if (failed)
		return failed;
	LAUNCH(dice_join, 1, THREADS, 0, stream, *c, r, (const int32_t *)in->y, in->weights,
	       (const double *)NULL, *out);
	return cudaGetLastError();
}

int k_dice_give(void *stream, int type, const struct k_dice *c, const struct k_loss_in *in,
                double *message, void *ws)
{
	const dice_room r = room_of(c, ws);
	const int64_t cells = c->groups * c->labels.classes;
	const int failed = sum_parts(stream, type, c, in, r);
	if (failed)
		return failed;
	LAUNCH(dice_message, blocks_for(cells * SUMS, THREADS), THREADS, 0, stream, cells, r.chunks,
	       (const double *)r.sums, message);
	return cudaGetLastError();
}

int k_dice_take(void *stream, const struct k_dice *c, const struct k_loss_in *in, double *message,
                const struct k_loss_out *out, void *ws)
{
	dice_room r = room_of(c, ws);
	r.chunks = 1;
	r.sums = message + 1;
	LAUNCH(dice_join, 1, THREADS, 0, stream, *c, r, (const int32_t *)in->y, in->weights,
	       (const double *)message, *out);
	return cudaGetLastError();
}

/* x may be dx: all lanes have read the row before they write, each except its own logits. */
template <typename T, int LANES>
__global__ void dice_grad(k_dice c, const T *x, const int32_t *y, const float *table,
                          const float *dloss, int to, void *dx)
{
	BEGIN_KERNEL();
	const int lane = threadIdx.x % LANES, n = c.labels.classes;
	const int64_t p = (int64_t)blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES;
	if (p >= c.labels.n)
		return;
	const T *row = x + p * n;
	const int label = y[label_at(c.labels, p)];
	const bool valid = is_class(c.labels, label);
	const float *overlap = table + p / (c.labels.n / c.groups) * TABLE * n, *size = overlap + n;
	const float own = valid ? *dloss * overlap[2 * n + label] : 0;
	float most, mean = 0;
	const float s = 1 / shifted_exp_sum<T, LANES>(row, n, lane, &most);
	for (int j = lane; j < n; j += LANES) {
		const float q = s * expf(as_float(row[j]) - most);
		mean += q * (size[j] * (c.squared ? q : 1.0f) + (j == label ? overlap[j] : 0.0f));
	}
	mean = lanes_sum<LANES>(mean);
	for (int j = lane; j < n; j += LANES) {
		const float q = s * expf(as_float(row[j]) - most), here = j == label ? 1.0f : 0.0f;
		const float g = size[j] * (c.squared ? q : 1.0f) + here * overlap[j];
		store_as(to, dx, p * n + j, valid ? *dloss * q * (g - mean) + own * (q - here) : 0.0f);
	}
}

int k_dice_grad(void *stream, int type, int to, const struct k_dice *c, const struct k_loss_in *in,
                const struct k_loss_back *back, void *dx)
{
	const int32_t *y = (const int32_t *)in->y;
	if (c->labels.n == 0)
		return 0;
	if (c->labels.classes <= NARROW)
		FLOAT_TYPES(type, T, LAUNCH((dice_grad<T, 1>), blocks_for(c->labels.n, THREADS), THREADS, 0,
		                            stream, *c, (const T *)in->x, y, back->kept, back->dloss, to,
		                            dx))
	else
		FLOAT_TYPES(type, T, LAUNCH((dice_grad<T, 32>), blocks_for(c->labels.n, THREADS / 32),
		                            THREADS, 0, stream, *c, (const T *)in->x, y, back->kept,
		                            back->dloss, to, dx))
	return cudaGetLastError();
}
