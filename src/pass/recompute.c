/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Chooses which buffers to drop. To evaluate a set of dropped buffers, the copies are inserted and
 * the memory planner computes the live bytes at each node (recompute_nodes.h, memplan_profile).
 * Starting from an initial set, as long as the peak is too high, buffers that are idle at the peak
 * are dropped, those first that free most bytes for the traffic and arithmetic they cost.
 * Afterwards each buffer is restored whose dropping turns out to be unnecessary.
 *
 * Initial sets: the empty set; and, for small limits, checkpointed segments of the forward part, of
 * several sizes: the forward part is cut where few bytes are alive, and nothing between two cuts is
 * kept. The cheapest result that fits is chosen. */
#include "pass/recompute.h"

#include <string.h>

#include "base/mem.h"
#include "graph/memplan.h"
#include "pass/recompute_nodes.h"

#define ROUNDS   200             /* most peaks that are lowered from one initial set */
#define PART     32              /* the limit is lowered by this fraction (1/32) of the peak at a
                                  * time */
#define RETURNS  64              /* most dropped buffers that it tries to restore */
#define SEGMENTS 5               /* sizes of segments: 1/2, 1/4, ... of what is kept */
#define LEAST    4096            /* bytes; smaller buffers are never dropped */

struct recompute {
	struct graph *g;
	struct recompute_nodes *a;
	int64_t *live;               /* live bytes by node of the changed graph */
	int live_cap;
	nid *prev, *next;            /* by buffer: its last use before and first use after the peak */
	bool *banned;                /* by buffer: dropping it failed */
	bool cheap;
	nid *best_drop, *low_drop;   /* by buffer: the best set, and the one with the lowest peak */
	nid turn;                    /* the first node of the backward part */
};

struct candidate {
	tid b;
	nid after;
	double gain, price;
};

struct recompute *recompute_new(struct graph *g, const size_t *ws)
{
	struct recompute *r = mem_calloc(1, sizeof *r);
	size_t room = (size_t)g->ntensor + 1;
	r->g = g;
	r->a = recompute_nodes_new(g, ws);
	r->prev = mem_alloc(room * sizeof *r->prev);
	r->next = mem_alloc(room * sizeof *r->next);
	r->best_drop = mem_alloc(room * sizeof *r->best_drop);
	r->low_drop = mem_alloc(room * sizeof *r->low_drop);
	r->banned = mem_calloc(room, sizeof *r->banned);
	for (r->turn = 0; r->turn < g->nnode; r->turn++)
		if (g->node[r->turn]->phase == PHASE_BACKWARD)
			break;
	for (tid t = 0; t < g->ntensor; t++)
		r->best_drop[t] = NONE;
	return r;
}

void recompute_free(struct recompute *r)
{
	if (!r)
		return;
	recompute_nodes_free(r->a);
	mem_free(r->live);
	mem_free(r->prev);
	mem_free(r->next);
	mem_free(r->best_drop);
	mem_free(r->low_drop);
	mem_free(r->banned);
	mem_free(r);
}

static void clear(struct recompute *r)
{
	for (tid t = 0; t < r->a->ntensor; t++)
		r->a->drop[t] = NONE;
}

/* --- trying --- */

/* Inserts the copies and measures; returns the node of the changed order at the peak. The caller
 * must undo the change. */
static int try_drops(struct recompute *r, struct recompute_choice *c)
{
	struct recompute_nodes *a = r->a;
	int peak = 0;
	tid bad;
	while ((bad = recompute_nodes_apply(a)) != NONE) {
		a->drop[bad] = NONE;
		r->banned[bad] = true;
	}
	if (a->nstep > r->live_cap) {
		r->live_cap = 2 * a->nstep;
		r->live = mem_realloc(r->live, (size_t)r->live_cap * sizeof *r->live);
	}
	memplan_profile(r->g, a->ws, r->live);
	for (int i = 0; i < a->nstep; i++)
		if (r->live[i] > r->live[peak])
			peak = i;
	*c = (struct recompute_choice){ .bytes = a->nstep ? r->live[peak] : 0, .copies = a->ncopy,
		.cost = a->cost, .node = a->nstep ? a->at[peak] : NONE };
	for (tid t = 0; t < a->ntensor; t++)
		c->buffers += a->drop[t] != NONE;
	return peak;
}

/* The uses of each buffer before and after node `peak` of the changed order; NONE where it is in
 * use or not there. */
static void find_gaps(struct recompute *r, int peak)
{
	const struct recompute_nodes *a = r->a;
	for (tid t = 0; t < a->ntensor; t++)
		r->prev[t] = r->next[t] = NONE;
	for (int i = a->nstep - 1; i >= 0; i--) {
		const struct node *n = r->g->node[i];
		for (int k = 0; k < n->nin + n->nout; k++) {
			tid t = k < n->nin ? n->in[k] : n->out[k - n->nin];
			tid b = t == NONE || t >= a->ntensor ? NONE : a->root[t];
			if (b == NONE || r->prev[b] != NONE)
				continue;
			if (i > peak)
				r->next[b] = a->at[i];
			else if (i < peak)
				r->prev[b] = a->at[i];
			else
				r->next[b] = NONE;
		}
	}
}

