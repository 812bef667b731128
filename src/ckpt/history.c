/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Only the parts of a manifest that distinguish versions are kept in memory, because the lists of
 * chunks are most of its size. */
#include "ckpt/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "ckpt/version_id.h"
#include "ckpt/version_walk.h"

/* --- reading --- */

static char *copy(struct arena *a, const char *text)
{
	return text ? arena_strdup(a, text) : NULL;
}

static uint64_t raw_bytes(const struct manifest *m)
{
	uint64_t n = 0;
	for (int i = 0; i < m->ntensors; i++)
		n += manifest_bytes(&m->tensor[i]);
	return n;
}

static const char *const *copy_list(struct arena *a, const char *const *text, int n)
{
	const char **out = ARENA_ARRAY(a, const char *, n);
	for (int i = 0; i < n; i++)
		out[i] = copy(a, text[i]);
	return out;
}

static void keep(struct history_version *v, struct arena *a, const struct manifest *m)
{
	struct ckpt_metric *metric = ARENA_ARRAY(a, struct ckpt_metric, m->nmetrics);
	for (int i = 0; i < m->nmetrics; i++)
		metric[i] = (struct ckpt_metric){ copy(a, m->metrics[i].name), m->metrics[i].value };
	v->raw = raw_bytes(m);
	v->ntensors = m->ntensors;
	v->m = *m;
	v->m.run = copy(a, m->run);
	v->m.parent = copy_list(a, m->parent, m->nparents);
	v->m.metric_name = copy(a, m->metric_name);
	v->m.metrics = metric;
	v->m.config = copy(a, m->config);
	v->m.program = copy(a, m->program);
	v->m.data = copy(a, m->data);
	v->m.ntensors = v->m.nscalars = 0;
	v->m.tensor = NULL;
	v->m.scalar = NULL;
}

/* What the name says, and the file. */
static void describe_damaged(struct history_version *v, struct arena *a, struct disk *d,
                             const char *why)
{
	struct disk_stat st;
	v->damage = arena_strdup(a, why);
	v->m = (struct manifest){ .run = "", .step = strtoll(v->id, NULL, 10), .config = "",
		.program = "", .data = "" };
	if (d->stat(d, v->path, &st) == 0)
		v->m.time = st.changed;
}

struct reading {
	struct history *h;
	struct disk *disk;
	int cap;
};

static struct history_version *append(struct reading *r)
{
	struct history *h = r->h;
	if (h->n == r->cap) {
		r->cap = r->cap ? 2 * r->cap : 16;
		struct history_version *v = ARENA_ARRAY(h->a, struct history_version, r->cap);
		if (h->n)
			memcpy(v, h->v, sizeof *v * (size_t)h->n);
		h->v = v;
	}
	return &h->v[h->n++];
}

static void add_seen(void *arg, const struct version_seen *seen)
{
	struct reading *r = arg;
	struct history_version *v = append(r);
	*v = (struct history_version){ .path = arena_strdup(r->h->a, seen->path) };
	snprintf(v->id, sizeof v->id, "%s", seen->id);
	if (!seen->m) {
		describe_damaged(v, r->h->a, r->disk, seen->damage);
		return;
	}
	keep(v, r->h->a, seen->m);
}

/* --- edges --- */

/* Times come from clocks that may be wrong, serial numbers count the saves of one run. */
static int by_age(const void *x, const void *y)
{
	const struct history_version *a = x, *b = y;
	if (a->m.time != b->m.time)
		return a->m.time < b->m.time ? -1 : 1;
	if (a->m.serial != b->m.serial)
		return a->m.serial < b->m.serial ? -1 : 1;
	return strcmp(a->id, b->id);
}

static int find_id(const struct history *h, const char *id)
{
	for (int i = 0; i < h->n; i++)
		if (strcmp(h->v[i].id, id) == 0)
			return i;
	return -1;
}

/* The latest remaining version that precedes a removed parent in the parent's run, as far as serial
 * numbers and steps show. */
static int nearest(const struct history *h, const struct history_version *v, const char *parent)
{
	const int64_t step = strtoll(parent, NULL, 10);
	int best = -1;
	for (int i = 0; i < h->n && !v->m.fork; i++) {
		const struct history_version *x = &h->v[i];
		if (!x->damage && strcmp(x->m.run, v->m.run) == 0 && x->m.serial < v->m.serial &&
		    x->m.step <= step && (best < 0 || x->m.serial > h->v[best].m.serial))
			best = i;
	}
	return best;
}

static void link_parents(struct history *h)
{
	for (int i = 0; i < h->n; i++) {
		struct history_version *v = &h->v[i];
		struct history_edge *edge = ARENA_ARRAY(h->a, struct history_edge, v->m.nparents);
		v->edge = edge;
		for (int k = 0; k < v->m.nparents; k++) {
			const int from = find_id(h, v->m.parent[k]);
			edge[k].gone = from < 0;
			edge[k].from = from < 0 ? nearest(h, v, v->m.parent[k]) : from;
		}
	}
}

static int read_all(struct history *h, struct disk *d, const char *root)
{
	TRY(version_walk(d, root, add_seen, &(struct reading){ h, d, 0 }));
	return refs_read(&h->refs, d, root);
}

int history_read(struct history *out, struct disk *d, const char *root)
{
	int rc;
	*out = (struct history){ .a = arena_new() };
	rc = read_all(out, d, root);
	if (rc < 0) {
		history_release(out);
		return rc;
	}
	if (out->n > 1)
		qsort(out->v, (size_t)out->n, sizeof *out->v, by_age);
	link_parents(out);
	return 0;
}

