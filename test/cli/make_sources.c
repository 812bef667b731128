/* SPDX-License-Identifier: BSD-3-Clause
 *
 * make_sources DIR: small NetCDF and HDF5 files for the tests of dlx-convert. Element (t, y, x)
 * of `temp` is 100 t + 10 y + x, of `wind` its negative; `temp` is missing where x = 0 (-999);
 * `kind` is t + y modulo 3.
 *
 * make_sources DIR N: a large sample each, cube.h5, packed.h5 (in chunks, gzip), cube.nc and
 * cube.tfrecord: `x` of (N, N, N, 2), the channels last, in cube.nc (1, 2, N, N, N). Value i of
 * channel c in the order of (N, N, N) is (i modulo 8191) + 10000 c. */
#include <hdf5.h>
#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "make_sources.h"
#include "report/crc32c.h"

#define N (T * Y * X)

static float temp[N], cube[N * 2];
static double wind[N];
static int kind[N];
static short packed[N];
static unsigned char labels[N];

void check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "make_sources: %s failed\n", what);
	exit(1);
}

static void fill(void)
{
	for (int i = 0; i < N; i++) {
		const int t = i / (Y * X), y = i / X % Y, x = i % X, v = 100 * t + 10 * y + x;

		temp[i] = x ? (float)v : -999;
		wind[i] = -v;
		kind[i] = (t + y) % 3;
		labels[i] = (unsigned char)kind[i];
		packed[i] = (short)(x ? v : -32768);
		cube[2 * i] = (float)v;
		cube[2 * i + 1] = (float)(1000 + v);
	}
}

static void write_netcdf(const char *path, int flags)
{
	static const char *const axes[] = { "time", "lat", "lon" };
	static const size_t extent[] = { T, Y, X };
	static const float missing = -999;
	static const short packed_missing = -32768;
	static const double scale = 0.5, offset = 10;
	int f, dim[3], coord, v[4];
	check(!nc_create(path, NC_CLOBBER | flags, &f), "nc_create");
	for (int i = 0; i < 3; i++) {
		check(!nc_def_dim(f, axes[i], extent[i], &dim[i]), "nc_def_dim");
		check(!nc_def_var(f, axes[i], NC_FLOAT, 1, &dim[i], &coord), "nc_def_var");
	}
	check(!nc_def_var(f, "temp", NC_FLOAT, 3, dim, &v[0]), "nc_def_var");
	check(!nc_def_var(f, "wind", NC_DOUBLE, 3, dim, &v[1]), "nc_def_var");
	check(!nc_def_var(f, "kind", NC_INT, 3, dim, &v[2]), "nc_def_var");
	check(!nc_def_var(f, "packed", NC_SHORT, 3, dim, &v[3]), "nc_def_var");
	check(!nc_def_var(f, "text", NC_CHAR, 1, dim, &coord), "nc_def_var");
	check(!nc_def_var(f, "one", NC_FLOAT, 0, dim, &coord), "nc_def_var");
	check(!nc_put_att_float(f, v[0], "_FillValue", NC_FLOAT, 1, &missing), "nc_put_att");
	check(!nc_put_att_short(f, v[3], "_FillValue", NC_SHORT, 1, &packed_missing), "nc_put_att");
	check(!nc_put_att_double(f, v[3], "scale_factor", NC_DOUBLE, 1, &scale), "nc_put_att");
	check(!nc_put_att_double(f, v[3], "add_offset", NC_DOUBLE, 1, &offset), "nc_put_att");
	check(!nc_enddef(f), "nc_enddef");
	check(!nc_put_var_float(f, v[0], temp), "nc_put_var");
	check(!nc_put_var_double(f, v[1], wind), "nc_put_var");
	check(!nc_put_var_int(f, v[2], kind), "nc_put_var");
	check(!nc_put_var_short(f, v[3], packed), "nc_put_var");
	check(!nc_close(f), "nc_close");
}

/* Values that nothing can unpack: a scale that is text, and an offset that is two numbers; and some
 * of which text says which are missing. */
