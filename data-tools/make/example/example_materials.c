/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pictures of four materials, each a texture with colours, scale and direction of its own, and
 * weights of a ResNet-18 as torchvision names and shapes them: a stand-in for trained ones. */
#include <math.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/rng.h"
#include "base/shown.h"
#include "ckpt/safetensors.h"
#include "data-tools/make/example/example.h"

/* --- pictures --- */

#define PI 3.14159265358979323846
#define COUNT 400
#define SIDE 64

static double square(double x)
{
	return sin(x) > 0 ? 1 : 0;
}

/* The share of the second colour at (u, v); u and v are phases of the texture's waves. */
static double texture(int kind, double u, double v, double grain)
{
	switch (kind) {
	case 0: return square(u);                                               /* stripes */
	case 1: return hypot(remainder(u, 2 * PI), remainder(v, 2 * PI)) < 1.8; /* dots */
	case 2: return grain;
	default: return 0.5 + 0.3 * sin(u / 8);                                 /* plain */
	}
}

static void draw(struct example_rng *r, int kind, uint8_t *out)
{
	const double angle = example_uniform(r, 0, PI), scale = example_uniform(r, 0.5, 1);
	const double y0 = example_uniform(r, 0, SIDE), x0 = example_uniform(r, 0, SIDE);
	double colour[2][3];
	for (int c = 0; c < 3; c++) {
		colour[0][c] = example_uniform(r, 0, 255);
		colour[1][c] = colour[0][c] + (colour[0][c] > 127 ? -1 : 1) * example_uniform(r, 80, 120);
	}
	for (int i = 0; i < SIDE * SIDE; i++) {
		const double y = i / SIDE - y0, x = i % SIDE - x0;
		const double u = scale * (x * cos(angle) + y * sin(angle));
		const double v = scale * (y * cos(angle) - x * sin(angle));
		const double t = texture(kind, u, v, example_uniform(r, 0, 1));

		for (int c = 0; c < 3; c++)
			dtype_set(DTYPE_U8, out, 3 * i + c,
			          colour[0][c] + (colour[1][c] - colour[0][c]) * t + 15 * example_normal(r));
	}
}

static int write_pictures(const char *dir)
{
	const int64_t d[] = { COUNT, SIDE, SIDE, 3 };
	struct example_array a[] = {
		example_new("images", "red, green, blue of each point", DTYPE_U8, 4, d),
		example_new("labels", "stripes, dots, grain, plain", DTYPE_U8, 1, d),
	};
	struct example_rng r = example_rng("materials");
	int rc;
	for (int i = 0; i < COUNT; i++) {
		dtype_set(DTYPE_U8, a[1].data, i, i % 4);
		draw(&r, i % 4, (uint8_t *)a[0].data + (int64_t)i * SIDE * SIDE * 3);
	}
	rc = example_write(dir, "materials.npy", &a[0], 1);
	if (rc == 0)
		rc = example_write(dir, "materials-labels.npy", &a[1], 1);
	example_release(a, 2);
	return rc;
}

/* --- weights --- */

/* Weights with which the network sees a little without training: the first layer has detectors of
 * stripes and of colours, as trained ones have, and what the blocks add, random convolutions, is
 * small compared with what they pass on. */
struct weights {
	struct arena *arena;
	struct st_tensor t[160];
	int n;
};

static float *add(struct weights *w, const char *name, int nd, const int64_t *d)
{
	const struct shape s = shape_of(nd, d);
	float *data = arena_alloc(w->arena, (size_t)shape_count(&s) * sizeof *data);
	w->t[w->n++] = (struct st_tensor){ name, DTYPE_F32, s, data };
	return data;
}

static void add_random(struct weights *w, const char *name, double deviation, int nd,
                       const int64_t *d)
{
	float *data = add(w, name, nd, d);
	const int64_t n = shape_count(&w->t[w->n - 1].shape);
	double block[256];
	for (int64_t i = 0; i < n; i++) {
		if (i % 256 == 0)
			rng_normals(1, hash_name(name), 0, i, n - i < 256 ? n - i : 256, block);
		data[i] = (float)(deviation * block[i % 256]);
	}
}

