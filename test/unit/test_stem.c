/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The physics of dlx-stem: constants of electrons and scattering factors against published values,
 * potentials against Kirkland's formula in real space, waves against what they must be. */
#include <math.h>
#include <stdbool.h>

#include "cases.h"
#include "base/mem.h"
#include "data-tools/make/stem/stem_dose.h"
#include "data-tools/make/stem/stem_wave.h"

#define PI 3.14159265358979323846

static void near(double is, double wanted, double part)
{
	if (!(fabs(is - wanted) <= fabs(wanted) * part))
		fail_msg("%.10g is not %.10g", is, wanted);
}

static void electrons(void **state)
{
	/* kV, angstrom, 1e-3 rad/(V A): CODATA 2018 */
	static const double row[][3] = { { 60, 0.0486606, 1.135691 }, { 80, 0.0417572, 1.008707 },
		{ 100, 0.0370144, 0.924396 }, { 200, 0.0250793, 0.728840 },
		{ 300, 0.0196875, 0.652616 } };
	(void)state;
	for (int i = 0; i < 5; i++) {
		near(electron_wavelength(row[i][0]), row[i][1], 3e-6);
		near(electron_interaction(row[i][0]), row[i][2] * 1e-3, 2e-6);
	}
}

/* Doyle and Turner (1968) computed f(0) of other relativistic Hartree-Fock atoms. */
static void scattering_factors(void **state)
{
	static const struct { const char *symbol; int number; double zero; } row[] = {
		{ "C", 6, 2.509 }, { "Al", 13, 5.889 }, { "Si", 14, 5.828 }, { "Fe", 26, 7.165 },
		{ "Cu", 29, 5.600 }, { "Ag", 47, 8.671 }, { "Au", 79, 10.573 } };
	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		const struct atom_kind *k = atom_kind_find(row[i].symbol);

		assert_non_null(k);
		assert_int_equal(k->number, row[i].number);
		near(atom_factor(k, 0), row[i].zero, 0.02);
	}
	assert_null(atom_kind_find("Xx"));
}

/* Far out a factor is Rutherford's, Z / (2 pi^2 a0 q^2), less what the electrons still screen: a
 * number in a wrong place of the table would show. */
static void factors_far_out(void **state)
{
	(void)state;
	for (int i = 0; crystal_at(i); i++)
		for (int k = 0; k < CRYSTAL_KINDS && crystal_at(i)->element[k]; k++) {
			const struct atom_kind *kind = atom_kind_find(crystal_at(i)->element[k]);
			const double q2 = 100;

			assert_non_null(kind);
			const double bare = kind->number / (2 * PI * PI * 0.529177 * q2);
			if (!(atom_factor(kind, q2) < 1.01 * bare && atom_factor(kind, q2) > 0.85 * bare))
				fail_msg("%s: %g of %g", kind->symbol, atom_factor(kind, q2), bare);
		}
}

/* Of free atoms put together, in V. */
static void inner_potentials(void **state)
{
	static const struct { const char *name; double volts; } row[] = {
		{ "Si", 13.91 }, { "Ge", 15.58 }, { "MgO", 18.4 } };
	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		const struct crystal *c = crystal_find(row[i].name);
		struct crystal_site site[4 * CRYSTAL_SITES];
		double sum = 0;

		for (int s = crystal_cell(c, site); s-- > 0; )
			sum += atom_factor(atom_kind_find(c->element[site[s].kind]), 0);
		near(POTENTIAL_OF_FACTOR * sum / crystal_volume(c), row[i].volts, 0.02);
	}
}

/* --- crystals --- */

static struct crystal_cut straight(const struct crystal *c, const int8_t *zone, double cells)
{
	return (struct crystal_cut){ .zone = zone, .origin = { .013, .021, .03 },
		.extent = { cells * c->a, cells * c->a, 2 * c->a } };
}

/* The least distance of columns that are more than 0.3 angstrom apart, of the first atoms. */
static double least_distance(const struct atom *a, int64_t n)
{
	double least = 100;
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j < i; j++) {
			const double d = hypot(a[i].at[0] - a[j].at[0], a[i].at[1] - a[j].at[1]);
			least = d > 0.3 && d < least ? d : least;
		}
	return least;
}