static void write_unscaled(const char *path)
{
	static const double two[] = { 1, 2 };
	static const short values[] = { 1, 2, 3, 4 };
	int f, dim, v[3];
	check(!nc_create(path, NC_CLOBBER | NC_NETCDF4, &f), "nc_create");
	check(!nc_def_dim(f, "n", 4, &dim), "nc_def_dim");
	check(!nc_def_var(f, "text", NC_SHORT, 1, &dim, &v[0]), "nc_def_var");
	check(!nc_def_var(f, "two", NC_SHORT, 1, &dim, &v[1]), "nc_def_var");
	check(!nc_def_var(f, "gap", NC_SHORT, 1, &dim, &v[2]), "nc_def_var");
	check(!nc_put_att_text(f, v[2], "missing_value", 2, "-9"), "nc_put_att");
	check(!nc_put_att_text(f, v[0], "scale_factor", 3, "0.5"), "nc_put_att");
	check(!nc_put_att_double(f, v[1], "add_offset", NC_DOUBLE, 2, two), "nc_put_att");
	check(!nc_enddef(f), "nc_enddef");
	check(!nc_put_var_short(f, v[0], values), "nc_put_var");
	check(!nc_put_var_short(f, v[1], values), "nc_put_var");
	check(!nc_put_var_short(f, v[2], values), "nc_put_var");
	check(!nc_close(f), "nc_close");
}

/* b, s, i (t, x): 13 (5 t + x) times 1, 257 and 16843009, without a sign by the attribute
 * _Unsigned; the last value is missing (-1). f: 5 t + x, of which the last x is not written;
 * 6 and 2 are missing. */
static void write_unsigned(const char *path, int flags)
{
	static const size_t extent[] = { T, X }, start[] = { 0, 0 }, some[] = { T, X - 1 };
	static const int none = -1;
	static signed char b[T * X];
	static short s[T * X];
	static int n[T * X];
	static float floats[T * (X - 1)];
	int f, dim[2], v[4];
	for (int i = 0; i < T * X; i++) {
		b[i] = (signed char)(i < T * X - 1 ? 13 * i : none);
		s[i] = (short)(i < T * X - 1 ? 257 * 13 * i : none);
		n[i] = (int)(i < T * X - 1 ? 0x1010101U * 13U * (unsigned)i : (unsigned)none);
		if (i % X < X - 1)
			floats[i / X * (X - 1) + i % X] = (float)i;
	}
	check(!nc_create(path, NC_CLOBBER | flags, &f), "nc_create");
	for (int i = 0; i < 2; i++)
		check(!nc_def_dim(f, i ? "x" : "t", extent[i], &dim[i]), "nc_def_dim");
	check(!nc_def_var(f, "b", NC_BYTE, 2, dim, &v[0]), "nc_def_var");
	check(!nc_def_var(f, "s", NC_SHORT, 2, dim, &v[1]), "nc_def_var");
	check(!nc_def_var(f, "i", NC_INT, 2, dim, &v[2]), "nc_def_var");
	check(!nc_def_var(f, "f", NC_FLOAT, 2, dim, &v[3]), "nc_def_var");
	check(!nc_put_att_int(f, v[3], "missing_value", NC_FLOAT, 2, (const int[]){ 6, 2 }),
	      "nc_put_att_int");
	for (int k = 0; k < 3; k++) {
		const nc_type type = k == 0 ? NC_BYTE : k == 1 ? NC_SHORT : NC_INT;
		check(!nc_put_att_text(f, v[k], "_Unsigned", 4, "true"), "nc_put_att_text");
		check(!nc_put_att_int(f, v[k], "_FillValue", type, 1, &none), "nc_put_att_int");
	}
	check(!nc_enddef(f), "nc_enddef");
	check(!nc_put_var_schar(f, v[0], b) && !nc_put_var_short(f, v[1], s) &&
	      !nc_put_var_int(f, v[2], n) && !nc_put_vara_float(f, v[3], start, some, floats),
	      "nc_put_var");
	check(!nc_close(f), "nc_close");
}

