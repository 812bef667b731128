/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The solution is even, so v = u + 1 on [0, 1] has v'(0) = 0 and v(1) = 0: a series of
 * cos((j + 1/2) pi x), in which diffusion is diagonal. Values at the middles of as many cells and
 * coefficients are a discrete cosine transform of type IV of each other. The linear part
 * d v_xx - 2 r v is integrated exactly, the rest r (3 v^2 - v^3) by the scheme of Cox and Matthews
 * (2002) of fourth order (ETDRK4), its functions by means over a circle (Kassam and Trefethen
 * 2005). */
#include "data-tools/make/field/field_allen_cahn.h"

#include <math.h>

#include "base/err.h"
#include "base/mem.h"
#include "data-tools/make/field/field_fft.h"

#define PI 3.14159265358979323846
#define ON_CIRCLE 32
#define TAIL 1e-9                 /* of the largest coefficient, that the last ones may be */

struct solver {
	int64_t n;                    /* modes, and cells of [0, 1] */
	double rate;
	struct field_fft fft;                     /* of half the modes values */
	double complex *turn, *work;
	double *whole, *half, *q, *f1, *f2, *f3;  /* of each mode */
	double *v, *a, *b, *nv, *na, *nb, *nc;    /* coefficients */
	double *memory;
};

/* --- the transform --- */

/* to[k] = sqrt(2 / n) sum_j from[j] cos(pi (j + 1/2) (k + 1/2) / n), which is its own inverse. */
static void transform(struct solver *s, const double *from, double *to)
{
	const int64_t n = s->n;
	const double scale = sqrt(2.0 / (double)n);
	for (int64_t j = 0; j < n / 2; j++)
		s->work[j] = (from[2 * j] + I * from[n - 1 - 2 * j]) * s->turn[j];
	field_fft_run(&s->fft, s->work);
	for (int64_t k = 0; k < n / 2; k++) {
		const double complex y = s->work[k] * s->turn[k];
		to[2 * k] = scale * creal(y);
		to[n - 1 - 2 * k] = -scale * cimag(y);
	}
}

/* --- a step --- */

/* The scheme's functions of z = L h are means of their values on a circle around z, since their
 * formulas lose all digits near 0. */
static void set_mode(struct solver *s, int64_t j, double linear, double h)
{
	double complex q = 0, f1 = 0, f2 = 0, f3 = 0;
	for (int k = 0; k < ON_CIRCLE; k++) {
		const double complex z = linear * h + cexp(I * PI * (k + 0.5) / ON_CIRCLE);
		const double complex e = cexp(z), cube = z * z * z;

		q += (cexp(z / 2) - 1) / z;
		f1 += (-4 - z + e * (4 - 3 * z + z * z)) / cube;
		f2 += (2 + z + e * (z - 2)) / cube;
		f3 += (-4 - 3 * z - z * z + e * (4 - z)) / cube;
	}
	s->whole[j] = exp(linear * h);
	s->half[j] = exp(linear * h / 2);
	s->q[j] = h * creal(q) / ON_CIRCLE;
	s->f1[j] = h * creal(f1) / ON_CIRCLE;
	s->f2[j] = h * creal(f2) / ON_CIRCLE;
	s->f3[j] = h * creal(f3) / ON_CIRCLE;
}

/* Coefficients of r (3 v^2 - v^3) from those of v. */
static void nonlinear(struct solver *s, const double *v, double *to)
{
	transform(s, v, to);
	for (int64_t i = 0; i < s->n; i++)
		to[i] = s->rate * to[i] * to[i] * (3 - to[i]);
	transform(s, to, to);
}

static void step(struct solver *s)
{
	const int64_t n = s->n;
	nonlinear(s, s->v, s->nv);
	for (int64_t j = 0; j < n; j++)
		s->a[j] = s->half[j] * s->v[j] + s->q[j] * s->nv[j];
	nonlinear(s, s->a, s->na);
	for (int64_t j = 0; j < n; j++)
		s->b[j] = s->half[j] * s->v[j] + s->q[j] * s->na[j];
	nonlinear(s, s->b, s->nb);
	for (int64_t j = 0; j < n; j++)
		s->b[j] = s->half[j] * s->a[j] + s->q[j] * (2 * s->nb[j] - s->nv[j]);
	nonlinear(s, s->b, s->nc);
	for (int64_t j = 0; j < n; j++)
		s->v[j] = s->whole[j] * s->v[j] + s->f1[j] * s->nv[j] +
			2 * s->f2[j] * (s->na[j] + s->nb[j]) + s->f3[j] * s->nc[j];
}