static void slabs(void **state)
{
	double share = 0;
	int tried = 0;

	(void)state;
	for (int i = 0; crystal_at(i); i++) {
		const struct crystal *c = crystal_at(i);
		struct crystal_site site[4 * CRYSTAL_SITES];

		assert_in_range(crystal_zones(c), 1, CRYSTAL_ZONES);
		for (int z = 0; z < crystal_zones(c); z++) {
			struct crystal_cut cut = straight(c, c->zone[z], 4);
			int64_t n;

			cut.extent[0] = cut.extent[1] = 24;
			cut.extent[2] = 36;
			struct atom *a = crystal_slab(c, &cut, &n);
			const double cells = 24. * 24 * 36 / crystal_volume(c);
			if (!(least_distance(a, n < 500 ? n : 500) > 1.19))
				fail_msg("%s [%d%d%d]: %g", c->name, c->zone[z][0], c->zone[z][1], c->zone[z][2],
				         least_distance(a, n < 500 ? n : 500));
			near((double)n, cells * crystal_cell(c, site), 0.25);
			share += (double)n / (cells * crystal_cell(c, site));
			tried++;
			mem_free(a);
		}
	}
	near(share / tried, 1, 0.03);
}

/* --- potentials --- */

static double bessel_k0(double x)
{
	double sum = 0;
	for (int i = -1000; i <= 1000; i++)
		sum += exp(-x * cosh(i * 0.008)) * 0.004;
	return sum;
}

static double projected(const struct atom_kind *k, double r)
{
	const double a0e = 0.529177211 * 14.3996454;
	double v = 0;
	for (int i = 0; i < 3; i++)
		v += 4 * PI * PI * a0e * k->a[i] * bessel_k0(2 * PI * r * sqrt(k->b[i])) +
			2 * PI * PI * a0e * k->c[i] / k->d[i] * exp(-PI * PI * r * r / k->d[i]);
	return v;
}

static const struct microscope standard = { .kilovolts = 100, .semiangle = 0.02 };

static void an_atom(void **state)
{
	const struct crystal *c = crystal_find("Si");
	const double pixel = 0.025;
	const struct atom a = { .kind = 0, .at = { 256 * pixel, 256 * pixel, 1 } };
	const struct atom_kind *k = atom_kind_find("Si");
	const int n = 512;
	float *v = mem_calloc((size_t)(n * n), sizeof *v);
	struct multislice *m;
	double sum = 0;

	(void)state;
	assert_int_equal(multislice_new(&m, n, pixel, 1, &standard), 0);
	multislice_set(m, c, &a, 1, 1, 2);
	multislice_potential(m, 0.05, v);           /* or the limit's ripples would show */
	for (int i = 0; i < n * n; i++)
		sum += v[i] * pixel * pixel;
	near(sum, POTENTIAL_OF_FACTOR * atom_factor(k, 0), 1e-4);
	for (int i = 20; i <= 60; i += 10) {
		near(v[256 * n + 256 + i], projected(k, i * pixel), 0.03);
		near(v[(256 - i) * n + 256], v[256 * n + 256 + i], 1e-3);
	}
	multislice_free(m);
	mem_free(v);
}

/* --- waves --- */

static double intensity(const kiss_fft_cpx *w, int64_t n)
{
	double sum = 0;
	for (int64_t i = 0; i < n; i++)
		sum += (double)w[i].r * w[i].r + (double)w[i].i * w[i].i;
	return sum;
}

static void plane(kiss_fft_cpx *w, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		w[i] = (kiss_fft_cpx){ 1, 0 };
}

static void vacuum(void **state)
{
	const int n = 48, reach = 10, side = 2 * reach + 1;
	struct microscope t = standard;
	float pattern[21 * 21];
	struct multislice *m;

	(void)state;
	t.defocus = 100;
	assert_int_equal(multislice_new(&m, n, 0.25, 10, &t), 0);
	multislice_set(m, crystal_find("Si"), NULL, 0, 10, 20);
	multislice_scan(m, reach);
	for (int at = 0; at < 5; at++) {
		multislice_probe(m, 3.1 * at, 1.7 * at, pattern);
		for (int i = 0; i < side * side; i++) {
			const double q = hypot(i / side - reach, i % side - reach) / (n * 0.25);
			const bool within = q * electron_wavelength(100) <= t.semiangle;

			if (!(fabs(pattern[i] - within) < 1e-4))
				fail_msg("mode %d has %g", i, pattern[i]);
		}
	}
	multislice_free(m);
}

/* The slab that symmetry and conservation are seen with: gold or salt along [001]. */
static struct multislice *open_slab(const struct crystal *c, int n, int slices, double thickness)
{
	static const int8_t z[3] = { 0, 0, 1 };
	struct crystal_cut cut = straight(c, z, 3);
	int64_t atoms;
	struct multislice *m;