/* Waves under a bell, of eight directions, two lengths and two phases; grey, or of one colour
 * against another. */
static double detector(int k, int channel, int y, int x)
{
	static const double colour[2][3] = { { 0.3, 0.6, 0.1 }, { 0.5, -0.7, 0.2 } };
	const double angle = k % 8 * PI / 8, wave = k / 8 % 2 ? 1.6 : 0.8, phase = k / 16 % 2 * PI / 2;
	const double along = (x - 3) * cos(angle) + (y - 3) * sin(angle);
	const double bell = exp(-((x - 3) * (x - 3) + (y - 3) * (y - 3)) / 8.);
	return 0.5 * colour[k / 32][channel] * bell * cos(wave * along + phase);
}

static void add_detectors(struct weights *w)
{
	const int64_t d[] = { 64, 3, 7, 7 };
	float *data = add(w, "conv1.weight", 4, d);
	for (int i = 0; i < 64 * 3 * 49; i++)
		data[i] = (float)detector(i / 147, i / 49 % 3, i / 7 % 7, i % 7);
}

static void add_norm(struct weights *w, const char *name, int64_t channels, float scale)
{
	const struct { const char *name; float value; } parts[] = {
		{ "weight", scale }, { "bias", 0 }, { "running_mean", 0 }, { "running_var", 1 }
	};
	static const int64_t batches = 1;

	for (int i = 0; i < 4; i++) {
		float *data = add(w, arena_printf(w->arena, "%s.%s", name, parts[i].name), 1, &channels);

		for (int64_t c = 0; c < channels; c++)
			data[c] = parts[i].value;
	}
	w->t[w->n++] = (struct st_tensor){ arena_printf(w->arena, "%s.num_batches_tracked", name),
		                              DTYPE_I64, { 0 }, &batches };
}

/* What a block passes on where its channels grow: its input, twice. */
static void add_downsample(struct weights *w, const char *path, int64_t in, int64_t out)
{
	const int64_t d[] = { out, in, 1, 1 };
	float *data = add(w, arena_printf(w->arena, "%s.downsample.0.weight", path), 4, d);
	for (int64_t o = 0; o < out; o++)
		data[o * in + o % in] = 1;
	add_norm(w, arena_printf(w->arena, "%s.downsample.1", path), out, 1);
}

static void add_block(struct weights *w, int stage, int b, int64_t in, int64_t out)
{
	const char *path = arena_printf(w->arena, "layer%d.%d", stage, b);
	for (int i = 1; i <= 2; i++) {
		const int64_t d[] = { out, i == 1 ? in : out, 3, 3 };

		add_random(w, arena_printf(w->arena, "%s.conv%d.weight", path, i),
		           sqrt(2. / (double)(out * 9)), 4, d);
		add_norm(w, arena_printf(w->arena, "%s.bn%d", path, i), out, i == 1 ? 1 : 0.1F);
	}
	if (in != out)
		add_downsample(w, path, in, out);
}

static int write_weights(const char *dir)
{
	struct weights w = { .arena = arena_new() };
	const int64_t classes = 1000, d[] = { classes, 512 };
	const char *path = arena_printf(w.arena, "%s/resnet18.safetensors", dir);
	int rc;
	add_detectors(&w);
	add_norm(&w, "bn1", 64, 1);
	for (int stage = 1, in = 64; stage <= 4; stage++) {
		const int out = 32 << stage;

		add_block(&w, stage, 0, in, out);
		add_block(&w, stage, 1, out, out);
		in = out;
	}
	add_random(&w, "fc.weight", 0.02, 2, d);
	add(&w, "fc.bias", 1, &classes);
	rc = st_write_file(path, w.t, w.n, NULL, 0);
	if (rc == 0)
		printf("%-26s %-10s f32  %-16s %s\n", shown(path), "",
		       arena_printf(w.arena, "%d tensors", w.n), "names and shapes as torchvision's");
	arena_free(w.arena);
	return rc;
}

int example_materials(const char *dir)
{
	TRY(write_pictures(dir));
	return write_weights(dir);
}