/* More missing values than are read. */
static void write_many_missing(const char *netcdf, const char *hdf5)
{
	static const double value[T * X], missing[13] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 };
	const hsize_t extent[] = { T, X }, many = 13;
	int f, dim[2], v;
	check(!nc_create(netcdf, NC_CLOBBER, &f), "nc_create");
	for (int i = 0; i < 2; i++)
		check(!nc_def_dim(f, i ? "x" : "t", extent[i], &dim[i]), "nc_def_dim");
	check(!nc_def_var(f, "v", NC_DOUBLE, 2, dim, &v) &&
	      !nc_put_att_double(f, v, "missing_value", NC_DOUBLE, many, missing), "nc_def_var");
	check(!nc_enddef(f) && !nc_put_var_double(f, v, value) && !nc_close(f), "nc_put_var");
	const hid_t file = H5Fcreate(hdf5, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
	            space = H5Screate_simple(2, extent, NULL), row = H5Screate_simple(1, &many, NULL),
	            data = H5Dcreate2(file, "v", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT,
	                              H5P_DEFAULT),
	            a = H5Acreate2(data, "missing_value", H5T_NATIVE_DOUBLE, row, H5P_DEFAULT,
	                           H5P_DEFAULT);
	check(H5Dwrite(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, value) >= 0 &&
	      H5Awrite(a, H5T_NATIVE_DOUBLE, missing) >= 0, "H5Awrite");
	check(H5Aclose(a) >= 0 && H5Dclose(data) >= 0 && H5Fclose(file) >= 0, "H5Fclose");
}

