/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How long one version of a large state takes to become durable.
 *
 *   checkpoint_times FOLDER MIB [LEVEL]
 *
 * The state is MIB of float32: weights as networks have them and the two moments of Adam, in
 * tensors of up to 16 MiB. The line has raw and stored bytes, seconds of wall time from ckpt_save
 * to durable and the process's processor time in between. FOLDER must not have checkpoints. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "ckpt/ckpt.h"

#define TENSOR ((size_t)4 << 20)       /* floats, at most */

/* About normal, with all digits that a float keeps. */
static float normal(uint64_t *bits)
{
	float sum = 0;
	for (int i = 0; i < 4; i++) {
		*bits = *bits * 6364136223846793005u + 1442695040888963407u;
		sum += (float)(*bits >> 32) / 4294967296.f - 0.5f;
	}
	return sum * 1.732f;
}

/* kind 0: weights; 1: first moments; 2: second moments. */
static void fill(float *x, size_t n, int kind, uint64_t seed)
{
	uint64_t bits = seed * 0x9e3779b97f4a7c15u + 1;
	for (size_t i = 0; i < n; i++) {
		const float v = normal(&bits);
		x[i] = kind == 0 ? 0.05f * v : kind == 1 ? 1e-4f * v : 1e-7f * v * v;
	}
}

static double processor(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int save(const char *dir, int level, const struct ckpt_state *state)
{
	const struct ckpt_config config = { .keep = { 2, 1, 0 }, .compression = level };
	struct ckpt_store *s;
	struct ckpt_done done;
	TRY(ckpt_open(&s, dir, &config, NULL));
	const double busy = processor();
	int rc = ckpt_save(s, state);
	if (rc == 0)
		rc = ckpt_wait(s);
	if (rc == 0 && ckpt_poll(s, &done))
		printf("%llu %llu %.6f %.6f\n", (unsigned long long)done.raw,
		       (unsigned long long)done.bytes, done.seconds, processor() - busy);
	ckpt_close(s);
	return rc;
}

static void make(struct ckpt_tensor *t, char (*name)[32], int n, float *x, size_t total)
{
	for (int i = 0; i < n; i++) {
		const size_t at = (size_t)i * TENSOR, left = total - at;
		const size_t count = left < TENSOR ? left : TENSOR;
		snprintf(name[i], sizeof *name, "layer%d.%d", i / 3, i % 3);
		fill(x + at, count, i % 3, (uint64_t)i + 1);
		t[i] = (struct ckpt_tensor){ name[i], DTYPE_F32, shape_of(1, (int64_t[]){ (int64_t)count }),
			x + at, i % 3 == 0 };
	}
}

int main(int argc, char **argv)
{
	const size_t total = argc < 3 ? 0 : (size_t)strtoull(argv[2], NULL, 10) << 18;
	if (!total) {
		fprintf(stderr, "usage: checkpoint_times FOLDER MIB [LEVEL]\n");
		return 64;
	}
	const int n = (int)((total + TENSOR - 1) / TENSOR);
	float *x = mem_alloc(total * sizeof *x);
	struct ckpt_tensor *t = mem_calloc((size_t)n, sizeof *t);
	char (*name)[32] = mem_calloc((size_t)n, sizeof *name);
	make(t, name, n, x, total);
	const struct ckpt_state state = { .step = 1, .metric = NAN, .ntensors = n, .tensor = t };
	const int rc = save(argv[1], argc > 3 ? atoi(argv[3]) : 1, &state);
	if (rc < 0)
		err_print(stderr, "checkpoint_times");
	mem_free(name);
	mem_free(t);
	mem_free(x);
	return rc < 0 ? 1 : 0;
}
