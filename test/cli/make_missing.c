/* SPDX-License-Identifier: BSD-3-Clause */
#include <hdf5.h>
#include <netcdf.h>
#include <stdint.h>
#include <stdio.h>

#include "make_sources.h"

/* k, n, b, l (t, x): 11 packed in int16, 3, -127 in bytes and 2^53 + 1, of which nothing has
 * written the last two rows. e: l, whose missing value is 2^53; kind: an enumeration, missing. */
static void write_never(const char *path, int flags)
{
	static const size_t extent[] = { T, X }, start[] = { 0, 0 }, some[] = { T - 2, X };
	static const double scale = 0.5;
	static const long long large = 9007199254740993, none = 9007199254740992;
	static short k[T * X];
	static int n[T * X];
	static long long l[T * X];
	static signed char b[T * X];
	const int four = (flags & NC_NETCDF4) != 0;
	static const short three = 3;
	int f, dim[2], v[6], kinds;
	for (int i = 0; i < T * X; i++) {
		k[i] = 22;
		n[i] = 3;
		l[i] = large;
		b[i] = -127;
	}
	check(!nc_create(path, NC_CLOBBER | flags, &f), "nc_create");
	for (int i = 0; i < 2; i++)
		check(!nc_def_dim(f, i ? "x" : "t", extent[i], &dim[i]), "nc_def_dim");
	check(!nc_def_var(f, "k", NC_SHORT, 2, dim, &v[0]) &&
	      !nc_def_var(f, "n", NC_INT, 2, dim, &v[1]) && !nc_def_var(f, "b", NC_BYTE, 2, dim, &v[2]),
	      "nc_def_var");
	check(!nc_put_att_double(f, v[0], "scale_factor", NC_DOUBLE, 1, &scale), "nc_put_att");
	if (four)
		check(!nc_def_enum(f, NC_SHORT, "kinds", &kinds) &&
		      !nc_insert_enum(f, kinds, "unknown", &three) &&
		      !nc_def_var(f, "kind", kinds, 2, dim, &v[5]) &&
		      !nc_put_att(f, v[5], "_FillValue", kinds, 1, &three) &&
		      !nc_def_var(f, "l", NC_INT64, 2, dim, &v[3]) &&
		      !nc_def_var(f, "e", NC_INT64, 2, dim, &v[4]) &&
		      !nc_put_att_longlong(f, v[4], "_FillValue", NC_INT64, 1, &none), "nc_def_var");
	check(!nc_enddef(f), "nc_enddef");
	check(!nc_put_vara_short(f, v[0], start, some, k) &&
	      !nc_put_vara_int(f, v[1], start, some, n) &&
	      !nc_put_vara_schar(f, v[2], start, some, b), "nc_put_vara");
	if (four)
		check(!nc_put_vara_longlong(f, v[3], start, some, l) &&
		      !nc_put_vara_longlong(f, v[4], start, some, l), "nc_put_vara");
	check(!nc_close(f), "nc_close");
}

/* b, s, i, l (t, x): 13 (5 t + x) times 1, 257, 16843009 and 72340172838076673 as unsigned integers
 * that have a sign by the attribute _Unsigned; the last value is missing: all bits are set. */
static void write_signed(const char *path)
{
	static const nc_type types[] = { NC_UBYTE, NC_USHORT, NC_UINT, NC_UINT64 };
	static const char *const names[] = { "b", "s", "i", "l" };
	static const size_t extent[] = { T, X };
	static const unsigned long long ones[] = { UINT8_MAX, UINT16_MAX, UINT32_MAX, UINT64_MAX };
	int f, dim[2], v[4];
	check(!nc_create(path, NC_CLOBBER | NC_NETCDF4, &f), "nc_create");
	for (int i = 0; i < 2; i++)
		check(!nc_def_dim(f, i ? "x" : "t", extent[i], &dim[i]), "nc_def_dim");
	for (int k = 0; k < 4; k++)
		check(!nc_def_var(f, names[k], types[k], 2, dim, &v[k]) &&
		      !nc_put_att_text(f, v[k], "_Unsigned", 5, "false") &&
		      !nc_put_att_ulonglong(f, v[k], "_FillValue", types[k], 1, &ones[k]), "nc_def_var");
	for (int k = 0; k < 4; k++) {
		unsigned long long value[T * X];

		for (unsigned i = 0; i < T * X; i++)
			value[i] = i < T * X - 1 ? ones[k] / 255 * (13 * i) : ones[k];
		check(!nc_put_var_ulonglong(f, v[k], value), "nc_put_var");
	}
	check(!nc_close(f), "nc_close");
}