static bool is_candidate(const struct recompute *r, tid b)
{
	const struct recompute_nodes *a = r->a;
	nid from = r->prev[b], to = r->next[b];
	return a->root[b] == b && a->droppable[b] && a->drop[b] == NONE && !r->banned[b] &&
	       a->bytes[b] >= LEAST && from != NONE && to != NONE && to > from + 1 &&
	       from >= a->made[b] && r->g->node[to]->phase != PHASE_UPDATE &&
	       (a->plain[b] || !r->cheap);
}

/* The most worthwhile of the candidates; false if there is none. */
static bool find_best(struct recompute *r, struct candidate *best)
{
	struct recompute_nodes *a = r->a;
	bool any = false;
	for (tid b = 0; b < a->ntensor; b++) {
		struct candidate c = { b, NONE, 0, 0 };
		bool counted;
		if (!is_candidate(r, b))
			continue;
		c.after = r->prev[b];
		c.price = recompute_nodes_price(a, b, r->next[b], &counted);
		c.gain = (double)a->bytes[b];
		if (counted && r->cheap)
			continue;
		if (any && c.gain * best->price <= best->gain * c.price)
			continue;
		*best = c;
		any = true;
	}
	return any;
}

/* Drops buffers that are idle at the peak until the peak is low enough; false if no buffer is left
 * to drop. */
static bool lower_peak(struct recompute *r, int64_t excess)
{
	struct candidate c = { NONE, NONE, 0, 0 };
	bool any = false;
	while (excess > 0 && find_best(r, &c)) {
		r->a->drop[c.b] = c.after;
		excess -= (int64_t)c.gain;
		any = true;
	}
	return any;
}

/* In small steps, because dropping a buffer moves the peak. */
static int64_t at_once(int64_t bytes, int64_t excess)
{
	return excess < bytes / PART ? excess : bytes / PART;
}

/* Lowers the peak from the current set on; ends with the lowest peak found. */
static void descend(struct recompute *r, int64_t limit, struct recompute_choice *c)
{
	size_t size = (size_t)r->a->ntensor * sizeof *r->low_drop;
	for (int i = 0; i < ROUNDS; i++) {
		struct recompute_choice now;
		int peak = try_drops(r, &now);
		bool more = now.bytes > limit;
		if (more)
			find_gaps(r, peak);
		recompute_nodes_undo(r->a);
		if (i == 0 || now.bytes < c->bytes) {
			*c = now;
			memcpy(r->low_drop, r->a->drop, size);
		}
		if (!more || !lower_peak(r, at_once(now.bytes, now.bytes - limit)))
			break;
	}
	memcpy(r->a->drop, r->low_drop, size);
}

/* Restores buffers that need not be dropped, the most expensive first; those that were dropped last
 * are most often unnecessary. */
static void take_back(struct recompute *r, int64_t limit, struct recompute_choice *c)
{
	struct recompute_nodes *a = r->a;
	int tries = 0;
	for (tid b = a->ntensor - 1; b >= 0 && tries < RETURNS; b--) {
		struct recompute_choice without;
		nid after = a->drop[b];
		if (after == NONE)
			continue;
		a->drop[b] = NONE;
		tries++;
		try_drops(r, &without);
		recompute_nodes_undo(a);
		if (without.bytes <= limit &&
		    recompute_nodes_weight(&without.cost) <= recompute_nodes_weight(&c->cost))
			*c = without;
		else
			a->drop[b] = after;
	}
}

/* --- segments --- */

/* Bytes that the forward part alone keeps alive after each of its nodes. */
static int64_t *forward_profile(const struct recompute *r, nid *last)
{
	const struct recompute_nodes *a = r->a;
	int64_t *live = mem_calloc((size_t)r->turn + 2, sizeof *live);
	for (tid t = 0; t < a->ntensor; t++)
		last[t] = NONE;
	for (int i = 0; i < r->turn; i++)
		for (int k = 0; k < r->g->node[i]->nin; k++) {
			tid t = r->g->node[i]->in[k], b = t == NONE ? NONE : a->root[t];
			if (b != NONE)
				last[b] = i;
		}
	for (tid b = 0; b < a->ntensor; b++) {
		if (a->root[b] != b || last[b] == NONE)
			continue;
		nid made = r->g->node[a->writer[a->writer_first[b]]]->id;
		if (made >= r->turn || last[b] <= made)
			continue;
		live[made] += a->bytes[b];
		live[last[b]] -= a->bytes[b];
	}
	for (int i = 1; i <= r->turn; i++)
		live[i] += live[i - 1];
	return live;
}

