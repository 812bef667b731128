/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The cache has a file for each processor model, of two lines: the description of the processor,
 * and the two rates. A file is written under another name and then renamed, so that concurrent runs
 * read a complete one. */
#include "backend/bf16_ratio.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/dnn/cpu.h"
#include "backend/plan_env.h"
#include "base/cache_dir.h"
#include "base/debug.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/io.h"

#define LEAST 0.5
#define MOST 8.0

double bf16_ratio_class(double f32, double bf16)
{
	if (!(f32 > 0 && bf16 > 0))
		return 0;
	return fmin(fmax(exp2(round(log2(bf16 / f32))), LEAST), MOST);
}

static bool read_kept(const char *path, const char *key, struct bf16_ratio *r)
{
	const size_t n = strlen(key);
	struct buf text = BUF_INIT;
	const bool good = io_read_text(path, &text) == 0 && strncmp(text.data, key, n) == 0 &&
	                  sscanf(text.data + n, "\nf32 %lf bf16 %lf\n", &r->f32, &r->bf16) == 2 &&
	                  isfinite(r->f32) && isfinite(r->bf16) && r->f32 > 0 && r->bf16 > 0;
	buf_release(&text);
	return good;
}

static void keep(const char *path, const char *key, const struct bf16_ratio *r)
{
	struct buf text = BUF_INIT;
	buf_printf(&text, "%s\nf32 %.4g bf16 %.4g\n", key, r->f32, r->bf16);
	io_write_file(path, text.data, text.len);
	buf_release(&text);
}

/* float32 and bfloat16 are measured alternately, so that other processes on the core slow down
 * both. */
#define TURNS 3

static void measure_both(struct bf16_ratio *r, double (*measure)(enum dtype))
{
	r->f32 = r->bf16 = 0;
	for (int i = 0; i < TURNS; i++) {
		r->f32 = fmax(r->f32, measure(DTYPE_F32));
		r->bf16 = fmax(r->bf16, measure(DTYPE_BF16));
	}
}

struct bf16_ratio bf16_ratio_keep(const char *processor, double (*measure)(enum dtype))
{
	struct bf16_ratio r = { .core = true };
	struct buf path = BUF_INIT;
	const int mark = err_count();
	const bool kept = cache_dir(&path) == 0;
	buf_printf(&path, "/bf16-%016" PRIx64, hash_name(processor));
	if (!kept || !read_kept(path.data, processor, &r)) {
		measure_both(&r, measure);
		if (kept && r.f32 > 0 && r.bf16 > 0)
			keep(path.data, processor, &r);
	}
	r.class = bf16_ratio_class(r.f32, r.bf16);
	err_truncate(mark);
	buf_release(&path);
	return r;
}

struct bf16_ratio bf16_ratio_find(const struct device *d)
{
	const double f32 = debug.rates.f32, bf16 = debug.rates.bf16;
	if (device_rates_described(d))
		return (struct bf16_ratio){ bf16_ratio_class(f32, bf16), f32, bf16, false };
	if (d->backend == BACKEND_CPU && plan_env_has_bf16(d))
		return bf16_ratio_keep(d->processor, cpu_measure_core);
	return (struct bf16_ratio){ 0 };
}
