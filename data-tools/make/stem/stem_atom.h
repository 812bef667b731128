/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scattering of fast electrons by atoms. Lengths are in angstrom, potentials in volts, wave numbers
 * in 1/angstrom (without 2 pi). */
#ifndef DLX_DATA_TOOLS_STEM_ATOM_H
#define DLX_DATA_TOOLS_STEM_ATOM_H

/* h^2 / (2 pi m e) in V A^2: the scattering factor at wave number 0, times this, is the integral of
 * the potential over space. */
#define POTENTIAL_OF_FACTOR 47.877645

/* Kirkland's fit of an element's scattering factor: three Lorentzians and three Gaussians. */
struct atom_kind {
	const char *symbol;
	int number;                   /* of protons */
	double a[3], b[3], c[3], d[3];
};

/* NULL if the table does not have the element. */
const struct atom_kind *atom_kind_find(const char *symbol);
/* f_e of the squared wave number, in angstrom: sum a / (q^2 + b) + c exp(-d q^2). */
double atom_factor(const struct atom_kind *k, double q2);

/* The relativistic wavelength of electrons accelerated by this many kilovolts. */
double electron_wavelength(double kilovolts);
/* The interaction constant sigma: the phase shift in rad by a projected potential of 1 V A. */
double electron_interaction(double kilovolts);

#endif
