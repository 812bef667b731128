/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Store entries and plan tensors to and from safetensors files. */
#include "train/save/interop.h"

#include <string.h>

#include "base/err.h"
#include "base/file_kind.h"
#include "base/io.h"
#include "base/io_reader.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "ckpt/safetensors.h"
#include "optim/schedule.h"
#include "plan/physics/physics.h"
#include "train/run/opening.h"
#include "train/run/ranks.h"
#include "train/run/synthetic.h"
#include "train/diagnose/trained_on.h"
#include "train/save/replicas.h"

/* A weight's name after that of its network among several, NULL if that is another one's; the whole
 * name if there is one network (NULL). */
static const char *own_name(const char *network, const char *name)
{
	const size_t n = network ? strlen(network) : 0;
	if (!network)
		return name;
	return strncmp(name, network, n) == 0 && name[n] == '.' ? name + n + 1 : NULL;
}

/* Float64 keeps all of its bits. */
static enum dtype float_type(const struct session *s)
{
	return config_compute(s->config) == DTYPE_F64 ? DTYPE_F64 : DTYPE_F32;
}

static int write_store(struct session *s, const char *path, bool params_only, const char *network,
                       const char *const *meta, int nmeta)
{
	struct arena *a = arena_new();
	struct st_tensor *t = ARENA_ARRAY(a, struct st_tensor, store_count(s->store));
	const enum dtype type = float_type(s);
	int n = 0, rc = 0;
	for (int i = 0; i < store_count(s->store) && rc == 0; i++) {
		const struct store_entry *e = store_at(s->store, i);
		const char *name = own_name(network, e->name);
		if ((params_only ? e->role != ROLE_PARAM : !store_is_weight(e)) || !name)
			continue;
		void *plain = arena_alloc(a, (size_t)shape_count(&e->shape) * dtype_size(type));
		rc = store_get(e, type, plain);
		t[n++] = (struct st_tensor){ name, type, e->shape, plain };
	}
	if (rc == 0)
		rc = st_write_file(path, t, n, meta, nmeta);
	arena_free(a);
	return rc;
}

/* The one whose parameters the network so named has. */
static int find_owner(const struct session *s, const char *name, const struct network **out)
{
	const struct physics *p = s->config->physics;
	struct suggest near = { .word = name };
	for (int i = 0; p && i < p->net.n; i++) {
		suggest_offer(&near, p->net.v[i].name);
		if (strcmp(p->net.v[i].name, name) == 0)
			*out = p->net.v[i].owner;
	}
	if (!p)
		return ERR(E_USAGE, NULL, "'--network' is for 'family: networks', which names some");
	if (!*out)
		return ERR(E_USAGE, NULL, "'--network': there is no network '%s'%s%s%s", name,
		           near.best ? "; did you mean '" : "", near.best ? near.best : "",
		           near.best ? "'?" : "");
	return 0;
}

int interop_export(struct session *s, const char *path, const char *network)
{
	const struct network *owner = NULL;
	const char *meta[TRAINED_ON_META];
	if (network)
		TRY(find_owner(s, network, &owner));
	struct arena *a = arena_new();
	const int nmeta = trained_on_meta(s, a, meta);
	int rc = write_store(s, path, false, owner ? owner->name : NULL, meta, nmeta);
	arena_free(a);
	return rc;
}

/* --- init_from --- */

enum misfit { MISSING, EXTRA, MISSHAPEN, NMISFITS };

/* A weight of the network. */
struct weight {
	const char *name;
	const struct shape *shape;
	struct store_entry *entry;  /* NULL where it is only planned */
};

/* The tensors that a file and the network have in common, and the misfits. */
struct match {
	struct arena *arena;
	const char *file;
	/* Of one network among several: its name, and what stands before the names of its tensors in
	 * the file, "teacher." or ""; NULL: of all. */
	const char *network, *before;
	int wanted, nfit, nmisfit;
	struct weight *weight;      /* `wanted` of them */
	const struct weight **fit;  /* the fitting ones, and the tensors for them */
	const struct st_tensor **tensor;
	enum misfit *kind;
	const char **name, **why; /* name alone; the whole sentence */
};

