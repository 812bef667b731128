/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Multislice: electron waves through a slab that is cut into thin slices, each of which turns the
 * phase by its projected potential (Cowley and Moodie 1957). The cell is a square with n x n points
 * and periodic; lengths are in angstrom, potentials in volts, angles in rad.
 *
 * A wave's modes are its Fourier coefficients: element (i, j) has the wave numbers fourier_wave of
 * i and j, by n * pixel. Modes above two thirds of Nyquist's wave number are cut off, so that
 * products of two waves do not alias. */
#ifndef DLX_DATA_TOOLS_STEM_WAVE_H
#define DLX_DATA_TOOLS_STEM_WAVE_H

#include <kiss_fft.h>
#include <stdint.h>

#include "data-tools/make/stem/stem_crystal.h"

struct microscope {
	double kilovolts;
	double semiangle;             /* of the probe's aperture */
	double defocus, spherical;    /* underfocus is positive; C3 */
};

/* Scratch memory and plans for a cell; used by one thread at a time. */
struct multislice;
/* E_NOMEM. */
int multislice_new(struct multislice **out, int n, double pixel, int slices,
                   const struct microscope *t);
void multislice_free(struct multislice *m);          /* NULL is fine */

/* Sets the slab: atoms into slices (at most those of multislice_new) of equal thickness. */
void multislice_set(struct multislice *m, const struct crystal *c, const struct atom *atom,
                    int64_t atoms, int slices, double thickness);
/* The potential projected along the whole slab, V A, smoothed by a Gaussian of deviation blur;
 * to has n x n points (y, x). */
void multislice_potential(struct multislice *m, double blur, float *to);
/* wave, n x n points (y, x), at the entrance of the slab becomes the modes of that at its exit. */
void multislice_run(struct multislice *m, kiss_fft_cpx *wave);

/* Scanning: the modes after the slab for each plane wave of the aperture, from which those of any
 * probe follow, the equations being linear. Only wave numbers from -reach to reach along each axis
 * are kept. A probe of unit intensity has 1 / beams in each mode of the aperture. */
void multislice_scan(struct multislice *m, int reach);
int multislice_beams(const struct multislice *m);
/* Intensity of the modes -reach .. reach along y and x of the probe at (y, x), in units of what an
 * undisturbed probe has within the aperture. */
void multislice_probe(struct multislice *m, double y, double x, float *to);

#endif
