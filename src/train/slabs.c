/* SPDX-License-Identifier: BSD-3-Clause
 *
 * In a .npy file the rows of a channel are one run of bytes; netCDF has a call for such a part. */
#include "train/slabs.h"

#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "report/netcdf_file.h"
#include "report/npy_file.h"

struct slabs {
	struct shape shape;
	struct io_file *npy;
	uint64_t header;                 /* bytes in front of the values */
	struct netcdf_file *nc;
};

static int create_npy(struct slabs *f, const char *path, int64_t samples)
{
	TRY(io_create(&f->npy, path));
	if (!io_temporary(f->npy))
		return ERR(E_CANTCREATE, NULL, "cannot create '%s': tiles need a regular file", path);
	struct buf h = BUF_INIT;
	npy_header(&h, DTYPE_F32, samples, &f->shape);
	f->header = h.len;
	const int rc = io_write(f->npy, h.data, h.len);
	buf_release(&h);
	return rc;
}

bool slabs_takes(const char *path)
{
	return io_ends_in(path, ".npy") || io_ends_in(path, ".nc");
}

int slabs_create(struct slabs **out, const char *path, int64_t samples, const struct shape *s,
                 const char *const *channels)
{
	struct slabs *f = mem_calloc(1, sizeof *f);
	*out = NULL;
	f->shape = *s;
	const struct netcdf_array a = { "prediction", DTYPE_F32, samples, s, true, channels, s->d[0] };
	int rc = io_ends_in(path, ".npy") ? create_npy(f, path, samples) :
	         netcdf_create(&f->nc, path, &a);
	if (rc < 0)
		return slabs_close(f, rc);
	*out = f;
	return 0;
}

int slabs_write(struct slabs *f, int64_t i, int64_t first, int64_t rows, const float *v)
{
	int64_t rest = 1;
	if (f->nc)
		return netcdf_write_rows(f->nc, i, first, rows, v);
	for (int k = 2; k < f->shape.nd; k++)
		rest *= f->shape.d[k];
	for (int64_t c = 0; c < f->shape.d[0]; c++) {
		const int64_t at = ((i * f->shape.d[0] + c) * f->shape.d[1] + first) * rest;
		TRY(io_write_at(f->npy, f->header + 4 * (uint64_t)at, v + c * rows * rest,
		                4 * (size_t)(rows * rest)));
	}
	return 0;
}

int slabs_close(struct slabs *f, int rc)
{
	if (!f)
		return rc;
	if (f->npy && rc == 0)
		rc = io_commit(f->npy);
	else
		io_discard(f->npy);
	if (f->nc && rc == 0)
		rc = netcdf_commit(f->nc);
	else
		netcdf_discard(f->nc);
	mem_free(f);
	return rc;
}
