/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A transform reads columns after rows and writes its result transposed; two in turn restore the
 * order, and what lies between, the propagator, is symmetrical. */
#include "data-tools/make/stem/stem_wave.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "data-tools/make/fourier.h"

#define PI 3.14159265358979323846

struct beam {
	int y, x;                     /* wave numbers */
	double phase;                 /* by the lens */
};

struct multislice {
	int n, slices, reach, beams;
	double pixel, limit, wavelength, interaction;
	kiss_fft_cfg forward, inverse;
	kiss_fft_cpx *scratch, *wave, *total, *edge;     /* edge: phases along y, then along x */
	kiss_fft_cpx *transmission;   /* (slice, y, x) */
	kiss_fft_cpx *propagator;     /* with the limit, and the factor that transforms lack */
	double *factor;               /* (kind, y, x): of the crystal's elements at the modes */
	struct beam *beam;
	kiss_fft_cpx *behind;         /* (beam, 2 reach + 1, 2 reach + 1) */
	float *sum;                   /* real and imaginary parts of these, of a probe */
};

static int64_t points(const struct multislice *m)
{
	return (int64_t)m->n * m->n;
}

static kiss_fft_cpx turn_of(double phase)
{
	return (kiss_fft_cpx){ (float)cos(phase), (float)sin(phase) };
}

static kiss_fft_cpx times(kiss_fft_cpx a, kiss_fft_cpx b)
{
	return (kiss_fft_cpx){ a.r * b.r - a.i * b.i, a.r * b.i + a.i * b.r };
}

/* The square of a mode's wave number. */
static double wave2(const struct multislice *m, int i, int j)
{
	const double y = fourier_wave(i, m->n), x = fourier_wave(j, m->n), side = m->n * m->pixel;
	return (y * y + x * x) / (side * side);
}

/* In place, transposed. */
static void transform(struct multislice *m, kiss_fft_cfg plan, kiss_fft_cpx *v)
{
	for (int i = 0; i < m->n; i++)
		kiss_fft(plan, v + (int64_t)i * m->n, m->scratch + (int64_t)i * m->n);
	for (int j = 0; j < m->n; j++)
		kiss_fft_stride(plan, m->scratch + j, v + (int64_t)j * m->n, m->n);
}

/* --- setting up --- */

static int by_angle(const struct multislice *m, const struct microscope *t)
{
	const int most = (int)(t->semiangle / m->wavelength * m->n * m->pixel);
	int n = 0;
	for (int y = -most; y <= most; y++)
		for (int x = -most; x <= most; x++) {
			const double angle = hypot(y, x) / (m->n * m->pixel) * m->wavelength;

			if (angle > t->semiangle)
				continue;
			const double a2 = angle * angle;

			if (m->beam)
				m->beam[n] = (struct beam){ y, x, -2 * PI / m->wavelength *
					a2 * (-t->defocus / 2 + t->spherical * a2 / 4) };
			n++;
		}
	return n;
}

int multislice_new(struct multislice **out, int n, double pixel, int slices,
                   const struct microscope *t)
{
	struct multislice *m = *out = mem_calloc(1, sizeof *m);
	const size_t size = (size_t)n * (size_t)n;
	m->n = n;
	m->pixel = pixel;
	m->limit = 2 / 3. / (2 * pixel);
	m->wavelength = electron_wavelength(t->kilovolts);
	m->interaction = electron_interaction(t->kilovolts);
	m->forward = kiss_fft_alloc(n, 0, NULL, NULL);
	m->inverse = kiss_fft_alloc(n, 1, NULL, NULL);
	m->scratch = mem_calloc(size, sizeof *m->scratch);
	m->wave = mem_calloc(size, sizeof *m->wave);
	m->total = mem_calloc(size, sizeof *m->total);
	m->edge = mem_calloc(2 * (size_t)n, sizeof *m->edge);
	m->transmission = mem_calloc((size_t)slices * size, sizeof *m->transmission);
	m->propagator = mem_calloc(size, sizeof *m->propagator);
	m->factor = mem_calloc(CRYSTAL_KINDS * size, sizeof *m->factor);
	m->beams = by_angle(m, t);
	m->beam = mem_calloc((size_t)m->beams, sizeof *m->beam);
	by_angle(m, t);
	if (m->forward && m->inverse)
		return 0;
	multislice_free(m);
	*out = NULL;
	return ERR(E_NOMEM, NULL, "no memory for transforms of %d x %d points", n, n);
}

