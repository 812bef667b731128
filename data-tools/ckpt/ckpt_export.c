/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The command export: writes tensors, chunk by chunk, to a safetensors file or an archive of NumPy
 * arrays. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/half.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/shown.h"
#include "data-tools/ckpt/ckpt.h"
#include "ckpt/safetensors.h"
#include "ckpt/training_texts.h"
#include "ckpt/version_id.h"
#include "data-tools/ckpt/ckpt_origin.h"
#include "report/npy_file.h"
#include "report/zip_file.h"

struct exporter {
	struct ckpt_tool *t;
	struct manifest m;
	int n;
	const struct manifest_tensor **tensor;
	const char *origin;                /* JSON, with --all; else NULL */
	struct io_file *file;
	void *raw, *wide;                  /* room for a chunk, and for one of bf16 as float32 */
};

static bool is_wanted(const struct ckpt_tool *t, const struct manifest_tensor *x)
{
	return t->all || (x->weight ? t->weights || !t->state : t->state);
}

static int choose(struct exporter *e)
{
	e->tensor = ARENA_ARRAY(e->t->a, const struct manifest_tensor *, e->m.ntensors);
	for (int i = 0; i < e->m.ntensors; i++)
		if (is_wanted(e->t, &e->m.tensor[i]))
			e->tensor[e->n++] = &e->m.tensor[i];
	for (int i = 1; i < e->n; i++)
		for (int k = 0; k < i; k++)
			if (e->tensor[i]->weight != e->tensor[k]->weight &&
			    strcmp(e->tensor[i]->name, e->tensor[k]->name) == 0)
				return ERR(E_USAGE, NULL, "a weight and another tensor are both called '%s': "
				           "export them apart, with --weights and --state", e->tensor[i]->name);
	return 0;
}

/* --- safetensors --- */

/* What a model keeps of its training data, as dlx-train --export has it. */
static int put_meta(struct exporter *e, const char **meta)
{
	int n = 0;
	meta[n++] = "format";
	meta[n++] = "pt";
	for (int i = 0; i < e->m.nscalars; i++)
		if (training_text_is(e->m.scalar[i].name) && *e->m.scalar[i].value) {
			meta[n++] = e->m.scalar[i].name;
			meta[n++] = e->m.scalar[i].value;
		}
	if (e->origin) {
		meta[n++] = ORIGIN_KEY;
		meta[n++] = e->origin;
	}
	return n / 2;
}

static int write_safetensors(struct exporter *e)
{
	struct st_tensor *st = ARENA_ARRAY(e->t->a, struct st_tensor, e->n);
	const char *meta[16];
	struct buf header = BUF_INIT;
	int rc;
	for (int i = 0; i < e->n; i++)
		st[i] = (struct st_tensor){ e->tensor[i]->name, e->tensor[i]->dtype, e->tensor[i]->shape,
			NULL };
	st_build_header(&header, st, e->n, meta, put_meta(e, meta));
	rc = io_write(e->file, header.data, header.len);
	buf_release(&header);
	for (int i = 0; i < e->n && rc == 0; i++)
		for (int64_t k = 0; k < e->tensor[i]->nchunks && rc == 0; k++) {
			size_t n;
			rc = tool_read_chunk(e->t, e->tensor[i], k, e->raw, &n);
			if (rc == 0)
				rc = io_write(e->file, e->raw, n);
		}
	return rc;
}

/* --- .npz --- */

