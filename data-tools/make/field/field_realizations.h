/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The common part of dlx-field's kinds that make realizations of random fields. They write records
 * with the fields of each realization and the coordinates of their points, and with the values and
 * coordinates of each field's sensors. */
#ifndef DLX_DATA_TOOLS_FIELD_REALIZATIONS_H
#define DLX_DATA_TOOLS_FIELD_REALIZATIONS_H

#include "data-tools/make/field/field_grid.h"
#include "data-tools/make/generator_program.h"

#define MOST_FIELDS 3

struct realization_kind {
	int fields;
	const char *name[MOST_FIELDS];
	const char *sensors[MOST_FIELDS];     /* option for the sensors of each field; NULL: it has
	                                       * none */
	int input, target;                    /* indices of the fields that are input and target; target
	                                       * -1: none */
	int order;                            /* points along an axis for the interpolation to
	                                       * sensors */
	/* Prepares the data shared by all realizations, and sets *scratch to the number of scratch
	 * values that one needs. */
	int (*open)(void *options, int64_t *scratch);
	void (*close)(void *options);
	/* Computes the fields of a realization; called on any thread. */
	int (*make)(const void *options, int64_t number, double *scratch, double *const *field);
};

/* The first member of a kind's options. */
struct realizations {
	struct generator_options common;
	const char *dtype, *places[MOST_FIELDS];
	double noise;
	const struct realization_kind *kind;
	/* grid: set by the kind's check. */
	struct field_grid grid;
	struct field_sensors sensors[MOST_FIELDS];
	int64_t nsensors;                     /* number of sensors of all fields */
	double sum[MOST_FIELDS], squares[MOST_FIELDS];
};

#define REALIZATIONS_AT(member) offsetof(struct realizations, member)
#define REALIZATIONS_SENSORS(option, number, text)                                              \
	{ option, 0, OPTION_TEXT, REALIZATIONS_AT(places) + (number) * sizeof(const char *), "PLACES", \
	  .doc = text }
#define REALIZATIONS_NOISE                                                                      \
	{ "noise", 0, OPTION_FLOAT, REALIZATIONS_AT(noise), "SHARE",                                \
	  .doc = "of a field's deviation, added to its sensors; default: 0" }
#define REALIZATIONS_DTYPE                                                                      \
	{ "dtype", 0, OPTION_CHOICE, REALIZATIONS_AT(dtype), "f32|f64",                             \
	  .doc = "the arrays' type; default: f32" }
#define REALIZATIONS_DEFAULTS(of)                                                               \
	{ .common = GENERATOR_DEFAULTS, .dtype = "f32", .kind = (of) }

/* Functions of struct generator_program. A kind's check sets the grid and ends with this one. */
int realizations_check(struct realizations *r);
struct record_info realizations_describe(const void *options);
int realizations_make(void *options, struct generator *g, struct record_writer *w);
void realizations_tell(const void *options);

#endif
