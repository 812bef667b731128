/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A table of magic bytes, and the name of a zip archive's first member: .pth, .keras and .npz are
 * all zip archives. */
#include "base/file_kind.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define NIFTI "a NIfTI file, of which nibabel makes an array for numpy.save"

static const struct {
	size_t at, n;
	const char *magic;
	enum file_use use;
	const char *what;
} magics[] = {
	{ 0, 6, "DLXREC", FILE_RECORD, "a dlx record file" },
	{ 8, 2, "{\"", FILE_SAFETENSORS, "a safetensors file" },
	{ 0, 6, "\x93" "NUMPY", FILE_ARRAYS, "a NumPy file" },
	{ 0, 4, "\x89HDF", FILE_ARRAYS, "an HDF5 file" },
	{ 0, 3, "CDF", FILE_ARRAYS, "a NetCDF file" },
	{ 0, 14, "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", FILE_WEIGHTS_TORCH,
	  "a PyTorch checkpoint" },
	{ 0, 2, "\x80\x02", FILE_WEIGHTS_TORCH, "a Python pickle" },
	{ 0, 2, "\x80\x03", FILE_WEIGHTS_TORCH, "a Python pickle" },
	{ 0, 2, "\x80\x04", FILE_WEIGHTS_TORCH, "a Python pickle" },
	{ 0, 2, "\x80\x05", FILE_WEIGHTS_TORCH, "a Python pickle" },
	{ 4, 4, "TFL3", FILE_WEIGHTS_OTHER, "a TensorFlow Lite model" },
	{ 0, 4, "GGUF", FILE_WEIGHTS_OTHER, "a GGUF model" },
	{ 0, 4, "\x89PNG", FILE_PICTURE, "a PNG picture" },
	{ 0, 3, "\xff\xd8\xff", FILE_PICTURE, "a JPEG picture" },
	{ 0, 4, "II*\0", FILE_PICTURE, "a TIFF picture" },
	{ 0, 4, "MM\0*", FILE_PICTURE, "a TIFF picture" },
	{ 0, 4, "GIF8", FILE_PICTURE, "a GIF picture" },
	{ 0, 2, "\x1f\x8b", FILE_PACKED, "compressed with gzip" },
	{ 0, 4, "\x28\xb5\x2f\xfd", FILE_PACKED, "compressed with zstd" },
	{ 0, 3, "BZh", FILE_PACKED, "compressed with bzip2" },
	{ 0, 6, "\xfd" "7zXZ\0", FILE_PACKED, "compressed with xz" },
	{ 0, 4, "GRIB", FILE_FOREIGN,
	  "a GRIB file, of which 'cdo -f nc4 copy' or grib_to_netcdf makes a NetCDF file" },
	{ 0, 4, "\x0e\x03\x13\x01", FILE_FOREIGN,
	  "an HDF4 file, of which h4toh5 makes an HDF5 file" },
	{ 128, 4, "DICM", FILE_FOREIGN,
	  "a DICOM file, of which pydicom makes an array for numpy.save, and dcm2niix a NIfTI file of "
	  "a series" },
	{ 344, 4, "n+1\0", FILE_FOREIGN, NIFTI },
	{ 344, 4, "ni1\0", FILE_FOREIGN, NIFTI },
	{ 4, 8, "n+2\0\r\n\x1a\n", FILE_FOREIGN, NIFTI },
	{ 4, 8, "ni2\0\r\n\x1a\n", FILE_FOREIGN, NIFTI },
	{ 0, 9, "SIMPLE  =", FILE_FOREIGN,
	  "a FITS file, of which astropy.io.fits makes an array for numpy.save" },
	{ 0, 10, "MATLAB 5.0", FILE_FOREIGN,
	  "a MATLAB file, of which scipy.io.loadmat makes arrays for numpy.savez; with -v7.3 MATLAB "
	  "saves HDF5" },
	{ 0, 4, "PAR1", FILE_FOREIGN,
	  "a Parquet file, of which pandas.read_parquet makes a table for numpy.save" },
};
#define NMAGICS (sizeof magics / sizeof *magics)

#define ZIP_NAME 30              /* byte at which a member's name begins */

static bool contains(const char *text, const char *part)
{
	return strstr(text, part) != NULL;
}