	cut.extent[2] = thickness;
	struct atom *a = crystal_slab(c, &cut, &atoms);
	assert_int_equal(multislice_new(&m, n, 3 * c->a / n, slices, &standard), 0);
	multislice_set(m, c, a, atoms, slices, thickness);
	mem_free(a);
	return m;
}

/* Electrons are lost only to angles above the limit, few where the points are close. */
static void intensity_is_kept(void **state)
{
	static const struct { const char *name; int n; double least; } row[] = {
		{ "Au", 96, 0.97 }, { "Au", 192, 0.98 }, { "NaCl", 144, 0.99 } };
	(void)state;
	for (int i = 0; i < 3; i++) {
		const struct crystal *c = crystal_find(row[i].name);
		const int64_t n = row[i].n * row[i].n;
		struct multislice *m = open_slab(c, row[i].n, 10, 5 * c->a);
		kiss_fft_cpx *w = mem_calloc((size_t)n, sizeof *w);

		plane(w, n);
		multislice_run(m, w);
		const double kept = intensity(w, n), direct = w[0].r * w[0].r + w[0].i * w[0].i;
		if (!(kept > row[i].least && kept < 1.0001 && direct < 0.95))
			fail_msg("%s, %d points: %g is left, %g undisturbed", c->name, row[i].n, kept, direct);
		mem_free(w);
		multislice_free(m);
	}
}

/* A slice as thin as an atom's plane: each beam is i sigma times the potential's mode, and those
 * that silicon forbids are missing. */
static void thin_slab(void **state)
{
	const struct crystal *c = crystal_find("Si");
	const int n = 96;
	const int64_t points = (int64_t)n * n;
	struct multislice *m = open_slab(c, n, 1, c->a);
	kiss_fft_cpx *w = mem_calloc((size_t)points, sizeof *w);
	const double q2 = 8 / (c->a * c->a);           /* of (220) */
	const double area = c->a * c->a, mode = 8 * POTENTIAL_OF_FACTOR / area *
		atom_factor(atom_kind_find("Si"), q2) * electron_interaction(100);

	(void)state;
	plane(w, points);
	multislice_run(m, w);
	near(hypot(w[6 * n + 6].r, w[6 * n + 6].i), mode, 0.06);
	assert_true(hypot(w[6].r, w[6].i) < 0.02 * mode);                    /* (200) */
	assert_true(hypot(w[6 * n].r, w[6 * n].i) < 0.02 * mode);
	assert_true(hypot(w[1].r, w[1].i) < 1e-4 * mode);                    /* not of the lattice */
	mem_free(w);
	multislice_free(m);
}

static void half_turn(void **state)
{
	const struct crystal *c = crystal_find("NaCl");
	const int n = 64, reach = 12, side = 2 * reach + 1;
	struct multislice *m = open_slab(c, n, 12, 6 * c->a);
	float *one = mem_calloc((size_t)(side * side), sizeof *one);
	float *other = mem_calloc((size_t)(side * side), sizeof *other);
	/* A column of sodium, about which a half turn changes nothing. */
	const double y = (1.5 + .021) * c->a, x = (1.5 + .013) * c->a;
	double sum = 0, odd = 0;

	(void)state;
	multislice_scan(m, reach);
	multislice_probe(m, y + 0.7, x - 0.4, one);
	multislice_probe(m, y - 0.7, x + 0.4, other);
	for (int i = 0; i < side * side; i++) {
		assert_true(fabs(one[i] - other[side * side - 1 - i]) < 2e-3);
		sum += one[i];
		odd += fabs(one[i] - one[side * side - 1 - i]);
	}
	assert_true(odd > 0.02 * sum);
	multislice_probe(m, y, x, one);
	for (int i = 0; i < side * side; i++)
		assert_true(fabs(one[i] - one[side * side - 1 - i]) < 2e-3);
	mem_free(one);
	mem_free(other);
	multislice_free(m);
}

