/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Here samples are numbered in units: a unit is one window, and the windows of one sample are
 * consecutive. A range of units is then a range of samples, of which the first and the last may be
 * shared with a neighbouring range. */
#include "data/draws.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"

/* This host's part of a source. */
struct range {
	int64_t first, n;              /* this host's units of the source: first and count */
	int64_t drawn;                 /* units that an epoch uses */
	uint64_t stream;               /* stream of random numbers */
};

struct draws {
	struct draws_options o;
	int64_t samples;               /* of the set */
	int64_t units;                 /* units of the set; equally many are used by all hosts in an
	                                * epoch */
	int64_t count;                 /* of this host */
	int n;
	struct range *range;
	int64_t *of;                   /* for each source, units that all hosts use in an epoch */
	int64_t *unit, *of_walk;       /* units of an epoch and the walk of each, source by source */
	int64_t *order;                /* a permutation of a source's units */
	struct head *head;
};

/* State of the traversal of a source. */
struct head {
	int64_t i, at;                 /* index of its next unit in the epoch, and that unit's index in
	                                * unit[] */
	double moment;
};

/* Start of part k when n items are divided into `parts` equal parts; it ends where the next part
 * starts. */
static int64_t part_begin(int64_t n, int64_t k, int64_t parts)
{
	return n / parts * k + n % parts * k / parts;
}

static int64_t part_size(int64_t n, int64_t k, int64_t parts)
{
	return part_begin(n, k + 1, parts) - part_begin(n, k, parts);
}

/* --- shares --- */

/* Divides `all` units by weight: each source gets the integer part of its share, and the remainder
 * goes to the largest fractions, at a tie to the first source. */
static void apportion(const struct dataset *d, int n, int64_t all, int64_t *drawn)
{
	double *rest = mem_calloc((size_t)n, sizeof *rest);
	int64_t left = all;
	for (int k = 0; k < n; k++) {
		const double share = (double)all * (n > 1 ? dataset_source(d, k)->share : 1);

		drawn[k] = (int64_t)share;
		rest[k] = share - (double)drawn[k];
		left -= drawn[k];
	}
	for (; left > 0; left--) {
		int most = 0;

		for (int k = 1; k < n; k++)
			most = rest[k] > rest[most] ? k : most;
		drawn[most]++;
		rest[most] = -1;
	}
	mem_free(rest);
}

static int too_few(const struct dataset *d, const struct draws_options *o, int k, int64_t have)
{
	if (!dataset_sources(d))
		return ERR(E_CONFIG, o->loc, "%lld training samples cannot be shared by %d hosts, which "
		           "'shuffle: {within: host}' asks for", (long long)have, o->hosts);
	return ERR(E_CONFIG, o->loc, "the %lld samples of source '%s' cannot be shared by %d hosts, "
	           "which 'shuffle: {within: host}' asks for", (long long)have,
	           dataset_source(d, k)->files, o->hosts);
}

static int not_drawn(const struct draws *w, const struct dataset *d, int k)
{
	const struct dataset_source *s = dataset_source(d, k);
	return ERR(E_CONFIG, &s->loc, "source '%s' has the weight %g: its share of the %lld samples "
	           "that %s in an epoch is less than one", s->files, s->weight, (long long)w->count,
	           w->o.hosts > 1 ? "each host reads" : "are read");
}

static uint64_t stream_of(const char *what, int host, int source)
{
	const int64_t at[2] = { host, source };
	return hash_bytes(at, sizeof at, hash_name(what));
}

/* The units of a source that a host has. */
static void set_range(struct range *r, const struct dataset *d, const struct draws *w, int k)
{
	const struct dataset_source *s = w->n > 1 ? dataset_source(d, k) : NULL;
	const int64_t all = (s ? s->samples : w->samples) * w->o.windows;
	r->first = (s ? s->first : 0) * w->o.windows + part_begin(all, w->o.host, w->o.hosts);
	r->n = part_size(all, w->o.host, w->o.hosts);
	r->stream = stream_of("data.order/source", w->o.host, k);
}

static int share_out(struct draws *w, const struct dataset *d)
{
	int64_t *drawn = mem_calloc((size_t)w->n, sizeof *drawn);
	int rc = 0;
	for (int h = 0; h < w->o.hosts; h++) {
		apportion(d, w->n, part_size(w->units, h, w->o.hosts), drawn);
		for (int k = 0; k < w->n; k++) {
			w->of[k] += drawn[k];
			w->range[k].drawn = h == w->o.host ? drawn[k] : w->range[k].drawn;
		}
	}
	mem_free(drawn);
	for (int k = 0; k < w->n && rc == 0; k++) {
		const int64_t have = w->n > 1 ? dataset_source(d, k)->samples : w->samples;

		set_range(&w->range[k], d, w, k);
		if (have < w->o.hosts)
			rc = too_few(d, &w->o, k, have);
		else if (w->range[k].drawn == 0)
			rc = not_drawn(w, d, k);
	}
	return rc;
}