static void put(hid_t f, const char *name, hid_t type, int nd, const hsize_t *d, const void *data)
{
	const hid_t space = H5Screate_simple(nd, d, NULL);
	const hid_t set = H5Dcreate2(f, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	check(set >= 0 && H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0, name);
	H5Dclose(set);
	H5Sclose(space);
}

/* An enumeration of the other byte order than this machine's. */
static void put_kinds(hid_t f, const hsize_t *d)
{
	const hid_t type = H5Tenum_create(H5T_STD_I16BE);
	static uint8_t kinds[T * Y * X][2];
	for (uint8_t k = 0; k < 3; k++) {
		const uint8_t value[2] = { 0, k };
		const char name[2] = { (char)('a' + k), '\0' };

		check(H5Tenum_insert(type, name, value) >= 0, "H5Tenum_insert");
	}
	for (int i = 0; i < T * Y * X; i++)
		kinds[i][1] = labels[i];
	put(f, "kinds", type, 3, d, kinds);
	H5Tclose(type);
}

static void write_hdf5(const char *path)
{
	const hsize_t d[] = { T, Y, X, 2 };
	const hid_t f = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	const hid_t group = H5Gcreate2(f, "fields", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	put(f, "fields/temp", H5T_NATIVE_FLOAT, 3, d, temp);
	put(f, "fields/wind", H5T_NATIVE_DOUBLE, 3, d, wind);
	put(f, "cube", H5T_NATIVE_FLOAT, 4, d, cube);
	put(f, "labels", H5T_NATIVE_UCHAR, 3, d, labels);
	put_kinds(f, d);
	H5Gclose(group);
	check(H5Fclose(f) >= 0, "H5Fclose");
}

/* The cube of another file under another name. */
static void write_virtual(const char *path, const char *source)
{
	const hsize_t d[] = { T, Y, X, 2 };
	const hid_t f = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	const hid_t how = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(4, d, NULL);
	hid_t data;
	check(H5Pset_virtual(how, space, source, "cube", space) >= 0, "H5Pset_virtual");
	data = H5Dcreate2(f, "cube", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, how, H5P_DEFAULT);
	check(data >= 0, "H5Dcreate2");
	H5Dclose(data);
	H5Sclose(space);
	H5Pclose(how);
	check(H5Fclose(f) >= 0, "H5Fclose");
}

/* The files of samples as one array, which are named by a pattern. */
static void write_pattern(const char *path)
{
	const hsize_t d[] = { T, Y, X }, most[] = { H5S_UNLIMITED, Y, X }, start[3] = { 0 },
	              each[] = { 1, 1, 1 }, count[] = { H5S_UNLIMITED, 1, 1 }, block[] = { 1, Y, X };
	const hid_t f = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	const hid_t how = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(3, d, most),
	            from = H5Screate_simple(2, d + 1, NULL);
	hid_t data;
	check(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, each, count, block) >= 0,
	      "H5Sselect_hyperslab");
	check(H5Pset_virtual(how, space, "sample-%b.h5", "temp", from) >= 0, "H5Pset_virtual");
	data = H5Dcreate2(f, "all", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, how, H5P_DEFAULT);
	check(data >= 0, "H5Dcreate2");
	H5Dclose(data);
	H5Sclose(from);
	H5Sclose(space);
	H5Pclose(how);
	check(H5Fclose(f) >= 0, "H5Fclose");
}

/* One sample a file, as simulations write them. */
static void write_sample(const char *path, int t)
{
	const hsize_t d[] = { Y, X };
	const hid_t f = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	put(f, "temp", H5T_NATIVE_FLOAT, 2, d, temp + t * Y * X);
	put(f, "label", H5T_NATIVE_UCHAR, 2, d, labels + t * Y * X);
	check(H5Fclose(f) >= 0, "H5Fclose");
}

/* A variable of this many channels, of which nothing is stored. */
static void write_vast(const char *path, hsize_t channels)
{
	const hsize_t d[] = { T, channels, 1, 1 }, chunk[] = { 1, 1024, 1, 1 };
	const hid_t f = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	const hid_t space = H5Screate_simple(4, d, NULL), how = H5Pcreate(H5P_DATASET_CREATE);
	check(H5Pset_chunk(how, 4, chunk) >= 0, "H5Pset_chunk");
	const hid_t set = H5Dcreate2(f, "vast", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, how, H5P_DEFAULT);

	check(set >= 0, "H5Dcreate2");
	H5Dclose(set);
	H5Pclose(how);
	H5Sclose(space);
	check(H5Fclose(f) >= 0, "H5Fclose");
}

/* Element i of each variable is i. levels (time, lev, lat, lon), bands (time, band, lat, lon),
 * marked: dimensions of other names, whose coordinates say `axis`; one (time). */
static void write_axes(const char *path)
{
	static const char *const axes[] = { "time", "lev", "lat", "lon", "band", "p", "q", "r" },
	*const kinds[] = { "Z", "Y", "X" };
	static const size_t extent[] = { 2, 5, 6, 7, 5, 5, 6, 7 };
	static const int of[3][4] = { { 0, 1, 2, 3 }, { 0, 4, 2, 3 }, { 0, 5, 6, 7 } };
	static const char *const names[] = { "levels", "bands", "marked" };
	static float values[2 * 5 * 6 * 7];
	static int one[2];
	int f, dim[8], coord, v[4];
	for (int i = 0; i < 2 * 5 * 6 * 7; i++)
		values[i] = (float)i;
	check(!nc_create(path, NC_CLOBBER, &f), "nc_create");
	for (int i = 0; i < 8; i++)
		check(!nc_def_dim(f, axes[i], extent[i], &dim[i]), "nc_def_dim");
	for (int i = 0; i < 3; i++) {
		check(!nc_def_var(f, axes[5 + i], NC_FLOAT, 1, &dim[5 + i], &coord), "nc_def_var");
		check(!nc_put_att_text(f, coord, "axis", 1, kinds[i]), "nc_put_att_text");
	}
	for (int k = 0; k < 3; k++) {
		const int d[4] = { dim[of[k][0]], dim[of[k][1]], dim[of[k][2]], dim[of[k][3]] };
		check(!nc_def_var(f, names[k], NC_FLOAT, 4, d, &v[k]), "nc_def_var");
	}
	check(!nc_def_var(f, "one", NC_INT, 1, dim, &v[3]), "nc_def_var");
	check(!nc_enddef(f), "nc_enddef");
	for (int k = 0; k < 3; k++)
		check(!nc_put_var_float(f, v[k], values), "nc_put_var");
	check(!nc_put_var_int(f, v[3], one), "nc_put_var");
	check(!nc_close(f), "nc_close");
}

/* field and event (time, lat, lon), whose axes have coordinates and these attributes. east: degrees
 * that lon is further on. */
static void write_places(const char *path, double east)
{
	enum { TIME = 5, LAT = 34, LON = 40, ALL = TIME * LAT * LON };
	static const struct { const char *name, *units; size_t n; double first, step; } axes[] = {
		{ "time", "days since 2000-01-01", TIME, 0.5, 1 },
		{ "lat", "degrees_north", LAT, -33.7, 2.1 }, { "lon", "degrees_east", LON, 0.1, 0.3 },
	};
	static const double range[] = { -90, 90 };
	static float field[ALL];
	static int event[ALL];
	double values[LON];
	int f, dim[3], coord[3], v[2];

	check(!nc_create(path, NC_CLOBBER, &f), "nc_create");
	for (int i = 0; i < 3; i++) {
		check(!nc_def_dim(f, axes[i].name, axes[i].n, &dim[i]), "nc_def_dim");
		check(!nc_def_var(f, axes[i].name, NC_DOUBLE, 1, &dim[i], &coord[i]), "nc_def_var");
		check(!nc_put_att_text(f, coord[i], "units", strlen(axes[i].units), axes[i].units),
		      "nc_put_att_text");
	}
	check(!nc_put_att_double(f, coord[1], "valid_range", NC_DOUBLE, 2, range), "nc_put_att");
	check(!nc_put_att_text(f, coord[0], "calendar", 8, "standard"), "nc_put_att_text");
	check(!nc_def_var(f, "field", NC_FLOAT, 3, dim, &v[0]), "nc_def_var");
	check(!nc_def_var(f, "event", NC_INT, 3, dim, &v[1]), "nc_def_var");
	check(!nc_enddef(f), "nc_enddef");
	for (int i = 0; i < 3; i++) {
		for (size_t k = 0; k < axes[i].n; k++)
			values[k] = axes[i].first + axes[i].step * (double)k + (i == 2 ? east : 0);
		check(!nc_put_var_double(f, coord[i], values), "nc_put_var");
	}
	for (int i = 0; i < ALL; i++) {
		field[i] = (float)(i % 71);
		event[i] = i % 71 > 50;
	}
	check(!nc_put_var_float(f, v[0], field) && !nc_put_var_int(f, v[1], event), "nc_put_var");
	check(!nc_close(f), "nc_close");
}

/* A year of months: tas (time, lat, lon) counts on from year to year; orography (lat, lon), mask
 * (once, lat, lon) and event (lat, lon) do not depend on time. */
static void write_year(const char *path, int year)
{
	static const char *const axes[] = { "time", "lat", "lon", "once" };
	static const size_t extent[] = { 12, 3, 4, 1 };
	float tas[12 * 12], still[12];
	int event[12] = { 0 }, f, dim[4], v[4];
	for (int i = 0; i < 12 * 12; i++)
		tas[i] = (float)(year * 12 * 12 + i);
	for (int i = 0; i < 12; i++)
		still[i] = (float)i;
	check(!nc_create(path, NC_CLOBBER, &f), "nc_create");
	for (int i = 0; i < 4; i++)
		check(!nc_def_dim(f, axes[i], extent[i], &dim[i]), "nc_def_dim");
	check(!nc_def_var(f, "tas", NC_FLOAT, 3, dim, &v[0]), "nc_def_var");
	check(!nc_def_var(f, "orography", NC_FLOAT, 2, dim + 1, &v[1]), "nc_def_var");
	check(!nc_def_var(f, "mask", NC_FLOAT, 3, (int[]){ dim[3], dim[1], dim[2] }, &v[2]),
	      "nc_def_var");
	check(!nc_def_var(f, "event", NC_INT, 2, dim + 1, &v[3]), "nc_def_var");
	check(!nc_enddef(f), "nc_enddef");
	check(!nc_put_var_float(f, v[0], tas) && !nc_put_var_float(f, v[1], still) &&
	      !nc_put_var_float(f, v[2], still) && !nc_put_var_int(f, v[3], event), "nc_put_var");
	check(!nc_close(f), "nc_close");
}

/* --- large samples --- */

static float *plane_of(size_t n, size_t z, size_t c, size_t stride, float *v)
{
	for (size_t i = 0; i < n * n; i++)
		v[i * stride] = (float)((z * n * n + i) % 8191 + 10000 * c);
	return v;
}

static void write_cube_hdf5(const char *path, size_t n, int packed)
{
	const hsize_t all[] = { n, n, n, 2 }, one[] = { 1, n, n, 2 };
	float *v = malloc(n * n * 2 * sizeof *v);
	const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
	            space = H5Screate_simple(4, all, NULL), memory = H5Screate_simple(4, one, NULL),
	            how = H5Pcreate(H5P_DATASET_CREATE);
	if (packed) {
		H5Pset_chunk(how, 4, one);
		H5Pset_deflate(how, 1);
	}
	const hid_t data = H5Dcreate2(file, "x", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, how,
	                              H5P_DEFAULT);
	check(v && data >= 0, "H5Dcreate");
	for (hsize_t z = 0; z < n; z++) {
		const hsize_t start[] = { z, 0, 0, 0 };

		plane_of(n, z, 0, 2, v);
		plane_of(n, z, 1, 2, v + 1);
		H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, one, NULL);
		check(H5Dwrite(data, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, v) >= 0, "H5Dwrite");
	}
	check(H5Dclose(data) >= 0 && H5Fclose(file) >= 0, "H5Fclose");
	free(v);
}

