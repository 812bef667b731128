/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A unit is read, then converted, then written. If a format's library is not thread-safe, a single
 * thread reads all units in order. Otherwise each converting thread reads its units itself, from
 * files that it has opened. */
#include "data-tools/convert/convert_pipe.h"

#include <pthread.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/pool.h"
#include "data-tools/convert/guard.h"

#define UNIT ((int64_t)4 << 20)        /* raw bytes of a unit, about */
#define PIECEWISE ((int64_t)8 << 20)   /* a sample that is larger is several units */
#define LARGE ((int64_t)64 << 20)      /* the most of a sample in a unit that was thought smaller,
                                        * or whose file is read as a whole anyway */
#define SAMPLES_MOST 1024              /* in a unit */

struct unit {
	struct pipe *pipe;
	int64_t at, n;                 /* samples, of which the last may not be wanted */
	int64_t first, npieces;        /* of the one sample; npieces 0: all of all samples */
	struct shape shape[2];         /* where npieces is not 0 */
	struct piece *piece;
	int64_t used, room;
	bool large;                    /* the first sample is too large to be read as a whole */
	bool done;
	int rc;
	struct err_record error;
};

/* What a thread makes units with. */
struct hand {
	struct maker *maker;
	struct side *input, *target;   /* its own files; NULL: the reader reads */
	bool busy;
};

struct pipe {
	const struct pipe_options *o;
	const struct conversion *c;
	bool apart, piecewise;
	int nunits, nhands;
	struct unit *unit;             /* a ring */
	struct hand *hand;
	struct side *scout[2];         /* finds the sizes of large samples */
	struct pool *readers, *makers;
	pthread_mutex_t lock;          /* of done and busy */
	pthread_cond_t changed;
	pthread_mutex_t reading;       /* of libraries that are for one thread */
	/* the next unit's */
	int64_t at, piece, pieces;     /* pieces 0: the sample is not begun */
	struct shape shape[2];
};

/* --- on threads --- */

static struct piece *add_piece(struct unit *u)
{
	if (u->used == u->room) {
		const int64_t n = u->room ? 2 * u->room : 4;

		u->piece = mem_realloc(u->piece, (size_t)n * sizeof *u->piece);
		for (int64_t k = u->room; k < n; k++)
			u->piece[k] = (struct piece){ 0 };
		u->room = n;
	}
	return &u->piece[u->used++];
}

static void add_pieces(struct unit *u, int64_t at, const struct shape shape[2], int64_t first,
                       int64_t n)
{
	const struct conversion *c = u->pipe->c;
	for (int64_t k = first; k < first + n; k++) {
		struct piece *p = add_piece(u);

		p->at = at;
		p->sample = c->sample[at];
		p->first = k == 0;
		p->shape[0] = shape[0];
		p->shape[1] = shape[1];
		p->cut = record_piece_get(&c->info, shape, k);
	}
}

static int64_t sample_bytes(const struct record_info *i, const struct shape shape[2])
{
	return shape_count(&shape[0]) * (int64_t)dtype_size(i->input.dtype) +
	       shape_count(&shape[1]) * (int64_t)dtype_size(i->target.dtype);
}

static bool wants(const struct pipe *p, int64_t at)
{
	return !p->o->wants || p->o->wants(p->o->user, at);
}

static int find_pieces(struct unit *u, struct side *input, struct side *target)
{
	const struct conversion *c = u->pipe->c;
	struct shape shape[2];
	u->used = 0;
	u->large = false;
	if (u->npieces) {
		add_pieces(u, u->at, u->shape, u->first, u->npieces);
		return 0;
	}
	for (int64_t at = u->at; at < u->at + u->n; at++) {
		if (!wants(u->pipe, at))
			continue;
		TRY(piece_shapes(c, input, target, c->sample[at], shape));
		u->large = u->n == 1 && sample_bytes(&c->info, shape) > LARGE;
		if (!u->large)
			add_pieces(u, at, shape, 0, record_pieces(&c->info, shape));
	}
	return 0;
}

static int fetch(struct unit *u, struct side *input, struct side *target)
{
	TRY(find_pieces(u, input, target));
	for (int64_t k = 0; k < u->used; k++)
		TRY(piece_fetch(&u->piece[k], u->pipe->c, input, target));
	return 0;
}

static int make(struct unit *u, struct maker *m)
{
	for (int64_t k = 0; k < u->used; k++)
		TRY(piece_make(&u->piece[k], m));
	return 0;
}