static void take_weights_of_store(struct match *m, const struct store *store)
{
	m->weight = ARENA_ARRAY(m->arena, struct weight, store_count(store) + 1);
	for (int i = 0; i < store_count(store); i++) {
		struct store_entry *e = store_at(store, i);
		if (store_is_weight(e) && own_name(m->network, e->name))
			m->weight[m->wanted++] = (struct weight){ e->name, &e->shape, e };
	}
}

/* The tensors that store_add would enter as weights. */
static void take_weights_of_plan(struct match *m, const struct graph *g)
{
	m->weight = ARENA_ARRAY(m->arena, struct weight, g->ntensor + 1);
	for (tid t = 0; t < g->ntensor; t++) {
		const struct tensor *x = graph_t(g, t);
		bool kept = x->role == ROLE_PARAM || (x->role == ROLE_STATE && x->use == STATE_OF_NETWORK);
		if (kept && x->alias == NONE && own_name(m->network, x->name))
			m->weight[m->wanted++] = (struct weight){ x->name, &x->shape, NULL };
	}
}

static const struct weight *find_weight(const struct match *m, const char *name)
{
	for (int i = 0; i < m->wanted; i++)
		if (strcmp(m->weight[i].name, name) == 0)
			return &m->weight[i];
	return NULL;
}

static void misfit(struct match *m, enum misfit kind, const char *name, const char *why)
{
	m->kind[m->nmisfit] = kind;
	m->name[m->nmisfit] = name;
	m->why[m->nmisfit++] = why;
}

static void match_weight(struct match *m, const struct st_file *f, const struct weight *e)
{
	char want[SHAPE_TEXT], have[SHAPE_TEXT];
	const struct st_tensor *t = st_find(f, m->before ? arena_printf(m->arena, "%s%s", m->before,
	                                    own_name(m->network, e->name)) : e->name);
	shape_text(e->shape, want);
	if (!t) {
		misfit(m, MISSING, e->name,
		       arena_printf(m->arena, "has no tensor '%s' (%s)", e->name, want));
		return;
	}
	shape_text(&t->shape, have);
	if (shape_equal(&t->shape, e->shape) && dtype_is_float(t->dtype)) {
		m->fit[m->nfit] = e;
		m->tensor[m->nfit++] = t;
		return;
	}
	misfit(m, MISSHAPEN, arena_printf(m->arena, "%s (%s of %s, not %s)", e->name, have,
	                                  dtype_name(t->dtype), want),
	       arena_printf(m->arena, "tensor '%s' is %s of %s, the network's is %s", e->name, have,
	                    dtype_name(t->dtype), want));
}

/* Counts of batches that PyTorch keeps next to running statistics; they are used by nothing. */
static bool is_batch_count(const char *name)
{
	const char *last = strrchr(name, '.');
	return strcmp(last ? last + 1 : name, "num_batches_tracked") == 0;
}

static void match_tensor(struct match *m, const struct st_tensor *t)
{
	const char *name = t->name;
	if (m->before && strncmp(name, m->before, strlen(m->before)) != 0)
		return;
	if (m->before)
		name = arena_printf(m->arena, "%s.%s", m->network, name + strlen(m->before));
	if (find_weight(m, name) || is_batch_count(name))
		return;
	misfit(m, EXTRA, t->name, arena_printf(m->arena, "tensor '%s' has no place in this network",
	                                       t->name));
}