static void write_cube_netcdf(const char *path, size_t n)
{
	const char *const axes[] = { "time", "channel", "lev", "lat", "lon" };
	const size_t extent[] = { 1, 2, n, n, n };
	float *v = malloc(n * n * sizeof *v);
	int f, dim[5], x;
	check(v && !nc_create(path, NC_CLOBBER | NC_NETCDF4, &f), "nc_create");
	for (int i = 0; i < 5; i++)
		check(!nc_def_dim(f, axes[i], extent[i], &dim[i]), "nc_def_dim");
	check(!nc_def_var(f, "x", NC_FLOAT, 5, dim, &x), "nc_def_var");
	check(!nc_def_var_chunking(f, x, NC_CONTIGUOUS, NULL), "nc_def_var_chunking");
	for (size_t c = 0; c < 2; c++)
		for (size_t z = 0; z < n; z++)
			check(!nc_put_vara_float(f, x, (const size_t[]){ 0, c, z, 0, 0 },
			                         (const size_t[]){ 1, 1, 1, n, n }, plane_of(n, z, c, 1, v)),
			      "nc_put_vara");
	check(!nc_close(f), "nc_close");
	free(v);
}

static size_t put_varint(unsigned char *p, size_t v)
{
	size_t n = 0;
	for (; v > 127; v >>= 7)
		p[n++] = (unsigned char)(v | 128);
	p[n++] = (unsigned char)v;
	return n;
}