void multislice_free(struct multislice *m)
{
	if (!m)
		return;
	kiss_fft_free(m->forward);
	kiss_fft_free(m->inverse);
	mem_free(m->scratch);
	mem_free(m->wave);
	mem_free(m->total);
	mem_free(m->edge);
	mem_free(m->transmission);
	mem_free(m->propagator);
	mem_free(m->factor);
	mem_free(m->beam);
	mem_free(m->behind);
	mem_free(m->sum);
	mem_free(m);
}

int multislice_beams(const struct multislice *m)
{
	return m->beams;
}

/* --- the slab --- */

/* Potential per atom and mode, by the cell's area. */
static void set_factors(struct multislice *m, const struct crystal *c)
{
	const double area = pow(m->n * m->pixel, 2);
	for (int k = 0; k < CRYSTAL_KINDS && c->element[k]; k++) {
		const struct atom_kind *kind = atom_kind_find(c->element[k]);

		for (int64_t p = 0; p < points(m); p++) {
			const double q2 = wave2(m, (int)(p / m->n), (int)(p % m->n));

			m->factor[k * points(m) + p] = q2 > m->limit * m->limit ? 0 :
				POTENTIAL_OF_FACTOR / area * atom_factor(kind, q2);
		}
	}
}

static void set_propagator(struct multislice *m, double distance)
{
	for (int64_t p = 0; p < points(m); p++) {
		const double q2 = wave2(m, (int)(p / m->n), (int)(p % m->n));
		kiss_fft_cpx *to = &m->propagator[p];
		*to = turn_of(-PI * m->wavelength * q2 * distance);
		to->r *= q2 > m->limit * m->limit ? 0 : 1 / (float)points(m);
		to->i *= q2 > m->limit * m->limit ? 0 : 1 / (float)points(m);
	}
}

/* Adds an atom's potential to modes, which are transposed: (x, y). */
static void add_atom(struct multislice *m, const struct atom *a, kiss_fft_cpx *modes)
{
	const double side = m->n * m->pixel, *factor = m->factor + a->kind * points(m);
	for (int i = 0; i < m->n; i++) {
		m->edge[i] = turn_of(-2 * PI * fourier_wave(i, m->n) * a->at[0] / side);
		m->edge[m->n + i] = turn_of(-2 * PI * fourier_wave(i, m->n) * a->at[1] / side);
	}
	for (int i = 0; i < m->n; i++)
		for (int j = 0; j < m->n; j++) {
			const kiss_fft_cpx t = times(m->edge[i], m->edge[m->n + j]);
			const int64_t p = (int64_t)i * m->n + j;

			modes[p].r += (float)factor[p] * t.r;
			modes[p].i += (float)factor[p] * t.i;
		}
}

/* From a slice's modes: exp(i sigma v), cut off at the limit. */
static void transmit(struct multislice *m, kiss_fft_cpx *v)
{
	transform(m, m->inverse, v);
	for (int64_t p = 0; p < points(m); p++)
		v[p] = turn_of(m->interaction * v[p].r);
	transform(m, m->forward, v);
	for (int64_t p = 0; p < points(m); p++) {
		const double q2 = wave2(m, (int)(p / m->n), (int)(p % m->n));
		const float keep = q2 > m->limit * m->limit ? 0 : 1 / (float)points(m);
		v[p].r *= keep;
		v[p].i *= keep;
	}
	transform(m, m->inverse, v);
}