static void match_all(struct match *m, const struct st_file *f)
{
	int n = m->wanted, max = n + f->n;
	m->fit = ARENA_ARRAY(m->arena, const struct weight *, n);
	m->tensor = ARENA_ARRAY(m->arena, const struct st_tensor *, n);
	m->kind = ARENA_ARRAY(m->arena, enum misfit, max);
	m->name = ARENA_ARRAY(m->arena, const char *, max);
	m->why = ARENA_ARRAY(m->arena, const char *, max);
	for (int i = 0; i < n; i++)
		match_weight(m, f, &m->weight[i]);
	for (int i = 0; i < f->n; i++)
		match_tensor(m, &f->tensor[i]);
}

/* Each misfit is an error of its own as long as there is
 * room for entries; the last one has the rest. */
static int refuse(const struct match *m)
{
	int room = ERR_MAX - err_count(), own = m->nmisfit <= room ? m->nmisfit : room - 1;
	struct buf rest = BUF_INIT;
	for (int i = 0; i < own; i++)
		ERR(E_DATA, NULL, "'%s': %s", m->file, m->why[i]);
	for (int i = own; i < m->nmisfit; i++)
		buf_printf(&rest, "%s%s", i > own ? "; " : "", m->why[i]);
	if (own < m->nmisfit)
		ERR(E_DATA, NULL, "'%s': and %d more: %s", m->file, m->nmisfit - own, rest.data);
	buf_release(&rest);
	return err_context(E_DATA, "to load what fits: model.%s%sinit_from: {file: %s, strict: false}",
	                   m->network ? arena_printf(m->arena, "networks.%s", m->network) : "",
	                   m->network ? "." : "", m->file);
}

static void note_skipped(const struct match *m)
{
	static const char *const what[] = {
		[MISSING] = "not in the file (first values kept)",
		[EXTRA] = "in the file alone",
		[MISSHAPEN] = "of another shape or type",
	};
	for (int k = 0; k < NMISFITS; k++) {
		struct buf names = BUF_INIT;
		int n = 0;
		for (int i = 0; i < m->nmisfit; i++)
			if (m->kind[i] == (enum misfit)k)
				buf_printf(&names, "%s%s", n++ ? ", " : "", m->name[i]);
		if (n)
			note("'%s': skipped %d tensor%s %s: %s", m->file, n, n == 1 ? "" : "s", what[k],
			     names.data);
		buf_release(&names);
	}
}

#define LISTED 8                    /* layers in a line */

static size_t layer_length(const char *name)
{
	const char *dot = strrchr(name, '.');
	return dot ? (size_t)(dot - name) : strlen(name);
}

static bool same_layer(const char *a, const char *b)
{
	size_t n = layer_length(a);
	return n == layer_length(b) && strncmp(a, b, n) == 0;
}

/* The network's layers of which all tensors fit, or not all; returns how many. A layer's tensors
 * follow one another, and fitting ones in the order of all. */
static int list_layers(const struct match *m, bool fitting, struct buf *out)
{
	int n = 0, k = 0;
	for (int i = 0, end; i < m->wanted; i = end) {
		const char *name = m->weight[i].name;
		int found = 0;
		for (end = i; end < m->wanted && same_layer(m->weight[end].name, name); end++)
			found += k + found < m->nfit && m->fit[k + found] == &m->weight[end];
		k += found;
		if ((found == end - i) == fitting && n++ < LISTED)
			buf_printf(out, "%s%.*s", n > 1 ? ", " : "", (int)layer_length(name), name);
	}
	if (n > LISTED)
		buf_printf(out, " and %d more", n - LISTED);
	return n;
}

/* For a check: which layers would get the file's values. */
static void note_layers(const struct match *m)
{
	struct buf same = BUF_INIT, other = BUF_INIT;
	const int n = list_layers(m, true, &same);
	if (list_layers(m, false, &other) == 0)
		note("'%s': all %d tensors of the network fit, of the layers %s", m->file, m->wanted,
		     n ? same.data : "none");
	else
		note("'%s': %d of the network's %d tensors fit; layers that match: %s; that differ: %s",
		     m->file, m->nfit, m->wanted, n ? same.data : "none", other.data);
	buf_release(&same);
	buf_release(&other);
}

