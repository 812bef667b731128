/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs mostly have the same sets: those with the same names of files are opened once. */
#include "cli/sweep/sweep_data.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "data/sources.h"
#include "train/run/open_loaders.h"
#include "train/run/ranks.h"

struct sets {
	struct session *s;
	char *key;
};

struct sweep_data {
	struct sets *of;
	int n;
	struct staging *stage;
};

/* The names of files, of both sets. */
static char *key_of(const struct run_config *c)
{
	const struct strings train = sources_files(&c->data.train, c->arena);
	struct buf key = BUF_INIT;
	for (int i = 0; i < train.n; i++)
		buf_printf(&key, "%s\n", train.v[i]);
	for (int i = 0; i < c->data.validation.n; i++)
		buf_printf(&key, "\n%s", c->data.validation.v[i]);
	return buf_detach(&key);
}

static bool known(const struct sweep_data *d, const char *key)
{
	for (int i = 0; i < d->n; i++)
		if (strcmp(d->of[i].key, key) == 0)
			return true;
	return false;
}

/* Opens the sets of a config, which it takes over; a failure is forgotten. */
static void open_sets(struct sweep_data *d, struct comm *c, struct run_config *config)
{
	const struct session_options o = { .comm = c,
		.need = SESSION_TRAIN | SESSION_EVALUATE | SESSION_RUN };
	struct sets *new = &d->of[d->n];
	const int mark = err_count();
	char *key = key_of(config);
	if (config->physics || !staging_wanted(&config->data.stage) || known(d, key)) {
		mem_free(key);
		config_free(config);
		return;
	}
	*new = (struct sets){ mem_calloc(1, sizeof *new->s), key };
	*new->s = (struct session){ .config = config, .comm = c, .nranks = comm_count(c),
		.need = o.need };
	d->n++;
	if (session_open_sets(new->s, &o) < 0) {
		err_truncate(mark);
		ranks_forget_failure(c);
	}
}

static int begin(struct sweep_data *d, struct comm *c, const struct run_config *base)
{
	struct dataset **set = mem_calloc((size_t)(2 * d->n) + 1, sizeof *set);
	for (int i = 0; i < d->n; i++) {
		set[2 * i] = d->of[i].s->train_set;
		set[2 * i + 1] = d->of[i].s->validation_set;
	}
	int rc = staging_open(&d->stage, c, &base->data.stage, set, 2 * d->n);
	mem_free(set);
	TRY(ranks_agree(c, rc, "opening the folder of 'data.stage'"));
	return ranks_agree(c, staging_begin(d->stage), "staging");
}

int sweep_data_open(struct sweep_data **out, struct comm *c, const struct sweep *s,
                    const struct options *o, const struct run_config *base)
{
	struct sweep_data *d = *out = mem_calloc(1, sizeof *d);
	if (!staging_wanted(&base->data.stage))
		return 0;
	d->of = mem_calloc((size_t)s->n, sizeof *d->of);
	log_quiet(1);
	for (int i = 0; i < s->n; i++) {
		struct run_config *config;
		const struct sweep_run *r = &s->run[i];
		const int mark = err_count();
		if (config_load_with(&config, o->config, o->set.n, o->set.v, r->setting, r->n) == 0)
			open_sets(d, c, config);
		err_truncate(mark);
	}
	log_quiet(o->quiet);
	return d->n ? begin(d, c, base) : 0;
}

struct staging *sweep_data_staging(const struct sweep_data *d)
{
	return d->stage;
}

void sweep_data_close(struct sweep_data *d, bool alone)
{
	if (!d)
		return;
	staging_close(d->stage, alone);
	for (int i = 0; i < d->n; i++) {
		session_close(d->of[i].s);
		mem_free(d->of[i].key);
	}
	mem_free(d->of);
	mem_free(d);
}