static struct hand *take_hand(struct pipe *p)
{
	struct hand *h = p->hand;
	pthread_mutex_lock(&p->lock);
	while (h->busy)
		h++;
	h->busy = true;
	pthread_mutex_unlock(&p->lock);
	return h;
}

static void run_make(void *arg)
{
	struct unit *u = arg;
	struct pipe *p = u->pipe;
	struct hand *h = take_hand(p);
	if (u->rc == 0 && p->apart)
		u->rc = fetch(u, h->input, h->target);
	if (u->rc == 0)
		u->rc = make(u, h->maker);
	if (u->rc < 0 && err_count() > 0)
		err_take(&u->error);
	err_clear();
	pthread_mutex_lock(&p->lock);
	h->busy = false;
	u->done = true;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

static void run_read(void *arg)
{
	struct unit *u = arg;
	struct pipe *p = u->pipe;
	pthread_mutex_lock(&p->reading);
	u->rc = fetch(u, p->c->input, p->c->target);
	pthread_mutex_unlock(&p->reading);
	if (u->rc < 0)
		err_take(&u->error);
	err_clear();
	pool_add(p->makers, run_make, u);
}

/* --- on the caller's thread --- */

/* The next sample's pieces; false of *more: there is none. */
static int begin_sample(struct pipe *p, bool *more)
{
	while (p->at < p->c->nsamples && !wants(p, p->at))
		p->at++;
	*more = p->at < p->c->nsamples;
	if (!*more || !p->piecewise)
		return 0;
	pthread_mutex_lock(&p->reading);
	const int rc = piece_shapes(p->c, p->scout[0], p->scout[1], p->c->sample[p->at], p->shape);
	pthread_mutex_unlock(&p->reading);
	p->piece = 0;
	p->pieces = rc == 0 ? record_pieces(&p->c->info, p->shape) : 0;
	return rc;
}

static void take_pieces(struct pipe *p, struct unit *u)
{
	int64_t bytes = 0;
	u->at = p->at;
	u->n = 1;
	u->first = p->piece;
	u->shape[0] = p->shape[0];
	u->shape[1] = p->shape[1];
	while (p->piece < p->pieces && bytes < UNIT * 3 / 4)
		bytes += (int64_t)record_piece_get(&p->c->info, p->shape, p->piece++).bytes;
	u->npieces = p->piece - u->first;
	if (p->piece == p->pieces) {
		p->at++;
		p->pieces = 0;
	}
}

static void take_samples(struct pipe *p, struct unit *u)
{
	const struct shape shape[2] = { p->c->info.input.shape, p->c->info.target.shape };
	const int64_t each = sample_bytes(&p->c->info, shape), fit = UNIT / (each > 0 ? each : 1),
	              n = fit < 1 ? 1 : fit > SAMPLES_MOST ? SAMPLES_MOST : fit,
	              left = p->c->nsamples - p->at;
	u->at = p->at;
	u->n = n < left ? n : left;
	u->npieces = 0;
	p->at += u->n;
}

/* Gives unit k something to do; false of *more: there is nothing left. */
static int start(struct pipe *p, struct unit *u, bool *more)
{
	*more = true;
	if (p->pieces == 0)
		TRY(begin_sample(p, more));
	if (!*more)
		return 0;
	if (p->piecewise)
		take_pieces(p, u);
	else
		take_samples(p, u);
	u->done = false;
	u->rc = 0;
	pool_add(p->apart ? p->makers : p->readers, p->apart ? run_make : run_read, u);
	return 0;
}

static void await(struct pipe *p, const struct unit *u)
{
	pthread_mutex_lock(&p->lock);
	while (!u->done)
		pthread_cond_wait(&p->changed, &p->lock);
	pthread_mutex_unlock(&p->lock);
}

/* A sample that is larger than those before: piece by piece, as others are read meanwhile. */
static int write_large(struct pipe *p, struct unit *u)
{
	struct hand *h = &p->hand[p->nhands - 1];
	struct shape shape[2];
	pthread_mutex_lock(&p->reading);
	int rc = piece_shapes(p->c, p->scout[0], p->scout[1], p->c->sample[u->at], shape);
	pthread_mutex_unlock(&p->reading);
	const int64_t n = rc == 0 ? record_pieces(&p->c->info, shape) : 0;
	for (int64_t k = 0; k < n && rc == 0; k++) {
		u->used = 0;
		add_pieces(u, u->at, shape, k, 1);
		pthread_mutex_lock(&p->reading);
		rc = piece_fetch(u->piece, p->c, p->scout[0], p->scout[1]);
		pthread_mutex_unlock(&p->reading);
		if (rc == 0)
			rc = piece_make(u->piece, h->maker);
		if (rc == 0)
			rc = p->o->write(p->o->user, u->piece);
	}
	return rc;
}

static int write(struct pipe *p, struct unit *u)
{
	await(p, u);
	if (u->rc < 0) {
		err_give(&u->error);
		return u->rc;
	}
	if (u->large)
		return write_large(p, u);
	for (int64_t k = 0; k < u->used; k++)
		TRY(p->o->write(p->o->user, &u->piece[k]));
	return 0;
}

static int run(struct pipe *p)
{
	int64_t begun = 0, written = 0;
	bool more = true;
	int rc = 0;
	while (rc == 0 && (more || written < begun)) {
		while (rc == 0 && more && begun - written < p->nunits) {
			rc = start(p, &p->unit[begun % p->nunits], &more);
			begun += rc == 0 && more;
		}
		if (rc == 0 && written < begun)
			rc = write(p, &p->unit[written++ % p->nunits]);
	}
	return rc;
}

/* --- opening --- */

static int open_hands(struct pipe *p)
{
	const struct conversion *c = p->c;
	p->hand = mem_calloc((size_t)p->nhands, sizeof *p->hand);
	for (int k = 0; k < p->nhands; k++) {
		struct hand *h = &p->hand[k];

		h->maker = maker_new(c);
		if (!h->maker)
			return E_NOMEM;
		h->input = p->apart ? side_share(c->input) : NULL;
		h->target = p->apart && c->target ? side_share(c->target) : NULL;
	}
	p->scout[0] = side_share(c->input);
	p->scout[1] = c->target ? side_share(c->target) : NULL;
	return 0;
}

static int open_pipe(struct pipe *p)
{
	const struct conversion *c = p->c;
	const struct shape shape[2] = { c->info.input.shape, c->info.target.shape };
	const bool whole = side_is_whole(c->input) || (c->target && side_is_whole(c->target));
	p->piecewise = sample_bytes(&c->info, shape) > (whole ? LARGE : PIECEWISE);
	p->apart = side_is_apart(c->input, p->piecewise) &&
	           (!c->target || side_is_apart(c->target, p->piecewise));
	p->nunits = p->o->threads + 2;      /* one is read, another one written */
	p->nhands = p->o->threads + 1;      /* one for write_large */
	p->unit = mem_calloc((size_t)p->nunits, sizeof *p->unit);
	for (int k = 0; k < p->nunits; k++)
		p->unit[k].pipe = p;
	guard_threads(p->o->threads + 2);
	TRY(open_hands(p));
	p->makers = pool_new(p->o->threads, p->nunits);
	p->readers = p->makers && !p->apart ? pool_new(1, p->nunits) : NULL;
	return p->makers && (p->apart || p->readers) ? 0 :
	       err_context(E_UNAVAILABLE, "starting threads");
}

static void close_pipe(struct pipe *p)
{
	pool_free(p->readers);             /* which adds to the makers */
	pool_free(p->makers);
	for (int k = 0; p->hand && k < p->nhands; k++) {
		struct hand *h = &p->hand[k];

		if (h->maker)
			maker_add_seen(h->maker, p->o->seen);
		maker_free(h->maker);
		side_close(h->input);
		side_close(h->target);
	}
	side_close(p->scout[0]);
	side_close(p->scout[1]);
	for (int k = 0; k < p->nunits; k++) {
		const int mark = err_count();

		err_give(&p->unit[k].error);   /* of a unit after the one that failed */
		err_truncate(mark);
		for (int64_t i = 0; i < p->unit[k].room; i++)
			piece_release(&p->unit[k].piece[i]);
		mem_free(p->unit[k].piece);
	}
	mem_free(p->unit);
	mem_free(p->hand);
}

int pipe_run(const struct pipe_options *o)
{
	struct pipe p = { .o = o, .c = o->c };
	pthread_mutex_init(&p.lock, NULL);
	pthread_mutex_init(&p.reading, NULL);
	pthread_cond_init(&p.changed, NULL);
	int rc = open_pipe(&p);
	if (rc == 0)
		rc = run(&p);
	close_pipe(&p);
	pthread_cond_destroy(&p.changed);
	pthread_mutex_destroy(&p.reading);
	pthread_mutex_destroy(&p.lock);
	return rc;
}