static int judge(const struct match *m, bool strict)
{
	if (strict && m->nmisfit)
		return refuse(m);
	if (m->nfit == 0)
		return ERR(E_DATA, NULL, "'%s': none of its tensors fits this network", m->file);
	return 0;
}

static const char *whose(const struct match *m)
{
	return m->network ? arena_printf(m->arena, "%s's", m->network) : "the network's";
}

static int load_matching(const struct match *m, bool strict)
{
	TRY(judge(m, strict));
	for (int i = 0; i < m->nfit; i++)
		TRY(store_set(m->fit[i]->entry, m->tensor[i]->dtype, m->tensor[i]->data));
	note("'%s': loaded %d of %s %d tensors", m->file, m->nfit, whose(m), m->wanted);
	note_skipped(m);
	return 0;
}

#define SAVE_FROM_PYTHON "save one from Python: safetensors.torch.save_file(model.state_dict(), " \
	"'weights.safetensors')"

/* A file of weights that is no safetensors file: what it is, and how to make one of it. */
static int refuse_kind(const char *file, const struct io_image *image)
{
	static const char *const advice[] = {
		[FILE_WEIGHTS_TORCH] = SAVE_FROM_PYTHON,
		[FILE_WEIGHTS_OTHER] = "save its weights from Python under PyTorch's names "
		                       "and in its layouts (see "
		                       "FROM PYTORCH TO DLX in dlx-config(5))",
		[FILE_ARRAYS] = "save its weights from Python under PyTorch's names and "
		                "in its layouts (see FROM "
		                "PYTORCH TO DLX in dlx-config(5))",
		[FILE_PICTURE] = "init_from takes a file of weights",
		[FILE_RECORD] = "init_from takes a file of weights",
		[FILE_SAFETENSORS] = NULL,
		[FILE_PACKED] = "unpack it first",
		[FILE_FOREIGN] = "init_from takes a file of weights",
	};
	enum file_use use;
	const char *kind = file_kind(image->data, image->size, &use);
	if (!kind || !advice[use])
		return 0;
	return ERR(E_DATA, NULL, "'%s' is %s, not a safetensors file; %s", file, kind, advice[use]);
}

/* A tensor of the file with a name of the network after something else, such as "module.", which
 * has *n characters; or NULL. */
static const struct st_tensor *prefixed(const struct match *m, const struct st_file *f, int *n)
{
	for (int i = 0; i < f->n; i++)
		for (const char *dot = strchr(f->tensor[i].name, '.'); dot; dot = strchr(dot + 1, '.')) {
			if (!find_weight(m, dot + 1))
				continue;
			*n = (int)(dot + 1 - f->tensor[i].name);
			return &f->tensor[i];
		}
	return NULL;
}

static bool all_missing(const struct match *m)
{
	int n = 0;
	while (n < m->nmisfit && m->kind[n] == MISSING)
		n++;
	return n == m->wanted;
}

/* None of the names fits: the reason is one for all. */
static int refuse_names(const struct match *m, const struct st_file *f)
{
	int n;
	const struct st_tensor *t = prefixed(m, f, &n);
	if (t)
		return ERR(E_DATA, NULL, "'%s': its names begin with '%.*s', the network's do "
		           "not; save it without, from "
		           "Python: {k.removeprefix('%.*s'): v for k, v in model.state_dict().items()}",
		           m->file, n, t->name, n, t->name);
	return ERR(E_DATA, NULL, "'%s': none of its tensors fits this network: its names are such as "
	           "'%s', the network's such as '%s'; a layer's tensors are named after "
	           "the key 'name' of the layer", m->file, f->tensor[0].name, m->name[0]);
}

