/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The command verify: reads every chunk once, even if several versions contain it. */
#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/shown.h"
#include "data-tools/ckpt/ckpt.h"
#include "ckpt/version_id.h"
#include "data-tools/ckpt/ckpt_chunks.h"

struct verification {
	struct ckpt_tool *t;
	struct chunk_table *chunks;
	void *raw;                     /* room for a chunk */
	struct buf json;               /* the versions so far */
	int versions, damaged;
	int code;                      /* of what was wrong: E_DATA, or E_IO */
	uint64_t bytes, nchunks;       /* read */
};

/* Takes what the record of errors has since mark. */
static const char *taken_error(struct ckpt_tool *t, int mark, int rc)
{
	const char *text = arena_strdup(t->a, err_count() > mark ? err_get(mark)->text :
	                                err_name(rc));
	err_truncate(mark);
	return text;
}

/* NULL: intact. What stops the program is an error in *rc. */
static const char *check_chunk(struct verification *y, const struct manifest_tensor *x, int64_t k,
                               int *rc)
{
	struct chunk_entry *e = chunk_table_find(y->chunks, x->chunk[k]);
	int mark = err_count();
	size_t n;
	if (e && e->state == CHUNK_INTACT && e->raw == manifest_chunk_bytes(x, k))
		return NULL;
	*rc = tool_read_chunk(y->t, x, k, y->raw, &n);
	if (*rc == 0 && e)
		e->state = CHUNK_INTACT;
	y->bytes += n;
	y->nchunks++;
	if (*rc == 0 || *rc == E_NOMEM)
		return NULL;
	y->code = *rc == E_IO ? E_IO : y->code;
	*rc = 0;
	return taken_error(y->t, mark, E_DATA);
}

/* Adds a line for each damaged chunk of the manifest. */
static int check_tensors(struct verification *y, const struct manifest *m, struct buf *wrong,
                         int *n)
{
	int rc = 0;
	for (int i = 0; i < m->ntensors && rc == 0; i++)
		for (int64_t k = 0; k < m->tensor[i].nchunks && rc == 0; k++) {
			const char *why = check_chunk(y, &m->tensor[i], k, &rc);
			if (!why)
				continue;
			if (y->t->json) {
				buf_puts(wrong, (*n)++ ? ", {\"tensor\": " : "{\"tensor\": ");
				buf_json_string(wrong, m->tensor[i].name);
				buf_printf(wrong, ", \"chunk\": %" PRId64 ", \"why\": ", k);
				buf_json_string(wrong, why);
				buf_putc(wrong, '}');
				continue;
			}
			buf_printf(wrong, "  tensor '%s', chunk %" PRId64 ": ", shown(m->tensor[i].name), k);
			buf_shown(wrong, why);
			buf_putc(wrong, '\n');
			(*n)++;
		}
	return rc;
}

static void report(struct verification *y, int i, const char *manifest, const struct buf *wrong,
                   int nwrong)
{
	const char *id = y->t->history.v[i].id;
	bool intact = !manifest && nwrong == 0;
	y->versions++;
	y->damaged += !intact;
	if (y->t->json) {
		buf_printf(&y->json, "%s{\"id\": \"%s\", \"intact\": %s", y->json.len ? ", " : "", id,
		           intact ? "true" : "false");
		put_json_text(&y->json, "manifest", manifest);
		buf_printf(&y->json, ", \"damaged_chunks\": [%s]}", wrong->data);
		return;
	}
	printf("%s  %s\n", version_bare_id(id), intact ? "intact" : "damaged");
	if (manifest)
		printf("  %s\n", shown(manifest));
	fputs(wrong->data, stdout);
}

static int verify(struct verification *y, int i)
{
	struct arena *a = y->t->a;
	struct buf wrong = BUF_INIT;
	struct manifest m;
	const char *manifest = NULL;
	int mark = err_count(), n = 0, rc;
	y->t->a = arena_new();             /* manifests are large, and there may be many */
	rc = tool_manifest(y->t, i, &m);
	if (rc < 0)
		manifest = taken_error(y->t, mark, rc);
	rc = rc == 0 ? check_tensors(y, &m, &wrong, &n) : 0;
	if (rc == 0 && (manifest || n) && !tool_has(y->t, i))
		note("version '%s' has been removed meanwhile", version_bare_id(y->t->history.v[i].id));
	else if (rc == 0)
		report(y, i, manifest, &wrong, n);
	buf_release(&wrong);
	arena_free(y->t->a);
	y->t->a = a;
	return rc;
}

static int verify_all(struct verification *y)
{
	struct ckpt_tool *t = y->t;
	for (int i = 0; t->n == 0 && i < t->history.n; i++)
		TRY(verify(y, i));
	for (int k = 0; k < t->n; k++) {
		int i;
		TRY(tool_find(t, t->arg[k], &i));
		TRY(verify(y, i));
	}
	return 0;
}

static void summarize(struct verification *y)
{
	struct buf b = BUF_INIT;
	if (y->t->json) {
		printf("{\"store\": ");
		buf_json_string(&b, y->t->root);
		buf_printf(&b, ", \"intact\": %s, \"chunks\": %" PRIu64 ", \"bytes\": %" PRIu64
		           ", \"versions\": [%s]}\n", y->damaged ? "false" : "true", y->nchunks, y->bytes,
		           y->json.data);
	} else {
		buf_printf(&b, "%d version%s, %" PRIu64 " chunks, ", y->versions,
		           y->versions == 1 ? "" : "s", y->nchunks);
		put_bytes(&b, y->bytes);
		buf_printf(&b, ": %s\n", y->damaged ? "not all is intact" : "all intact");
	}
	print_buf(&b);
	buf_release(&b);
}

int ckpt_verify(struct ckpt_tool *t)
{
	struct verification y = { .t = t, .json = BUF_INIT, .code = E_DATA };
	int rc;
	TRY(tool_packs(t));
	y.chunks = chunk_table_new(t->packs);
	y.raw = mem_alloc(CHUNK_RAW);
	rc = verify_all(&y);
	if (rc == 0)
		summarize(&y);
	if (rc == 0 && y.damaged)
		rc = ERR(y.code, NULL, "%d of %d versions in '%s' %s damaged", y.damaged, y.versions,
		         t->root, y.damaged == 1 ? "is" : "are");
	buf_release(&y.json);
	mem_free(y.raw);
	chunk_table_free(y.chunks);
	return rc;
}
