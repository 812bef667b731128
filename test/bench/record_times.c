/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How fast samples of record files become raw values, on one core, from files that the system has
 * in memory: for each kind of data one of level 3 and one of level 1.
 *
 *   record_times FOLDER [REPETITIONS [MEGABYTES [KIND]]]
 *
 * Times are processor time of the thread, of the fastest of all passes over a file, so that other
 * programs do less harm; all hashes are checked. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/mem.h"
#include "data/record.h"

#define HEIGHT 768
#define WIDTH 1152

static float noise(uint64_t i)
{
	i += 0x9e3779b97f4a7c15;
	i = (i ^ i >> 30) * 0xbf58476d1ce4e5b9;
	i = (i ^ i >> 27) * 0x94d049bb133111eb;
	return (float)((i ^ i >> 31) >> 40) / 16777216.f - 0.5f;
}

/* A field of channel c: waves of several lengths and 1 % of noise, as temperatures and winds. */
static void climate(void *out, int64_t channels, uint64_t seed)
{
	float *v = out;
	for (int64_t c = 0; c < channels; c++)
		for (int64_t y = 0; y < HEIGHT; y++)
			for (int64_t x = 0; x < WIDTH; x++) {
				const float a = (float)x / WIDTH, b = (float)y / HEIGHT,
				            s = (float)(seed + 3 * (uint64_t)c);
				const uint64_t number = seed << 40 | (uint64_t)(v - (float *)out);

				*v = (float)(c % 4 * 100) + 20 * sinf(6.28f * a + s) * cosf(9 * b) +
				     6 * sinf(40 * a + 17 * b + s) + 0.4f * noise(number);
				v++;
			}
}

/* Class maps: blobs of a few classes on a background. */
static void labels(void *out, int64_t channels, uint64_t seed)
{
	uint8_t *v = out;
	for (int64_t i = 0; i < channels * HEIGHT * WIDTH; i++) {
		const float y = (float)(i / WIDTH % HEIGHT) / 60, x = (float)(i % WIDTH) / 60;
		const float f = sinf(x + (float)seed) + sinf(y + 2 * (float)seed) + sinf(x * 0.7f + y);

		v[i] = f > 1.9f ? 2 : f > 1.4f ? 1 : 0;
	}
}

/* Photographs: smooth brightness and noise of some levels. */
static void pictures(void *out, int64_t channels, uint64_t seed)
{
	uint8_t *v = out;
	for (int64_t i = 0; i < channels * HEIGHT * WIDTH; i++) {
		const float y = (float)(i / WIDTH % HEIGHT) / 200, x = (float)(i % WIDTH) / 200;

		v[i] = (uint8_t)(120 + 90 * sinf(x + (float)seed) * cosf(y) +
		                 16 * (noise(seed << 40 | (uint64_t)i) + noise((uint64_t)i * 3)));
	}
}

static void random_floats(void *out, int64_t channels, uint64_t seed)
{
	uint32_t *v = out;
	for (int64_t i = 0; i < channels * HEIGHT * WIDTH; i++) {
		uint64_t h = hash_bytes(&i, sizeof i, seed);

		v[i] = (uint32_t)h;
	}
}

static const struct kind {
	const char *name;
	enum dtype dtype;
	int64_t channels;
	void (*make)(void *out, int64_t channels, uint64_t seed);
} kinds[] = {
	{ "climate f32 16x768x1152", DTYPE_F32, 16, climate },
	{ "labels u8 1x768x1152", DTYPE_U8, 1, labels },
	{ "pictures u8 3x768x1152", DTYPE_U8, 3, pictures },
	{ "random f32 4x768x1152", DTYPE_F32, 4, random_floats },
};

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#define FILES 2

static const int levels[FILES] = { 3, 1 };

static int write_all(const struct kind *k, const char *const path[FILES], int64_t n)
{
	const struct record_info info = {
		.input = { .dtype = k->dtype, .shape = { 3, { k->channels, HEIGHT, WIDTH } } },
		.target = record_no_target(), .mask = -1, .ignore = RECORD_NO_IGNORE };
	void *values = mem_alloc(record_raw_bytes(&info));
	struct record_writer *w[FILES];
	int rc = 0;
	for (int v = 0; v < FILES; v++)
		TRY(record_create(&w[v], path[v], &info, levels[v]));
	for (int64_t i = 0; i < n; i++) {
		k->make(values, k->channels, (uint64_t)i + 1);
		for (int v = 0; v < FILES; v++)
			TRY(record_append(w[v], values, ""));
	}
	for (int v = 0; v < FILES; v++)
		rc = rc < 0 ? rc : record_commit(w[v]);
	mem_free(values);
	return rc;
}

static int time_one(const struct kind *k, const char *path, int level, int repetitions)
{
	struct record_decoder *d = record_decoder_new();
	struct record *r;
	double best = HUGE_VAL, bytes;
	uint8_t *raw;
	TRY(record_open(&r, path));
	raw = mem_calloc(record_raw_bytes(record_info(r)), 1);
	record_decoder_reserve(d, r);
	bytes = record_all_bytes(record_info(r));
	for (int i = 0; i <= repetitions; i++) {
		const double start = seconds();

		for (int64_t s = 0; s < record_info(r)->samples; s++)
			TRY(record_read(r, d, s, raw));
		best = fmin(best, seconds() - start);
	}
	printf("%-24s level %d: %5.2f GB/s, stored %5.1f %%\n", k->name, level, bytes / best / 1e9,
	       100 * (double)record_file_bytes(r) / bytes);
	record_decoder_free(d);
	record_free(r);
	mem_free(raw);
	return 0;
}

static int time_kind(const struct kind *k, const char *folder, int repetitions, double megabytes)
{
	const double sample = (double)(k->channels * HEIGHT * WIDTH) * (double)dtype_size(k->dtype);
	char *path[FILES] = { io_join(folder, "level3.dlx"), io_join(folder, "level1.dlx") };
	int rc = write_all(k, (const char *const *)path, 1 + (int64_t)(megabytes * 1e6 / sample));
	for (int v = 0; v < FILES; v++) {
		if (rc == 0)
			rc = time_one(k, path[v], levels[v], repetitions);
		unlink(path[v]);
		io_input_forget(path[v]);
		mem_free(path[v]);
	}
	return rc;
}

int main(int argc, char **argv)
{
	const int repetitions = argc > 2 ? atoi(argv[2]) : 10;
	const double megabytes = argc > 3 ? atof(argv[3]) : 100;
	int rc = 0;
	if (argc < 2 || repetitions < 1 || megabytes < 0) {
		fprintf(stderr, "usage: record_times FOLDER [REPETITIONS [MEGABYTES [KIND]]]\n");
		return 64;
	}
	for (size_t i = 0; rc == 0 && i < sizeof kinds / sizeof *kinds; i++)
		if (argc < 5 || strncmp(kinds[i].name, argv[4], strlen(argv[4])) == 0)
			rc = time_kind(&kinds[i], argv[1], repetitions, megabytes);
	if (rc < 0)
		err_print(stderr, "record_times");
	return err_exit_status(rc);
}