/* The head of a field of this many bytes before the n that are at p. */
static size_t wrap(unsigned char *p, size_t n, int number, size_t bytes)
{
	unsigned char head[16] = { (unsigned char)(number << 3 | 2) };
	const size_t k = 1 + put_varint(head + 1, bytes + n);
	memmove(p + k, p, n);
	memcpy(p, head, k);
	return n + k;
}

static void put_sum(FILE *f, uint32_t crc)
{
	const uint32_t sum = crc32c_mask(crc);
	check(fwrite(&sum, 1, 4, f) == 4, "fwrite");
}

/* One record of one feature of one value. */
static void write_cube_tfrecord(const char *path, size_t n)
{
	const size_t bytes = n * n * n * 2 * sizeof(float);
	float *v = malloc(n * n * 2 * sizeof *v);
	unsigned char head[64];
	size_t length = wrap(head, 0, 1, bytes);
	FILE *f = fopen(path, "wb");
	check(f && v, "fopen");
	length = wrap(head, length, 1, bytes);               /* the list */
	length = wrap(head, length, 2, bytes);               /* the feature */
	memmove(head + 3, head, length);
	memcpy(head, "\x0a\x01x", 3);                        /* its name */
	length = wrap(head, length + 3, 1, bytes);
	length = wrap(head, length, 1, bytes);

	const uint64_t size = length + bytes;
	uint32_t crc = crc32c(head, length);
	check(fwrite(&size, 1, 8, f) == 8, "fwrite");
	put_sum(f, crc32c(&size, 8));
	check(fwrite(head, 1, length, f) == length, "fwrite");
	for (size_t z = 0; z < n; z++) {
		plane_of(n, z, 0, 2, v);
		plane_of(n, z, 1, 2, v + 1);
		crc = crc32c_more(crc, v, n * n * 2 * sizeof *v);
		check(fwrite(v, sizeof *v, n * n * 2, f) == n * n * 2, "fwrite");
	}
	put_sum(f, crc);
	check(fclose(f) == 0, "fclose");
	free(v);
}

