/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kinds of data that dlx-field makes. */
#ifndef DLX_DATA_TOOLS_FIELD_KINDS_H
#define DLX_DATA_TOOLS_FIELD_KINDS_H

#include "data-tools/make/generator_program.h"

struct field_kind {
	const struct generator_program *program;      /* "dlx-field NAME" */
	struct generator_options *options;            /* the kind's own options, with defaults */
};

extern const struct field_kind kind_gaussian, kind_lognormal;         /* field_random.c */
extern const struct field_kind kind_elliptic, kind_stochastic_poisson;    /* field_elliptic.c */
extern const struct field_kind kind_darcy;                            /* field_permeable.c */
extern const struct field_kind kind_burgers, kind_allen_cahn, kind_heat, kind_poisson;
                                                                       /* field_solution.c */

#endif
