/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Chunks of HDF5 and NetCDF-4 files that are larger than the library's cache: each is unpacked once
 * for all the rows that are read one after the other. A filter counts. */
#include <hdf5.h>
#include <netcdf.h>

#include "cases.h"
#include "data-tools/source/source.h"

#define FILTER 399
#define ROWS 24
#define ROW (1 << 20)            /* bytes: chunks are of 12 and of 6 MiB */

static const char *const path = "test_chunks.tmp.h5";
static int unpacked;

static size_t count(unsigned flags, size_t n, const unsigned values[], size_t bytes, size_t *room,
                    void **buffer)
{
	(void)n;
	(void)values;
	(void)room;
	(void)buffer;
	unpacked += (flags & H5Z_FLAG_REVERSE) != 0;
	return bytes;
}

static void write_rows(const hsize_t *chunk)
{
	static const H5Z_class2_t filter = { H5Z_CLASS_T_VERS, FILTER, 1, 1, "counts", NULL, NULL,
	                                     count };
	static uint8_t row[ROW];
	const hsize_t d[] = { ROWS, ROW }, one[] = { 1, ROW };
	const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
	            how = H5Pcreate(H5P_DATASET_CREATE), access = H5Pcreate(H5P_DATASET_ACCESS),
	            space = H5Screate_simple(2, d, NULL), memory = H5Screate_simple(2, one, NULL);
	assert_true(H5Zregister(&filter) >= 0 && H5Pset_filter(how, FILTER, 0, 0, NULL) >= 0);
	assert_true(H5Pset_chunk(how, 2, chunk) >= 0 &&
	            H5Pset_chunk_cache(access, 521, (size_t)ROWS * ROW, 0.75) >= 0);
	const hid_t data = H5Dcreate2(file, "x", H5T_NATIVE_UCHAR, space, H5P_DEFAULT, how, access);
	for (hsize_t i = 0; i < ROWS; i++) {
		const hsize_t at[] = { i, 0 };

		row[0] = row[ROW - 1] = (uint8_t)i;
		assert_true(H5Sselect_hyperslab(space, H5S_SELECT_SET, at, NULL, one, NULL) >= 0 &&
		            H5Dwrite(data, H5T_NATIVE_UCHAR, memory, space, H5P_DEFAULT, row) >= 0);
	}
	assert_true(H5Dclose(data) >= 0 && H5Fclose(file) >= 0);
	H5Sclose(space);
	H5Sclose(memory);
	H5Pclose(access);
	H5Pclose(how);
}

static void read_rows(const char *format, int chunks)
{
	static uint8_t row[ROW];
	struct source *s;
	assert_int_equal(source_open(&s, path, format, "x", false), 0);
	unpacked = 0;
	for (int64_t i = 0; i < ROWS; i++) {
		assert_int_equal(source_read(s, i, 1, row), 0);
		assert_int_equal(row[0], i);
		assert_int_equal(row[ROW - 1], i);
	}
	assert_int_equal(unpacked, chunks);
	source_close(s);
}

static void test_once(void **state)
{
	static const hsize_t chunks[][2] = { { 12, ROW }, { 12, ROW / 2 } };
	(void)state;
	assert_int_equal(nc_set_chunk_cache(ROW, 521, 0.75F), NC_NOERR);
	for (int i = 0; i < 2; i++) {
		write_rows(chunks[i]);
		read_rows("hdf5", 2 << i);
		read_rows("netcdf", 2 << i);
	}
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_once) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