/* --- all --- */

static void open_solver(struct solver *s, const struct allen_cahn *a, double h)
{
	const size_t n = (size_t)a->modes;
	double **const part[] = { &s->whole, &s->half, &s->q, &s->f1, &s->f2, &s->f3, &s->v, &s->a,
		&s->b, &s->nv, &s->na, &s->nb, &s->nc };
	s->n = a->modes;
	s->rate = a->rate;
	s->memory = mem_calloc(13 * n, sizeof(double));
	s->turn = mem_calloc(n, sizeof *s->turn);
	s->work = s->turn + n / 2;
	field_fft_init(&s->fft, s->n / 2);
	for (size_t i = 0; i < 13; i++)
		*part[i] = s->memory + i * n;
	for (size_t j = 0; j < n / 2; j++)
		s->turn[j] = cexp(-I * PI * (double)(8 * j + 1) / (double)(8 * n));
	for (int64_t j = 0; j < s->n; j++) {
		const double wave = ((double)j + 0.5) * PI;
		set_mode(s, j, -a->diffusion * wave * wave - 2 * a->rate, h);
	}
}

static void start(struct solver *s)
{
	for (int64_t i = 0; i < s->n; i++) {
		const double x = ((double)i + 0.5) / (double)s->n;
		s->a[i] = x * x * cos(PI * x) + 1;
	}
	transform(s, s->a, s->v);
}

/* The series at equidistant places of [-1, 1]; cos((j + 1/2) a) follows from the two before. */
static void evaluate(const struct solver *s, int64_t nx, double *u)
{
	const double scale = sqrt(2.0 / (double)s->n);
	for (int64_t i = 0; i < (nx + 1) / 2; i++) {
		const double angle = PI * (1 - 2 * (double)i / (double)(nx - 1));
		const double twice = 2 * cos(angle);
		double before = cos(angle / 2), now = before, sum = 0;

		for (int64_t j = 0; j < s->n; j++) {
			const double next = twice * now - before;
			sum += s->v[j] * now;
			before = now;
			now = next;
		}
		u[i] = u[nx - 1 - i] = i ? scale * sum - 1 : -1;
	}
}

static int check_tail(const struct solver *s)
{
	double most = 0, last = 0;
	for (int64_t j = 0; j < s->n; j++) {
		most = fmax(most, fabs(s->v[j]));
		last = j >= s->n - s->n / 8 ? fmax(last, fabs(s->v[j])) : last;
	}
	if (last <= TAIL * most)
		return 0;
	return ERR(E_DATA, NULL, "%lld modes do not resolve the solution: the last ones are %.1e of "
	           "the largest, expected %.0e; more modes or more diffusion do", (long long)s->n,
	           last / most, TAIL);
}

int allen_cahn_solve(const struct allen_cahn *a, int64_t nx, int64_t nt, double end, double *u)
{
	const double interval = end / (double)(nt - 1);
	const int64_t steps = (int64_t)ceil(interval * (double)a->steps);
	struct solver s;
	int rc = 0;
	open_solver(&s, a, interval / (double)steps);
	start(&s);
	for (int64_t i = 0; i < nx; i++) {
		const double x = -1 + 2 * (double)i / (double)(nx - 1);
		u[i] = x * x * cos(PI * x);
	}
	for (int64_t t = 1; t < nt && rc == 0; t++) {
		for (int64_t i = 0; i < steps; i++)
			step(&s);
		rc = check_tail(&s);
		evaluate(&s, nx, u + t * nx);
	}
	field_fft_release(&s.fft);
	mem_free(s.turn);
	mem_free(s.memory);
	return rc;
}