int draws_new(struct draws **out, const struct dataset *d, const struct draws_options *o)
{
	struct draws *w;
	int64_t most = 0;
	*out = NULL;
	if (!dataset_sources(d) && o->hosts < 2)
		return 0;
	w = mem_calloc(1, sizeof *w);
	w->o = *o;
	w->o.hosts = o->hosts < 2 ? 1 : o->hosts;
	w->o.host = o->hosts < 2 ? 0 : o->host;
	w->samples = dataset_info(d)->samples;
	w->units = w->samples * o->windows;
	w->count = part_size(w->units, w->o.host, w->o.hosts);
	w->n = dataset_sources(d) ? dataset_sources(d) : 1;
	w->range = mem_calloc((size_t)w->n, sizeof *w->range);
	w->of = mem_calloc((size_t)w->n, sizeof *w->of);
	const int rc = share_out(w, d);
	if (rc < 0) {
		draws_free(w);
		return rc;
	}
	for (int k = 0; k < w->n; k++)
		most = w->range[k].n > most ? w->range[k].n : most;
	w->unit = mem_calloc((size_t)w->count, sizeof *w->unit);
	w->of_walk = mem_calloc((size_t)w->count, sizeof *w->of_walk);
	w->order = mem_calloc((size_t)most, sizeof *w->order);
	w->head = mem_calloc((size_t)w->n, sizeof *w->head);
	*out = w;
	return 0;
}

void draws_free(struct draws *w)
{
	if (!w)
		return;
	mem_free(w->range);
	mem_free(w->of);
	mem_free(w->unit);
	mem_free(w->of_walk);
	mem_free(w->order);
	mem_free(w->head);
	mem_free(w);
}

/* --- an epoch --- */

/* The draws of a source: some of one walk, or of several. */
static void walk(struct draws *w, const struct range *r, int64_t epoch, int64_t *unit,
                 int64_t *of_walk)
{
	int64_t at = epoch * r->drawn, end = at + r->drawn;
	while (at < end) {
		const int64_t number = at / r->n, from = at % r->n;
		const int64_t left = r->n - from, n = end - at < left ? end - at : left;

		if (w->o.shuffle)
			rng_permutation(w->o.seed, r->stream, (uint64_t)number, r->n, w->order);
		for (int64_t i = 0; i < n; i++) {
			*unit++ = r->first + (w->o.shuffle ? w->order[from + i] : from + i);
			*of_walk++ = number;
		}
		at += n;
	}
}

/* The time of unit i of a source, in an epoch from 0 to 1. */
static double moment(const struct draws *w, const struct range *r, int64_t epoch, int64_t i)
{
	if (w->n == 1)
		return 0;
	const double u = w->o.shuffle ? rng_uniform(w->o.seed, r->stream + 1, (uint64_t)epoch,
	                                            (uint64_t)i) : 0.5;
	return ((double)i + u) / (double)r->drawn;
}

static int earliest(const struct head *h, int n)
{
	int first = 0;
	for (int k = 1; k < n; k++)
		first = h[k].moment < h[first].moment ? k : first;
	return first;
}

int64_t draws_place(const struct draws *w, int64_t i)
{
	const int64_t each = w->o.global / w->o.hosts, full = w->units / w->o.global;
	if (i < full * each)
		return i / each * w->o.global + w->o.host * each + i % each;
	return full * w->o.global + part_begin(w->units % w->o.global, w->o.host, w->o.hosts) + i -
	       full * each;
}

void draws_fill(struct draws *w, int64_t epoch, int64_t *sample, int64_t *of_walk)
{
	struct head *h = w->head;
	int64_t begin = 0;
	for (int k = 0; k < w->n; k++) {
		walk(w, &w->range[k], epoch, w->unit + begin, w->of_walk + begin);
		h[k] = (struct head){ 0, begin, moment(w, &w->range[k], epoch, 0) };
		begin += w->range[k].drawn;
	}
	for (int64_t i = 0; i < w->count; i++) {
		const int k = earliest(h, w->n);
		const int64_t at = h[k].at++, unit = w->unit[at], place = draws_place(w, i);

		sample[place] = unit / w->o.windows + unit % w->o.windows * w->samples;
		of_walk[place] = w->of_walk[at];
		h[k].moment = ++h[k].i < w->range[k].drawn ? moment(w, &w->range[k], epoch, h[k].i) : 2;
	}
}

int64_t draws_count(const struct draws *w)
{
	return w->count;
}

int64_t draws_of_source(const struct draws *w, int k)
{
	return w->of[k];
}