static bool begins_any(const struct st_file *f, const char *with)
{
	for (int i = 0; i < f->n; i++)
		if (strncmp(f->tensor[i].name, with, strlen(with)) == 0)
			return true;
	return false;
}

static int match_file(struct match *m, const struct io_image *image, struct st_file *f)
{
	TRY(refuse_kind(m->file, image));
	TRY(st_parse(f, m->arena, m->file, image->data, image->size));
	if (m->before && !begins_any(f, m->before))
		m->before = "";                  /* of this network alone */
	match_all(m, f);
	if (m->nfit == 0 && f->n > 0 && all_missing(m) && m->wanted > 0)
		return refuse_names(m, f);
	return 0;
}

/* One file, for the whole model or for the network n. s, or the plan p if it is only checked. */
static int take_file(struct session *s, const struct plan *p, const struct init_from *from,
                     const struct network *n)
{
	struct io_image image;
	struct st_file f;
	int rc = io_image_read(&image, from->file);
	if (rc < 0)
		return n ? err_locate(rc, &n->loc) : rc;
	struct match m = { .arena = arena_new(), .file = from->file };
	if (n) {
		m.network = n->name;
		m.before = arena_printf(m.arena, "%s.", n->c.init_from.network ? n->c.init_from.network :
		                        n->name);
	}
	if (p)
		take_weights_of_plan(&m, p->g);
	else
		take_weights_of_store(&m, s->store);
	rc = match_file(&m, &image, &f);
	if (rc == 0 && !p && !n && (s->need & SESSION_TRAIN))
		trained_on_compare(s, from->file, &f);
	if (rc == 0 && p)
		note_layers(&m);
	if (rc == 0)
		rc = p ? judge(&m, from->strict) : load_matching(&m, from->strict);
	arena_free(m.arena);
	io_image_release(&image);
	return rc;
}

static const struct init_from *of_model(const struct session *s)
{
	const struct model_common *m = s->config->model.data;
	return m->init_from.file ? &m->init_from : NULL;
}

/* Networks with files of their own; NULL: no more after n. */
static const struct network *next_of(const struct session *s, const struct network *n)
{
	const struct physics *p = s->config->physics;
	if (!p)
		return NULL;
	for (n = n ? n + 1 : p->net.v; n < p->net.v + p->net.n; n++)
		if (n->c.init_from.from.file)
			return n;
	return NULL;
}

bool interop_has_init_from(const struct session *s)
{
	return of_model(s) || next_of(s, NULL);
}

int interop_init_from(struct session *s)
{
	if (of_model(s))
		TRY(take_file(s, NULL, of_model(s), NULL));
	for (const struct network *n = NULL; (n = next_of(s, n));)
		TRY(take_file(s, NULL, &n->c.init_from.from, n));
	return 0;
}

int interop_begin(struct session *s)
{
	if (!interop_has_init_from(s))
		return 0;
	TRY(ranks_agree(s->comm, comm_first(s->comm) ? interop_init_from(s) : 0, "init_from"));
	return replicas_begin(s->comm, s->store);
}

/* Networks are in the plan of one objective or another. */
static const struct plan *plan_with(const struct session *s, const struct network *n)
{
	const struct plan *p = session_plan_of_size(s, PLAN_TRAIN, 0);
	const char *start = n->name;
	for (int i = 0; i < s->nprogram; i++) {
		const struct plan *one = s->program[i].plan;
		for (tid t = 0; one && t < one->g->ntensor; t++) {
			const struct tensor *x = graph_t(one->g, t);
			if (x->role == ROLE_PARAM && strncmp(x->name, start, strlen(start)) == 0 &&
			    x->name[strlen(start)] == '.')
				return one;
		}
	}
	return p;
}

int interop_check(struct session *s)
{
	if (of_model(s))
		TRY(take_file(s, session_plan_of_size(s, PLAN_TRAIN, 0), of_model(s), NULL));
	for (const struct network *n = NULL; (n = next_of(s, n));)
		TRY(take_file(s, plan_with(s, n), &n->c.init_from.from, n));
	return 0;
}