/* Whether b is kept by nothing but the backward part from its segment's end on. */
static bool kept_for_backward(const struct recompute *r, tid b)
{
	const struct recompute_nodes *a = r->a;
	return a->root[b] == b && a->droppable[b] && !r->banned[b] && a->bytes[b] >= LEAST &&
	       a->made[b] < r->turn && a->last[b] >= r->turn;
}

/* last: by buffer, its last use in the forward part. */
static void drop_segment(struct recompute *r, nid begin, nid end, const nid *last)
{
	struct recompute_nodes *a = r->a;
	for (tid b = 0; b < a->ntensor; b++)
		if (kept_for_backward(r, b) && a->made[b] >= begin && a->made[b] <= end && last[b] <= end)
			a->drop[b] = last[b] > a->made[b] ? last[b] : a->made[b];
}

/* Cuts the forward part where little is alive, a segment keeping about `size` bytes otherwise,
 * and drops what a segment makes and does not hand on. */
static void drop_segments(struct recompute *r, int64_t size)
{
	struct recompute_nodes *a = r->a;
	nid *last = mem_alloc(((size_t)a->ntensor + 1) * sizeof *last);
	int64_t *live = forward_profile(r, last), sum = 0;
	int64_t *makes = mem_calloc((size_t)r->turn + 1, sizeof *makes);
	int begin = 0, cut = NONE;
	for (tid b = 0; b < a->ntensor; b++)
		if (kept_for_backward(r, b))
			makes[a->made[b]] += a->bytes[b];
	for (int i = 0; i < r->turn; i++) {
		sum += makes[i];
		if (sum >= size / 2 && (cut == NONE || live[i] <= live[cut]))
			cut = i;
		if (sum < size && i + 1 < r->turn)
			continue;
		if (cut == NONE)
			cut = i;
		drop_segment(r, begin, cut, last);
		sum = 0;
		for (int j = cut + 1; j <= i; j++)
			sum += makes[j];
		begin = cut + 1;
		cut = NONE;
	}
	mem_free(last);
	mem_free(live);
	mem_free(makes);
}

/* --- choosing --- */

static bool better(const struct recompute_choice *a, const struct recompute_choice *b)
{
	if (a->fits != b->fits)
		return a->fits;
	return a->fits ? recompute_nodes_weight(&a->cost) < recompute_nodes_weight(&b->cost) :
	       a->bytes < b->bytes;
}

/* Lowers the peak from the current set on, and keeps the result if it is the best. */
static void attempt(struct recompute *r, int64_t limit, struct recompute_choice *best, bool first)
{
	struct recompute_choice c;
	descend(r, limit, &c);
	c.fits = c.bytes <= limit;
	if (c.fits)
		take_back(r, limit, &c);
	c.fits = c.bytes <= limit;
	if (!first && !better(&c, best))
		return;
	*best = c;
	memcpy(r->best_drop, r->a->drop, (size_t)r->a->ntensor * sizeof *r->best_drop);
}

void recompute_choose(struct recompute *r, int64_t limit, bool cheap, struct recompute_choice *out)
{
	int64_t kept = 0;
	r->cheap = cheap;
	/* What was found not to go with the sets of another limit does not count here, or the least
	 * limit that is offered would be refused by a search that has tried that limit first. */
	memset(r->banned, 0, (size_t)r->a->ntensor * sizeof *r->banned);
	clear(r);
	attempt(r, limit, out, true);
	for (tid b = 0; b < r->a->ntensor; b++)
		kept += kept_for_backward(r, b) ? r->a->bytes[b] : 0;
	for (int i = 1; !cheap && out->buffers && i <= SEGMENTS; i++) {
		clear(r);
		drop_segments(r, kept >> i);
		attempt(r, limit, out, false);
	}
	if (out->fits || !out->buffers)
		return;
	memcpy(r->a->drop, r->best_drop, (size_t)r->a->ntensor * sizeof *r->best_drop);
	take_back(r, out->bytes, out);
	memcpy(r->best_drop, r->a->drop, (size_t)r->a->ntensor * sizeof *r->best_drop);
}

int recompute_arena(struct recompute *r, int64_t *bytes)
{
	struct recompute_nodes *a = r->a;
	int64_t *offset;
	int rc;
	memcpy(a->drop, r->best_drop, (size_t)a->ntensor * sizeof *a->drop);
	recompute_nodes_apply(a);
	offset = mem_alloc(((size_t)a->nstep + 1) * sizeof *offset);
	rc = memplan(r->g, &(struct memplan_workspace){ a->ws, offset });
	*bytes = r->g->arena_bytes;
	recompute_nodes_undo(a);
	mem_free(offset);
	return rc;
}

void recompute_commit(struct recompute *r)
{
	memcpy(r->a->drop, r->best_drop, (size_t)r->a->ntensor * sizeof *r->best_drop);
	recompute_nodes_commit(r->a);
}
