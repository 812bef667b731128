/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dlx-example: writes raw data for the configs in configs/examples, in formats that users typically
 * have. An example is a function that writes its files; example.c has the table. Random numbers
 * depend on the example's name only, so the data is the same everywhere. */
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
	const char *name, *about;       /* name of the variable; its description for the user */
	enum dtype dtype;               /* U8, I16, F32 or, in NetCDF, F64 */
	struct shape shape;
	const char *axis[MAXD];         /* NetCDF: names of the axes */
	const char *units;              /* NetCDF: the attribute, or NULL */
	void *data;                     /* row-major; mem_free, by example_release */
};

/* Makes an array of zeros, without the members for NetCDF. */
struct example_array example_new(const char *name, const char *about, enum dtype dtype, int nd,
                                 const int64_t *d);
void example_release(struct example_array *a, int n);

/* Writes n arrays to dir/file in the format of the file's extension: .npy and .idx (one array,
 * without its name), .h5 or .nc. Prints the file's name and the descriptions of the arrays.
 * E_CANTCREATE, E_IO. */
int example_write(const char *dir, const char *file, const struct example_array *a, int n);

/* Writes an array of bytes (pictures, height, width) as grey pictures dir/folder/NAME-00.png,
 * NAME-01.png and so on, and prints one line about them. E_CANTCREATE, E_IO. */
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