void multislice_set(struct multislice *m, const struct crystal *c, const struct atom *atom,
                    int64_t atoms, int slices, double thickness)
{
	m->slices = slices;
	set_factors(m, c);
	set_propagator(m, thickness / slices);
	memset(m->transmission, 0, (size_t)(slices * points(m)) * sizeof *m->transmission);
	memset(m->total, 0, (size_t)points(m) * sizeof *m->total);
	for (int64_t a = 0; a < atoms; a++) {
		const int at = (int)floor(atom[a].at[2] / thickness * slices);
		const int slice = at < 0 ? 0 : at < slices ? at : slices - 1;

		add_atom(m, &atom[a], m->transmission + slice * points(m));
	}
	for (int s = 0; s < slices; s++) {
		kiss_fft_cpx *v = m->transmission + s * points(m);

		for (int64_t p = 0; p < points(m); p++) {
			m->total[p].r += v[p].r;
			m->total[p].i += v[p].i;
		}
		transmit(m, v);
	}
}

void multislice_potential(struct multislice *m, double blur, float *to)
{
	for (int64_t p = 0; p < points(m); p++) {
		const double q2 = wave2(m, (int)(p / m->n), (int)(p % m->n));
		const float keep = (float)exp(-2 * PI * PI * blur * blur * q2);
		m->wave[p] = (kiss_fft_cpx){ m->total[p].r * keep, m->total[p].i * keep };
	}
	transform(m, m->inverse, m->wave);
	for (int64_t p = 0; p < points(m); p++)
		to[p] = m->wave[p].r;
}

/* --- waves --- */

void multislice_run(struct multislice *m, kiss_fft_cpx *wave)
{
	for (int s = 0; s < m->slices; s++) {
		const kiss_fft_cpx *t = m->transmission + s * points(m);

		for (int64_t p = 0; p < points(m); p++)
			wave[p] = times(wave[p], t[p]);
		transform(m, m->forward, wave);
		for (int64_t p = 0; p < points(m); p++)
			wave[p] = times(wave[p], m->propagator[p]);
		if (s < m->slices - 1)
			transform(m, m->inverse, wave);
	}
	/* Transposed, as a transform leaves it. */
	for (int i = 0; i < m->n; i++)
		for (int j = 0; j < i; j++) {
			kiss_fft_cpx *a = &wave[(int64_t)i * m->n + j], *b = &wave[(int64_t)j * m->n + i];
			const kiss_fft_cpx kept = *a;
			*a = *b;
			*b = kept;
		}
}

void multislice_scan(struct multislice *m, int reach)
{
	const int side = 2 * reach + 1;
	if (m->reach != reach || !m->behind) {
		mem_free(m->behind);
		mem_free(m->sum);
		m->behind = mem_calloc((size_t)m->beams * (size_t)(side * side), sizeof *m->behind);
		m->sum = mem_calloc(2 * (size_t)(side * side), sizeof *m->sum);
	}
	m->reach = reach;
	for (int b = 0; b < m->beams; b++) {
		const struct beam *k = &m->beam[b];
		kiss_fft_cpx *to = m->behind + (int64_t)b * side * side;

		for (int64_t p = 0; p < points(m); p++)
			m->wave[p] = turn_of(2 * PI * (double)((k->y * (p / m->n) + k->x * (p % m->n)) % m->n) /
			                     m->n);
		multislice_run(m, m->wave);
		for (int i = 0; i < side * side; i++) {
			const int y = (i / side - reach + m->n) % m->n, x = (i % side - reach + m->n) % m->n;

			to[i] = m->wave[(int64_t)y * m->n + x];
		}
	}
}

void multislice_probe(struct multislice *m, double y, double x, float *to)
{
	const int64_t n = (int64_t)(2 * m->reach + 1) * (2 * m->reach + 1);
	const double turn = 2 * PI / (m->n * m->pixel);
	float *re = m->sum, *im = m->sum + n;
	memset(m->sum, 0, 2 * (size_t)n * sizeof *m->sum);
	for (int b = 0; b < m->beams; b++) {
		const struct beam *k = &m->beam[b];
		const kiss_fft_cpx t = turn_of(k->phase - turn * (k->y * y + k->x * x));
		const kiss_fft_cpx *from = m->behind + b * n;

		for (int64_t i = 0; i < n; i++) {
			re[i] += from[i].r * t.r - from[i].i * t.i;
			im[i] += from[i].r * t.i + from[i].i * t.r;
		}
	}
	for (int64_t i = 0; i < n; i++)
		to[i] = re[i] * re[i] + im[i] * im[i];
}
