/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The field is computed from Fourier modes, in float32: displacements are a few cells, so an error
 * of a thousandth of a cell does not matter. */
#include "data-tools/make/cosmo/cosmo_field.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "data-tools/make/fourier.h"

#define ROW 4096          /* normal numbers made at a time */

struct field {
	int n;
	int64_t cells, modes;          /* n^3, and n * n * (n / 2 + 1) of its transform */
	double box;
	struct spectrum s;
	struct fourier *fourier;
	kiss_fft_cpx *delta;           /* the linear field's transform; of its last axis the half */
	kiss_fft_cpx *work;
	float *psi[3];                 /* cells along each axis */
};

int field_new(struct field **out, int n)
{
	struct field *f = mem_calloc(1, sizeof *f);
	const size_t cells = (size_t)n * (size_t)n * (size_t)n;
	int rc = fourier_new(&f->fourier, n, n, n);
	*out = NULL;
	f->n = n;
	f->cells = (int64_t)cells;
	if (rc == 0) {
		f->modes = fourier_modes(f->fourier);
		f->delta = mem_map((size_t)f->modes * sizeof *f->delta);
		f->work = mem_map((size_t)f->modes * sizeof *f->work);
		for (int i = 0; i < 3; i++)
			f->psi[i] = mem_map(cells * sizeof(float));
		if (!f->delta || !f->work || !f->psi[0] || !f->psi[1] || !f->psi[2])
			rc = ERR(E_NOMEM, NULL, "no memory for a box of %d cells a side", n);
	}
	if (rc < 0)
		field_free(f);
	else
		*out = f;
	return rc;
}

static void unmap(void *p, size_t bytes)
{
	if (p)
		mem_unmap(p, bytes);
}

void field_free(struct field *f)
{
	if (!f)
		return;
	fourier_free(f->fourier);
	unmap(f->delta, (size_t)f->modes * sizeof *f->delta);
	unmap(f->work, (size_t)f->modes * sizeof *f->work);
	for (int i = 0; i < 3; i++)
		unmap(f->psi[i], (size_t)f->cells * sizeof(float));
	mem_free(f);
}

static void make_noise(float *to, int64_t n, uint64_t seed, int64_t number)
{
	const uint64_t stream = hash_name("cosmo.noise");
	double row[ROW];
	for (int64_t at = 0; at < n; at += ROW) {
		const int64_t most = n - at < ROW ? n - at : ROW;

		rng_normals(seed, stream, (uint64_t)number, at, most, row);
		for (int64_t i = 0; i < most; i++)
			to[at + i] = (float)row[i];
	}
}

/* One mode: its place in the transform, signed wave numbers along the axes, k in h/Mpc. */
struct mode {
	int64_t at;
	int index[3];
	double k;
};

static struct mode mode_of(const struct field *f, int64_t at)
{
	const int half = f->n / 2 + 1;
	struct mode m = { .at = at };
	double squares = 0;
	m.index[2] = (int)(at % half);
	m.index[1] = fourier_wave((int)(at / half % f->n), f->n);
	m.index[0] = fourier_wave((int)(at / half / f->n), f->n);
	for (int i = 0; i < 3; i++)
		squares += (double)m.index[i] * m.index[i];
	m.k = 2 * M_PI / f->box * sqrt(squares);
	return m;
}

/* Of white noise the square of each mode is n^3 on average. */
static void colour(struct field *f)
{
	const double volume = f->box * f->box * f->box;
	for (int64_t i = 0; i < f->modes; i++) {
		const struct mode m = mode_of(f, i);
		const double root = sqrt(spectrum_power(&f->s, m.k) * (double)f->cells / volume);

		f->delta[i].r = (float)((double)f->delta[i].r * root);
		f->delta[i].i = (float)((double)f->delta[i].i * root);
	}
}

/* psi_k = i k / k^2 delta_k, in cells. At the largest index of its own axis a component has no
 * partner of the other sign, so it is left out. */
static void displace(struct field *f, int axis)
{
	const double unit = 2 * M_PI / f->box, cell = f->box / f->n;
	const double scale = 1 / ((double)f->cells * cell);
	for (int64_t i = 0; i < f->modes; i++) {
		const struct mode m = mode_of(f, i);
		const bool none = m.k <= 0 || m.index[axis] == f->n / 2;
		const double by = none ? 0 : m.index[axis] * unit / (m.k * m.k) * scale;

		f->work[i].r = (float)(-by * (double)f->delta[i].i);
		f->work[i].i = (float)(by * (double)f->delta[i].r);
	}
	fourier_inverse(f->fourier, f->work, f->psi[axis]);
}

void field_displace(struct field *f, const struct spectrum *s, double box, uint64_t seed,
                    int64_t number)
{
	f->s = *s;
	f->box = box;
	make_noise(f->psi[0], f->cells, seed, number);
	fourier_forward(f->fourier, f->psi[0], f->delta);
	colour(f);
	for (int axis = 0; axis < 3; axis++)
		displace(f, axis);
}

/* The cell along one axis of what began in cell i; cells are centred on whole numbers. */
static int64_t arrives(int i, double moved, int n)
{
	const int64_t at = (int64_t)floor(i + moved + 0.5) % n;
	return at < 0 ? at + n : at;
}

int field_count(const struct field *f, double growth, int16_t *counts)
{
	const int n = f->n;
	memset(counts, 0, (size_t)f->cells * sizeof *counts);
	for (int64_t i = 0; i < f->cells; i++) {
		const int64_t x = arrives((int)(i / n / n), growth * (double)f->psi[0][i], n);
		const int64_t y = arrives((int)(i / n % n), growth * (double)f->psi[1][i], n);
		const int64_t z = arrives((int)(i % n), growth * (double)f->psi[2][i], n);
		int16_t *cell = &counts[(x * n + y) * n + z];

		if (*cell == INT16_MAX)
			return ERR(E_DATA, NULL, "a cell has more than %d particles", INT16_MAX);
		++*cell;
	}
	return 0;
}

const float *field_displacement(const struct field *f, int axis)
{
	return f->psi[axis];
}

double field_power_ratio(const struct field *f, double from, double to, int64_t *modes)
{
	const double volume = f->box * f->box * f->box;
	double sum = 0;
	*modes = 0;
	for (int64_t i = 0; i < f->modes; i++) {
		const struct mode m = mode_of(f, i);
		const double re = (double)f->delta[i].r, im = (double)f->delta[i].i;

		if (m.k < from || m.k >= to)
			continue;
		sum += (re * re + im * im) * volume / ((double)f->cells * (double)f->cells) /
		       spectrum_power(&f->s, m.k);
		++*modes;
	}
	return *modes ? sum / (double)*modes : (double)NAN;
}
