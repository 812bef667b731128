/* SPDX-License-Identifier: BSD-3-Clause
 *
 * In a .npy file the rows of a channel are contiguous; the netCDF library has a call that writes
 * such a part. */
#include "train/save/slabs.h"

#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "report/npy_file.h"
#include "train/predict/predict_array.h"

struct slabs {
	struct shape shape;
	int lead;                        /* axes in front of the rows: that of channels */
	struct io_file *npy;
	uint64_t header;                 /* bytes in front of the values */
	struct netcdf_file *nc;
};

static int create_npy(struct slabs *f, const char *path, const struct netcdf_array *a)
{
	TRY(io_create(&f->npy, path));
	if (!io_temporary(f->npy))
		return ERR(E_CANTCREATE, NULL, "cannot create '%s': tiles need a regular file", path);
	struct buf h = BUF_INIT;
	npy_header(&h, a->dtype, a->samples, &f->shape);
	f->header = h.len;
	int rc = io_write(f->npy, h.data, h.len);
	buf_release(&h);
	return rc;
}

bool slabs_takes(const char *path)
{
	return io_ends_in(path, ".npy") || predict_is_netcdf(path);
}

int slabs_create(struct slabs **out, const char *path, const struct netcdf_array *a)
{
	struct slabs *f = mem_calloc(1, sizeof *f);
	*out = NULL;
	f->shape = *a->shape;
	f->lead = a->has_channels;
	int rc = io_ends_in(path, ".npy") ? create_npy(f, path, a) : netcdf_create(&f->nc, path, a);
	if (rc < 0)
		return slabs_close(f, rc);
	*out = f;
	return 0;
}

int slabs_write(struct slabs *f, int64_t i, int64_t first, int64_t rows, const void *v)
{
	const int64_t channels = f->lead ? f->shape.d[0] : 1, all = f->shape.d[f->lead];
	int64_t rest = 1;
	if (f->nc)
		return netcdf_write_rows(f->nc, i, first, rows, v);
	for (int k = f->lead + 1; k < f->shape.nd; k++)
		rest *= f->shape.d[k];
	for (int64_t c = 0; c < channels; c++) {
		const int64_t at = ((i * channels + c) * all + first) * rest;
		TRY(io_write_at(f->npy, f->header + 4 * (uint64_t)at,
		                (const char *)v + 4 * c * rows * rest, 4 * (size_t)(rows * rest)));
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