/* --- one step as files --- */

static int write_tensors(const struct session *s, const struct plan *p, const char *dir,
                         const char *file, int n, const tid *t, const char *const *name)
{
	struct arena *a = arena_new();
	struct st_tensor *out = ARENA_ARRAY(a, struct st_tensor, n);
	int rc = 0;
	for (int i = 0; i < n && rc == 0; i++) {
		const struct tensor *x = graph_t(p->g, t[i]);
		enum dtype type = x->dtype == DTYPE_I32 ? DTYPE_I32 : float_type(s);
		void *plain = arena_alloc(a, (size_t)shape_count(&x->shape) * dtype_size(type));
		rc = exec_read(p->exec, t[i], type, plain);
		out[i] = (struct st_tensor){ name[i], type, x->shape, plain };
	}
	char *path = io_join(dir, file);
	if (rc == 0)
		rc = st_write_file(path, out, n, NULL, 0);
	mem_free(path);
	arena_free(a);
	return rc;
}

static int write_loss(const struct plan *p, const char *dir)
{
	struct plan_result r;
	TRY(plan_ask(p));
	TRY(plan_result(p, &r));
	struct buf text = BUF_INIT;
	char *path = io_join(dir, "loss.json");
	buf_puts(&text, "{\"loss\": ");
	buf_json_double(&text, r.loss);
	buf_puts(&text, "}\n");
	int rc = io_write_file(path, text.data, text.len);
	mem_free(path);
	buf_release(&text);
	return rc;
}

static int run_first_batch(struct session *s, struct plan **used)
{
	const struct run_config *c = s->config;
	struct schedule_context sc = { .base_rate = optim_learning_rate(&c->optimizer),
		.total_steps = c->train.steps ? c->train.steps : 1,
		.steps_per_epoch = s->train ? loader_batches(s->train) : 1 };
	struct plan_step at = { .micros = 1, .rate = schedule_rate(&c->schedule, &sc, 0) };
	TRY(session_feed_first(s, &at, used));
	return exec_run((*used)->exec, ~0u);
}

static int write_inputs(const struct session *s, const struct plan *p, const char *dir)
{
	static const char *const names[] = { "input", "target", "mixup_target", "mixup_share" };
	tid t[4];
	for (int i = 0; i < 4; i++)
		t[i] = plan_in(p, names[i]);
	return write_tensors(s, p, dir, "inputs.safetensors", t[2] == NONE ? 2 : 4, t, names);
}

static int write_step(struct session *s, const struct plan *p, const char *dir)
{
	const char **names = mem_calloc((size_t)p->nparam + 2, sizeof *names);
	for (int i = 0; i < p->nparam; i++)
		names[i] = graph_t(p->g, p->param[i])->name;
	int rc = write_loss(p, dir);
	if (rc == 0)
		rc = write_inputs(s, p, dir);
	if (rc == 0)
		rc = write_tensors(s, p, dir, "outputs.safetensors", 1,
		                   (tid[]){ plan_out(p, "output") }, (const char *[]){ "output" });
	if (rc == 0)
		rc = write_tensors(s, p, dir, "gradients.safetensors", p->nparam, p->grad, names);
	char *path = io_join(dir, "parameters.safetensors");
	if (rc == 0)
		rc = write_store(s, path, true, NULL, NULL, 0);
	mem_free(path);
	mem_free(names);
	return rc;
}

int interop_dump_step(struct session *s, const char *dir)
{
	struct plan *p;
	bool first = comm_first(s->comm);
	TRY(ranks_agree(s->comm, first ? io_mkdirs(dir) : 0, "making the folder"));
	TRY(run_first_batch(s, &p));
	return ranks_agree(s->comm, first ? write_step(s, p, dir) : 0, "writing the step");
}
