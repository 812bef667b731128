/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The linear power spectrum of a flat universe with cold dark matter, baryons and a cosmological
 * constant: the transfer function of Eisenstein and Hu (1998, ApJ 496, 605) with the oscillations
 * of the baryons, and the growth of structure with time. Wave numbers k are in h/Mpc. */
#ifndef DLX_DATA_TOOLS_COSMO_SPECTRUM_H
#define DLX_DATA_TOOLS_COSMO_SPECTRUM_H

struct cosmology {
	double omega_m;          /* matter, of the critical density */
	double omega_b;          /* of it baryons */
	double h;                /* Hubble's constant in 100 km/s/Mpc */
	double n_s;              /* the spectral index */
	double sigma_8;          /* deviation of the density in spheres of 8 Mpc/h, today */
	double t_cmb;            /* the temperature of the background, K */
};

/* Prepared once for a cosmology. The names are those of the paper. */
struct spectrum {
	struct cosmology c;
	double z_eq, k_eq;       /* equality of matter and radiation; k_eq in 1/Mpc */
	double z_d, r_d, r_eq;   /* the drag epoch, baryons over photons at both */
	double s, k_silk;        /* sound horizon, Mpc; damping scale, 1/Mpc */
	double alpha_c, beta_c, alpha_b, beta_b, beta_node;
	double amplitude;        /* P(k) = amplitude k^n_s T(k)^2 */
};

void spectrum_init(struct spectrum *s, const struct cosmology *c);
/* T(k); 1 for k = 0. */
double spectrum_transfer(const struct spectrum *s, double k);
/* P(k) today, (Mpc/h)^3; 0 for k = 0. */
double spectrum_power(const struct spectrum *s, double k);
/* D(z) / D(0): how far linear structure has grown at redshift z. */
double cosmology_growth(const struct cosmology *c, double z);

#endif