static size_t copy_filter(unsigned flags, size_t n, const unsigned values[], size_t bytes,
                          size_t *room, void **buffer)
{
	(void)flags;
	(void)n;
	(void)values;
	(void)room;
	(void)buffer;
	return bytes;
}

/* half: f16 values 0.1, 1, 2 ..., of which 0.1 is missing; lzf, other: packed by filters that
 * readers lack. In the newest version of the format that the library writes. */
static void write_rare(const char *path)
{
	static const H5Z_class2_t filters[] = {
		{ H5Z_CLASS_T_VERS, 32000, 1, 1, "any", NULL, NULL, copy_filter },
		{ H5Z_CLASS_T_VERS, 400, 1, 1, "rare", NULL, NULL, copy_filter },
	};
	static const float missing = 0.1F;
	const hsize_t d[] = { T, X }, one = 1;
	const hid_t access = H5Pcreate(H5P_FILE_ACCESS), how = H5Pcreate(H5P_DATASET_CREATE),
	            half = H5Tcopy(H5T_NATIVE_FLOAT), space = H5Screate_simple(2, d, NULL),
	            row = H5Screate_simple(1, &one, NULL);
	float v[T * X];
	for (int i = 0; i < T * X; i++)
		v[i] = i ? (float)i : missing;
	check(H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST) >= 0, "H5Pset_libver");
	check(H5Tset_fields(half, 15, 10, 5, 0, 10) >= 0 && H5Tset_size(half, 2) >= 0 &&
	      H5Tset_ebias(half, 15) >= 0, "H5Tset_size");
	const hid_t f = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access),
	            data = H5Dcreate2(f, "half", half, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
	            a = H5Acreate2(data, "_FillValue", H5T_NATIVE_FLOAT, row, H5P_DEFAULT, H5P_DEFAULT);
	check(H5Dwrite(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0 &&
	      H5Awrite(a, H5T_NATIVE_FLOAT, &missing) >= 0, "H5Dwrite");
	check(H5Pset_chunk(how, 2, d) >= 0, "H5Pset_chunk");
	for (int i = 0; i < 2; i++) {
		check(H5Zregister(&filters[i]) >= 0 &&
		      (i == 0 || H5Premove_filter(how, filters[0].id) >= 0) &&
		      H5Pset_filter(how, filters[i].id, 0, 0, NULL) >= 0, "H5Pset_filter");
		const hid_t set = H5Dcreate2(f, i ? "other" : "lzf", H5T_NATIVE_FLOAT, space, H5P_DEFAULT,
		                             how, H5P_DEFAULT);

		check(H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0 &&
		      H5Dclose(set) >= 0, "H5Dwrite");
	}
	check(H5Aclose(a) >= 0 && H5Dclose(data) >= 0 && H5Fclose(f) >= 0, "H5Fclose");
}

void make_missing(const char *folder)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/never.nc", folder);
	write_never(path, 0);
	snprintf(path, sizeof(path), "%s/never4.nc", folder);
	write_never(path, NC_NETCDF4);
	snprintf(path, sizeof(path), "%s/signed.nc", folder);
	write_signed(path);
	snprintf(path, sizeof(path), "%s/rare.h5", folder);
	write_rare(path);
}
