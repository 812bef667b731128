/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Store entries and plan tensors to and from safetensors files. */
#include "train/exchange.h"

#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "ckpt/safetensors.h"
#include "optim/schedule.h"

static bool exported(const struct store_entry *e)
{
	return e->role == ROLE_PARAM || strstr(e->name, ".running_") != NULL;
}

static int write_store(struct session *s, const char *path, bool params_only)
{
	struct arena *a = arena_new();
	struct st_tensor *t = ARENA_ARRAY(a, struct st_tensor, store_count(s->store));
	int n = 0;
	for (int i = 0; i < store_count(s->store); i++) {
		const struct store_entry *e = store_at(s->store, i);
		if (params_only ? e->role != ROLE_PARAM : !exported(e))
			continue;
		float *plain = ARENA_ARRAY(a, float, shape_count(&e->shape));
		store_get(e, DTYPE_F32, plain);
		t[n++] = (struct st_tensor){ e->name, DTYPE_F32, e->shape, plain };
	}
	int rc = st_write_file(path, t, n, NULL, 0);
	arena_free(a);
	return rc;
}

int exchange_export(struct session *s, const char *path)
{
	return write_store(s, path, false);
}

/* --- init_from --- */

static int load_entry(struct store_entry *e, const struct st_file *f, const char *path)
{
	char want[SHAPE_TEXT], have[SHAPE_TEXT];
	const struct st_tensor *t = st_find(f, e->name);
	if (!t && e->role != ROLE_PARAM)
		return 0;
	if (!t)
		return ERR(E_DATA, NULL, "'%s' has no tensor '%s' (%s)", path, e->name, shape_text(&e->shape, want));
	if (!shape_equal(&t->shape, &e->shape))
		return ERR(E_DATA, NULL, "'%s': tensor '%s' is %s, the network's is %s", path, e->name,
		           shape_text(&t->shape, have), shape_text(&e->shape, want));
	store_set(e, t->dtype, t->data);
	return 0;
}

/* PyTorch's batch norm counts its batches, for a kind of running statistics that dlx does not have. */
static bool is_counter(const char *name)
{
	static const char end[] = "num_batches_tracked";
	size_t n = strlen(name);
	return n >= sizeof end - 1 && strcmp(name + n - (sizeof end - 1), end) == 0;
}

static int load_all(struct session *s, const struct st_file *f, const char *path)
{
	int rc = 0, one;
	for (int i = 0; i < store_count(s->store); i++)
		if (exported(store_at(s->store, i)) && (one = load_entry(store_at(s->store, i), f, path)) < 0)
			rc = one;
	for (int i = 0; i < f->n; i++)
		if (!store_find(s->store, f->tensor[i].name) && !is_counter(f->tensor[i].name))
			rc = ERR(E_DATA, NULL, "'%s': tensor '%s' has no place in this network", path, f->tensor[i].name);
	return rc;
}

int exchange_init_from(struct session *s, const char *path)
{
	struct io_map map;
	struct st_file f;
	TRY(io_map_open(&map, path));
	struct arena *a = arena_new();
	int rc = st_parse(&f, a, path, map.data, map.size);
	if (rc == 0)
		rc = load_all(s, &f, path);
	arena_free(a);
	io_map_close(&map);
	return rc;
}

/* --- one step as files --- */

static int write_tensors(const struct plan *p, const char *dir, const char *file, int n, const tid *t,
                         const char *const *name)
{
	struct arena *a = arena_new();
	struct st_tensor *out = ARENA_ARRAY(a, struct st_tensor, n);
	for (int i = 0; i < n; i++) {
		const struct tensor *x = graph_t(p->g, t[i]);
		enum dtype type = x->dtype == DTYPE_I32 ? DTYPE_I32 : DTYPE_F32;
		void *plain = arena_alloc(a, (size_t)shape_count(&x->shape) * dtype_size(type));
		exec_read(p->exec, t[i], type, plain);
		out[i] = (struct st_tensor){ name[i], type, x->shape, plain };
	}
	char *path = io_join(dir, file);
	int rc = st_write_file(path, out, n, NULL, 0);
	mem_free(path);
	arena_free(a);
	return rc;
}

static int write_loss(const struct plan *p, const char *dir)
{
	double loss;
	struct buf text = BUF_INIT;
	char *path = io_join(dir, "loss.json");
	exec_read(p->exec, p->loss, DTYPE_F64, &loss);
	buf_puts(&text, "{\"loss\": ");
	buf_json_double(&text, loss);
	buf_puts(&text, "}\n");
	int rc = io_write_file(path, text.data, text.len);
	mem_free(path);
	buf_release(&text);
	return rc;
}

static int run_first_batch(struct session *s, struct plan **used)
{
	const struct batch *b;
	const struct run_config *c = s->config;
	struct schedule_context sc = { .base_rate = optim_learning_rate(&c->optimizer),
		.total_steps = c->train.steps ? c->train.steps : 1, .steps_per_epoch = loader_batches(s->train) };
	struct plan_step at = { .micros = 1, .rate = schedule_rate(&c->schedule, &sc, 0) };
	TRY(loader_seek(s->train, 0, 0));
	TRY(loader_next(s->train, &b));
	*used = session_plan(s->train_plan, b->n);
	plan_feed(*used, c, b, &at);
	return exec_run((*used)->exec, ~0u);
}

int exchange_dump_step(struct session *s, const char *dir)
{
	struct plan *p;
	TRY(io_mkdirs(dir));
	TRY(run_first_batch(s, &p));
	const char **names = mem_calloc((size_t)p->nparam + 2, sizeof *names);
	for (int i = 0; i < p->nparam; i++)
		names[i] = graph_t(p->g, p->param[i])->name;
	int rc = write_loss(p, dir);
	if (rc == 0)
		rc = write_tensors(p, dir, "inputs.safetensors", 2, (tid[]){ p->input, p->target },
		                   (const char *[]){ "input", "target" });
	if (rc == 0)
		rc = write_tensors(p, dir, "outputs.safetensors", 1, &p->output, (const char *[]){ "output" });
	if (rc == 0)
		rc = write_tensors(p, dir, "gradients.safetensors", p->nparam, p->grad, names);
	char *path = io_join(dir, "parameters.safetensors");
	if (rc == 0)
		rc = write_store(s, path, true);
	mem_free(path);
	mem_free(names);
	return rc;
}
