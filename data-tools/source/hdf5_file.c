/* SPDX-License-Identifier: BSD-3-Clause */
/* H5Ovisit and H5O_info_t as HDF5 1.10 has them, which later versions offer under this name. */
#define H5_USE_110_API
#include "data-tools/source/hdf5_file.h"

#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"

/* --- files of netCDF --- */

#define LOOKED_AT 1000           /* objects of a file, which may have millions */

/* Files of netCDF before 4.4.1 have no mark, but a dimension is always a scale. Negative: enough
 * was looked at. */
static herr_t is_scale(hid_t root, const char *name, const H5O_info_t *info, void *arg)
{
	int *left = arg;
	hid_t data;
	if (--*left < 0)
		return -1;
	if (info->type != H5O_TYPE_DATASET || (data = H5Dopen2(root, name, H5P_DEFAULT)) < 0)
		return 0;
	const bool is = H5Aexists(data, "CLASS") > 0 && H5Aexists(data, "NAME") > 0;
	H5Dclose(data);
	return is;
}

/* The netCDF library always keeps the order in which a group's members were made; other
 * programs that write scales do so only on request. */
static bool keeps_order(hid_t file)
{
	const hid_t root = H5Gopen2(file, "/", H5P_DEFAULT),
	            how = root < 0 ? -1 : H5Gget_create_plist(root);
	unsigned flags = 0;
	const bool keeps = how >= 0 && H5Pget_link_creation_order(how, &flags) >= 0 &&
	                   (flags & H5P_CRT_ORDER_TRACKED);
	if (how >= 0)
		H5Pclose(how);
	if (root >= 0)
		H5Gclose(root);
	return keeps;
}

bool hdf5_is_netcdf(int64_t file)
{
	int left = LOOKED_AT;
	if (H5Aexists(file, "_NCProperties") > 0 || H5Aexists(file, "_nc3_strict") > 0)
		return true;
	return keeps_order(file) &&
	       H5Ovisit(file, H5_INDEX_NAME, H5_ITER_NATIVE, is_scale, &left) > 0;
}

/* --- files that are not opened --- */

#define SUPERBLOCK 12            /* bytes from the signature to the flags */
#define VERSION_MOST 3           /* of the superblock, that HDF5 up to 1.14 reads */

/* The head of the superblock, which is at 0 or at a power of two from 512 on. */
static bool find_superblock(const char *path, uint8_t head[SUPERBLOCK])
{
	FILE *f = fopen(path, "rb");
	bool found = false;
	for (long at = 0; f && !found && fseek(f, at, SEEK_SET) == 0 &&
	     fread(head, 1, SUPERBLOCK, f) == SUPERBLOCK; at = at ? 2 * at : 512)
		found = memcmp(head, "\x89HDF\r\n\x1a\n", 8) == 0;
	if (f)
		fclose(f);
	return found;
}

bool hdf5_is_file(const char *path)
{
	uint8_t head[SUPERBLOCK];
	return find_superblock(path, head);
}

/* The error number of a lock for reading, which the library takes too; 0: it gets one. */
static int lock_error(const char *path)
{
	const int fd = io_open(path, O_RDONLY, 0);
	int error = 0;
	if (fd < 0)
		return 0;
	if (flock(fd, LOCK_SH | LOCK_NB) != 0)
		error = errno;
	close(fd);
	return error;
}

static const char *library(char text[40])
{
	unsigned major = 0, minor = 0, release = 0;
	H5get_libversion(&major, &minor, &release);
	snprintf(text, 40, "HDF5 %u.%u.%u", major, minor, release);
	return text;
}