static const char *zip_kind(const unsigned char *p, size_t n, enum file_use *use)
{
	char name[FILE_KIND_BYTES + 1] = "";
	size_t length = (size_t)p[26] | (size_t)p[27] << 8;
	if (n > ZIP_NAME)
		memcpy(name, p + ZIP_NAME, length < n - ZIP_NAME ? length : n - ZIP_NAME);
	*use = FILE_ARRAYS;
	if (contains(name, ".npy"))
		return "a NumPy .npz file";
	*use = FILE_WEIGHTS_OTHER;
	if (contains(name, "metadata.json") || contains(name, "config.json"))
		return "a Keras model";
	*use = FILE_WEIGHTS_TORCH;
	if (contains(name, "data.pkl") || contains(name, "/version") || contains(name, "/byteorder") ||
	    contains(name, ".format_version"))
		return "a PyTorch checkpoint";
	*use = FILE_PACKED;
	return "a zip archive";
}

/* A protocol buffer that begins with ONNX's version (field 1) and its producer's name (field 2). */
static bool is_onnx(const unsigned char *p, size_t n)
{
	return n > 4 && p[0] == 8 && p[1] < 32 && p[2] == 0x12 && p[3] < 64;
}

const char *file_kind(const void *head, size_t n, enum file_use *use)
{
	const unsigned char *p = head;
	if (n >= ZIP_NAME && memcmp(p, "PK\x03\x04", 4) == 0)
		return zip_kind(p, n, use);
	for (size_t i = 0; i < NMAGICS; i++) {
		if (n >= magics[i].at + magics[i].n &&
		    memcmp(p + magics[i].at, magics[i].magic, magics[i].n) == 0) {
			*use = magics[i].use;
			return magics[i].what;
		}
	}
	*use = FILE_WEIGHTS_OTHER;
	return is_onnx(p, n) ? "an ONNX model" : NULL;
}

const char *file_kind_of(const char *path, enum file_use *use)
{
	unsigned char head[FILE_KIND_BYTES];
	FILE *f = fopen(path, "rb");
	size_t n = f ? fread(head, 1, sizeof head, f) : 0;
	if (f)
		fclose(f);
	return file_kind(head, n, use);
}

/* --- names --- */

static const struct {
	const char *endings, *what;      /* without their dots, separated by blanks */
} names[] = {
	{ "dlx", "a dlx record file" },
	{ "safetensors", "a safetensors file" },
	{ "npy", "a NumPy file" },
	{ "npz", "a NumPy .npz file" },
	{ "nc nc4 cdf netcdf", "a NetCDF file" },
	{ "h5 hdf5 hdf he5", "an HDF5 file" },
	{ "zarr", "a Zarr store" },
	{ "mdb lmdb", "an LMDB database" },
	{ "tfrecord tfrecords", "a TFRecord file" },
	{ "idx", "an IDX file" },
	{ "grib grb grib2 grb2", "a GRIB file" },
	{ "fits", "a FITS file" },
	{ "nii dcm mha nrrd", "a medical image" },
	{ "vtk vtu vti", "a VTK file" },
	{ "mat", "a MATLAB file" },
	{ "parquet arrow feather", "a table of Apache Arrow or Parquet" },
	{ "csv", "a CSV table" },
	{ "tsv", "a table with tabs" },
	{ "xls xlsx ods", "a spreadsheet" },
	{ "json jsonl", "a JSON file" },
	{ "yaml yml", "a YAML file" },
	{ "xml html", "a file of markup" },
	{ "txt md", "a text file" },
	{ "png", "a PNG picture" },
	{ "jpg jpeg", "a JPEG picture" },
	{ "tif tiff", "a TIFF picture" },
	{ "gif bmp webp", "a picture" },
	{ "svg", "an SVG drawing" },
	{ "pdf ps eps", "a page" },
	{ "mp4 avi mkv", "a film" },
	{ "pt pth ckpt", "a PyTorch checkpoint" },
	{ "pkl pickle joblib", "a Python pickle" },
	{ "onnx", "an ONNX model" },
	{ "keras", "a Keras model" },
	{ "pb tflite", "a TensorFlow model" },
	{ "gguf", "a GGUF model" },
	{ "mlmodel mlpackage", "a Core ML model" },
	{ "zip 7z rar tar tgz", "an archive" },
	{ "gz bz2 xz zst lz4", "a compressed file" },
};

static bool listed(const char *list, const char *word)
{
	const size_t n = strlen(word);
	for (const char *at = list; *at; at += strcspn(at, " "), at += *at == ' ')
		if (strcspn(at, " ") == n && strncasecmp(at, word, n) == 0)
			return true;
	return false;
}

const char *file_kind_named(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path,
	           *dot = strrchr(name, '.');
	if (!dot || dot == name || !dot[1])
		return NULL;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (listed(names[i].endings, dot + 1))
			return names[i].what;
	return NULL;
}