static int write_cubes(const char *folder, size_t n)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/cube.h5", folder);
	write_cube_hdf5(path, n, 0);
	snprintf(path, sizeof(path), "%s/packed.h5", folder);
	write_cube_hdf5(path, n, 1);
	snprintf(path, sizeof(path), "%s/cube.nc", folder);
	write_cube_netcdf(path, n);
	snprintf(path, sizeof(path), "%s/cube.tfrecord", folder);
	write_cube_tfrecord(path, n);
	return 0;
}

int main(int argc, char **argv)
{
	char path[4096], other[4096];
	if (argc == 3)
		return write_cubes(argv[1], strtoul(argv[2], NULL, 10));
	check(argc == 2, "the command line: make_sources DIR");
	fill();
	snprintf(path, sizeof(path), "%s/grid.nc", argv[1]);
	write_netcdf(path, 0);
	snprintf(path, sizeof(path), "%s/grid4.nc", argv[1]);
	write_netcdf(path, NC_NETCDF4);
	snprintf(path, sizeof(path), "%s/unsigned.nc", argv[1]);
	write_unsigned(path, 0);
	snprintf(path, sizeof(path), "%s/unsigned4.nc", argv[1]);
	write_unsigned(path, NC_NETCDF4);
	make_missing(argv[1]);
	snprintf(path, sizeof(path), "%s/many.nc", argv[1]);
	snprintf(other, sizeof(other), "%s/many.h5", argv[1]);
	write_many_missing(path, other);
	snprintf(path, sizeof(path), "%s/unscaled.nc", argv[1]);
	write_unscaled(path);
	snprintf(path, sizeof(path), "%s/grid.h5", argv[1]);
	write_hdf5(path);
	snprintf(path, sizeof(path), "%s/virtual.h5", argv[1]);
	write_virtual(path, "grid.h5");
	snprintf(path, sizeof(path), "%s/partless.h5", argv[1]);
	write_virtual(path, "away/grid-0.h5");
	snprintf(path, sizeof(path), "%s/pattern.h5", argv[1]);
	write_pattern(path);
	snprintf(path, sizeof(path), "%s/vast.h5", argv[1]);
	write_vast(path, (hsize_t)1 << 21);
	snprintf(path, sizeof(path), "%s/hollow.h5", argv[1]);
	write_vast(path, (hsize_t)1 << 40);
	for (int t = 0; t < T; t++) {
		snprintf(path, sizeof(path), "%s/sample-%d.h5", argv[1], t);
		write_sample(path, t);
	}
	snprintf(path, sizeof(path), "%s/axes.nc", argv[1]);
	write_axes(path);
	snprintf(path, sizeof(path), "%s/places.nc", argv[1]);
	write_places(path, 0);
	snprintf(path, sizeof(path), "%s/places-east.nc", argv[1]);
	write_places(path, 20);
	for (int year = 0; year < 2; year++) {
		snprintf(path, sizeof(path), "%s/year-%d.nc", argv[1], year);
		write_year(path, year);
	}
	return 0;
}