int hdf5_refuse(const struct source *s)
{
	uint8_t head[SUPERBLOCK] = { 0 };
	char text[40];
	const int error = lock_error(s->path);
	if (error == EWOULDBLOCK)
		return ERR(E_NOINPUT, NULL, "'%s' is locked: another process has it open for writing; "
		           "convert it when that one has closed it, or a copy of it", s->path);
	if (!find_superblock(s->path, head))
		return source_bad(s, "hdf5: not an HDF5 file");
	if (head[8] > VERSION_MOST)
		return ERR(E_DATA, NULL, "'%s': its superblock is of version %d, which is newer than %s "
		           "reads (0 to %d); write it for older ones, in h5py with libver='v110', or "
		           "rewrite it by h5repack", s->path, head[8], library(text), VERSION_MOST);
	if (head[8] == VERSION_MOST && (head[11] & 5))
		return ERR(E_NOINPUT, NULL, "'%s' is marked as open for writing: another process writes "
		           "it, or did not close it; if none does, 'h5clear -s %s' takes the mark off",
		           s->path, s->path);
	if (error)
		return ERR(E_DATA, NULL, "'%s' cannot be locked (%s); set HDF5_USE_FILE_LOCKING=FALSE in "
		           "the environment, if no other process writes it", s->path, strerror(error));
	return hdf5_bad(s, "hdf5: damaged");
}

/* The first that is given is the innermost, which has the reason. */
static herr_t take_reason(unsigned n, const H5E_error2_t *e, void *arg)
{
	if (n == 0 && e->desc)
		snprintf(arg, 160, "%s", e->desc);
	return 0;
}

int hdf5_bad(const struct source *s, const char *what)
{
	char reason[160] = "", text[400], name[40];
	H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_reason, reason);
	if (strstr(reason, "version"))
		snprintf(text, sizeof text, "%s (%s); it may be newer than %s: rewrite it by h5repack for "
		         "older ones", what, reason, library(name));
	else
		snprintf(text, sizeof text, "%s%s%s%s", what, *reason ? " (" : "", reason,
		         *reason ? ")" : "");
	return source_bad(s, text);
}

/* --- filters --- */

int hdf5_no_filter(const struct source *s, int id, const char *name)
{
	static const struct {
		int id;
		const char *name;
	} known[] = {
		{ H5Z_FILTER_SZIP, "szip" }, { 307, "bzip2" }, { 32000, "lzf" }, { 32001, "blosc" },
		{ 32004, "lz4" }, { 32008, "bitshuffle" }, { 32013, "zfp" }, { 32015, "zstd" },
		{ 32017, "sz" }, { 32019, "jpeg" }, { 32022, "granular bitround" }, { 32024, "sz3" },
		{ 32026, "blosc2" }, { 32028, "sperr" },
	};
	char text[256];
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].id == id)
			name = known[i].name;
	snprintf(text, sizeof text, "its values are packed by the filter %d (%s), which the HDF5 "
	         "library has as a plugin only; set HDF5_PLUGIN_PATH to the plugin's folder, or write "
	         "them with gzip, as h5repack -f GZIP=4 does", id,
	         name && *name ? name : "of no known name");
	return source_bad(s, text);
}

/* --- chunks --- */

#define KEPT_MOST ((uint64_t)64 << 20)       /* bytes, but one chunk at least */
#define SLOTS_FEW 16381                      /* primes, for the library's hash of chunks */
#define SLOTS_MANY 1048573
#define SLOTS_FOR_EACH 64                    /* two chunks of one slot drive each other out */

/* Those of one row of the first axis, since samples are read one after the other. */
void hdf5_cache(const struct source *s, const int64_t *chunk, size_t *slots, size_t *bytes)
{
	const size_t size = dtype_size(s->dtype);
	uint64_t one = size, n = 1;
	for (int i = 0; i < s->shape.nd && one < UINT32_MAX; i++)
		one *= (uint64_t)chunk[i];
	for (int i = 1; i < s->shape.nd && n < KEPT_MOST; i++)
		n *= (uint64_t)((s->shape.d[i] - 1) / chunk[i] + 1);
	const uint64_t most = one > KEPT_MOST ? 1 : KEPT_MOST / one;
	n = n > most ? most : n;
	*bytes = (size_t)(n * one);
	*slots = n * SLOTS_FOR_EACH <= SLOTS_FEW ? SLOTS_FEW : SLOTS_MANY;
}
