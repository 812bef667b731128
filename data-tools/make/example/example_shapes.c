/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Things with outlines: cells under a microscope, in pictures of five sizes, and organs with
 * lesions in scanned volumes. */
#include <math.h>

#include "base/mem.h"
#include "data-tools/make/example/example.h"

/* --- cells --- */

#define BORDER 2.5 /* points, inwards */

/* One cell, an ellipse: its points become 1, those next to its outline 2, and brighter. */
static void draw_cell(struct example_rng *r, const int64_t *size, double *light, uint8_t *label)
{
	const double y0 = example_uniform(r, 0, (double)size[0]);
	const double x0 = example_uniform(r, 0, (double)size[1]);
	const double a = example_uniform(r, 6, 13), b = a * example_uniform(r, 0.7, 1);
	const double angle = example_uniform(r, 0, 3.1416), bright = example_uniform(r, 60, 110);
	for (int64_t i = 0; i < size[0] * size[1]; i++) {
		const double v = (double)(i / size[1]) - y0, u = (double)(i % size[1]) - x0;
		const double q = hypot((u * cos(angle) + v * sin(angle)) / a,
		                       (v * cos(angle) - u * sin(angle)) / b);
		const bool border = q > 1 - BORDER / b;

		if (q > 1 || (label[i] && !border))
			continue;
		label[i] = border ? 2 : 1;
		light[i] = bright * (border ? 1.5 : 1 - 0.3 * q);
	}
}

static void draw_cells(struct example_rng *r, const int64_t *size, uint8_t *image, uint8_t *label)
{
	const int64_t n = size[0] * size[1];
	double *light = mem_calloc((size_t)n, sizeof *light);
	const double slope = example_uniform(r, -30, 30);
	for (int64_t k = 0; k < n / 700; k++)
		draw_cell(r, size, light, label);
	for (int64_t i = 0; i < n; i++)
		dtype_set(DTYPE_U8, image, i,
		          60 + slope * (double)(i % size[1]) / (double)size[1] + light[i] +
		              18 * example_normal(r));
	mem_free(light);
}

/* d: pictures, height, width. */
static int cells_of(const char *dir, struct example_rng *r, const char *name, const int64_t *d)
{
	struct example_array a[] = {
		example_new("images", "brightness", DTYPE_U8, 3, d),
		example_new("labels", "0 background, 1 cell, 2 its border", DTYPE_U8, 3, d),
	};
	int rc;
	for (int64_t i = 0; i < d[0]; i++)
		draw_cells(r, d + 1, (uint8_t *)a[0].data + i * d[1] * d[2],
		           (uint8_t *)a[1].data + i * d[1] * d[2]);
	rc = example_pictures(dir, "cells", name, &a[0]);
	if (rc == 0)
		rc = example_pictures(dir, "labels", name, &a[1]);
	example_release(a, 2);
	return rc;
}

int example_cells(const char *dir)
{
	static const struct {
		const char *name;
		int64_t d[3];
	} sets[] = {
		{ "small", { 16, 96, 96 } },
		{ "wide", { 12, 96, 150 } },
		{ "tall", { 12, 160, 110 } },
		{ "new-small", { 3, 98, 122 } },
		{ "new-large", { 4, 130, 170 } },
	};
	struct example_rng r = example_rng("cells");
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof sets / sizeof *sets; i++)
		rc = cells_of(dir, &r, sets[i].name, sets[i].d);
	return rc;
}

/* --- volumes --- */

#define VOLUMES 30
#define SIDE 32

struct blob {
	double centre[3], radius[3];
};

/* Whether point i of a volume is in b. */
static bool inside(const struct blob *b, int64_t i)
{
	const double at[] = { (double)(i / (SIDE * SIDE)), (double)(i / SIDE % SIDE),
		                 (double)(i % SIDE) };
	double q = 0;
	for (int k = 0; k < 3; k++)
		q += (at[k] - b->centre[k]) * (at[k] - b->centre[k]) / (b->radius[k] * b->radius[k]);
	return q <= 1;
}

static struct blob organ(struct example_rng *r)
{
	struct blob b;
	for (int k = 0; k < 3; k++) {
		b.centre[k] = example_uniform(r, 13, 19);
		b.radius[k] = example_uniform(r, 8, 12);
	}
	return b;
}

/* A ball in the middle of the organ or near it. */
static struct blob lesion(struct example_rng *r, const struct blob *organ)
{
	struct blob b;
	const double radius = example_uniform(r, 2.5, 4.5);
	for (int k = 0; k < 3; k++) {
		b.centre[k] = organ->centre[k] + 0.45 * organ->radius[k] * example_uniform(r, -1, 1);
		b.radius[k] = radius;
	}
	return b;
}

/* Brightness as computed tomography has it: fat, organ, lesion, and noise. */
static void draw_volume(struct example_rng *r, int16_t *image, uint8_t *label)
{
	static const double brightness[] = { -80, 50, 110 };
	const struct blob body = organ(r);
	struct blob lesions[3];
	const int n = 1 + example_choice(r, 3);
	for (int k = 0; k < n; k++)
		lesions[k] = lesion(r, &body);
	for (int64_t i = 0; i < SIDE * SIDE * SIDE; i++) {
		label[i] = inside(&body, i);
		for (int k = 0; label[i] && k < n; k++)
			if (inside(&lesions[k], i))
				label[i] = 2;
		dtype_set(DTYPE_I16, image, i, brightness[label[i]] + 30 * example_normal(r));
	}
}

int example_volumes(const char *dir)
{
	const int64_t d[] = { VOLUMES, SIDE, SIDE, SIDE }, n = SIDE * SIDE * SIDE;
	struct example_array a[] = {
		example_new("image", "brightness", DTYPE_I16, 4, d),
		example_new("label", "0 background, 1 organ, 2 lesion", DTYPE_U8, 4, d),
	};
	struct example_rng r = example_rng("volumes");
	int rc;
	for (int64_t i = 0; i < VOLUMES; i++)
		draw_volume(&r, (int16_t *)a[0].data + i * n, (uint8_t *)a[1].data + i * n);
	rc = example_write(dir, "volumes.h5", a, 2);
	example_release(a, 2);
	return rc;
}
