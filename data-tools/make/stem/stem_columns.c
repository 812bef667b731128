/* SPDX-License-Identifier: BSD-3-Clause
 *
 * stem_columns RECORD PREDICTIONS.npy PIXEL: finds the columns of atoms in true potentials, which
 * are the targets of a record that dlx-stem made, and in predicted ones, and prints what share of
 * the true ones has a predicted one within half an angstrom. PIXEL: from point to point, angstrom.
 *
 * A column is a point above its eight neighbours, placed by parabolas through them, and above a
 * tenth of the map's range; of predicted maps, a twentieth, so that a weak column whose contrast
 * is lower than it should be is not lost. True columns within half an angstrom of the map's edge
 * do not count. Pairs are made from the nearest on, one to one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "data/record.h"

#define REACH 0.5                     /* angstrom */
#define LEAST_TRUE 0.1
#define LEAST_PREDICTED 0.05

struct peak {
	double y, x;
};

struct counts {
	const char *group;
	int samples, columns, found, extra;
	double squares;               /* of distances of those that were found */
};

struct maps {
	int64_t height, width;
	double pixel;
	struct peak *is, *seen;
	bool *taken;
};

/* Where a parabola through three values has its top, from -0.5 to 0.5. */
static double top(float before, float at, float after)
{
	const double bend = 2.0 * at - before - after;
	return bend > 0 ? ((double)after - before) / (2 * bend) : 0;
}

static bool highest(const float *v, int64_t width)
{
	for (int i = 0; i < 9; i++) {
		const float other = v[(i / 3 - 1) * width + i % 3 - 1];

		if (i < 4 ? other >= *v : other > *v)
			return false;
	}
	return true;
}

/* The columns of a map in angstrom from its first point. */
static int find(const struct maps *m, const float *v, double least, struct peak *to)
{
	const int64_t w = m->width, points = m->height * w;
	float low = v[0], high = v[0];
	int n = 0;
	for (int64_t i = 0; i < points; i++) {
		low = v[i] < low ? v[i] : low;
		high = v[i] > high ? v[i] : high;
	}
	for (int64_t y = 1; y < m->height - 1; y++)
		for (int64_t x = 1; x < w - 1; x++) {
			const float *p = v + y * w + x;

			if (*p - low > least * (high - low) && highest(p, w))
				to[n++] = (struct peak){ m->pixel * ((double)y + top(p[-w], *p, p[w])),
					m->pixel * ((double)x + top(p[-1], *p, p[1])) };
		}
	return n;
}

static bool inside(const struct maps *m, const struct peak *p)
{
	return p->y >= REACH && p->y <= (double)(m->height - 1) * m->pixel - REACH &&
	       p->x >= REACH && p->x <= (double)(m->width - 1) * m->pixel - REACH;
}

/* Pairs the nearest two that are left; false if none are within reach. */
static bool pair(struct maps *m, int is, int seen, struct counts *c)
{
	double best = REACH;
	int a = -1, b = -1;
	for (int i = 0; i < is; i++)
		for (int j = 0; j < seen && !m->taken[i]; j++) {
			const double d = hypot(m->is[i].y - m->seen[j].y, m->is[i].x - m->seen[j].x);

			if (d <= best && !m->taken[is + j]) {
				best = d;
				a = i;
				b = j;
			}
		}
	if (a < 0)
		return false;
	m->taken[a] = m->taken[is + b] = true;
	if (inside(m, &m->is[a])) {
		c->found++;
		c->squares += best * best;
	}
	return true;
}

static void compare(struct maps *m, const float *is, const float *seen, struct counts *c)
{
	const int n = find(m, is, LEAST_TRUE, m->is), k = find(m, seen, LEAST_PREDICTED, m->seen);
	memset(m->taken, 0, (size_t)(n + k) * sizeof *m->taken);
	while (pair(m, n, k, c))
		;
	c->samples++;
	for (int i = 0; i < n; i++)
		c->columns += inside(m, &m->is[i]);
	for (int j = 0; j < k; j++)
		c->extra += !m->taken[n + j] && inside(m, &m->seen[j]);
}

/* --- files --- */