/* The sum of the aperture's plane waves, sent through the slab as one wave. */
static void probe_is_a_wave(void **state)
{
	const struct crystal *c = crystal_find("NaCl");
	const int n = 64, reach = 12, side = 2 * reach + 1;
	struct multislice *m = open_slab(c, n, 8, 4 * c->a);
	const double length = 3 * c->a, y = 4.3, x = 9.1, radius = 0.02 / electron_wavelength(100);
	const int most = (int)(radius * length);
	float *pattern = mem_calloc((size_t)(side * side), sizeof *pattern);
	kiss_fft_cpx *w = mem_calloc((size_t)(n * n), sizeof *w);

	(void)state;
	for (int p = 0; p < n * n; p++)
		for (int i = -most; i <= most; i++)
			for (int j = -most; j <= most; j++)
				if (hypot(i, j) <= radius * length) {
					const double turn = 2 * PI * (i * ((double)(p / n) / n - y / length) +
					                              j * ((double)(p % n) / n - x / length));
					w[p].r += (float)cos(turn);
					w[p].i += (float)sin(turn);
				}
	multislice_run(m, w);
	multislice_scan(m, reach);
	multislice_probe(m, y, x, pattern);
	for (int i = 0; i < side * side; i++) {
		const int at = (i / side - reach + n) % n * n + (i % side - reach + n) % n;
		const double is = intensity(&w[at], 1);

		if (!(fabs(is - pattern[i]) < 2e-3))
			fail_msg("mode %d: %g as a wave, %g as a sum", i, is, pattern[i]);
	}
	mem_free(pattern);
	mem_free(w);
	multislice_free(m);
}

/* Along columns of gold the direct beam and the others exchange their intensity: Pendelloesung,
 * whose period of about 38 angstrom is that of the columns' bound state. */
static void direct_beam(void **state)
{
	const struct crystal *c = crystal_find("Au");
	static const int cells[4] = { 1, 5, 9, 15 };
	const int n = 96;
	double direct[4];
	kiss_fft_cpx *w = mem_calloc((size_t)(n * n), sizeof *w);

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct multislice *m = open_slab(c, n, 2 * cells[i], cells[i] * c->a);

		plane(w, (int64_t)n * n);
		multislice_run(m, w);
		direct[i] = w[0].r * w[0].r + w[0].i * w[0].i;
		multislice_free(m);
	}
	if (!(direct[0] > 0.9 && direct[1] < 0.65 && direct[2] > 0.9 && direct[3] < 0.65))
		fail_msg("the direct beam has %g, %g, %g, %g", direct[0], direct[1], direct[2], direct[3]);
	mem_free(w);
}

/* Counts have the probabilities of Poisson's law (chi squared in cells that expect 20 and more), on
 * both sides of the change of method, and the moments of large means. */
static void doses(void **state)
{
	enum { N = 40000, MOST = 120 };
	static const double mean[] = { 0, 0.02, 0.7, 3, 9.99, 10.01, 30, 60 };
	(void)state;
	for (size_t m = 0; m < sizeof mean / sizeof *mean; m++) {
		int seen[MOST] = { 0 }, cells = 0;
		double chi = 0, rest = 0, rest_seen = 0;
		for (int i = 0; i < N; i++)
			seen[(int)fmin(dose_count(mean[m], 7, m, (uint64_t)i), MOST - 1)]++;
		for (int k = 0; k < MOST; k++) {
			const double wanted = mean[m] > 0 ?
				N * exp(k * log(mean[m]) - mean[m] - lgamma(k + 1)) : k == 0 ? N : 0;

			if (wanted < 20) {
				rest += wanted;
				rest_seen += seen[k];
				continue;
			}
			chi += (seen[k] - wanted) * (seen[k] - wanted) / wanted;
			cells++;
		}
		if (fabs(rest_seen - rest) > 5 * sqrt(rest) + 1e-6 || chi > cells + 5 * sqrt(2. * cells))
			fail_msg("mean %g: chi squared %g of %d cells, %g in place of %g beside these",
			         mean[m], chi, cells, rest_seen, rest);
	}
	for (double large = 1e3; large < 1e13; large *= 100) {
		double sum = 0, square = 0;
		for (int i = 0; i < N; i++) {
			const double d = (dose_count(large, 8, 0, (uint64_t)i) - large) / sqrt(large);

			sum += d / N;
			square += d * d / N;
		}
		if (fabs(sum) > 5 / sqrt(N) || fabs(square - 1) > 5 * sqrt(2. / N))
			fail_msg("mean %g: off by %g, variance %g", large, sum, square);
	}
	assert_true(dose_count(50, 7, 0, 3) == dose_count(50, 7, 0, 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(electrons), cmocka_unit_test(doses),
		cmocka_unit_test(scattering_factors),
		cmocka_unit_test(factors_far_out),
		cmocka_unit_test(inner_potentials),
		cmocka_unit_test(slabs),
		cmocka_unit_test(an_atom),
		cmocka_unit_test(vacuum),
		cmocka_unit_test(intensity_is_kept),
		cmocka_unit_test(thin_slab),
		cmocka_unit_test(half_turn),
		cmocka_unit_test(probe_is_a_wave),
		cmocka_unit_test(direct_beam),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