static int write_array(struct exporter *e, struct zip_file *z, const struct manifest_tensor *x)
{
	const bool wide = x->dtype == DTYPE_BF16;
	const enum dtype as = wide ? DTYPE_F32 : x->dtype;
	struct buf h = BUF_INIT;
	int rc;
	npy_array_header(&h, as, &x->shape);
	z->name = arena_printf(e->t->a, "%s.npy", x->name);
	z->size = h.len + (uint64_t)shape_count(&x->shape) * dtype_size(as);
	rc = zip_begin(z);
	if (rc == 0)
		rc = zip_write(z, h.data, h.len);
	for (int64_t k = 0; k < x->nchunks && rc == 0; k++) {
		size_t n;
		rc = tool_read_chunk(e->t, x, k, e->raw, &n);
		if (rc == 0 && wide)
			bfloat_to_floats(e->wide, e->raw, (int64_t)(n / 2));
		if (rc == 0)
			rc = zip_write(z, wide ? e->wide : e->raw, wide ? 2 * n : n);
	}
	buf_release(&h);
	return rc == 0 ? zip_end_member(z) : rc;
}

/* A text as an array of bytes, which is what an archive of arrays can have. */
static int write_origin(struct exporter *e, struct zip_file *z)
{
	const size_t n = strlen(e->origin);
	const struct shape s = { .nd = 1, .d = { (int64_t)n } };
	struct buf h = BUF_INIT;
	int rc;
	npy_array_header(&h, DTYPE_U8, &s);
	z->name = ORIGIN_KEY ".npy";
	z->size = h.len + n;
	rc = zip_begin(z);
	if (rc == 0)
		rc = zip_write(z, h.data, h.len);
	if (rc == 0)
		rc = zip_write(z, e->origin, n);
	buf_release(&h);
	return rc == 0 ? zip_end_member(z) : rc;
}

static int write_npz(struct exporter *e)
{
	struct zip_file z = { .file = e->file };
	int rc = 0;
	for (int i = 0; i < e->n && rc == 0; i++)
		rc = write_array(e, &z, e->tensor[i]);
	if (rc == 0 && e->origin)
		rc = write_origin(e, &z);
	if (rc == 0)
		return zip_end(&z);
	zip_release(&z);
	return rc;
}

/* --- the command --- */

static uint64_t bytes_of(const struct exporter *e)
{
	uint64_t n = 0;
	for (int i = 0; i < e->n; i++)
		n += manifest_bytes(e->tensor[i]);
	return n;
}

static void print_exported(const struct exporter *e, const char *id, const char *path)
{
	struct buf b = BUF_INIT;
	if (e->t->json) {
		buf_printf(&b, "{\"id\": \"%s\", \"tensors\": %d, \"bytes\": %" PRIu64, id, e->n,
		           bytes_of(e));
		put_json_text(&b, "file", path);
		buf_puts(&b, "}\n");
	} else {
		buf_printf(&b, "%d tensors of %s, ", e->n, version_bare_id(id));
		put_bytes(&b, bytes_of(e));
		buf_printf(&b, ", in '%s'\n", shown(path));
	}
	print_buf(&b);
	buf_release(&b);
}

static int write_file(struct exporter *e, const char *path)
{
	int rc;
	TRY(io_create(&e->file, path));
	e->raw = mem_alloc(CHUNK_RAW);
	e->wide = mem_alloc(2 * CHUNK_RAW);
	rc = io_ends_in(path, ".npz") ? write_npz(e) : write_safetensors(e);
	mem_free(e->raw);
	mem_free(e->wide);
	if (rc == 0)
		return io_commit(e->file);
	io_discard(e->file);
	return rc;
}

int ckpt_export(struct ckpt_tool *t)
{
	struct exporter e = { .t = t };
	const char *path = t->arg[1];
	int i;
	if (!io_ends_in(path, ".npz") && !io_ends_in(path, ".safetensors"))
		return ERR(E_USAGE, NULL, "'%s': expected a name that ends in .safetensors or .npz", path);
	TRY(io_check_output(path));
	TRY(tool_find(t, t->arg[0], &i));
	TRY(tool_manifest(t, i, &e.m));
	TRY(choose(&e));
	if (t->all)
		e.origin = origin_write(t->a, &e.m);
	TRY(tool_packs(t));
	TRY(write_file(&e, path));
	print_exported(&e, t->history.v[i].id, path);
	return 0;
}
