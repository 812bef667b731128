/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The command import: makes a file's tensors the first version of a new run. A file of `export
 * --all` restores the whole version; the tensors of any other file are weights only, without a
 * position in a training. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/io_reader.h"
#include "base/mem.h"
#include "base/shown.h"
#include "data-tools/ckpt/ckpt.h"
#include "ckpt/fork.h"
#include "ckpt/safetensors.h"
#include "ckpt/training_texts.h"
#include "ckpt/version_id.h"
#include "data-tools/ckpt/ckpt_origin.h"
#include "config.h"
#include "data-tools/source/source.h"

#define LEVEL 1                        /* of zstd: the default of checkpoint.compression */

struct importer {
	struct ckpt_tool *t;
	const char *path;
	struct io_image image;             /* of a safetensors file */
	int n;
	struct manifest_tensor *tensor;
	const void **data;
	bool *owned;                       /* data[i] is */
	struct origin origin;
	bool whole;                        /* the file says what it is of */
};

static void begin(struct importer *m, int n)
{
	m->tensor = ARENA_ARRAY(m->t->a, struct manifest_tensor, n);
	m->data = ARENA_ARRAY(m->t->a, const void *, n);
	m->owned = ARENA_ARRAY(m->t->a, bool, n);
}

static void add(struct importer *m, const char *name, enum dtype type, struct shape shape,
                const void *data)
{
	m->tensor[m->n] = (struct manifest_tensor){ .name = name, .dtype = type, .shape = shape };
	m->data[m->n++] = data;
}

static int take_origin(struct importer *m, const char *text, size_t size)
{
	m->whole = true;
	return origin_read(&m->origin, m->t->a, m->path, text, size);
}

/* --- safetensors --- */

/* What an export keeps of the training data are scalars of a version. */
static int take_meta(struct importer *m, const struct st_file *f)
{
	struct ckpt_scalar *scalar = ARENA_ARRAY(m->t->a, struct ckpt_scalar, f->nmeta);
	struct manifest *out = &m->origin.m;
	for (int i = 0; i < f->nmeta; i++)
		if (strcmp(f->meta[2 * i], ORIGIN_KEY) == 0)
			return take_origin(m, f->meta[2 * i + 1], strlen(f->meta[2 * i + 1]));
	out->scalar = scalar;
	for (int i = 0; i < f->nmeta; i++)
		if (training_text_is(f->meta[2 * i]))
			scalar[out->nscalars++] = (struct ckpt_scalar){ f->meta[2 * i],
				f->meta[2 * i + 1] };
	return 0;
}

static int read_safetensors(struct importer *m)
{
	struct st_file f;
	TRY(io_image_read(&m->image, m->path));
	TRY(st_parse(&f, m->t->a, m->path, m->image.data, m->image.size));
	begin(m, f.n);
	for (int i = 0; i < f.n; i++)
		add(m, f.tensor[i].name, f.tensor[i].dtype, f.tensor[i].shape, f.tensor[i].data);
	return take_meta(m, &f);
}

/* --- .npz --- */

static int read_array(struct importer *m, const char *name)
{
	struct source *s;
	size_t bytes;
	void *data;
	int rc;
	TRY(source_open(&s, m->path, "npz", name, false));
	bytes = (size_t)shape_count(&s->shape) * dtype_size(s->dtype);
	data = mem_alloc(bytes);
	rc = source_read_all(s, data);
	if (rc == 0 && strcmp(name, ORIGIN_KEY) == 0)
		rc = take_origin(m, arena_copy(m->t->a, data, bytes), bytes);
	else if (rc == 0) {
		m->owned[m->n] = true;
		add(m, arena_strdup(m->t->a, name), s->dtype, s->shape, data);
		data = NULL;
	}
	mem_free(data);
	source_close(s);
	return rc;
}

static int read_npz(struct importer *m)
{
	char **names;
	int n, rc = 0;
	TRY(source_npz_names(m->path, &names, &n));
	begin(m, n);
	for (int i = 0; i < n; i++) {
		for (int k = 0; k < i && rc == 0; k++)
			if (strcmp(names[i], names[k]) == 0)
				rc = ERR(E_DATA, NULL, "'%s': two arrays are called '%s'", m->path, names[i]);
		rc = rc == 0 ? read_array(m, names[i]) : rc;
	}
	for (int i = 0; i < n; i++)
		mem_free(names[i]);
	mem_free(names);
	return rc;
}

/* --- the command --- */

static int read_file(struct importer *m)
{
	TRY(io_ends_in(m->path, ".npz") ? read_npz(m) : read_safetensors(m));
	if (m->n == 0)
		return ERR(E_DATA, NULL, "'%s' has no tensors", m->path);
	for (int i = 0; i < m->n; i++)
		m->tensor[i].weight = !origin_is_state(&m->origin, m->tensor[i].name);
	return 0;
}

static void fill(struct importer *m)
{
	struct manifest *out = &m->origin.m;
	out->ntensors = m->n;
	out->tensor = m->tensor;
	if (m->whole)
		return;
	out->metric = NAN;
	out->config = out->data = "";
	out->program = "dlx " PACKAGE_VERSION ", imported";
}

static void print_imported(const struct importer *m, const struct new_version *made,
                           const char *folder)
{
	struct buf b = BUF_INIT;
	if (m->t->json) {
		buf_printf(&b, "{\"id\": \"%s\", \"run\": \"%s\", \"tensors\": %d, \"resumable\": %s",
		           made->id, made->run, m->n, m->whole ? "true" : "false");
		put_json_text(&b, "folder", folder);
		buf_puts(&b, "}\n");
	} else {
		buf_printf(&b, "%s, %d tensors of '%s', is the first version of run %.8s in '%s'\n",
		           version_bare_id(made->id), m->n, shown(m->path), made->run, shown(folder));
		buf_printf(&b, m->whole ? "to go on from it: dlx-train --resume %s\n" :
		           "weights alone: for dlx-train --evaluate, --predict and --export with run.dir "
		           "%s; a training begins with them by model.init_from and a safetensors file\n",
		           shown(folder));
	}
	print_buf(&b);
	buf_release(&b);
}

static int import(struct importer *m, const char *folder)
{
	const char *dir = arena_printf(m->t->a, "%s/checkpoints", folder);
	const char *root = m->t->n > 1 ? tool_store(m->t) : dir;
	struct new_version made;
	bool written;
	if (m->t->n > 1)
		TRY(tool_check_folder(m->t, folder));
	TRY(read_file(m));
	fill(m);
	TRY(graft_version(&made, m->t->disk, root, &m->origin.m, m->data, LEVEL, dir));
	TRY(tool_write_config(m->t, folder, m->origin.m.config, &written));
	print_imported(m, &made, folder);
	return 0;
}

int ckpt_import(struct ckpt_tool *t)
{
	struct importer m = { .t = t, .path = t->arg[0] };
	int rc;
	if (!io_ends_in(m.path, ".npz") && !io_ends_in(m.path, ".safetensors"))
		return ERR(E_USAGE, NULL, "'%s': expected a name that ends in .safetensors or .npz",
		           m.path);
	rc = import(&m, t->n > 1 ? t->arg[1] : t->dir);
	for (int i = 0; i < m.n; i++)
		if (m.owned[i])
			mem_free((void *)(uintptr_t)m.data[i]);
	io_image_release(&m.image);
	return rc;
}
