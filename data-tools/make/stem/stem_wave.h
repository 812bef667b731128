/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The multislice method (Cowley and Moodie 1957): propagates electron waves through a slab that is
 * divided into thin slices, each of which shifts the phase by its projected potential. The cell is
 * a periodic square with n x n points. Lengths are in angstrom, potentials in volts, angles in rad.
 *
 * A wave's modes are its Fourier coefficients: element (i, j) has the wave numbers fourier_wave of
 * i and j, divided by n * pixel. Modes above two thirds of the Nyquist wave number are set to 0, so
 * that products of two waves do not alias. */
#ifndef DLX_DATA_TOOLS_STEM_WAVE_H
#define DLX_DATA_TOOLS_STEM_WAVE_H

#include <kiss_fft.h>
#include <stdint.h>

#include "data-tools/make/stem/stem_crystal.h"

struct microscope {
	double kilovolts;
	double semiangle;             /* semiangle of the probe's aperture */
	double defocus, spherical;    /* defocus (underfocus is positive); spherical aberration C3 */
};

/* Scratch memory and plans for a cell; used by one thread at a time. */
struct multislice;
/* E_NOMEM. */
int multislice_new(struct multislice **out, int n, double pixel, int slices,
                   const struct microscope *t);
void multislice_free(struct multislice *m);          /* NULL is fine */

/* Sets the slab: distributes the atoms among `slices` slices (at most as many as in multislice_new)
 * of equal thickness. */
void multislice_set(struct multislice *m, const struct crystal *c, const struct atom *atom,
                    int64_t atoms, int slices, double thickness);
/* Computes the potential projected along the whole slab, in V A, smoothed by a Gaussian of standard
 * deviation `blur`; `to` has n x n points (y, x). */
void multislice_potential(struct multislice *m, double blur, float *to);
/* Propagates a wave of n x n points (y, x) from the entrance of the slab to its exit, and replaces
 * it by the modes of the exit wave. */
void multislice_run(struct multislice *m, kiss_fft_cpx *wave);

/* Prepares scanning: computes the exit modes for each plane wave in the aperture. As the equations
 * are linear, the modes of any probe are sums of these. Only wave numbers from -reach to reach
 * along each axis are kept. A probe of unit intensity has intensity 1 / beams in each mode of the
 * aperture. */
void multislice_scan(struct multislice *m, int reach);
int multislice_beams(const struct multislice *m);
/* Computes the intensity of the modes -reach .. reach along y and x for the probe at (y, x), in
 * units of the intensity of an undisturbed probe within the aperture. */
void multislice_probe(struct multislice *m, double y, double x, float *to);

#endif
