/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dlx-example: raw data for the configs of configs/examples, as a user would have it: arrays in
 * files of several formats. An example is a function that writes its files; example.c has the
 * table. All numbers follow from the example's name, so that everyone has the same data. */
#ifndef DLX_DATA_TOOLS_EXAMPLE_H
#define DLX_DATA_TOOLS_EXAMPLE_H

#include "base/types.h"

/* --- examples: all write into the folder dir, or fail as the writers below --- */

int example_digits(const char *dir);        /* example_digits.c */
int example_materials(const char *dir);     /* example_materials.c: pictures and weights */
int example_cells(const char *dir);         /* example_shapes.c */
int example_volumes(const char *dir);
int example_storms(const char *dir);        /* example_fields.c */
int example_rain(const char *dir);

/* --- writers: example_write.c --- */

struct example_array {
	const char *name, *about;       /* of the variable; what it is, for the user */
	enum dtype dtype;               /* U8, I16, F32 or, in NetCDF, F64 */
	struct shape shape;
	const char *axis[MAXD];         /* NetCDF: names of the axes */
	const char *units;              /* NetCDF: the attribute, or NULL */
	void *data;                     /* row-major; mem_free, by example_release */
};

/* An array of zeros; NetCDF's members are left out. */
struct example_array example_new(const char *name, const char *about, enum dtype dtype, int nd,
                                 const int64_t *d);
void example_release(struct example_array *a, int n);

/* n arrays to dir/file in the format that the file's extension names: .npy and .idx (one array,
 * without its name), .h5 or .nc. Prints the file's name and what the arrays are. E_CANTCREATE,
 * E_IO. */
int example_write(const char *dir, const char *file, const struct example_array *a, int n);

/* Bytes (pictures, height, width) as grey pictures dir/folder/NAME-00.png, NAME-01.png and so on;
 * prints a line for all. E_CANTCREATE, E_IO. */
int example_pictures(const char *dir, const char *folder, const char *name,
                     const struct example_array *a);

/* --- random numbers --- */

struct example_rng {
	uint64_t stream, next;
};
struct example_rng example_rng(const char *name);
double example_uniform(struct example_rng *r, double from, double to);
int example_choice(struct example_rng *r, int n);                /* 0 .. n - 1 */
double example_normal(struct example_rng *r);                    /* mean 0, variance 1 */

#endif