void history_release(struct history *h)
{
	refs_release(&h->refs);
	arena_free(h->a);
	*h = (struct history){ 0 };
}

/* --- order --- */

struct ordering {
	const struct history *h;
	int *waits;                    /* for each version, number of its descendants not listed yet */
	int *stack, depth;
	bool *seen;
	int *order, n;
};

static void push(struct ordering *o, int i)
{
	if (!o->seen[i]) {
		o->seen[i] = true;
		o->stack[o->depth++] = i;
	}
}

/* A stack: the version pushed last is listed first, so that a branch is followed to the point where
 * it forked. */
static void drain(struct ordering *o)
{
	while (o->depth > 0) {
		const int i = o->stack[--o->depth];
		const struct history_version *v = &o->h->v[i];
		o->order[o->n++] = i;
		for (int k = v->m.nparents - 1; k >= 0; k--)
			if (v->edge[k].from >= 0 && --o->waits[v->edge[k].from] <= 0)
				push(o, v->edge[k].from);
	}
}

const int *history_order(const struct history *h)
{
	struct ordering o = { .h = h, .waits = ARENA_ARRAY(h->a, int, h->n),
		.stack = ARENA_ARRAY(h->a, int, h->n), .seen = ARENA_ARRAY(h->a, bool, h->n),
		.order = ARENA_ARRAY(h->a, int, h->n) };
	for (int i = 0; i < h->n; i++)
		for (int k = 0; k < h->v[i].m.nparents; k++)
			if (h->v[i].edge[k].from >= 0)
				o.waits[h->v[i].edge[k].from]++;
	for (int i = 0; i < h->n; i++)
		if (o.waits[i] == 0)
			push(&o, i);
	drain(&o);
	/* What is left goes in a circle, which only forged manifests can. */
	for (int i = h->n - 1; i >= 0; i--) {
		push(&o, i);
		drain(&o);
	}
	return o.order;
}

/* --- runs --- */

static bool of_run(const struct history_version *v, const char *run)
{
	return !v->damage && (!run || strcmp(v->m.run, run) == 0);
}

/* up: marks the ancestors of marked versions; else their descendants. */
static void spread(const struct history *h, bool *mark, bool up)
{
	for (bool more = true; more;) {
		more = false;
		for (int i = 0; i < h->n; i++)
			for (int k = 0; k < h->v[i].m.nparents; k++) {
				const int from = h->v[i].edge[k].from;
				if (from < 0 || mark[from] == mark[i] || mark[up ? from : i])
					continue;
				more = mark[up ? from : i] = true;
			}
	}
}

void history_mark_run(const struct history *h, const char *run, bool *mark)
{
	bool *above = ARENA_ARRAY(h->a, bool, h->n);
	for (int i = 0; i < h->n; i++)
		mark[i] = above[i] = of_run(&h->v[i], run);
	spread(h, above, true);
	spread(h, mark, false);
	for (int i = 0; i < h->n; i++)
		mark[i] |= above[i];
}

int history_last(const struct history *h, const char *run)
{
	int last = -1;
	for (int i = 0; i < h->n; i++)
		if (of_run(&h->v[i], run) &&
		    (last < 0 || !run || h->v[i].m.serial >= h->v[last].m.serial))
			last = i;
	return last;
}

static bool has_metric(const struct history_version *v, const char *name)
{
	return v->m.metric_name && v->m.metric == v->m.metric &&
	       (!name || strcmp(v->m.metric_name, name) == 0);
}

int history_best(const struct history *h, const char *run)
{
	const char *metric = NULL;
	int64_t serial = -1;
	int best = -1;
	for (int i = 0; i < h->n; i++)
		if (of_run(&h->v[i], run) && has_metric(&h->v[i], NULL) &&
		    (!run || h->v[i].m.serial >= serial)) {
			metric = h->v[i].m.metric_name;
			serial = h->v[i].m.serial;
		}
	for (int i = 0; i < h->n && metric; i++)
		if (of_run(&h->v[i], run) && has_metric(&h->v[i], metric) &&
		    (best < 0 || h->v[i].m.metric > h->v[best].m.metric))
			best = i;
	return best;
}

/* --- names --- */

/* 1: *out is the index of the version that the word's id, step or beginning is. */
static int find_fit(const struct history *h, const char *run, const char *word, int *out)
{
	struct version_search search = { .names = BUF_INIT };
	for (int i = 0; i < h->n; i++) {
		const struct history_version *v = &h->v[i];
		version_match(&search, word, i, v->id, !run || v->damage || of_run(v, run));
	}
	*out = search.hit;
	return version_search_end(&search, word);
}

/* 1: found. */
static int find(const struct history *h, const char *run, const char *word, int *out)
{
	const char *tagged = refs_find(&h->refs, word);
	int rc;
	if (strcmp(word, "last") == 0 || strcmp(word, "best") == 0) {
		*out = *word == 'l' ? history_last(h, run) : history_best(h, run);
		return *out >= 0;
	}
	if (tagged) {
		*out = find_id(h, tagged);
		return *out >= 0 ? 1 : ERR(E_NOINPUT, NULL, "the version '%s' of tag '%s' is missing",
		                           tagged, word);
	}
	rc = find_fit(h, run, word, out);
	return rc == 0 && run ? find_fit(h, NULL, word, out) : rc;
}

int history_find(const struct history *h, const char *run, const char *word, int *out)
{
	int rc = find(h, run, word, out);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	if (strcmp(word, "best") == 0)
		return ERR(E_NOINPUT, NULL, "no version has a validation, so that none is best");
	return ERR(E_NOINPUT, NULL, "there is no version '%s' among the %d of the store", word, h->n);
}