/* The float32 values of a NumPy file with exactly this many; mem_free. */
static int read_npy(const char *path, int64_t n, float **out)
{
	unsigned char head[10];
	char text[65536];
	FILE *f = fopen(path, "rb");
	if (!f)
		return ERR(E_NOINPUT, NULL, "cannot open '%s': %m", path);
	*out = mem_alloc((size_t)n * sizeof **out);
	bool good = fread(head, 1, 10, f) == 10 && memcmp(head, "\223NUMPY\1", 7) == 0;
	const size_t length = head[8] + 256U * head[9];
	good = good && fread(text, 1, length, f) == length && length > 0;
	text[good ? length - 1 : 0] = 0;
	good = good && strstr(text, "'<f4'") && strstr(text, "'fortran_order': False") &&
		fread(*out, sizeof **out, (size_t)n, f) == (size_t)n && fgetc(f) == EOF;
	fclose(f);
	if (good)
		return 0;
	mem_free(*out);
	*out = NULL;
	return ERR(E_DATA, NULL, "'%s': not a NumPy file of %lld float32 values", path, (long long)n);
}

static void print(const struct counts *c)
{
	printf("%-12s %8d %8d %9.1f %% %8.1f %% %8.3f\n", c->group, c->samples, c->columns,
	       100.0 * c->found / (c->columns ? c->columns : 1),
	       100.0 * c->extra / (c->columns ? c->columns : 1),
	       sqrt(c->squares / (c->found ? c->found : 1)));
}

static struct counts *of_group(struct counts *c, int *n, const char *group)
{
	for (int i = 0; i < *n; i++)
		if (strcmp(c[i].group, group) == 0)
			return &c[i];
	c[*n].group = group;
	return &c[(*n)++];
}

static int compare_all(const struct record *r, struct maps *m, const float *seen, void *raw)
{
	const struct record_info *info = record_info(r);
	const int64_t points = m->height * m->width;
	struct counts *c = mem_calloc((size_t)info->samples + 1, sizeof *c);
	struct counts all = { .group = "all" };
	struct record_decoder *d = record_decoder_new();
	const float *is = (const void *)((const char *)raw + record_array_at(info, 0, 1));
	int groups = 0, rc = 0;

	for (int64_t i = 0; i < info->samples && rc == 0; i++) {
		const char *group = record_group(r, i);

		rc = record_read(r, d, i, raw);
		if (rc == 0)
			compare(m, is, seen + i * points, of_group(c, &groups, group ? group : "?"));
	}
	printf("%-12s %8s %8s %11s %10s %8s\n", "crystal", "maps", "columns", "found", "extra",
	       "rms/A");
	for (int i = 0; i < groups && rc == 0; i++) {
		print(&c[i]);
		all.samples += c[i].samples;
		all.columns += c[i].columns;
		all.found += c[i].found;
		all.extra += c[i].extra;
		all.squares += c[i].squares;
	}
	if (rc == 0)
		print(&all);
	record_decoder_free(d);
	mem_free(c);
	return rc;
}

static int run(const char *record, const char *npy, double pixel)
{
	struct record *r;
	float *seen = NULL;
	TRY(record_open(&r, record));
	const struct record_info *info = record_info(r);
	const struct shape *s = &info->target.shape;
	if (info->target.dtype != DTYPE_F32 || s->nd != 3 || s->d[0] != 1 || info->samples < 1) {
		record_free(r);
		return ERR(E_DATA, NULL, "'%s': no potentials as dlx-stem makes them", record);
	}
	struct maps m = { .height = s->d[1], .width = s->d[2], .pixel = pixel };
	const size_t points = (size_t)(m.height * m.width);
	int rc = read_npy(npy, info->samples * (int64_t)points, &seen);
	if (rc == 0) {
		void *raw = mem_alloc(record_raw_bytes(info));

		m.is = mem_calloc(points, sizeof *m.is);
		m.seen = mem_calloc(points, sizeof *m.seen);
		m.taken = mem_calloc(2 * points, sizeof *m.taken);
		rc = compare_all(r, &m, seen, raw);
		mem_free(m.is);
		mem_free(m.seen);
		mem_free(m.taken);
		mem_free(raw);
	}
	mem_free(seen);
	record_free(r);
	return rc;
}

int main(int argc, char **argv)
{
	const double pixel = argc == 4 ? atof(argv[3]) : 0;
	const int rc = pixel > 0 ? run(argv[1], argv[2], pixel) :
		ERR(E_USAGE, NULL, "usage: stem_columns RECORD PREDICTIONS.npy PIXEL");
	if (rc < 0)
		err_print(stderr, "stem_columns");
	return err_exit_status(rc);
}
