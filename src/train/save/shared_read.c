/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For each version that it tries, rank 0 sends the other ranks a list of chunks to read; at the end
 * it sends a notice that it is done. Chunks are sent by broadcasts, those of one reader in
 * sequence. */
#include "train/save/shared_read.h"

#include <string.h>

#include "base/debug.h"
#include "base/err.h"
#include "base/mem.h"

#define SHARE_LEAST (INT64_C(16) << 20)    /* bytes: less is not worth looking for packs */
#define PIECE ((size_t)4 << 20)            /* of a broadcast; no chunk is larger */
#define WHAT "a share of the checkpoint"

struct task {
	int64_t n;                 /* chunks; -1: there is nothing more to read */
	int64_t root;              /* bytes of the store's path */
	int readers;
};

struct order {                     /* a chunk, as rank 0 sends it */
	struct hash128 address;
	uint64_t n;
};

static int64_t bytes_of(const struct ckpt_chunk *chunk, int64_t n)
{
	int64_t bytes = 0;
	for (int64_t i = 0; i < n; i++)
		bytes += (int64_t)chunk[i].n;
	return bytes;
}

static int readers_of(const struct comm *c, const struct ckpt_chunk *chunk, int64_t n)
{
	const int64_t least = debug.read_share ? debug.read_share : SHARE_LEAST;
	const int64_t most = bytes_of(chunk, n) / least;
	return most < 1 ? 1 : most < c->size ? (int)most : c->size;
}

/* Readers are spread over the ranks, and so over the hosts; the first is rank 0. */
static int rank_of(const struct comm *c, int reader, int readers)
{
	return (int)((int64_t)reader * c->size / readers);
}

/* --- reading --- */

/* Room for the chunks of this rank, which rank 0 has already. */
static char *make_room(const struct comm *c, struct ckpt_chunk *const *mine, int64_t n)
{
	size_t bytes = 1;
	if (c->rank == 0)
		return NULL;
	for (int64_t i = 0; i < n; i++)
		bytes += mine[i]->n;
	char *room = mem_alloc(bytes), *at = room;
	for (int64_t i = 0; i < n; i++) {
		mine[i]->to = at;
		at += mine[i]->n;
	}
	return room;
}

/* This rank's chunks of n; returns the room that they are in, or NULL. */
static char *read_mine(const struct comm *c, const char *root, struct ckpt_chunk *chunk, int64_t n,
                       int readers)
{
	struct ckpt_chunk **mine = mem_calloc((size_t)n + 1, sizeof(struct ckpt_chunk *));
	int64_t nmine = 0;
	for (int64_t i = 0; i < n; i++)
		if (rank_of(c, (int)(i % readers), readers) == c->rank)
			mine[nmine++] = &chunk[i];
	char *room = make_room(c, mine, nmine);
	ckpt_read_chunks(root, mine, nmine);
	mem_free(mine);
	return room;
}

/* All ranks learn which chunks their readers have. */
static void tell_read(struct comm *c, struct ckpt_chunk *chunk, int64_t n)
{
	double *have = mem_alloc((size_t)(n + 1) * sizeof *have);
	for (int64_t i = 0; i < n; i++)
		have[i] = chunk[i].read;
	comm_max(c, have, n, WHAT);
	for (int64_t i = 0; i < n; i++)
		chunk[i].read = have[i] > 0;
	mem_free(have);
}

/* --- exchange --- */

/* Chunks of one reader that go into one broadcast. */
struct piece {
	char *bytes;
	size_t n;
	int64_t first, end;        /* every `readers`th of these */
};

static void copy_piece(struct ckpt_chunk *chunk, const struct piece *p, int readers, bool out)
{
	size_t at = 0;
	for (int64_t i = p->first; i < p->end; i += readers)
		if (chunk[i].read) {
			char *in_piece = p->bytes + at;
			memcpy(out ? chunk[i].to : in_piece, out ? in_piece : chunk[i].to, chunk[i].n);
			at += chunk[i].n;
		}
}

static void send_piece(struct comm *c, struct ckpt_chunk *chunk, struct piece *p, int from,
                       int readers)
{
	if (c->rank == from)
		copy_piece(chunk, p, readers, false);
	comm_broadcast(c, p->bytes, p->n, from, WHAT);
	if (c->rank == 0)
		copy_piece(chunk, p, readers, true);
}

/* What reader k has read, to rank 0. */
static void send_share(struct comm *c, struct ckpt_chunk *chunk, int64_t n, int k, int readers)
{
	struct piece p = { mem_alloc(PIECE), 0, k, k };
	for (int64_t i = k; i < n; i += readers) {
		const size_t more = chunk[i].read ? chunk[i].n : 0;
		BUG_IF(more > PIECE, "a chunk of %zu bytes", more);
		if (p.n + more > PIECE) {
			send_piece(c, chunk, &p, rank_of(c, k, readers), readers);
			p.n = 0;
			p.first = i;
		}
		p.n += more;
		p.end = i + readers;
	}
	if (p.n)
		send_piece(c, chunk, &p, rank_of(c, k, readers), readers);
	mem_free(p.bytes);
}

/* On all ranks: `to` is set on rank 0 alone. */
static void read_together(struct comm *c, const char *root, struct ckpt_chunk *chunk, int64_t n,
                          int readers)
{
	char *room = read_mine(c, root, chunk, n, readers);
	tell_read(c, chunk, n);
	for (int k = 1; k < readers; k++)
		send_share(c, chunk, n, k, readers);
	mem_free(room);
}

/* --- the two sides --- */

static void help(void *arg, const char *root, struct ckpt_chunk *chunk, int64_t n)
{
	struct comm *c = arg;
	struct task task = { n, (int64_t)strlen(root) + 1, readers_of(c, chunk, n) };
	if (task.readers == 1)
		return;
	struct order *order = mem_calloc((size_t)n, sizeof *order);
	for (int64_t i = 0; i < n; i++)
		order[i] = (struct order){ chunk[i].address, chunk[i].n };
	char *path = mem_strdup(root);
	comm_broadcast(c, &task, sizeof task, 0, WHAT);
	comm_broadcast(c, path, (size_t)task.root, 0, WHAT);
	comm_broadcast(c, order, (size_t)n * sizeof *order, 0, WHAT);
	mem_free(path);
	mem_free(order);
	read_together(c, root, chunk, n, task.readers);
}

static bool serve_once(struct comm *c)
{
	struct task task;
	comm_broadcast(c, &task, sizeof task, 0, WHAT);
	if (task.n < 0)
		return false;
	char *root = mem_alloc((size_t)task.root);
	struct order *order = mem_calloc((size_t)task.n, sizeof *order);
	struct ckpt_chunk *chunk = mem_calloc((size_t)task.n, sizeof *chunk);
	comm_broadcast(c, root, (size_t)task.root, 0, WHAT);
	comm_broadcast(c, order, (size_t)task.n * sizeof *order, 0, WHAT);
	for (int64_t i = 0; i < task.n; i++)
		chunk[i] = (struct ckpt_chunk){ order[i].address, (size_t)order[i].n };
	read_together(c, root, chunk, task.n, task.readers);
	mem_free(chunk);
	mem_free(order);
	mem_free(root);
	return true;
}

int shared_read(struct ckpt_version **out, struct comm *comm, const char *dir, const char *which)
{
	const struct ckpt_helper helper = { help, comm };
	*out = NULL;
	if (!comm_many(comm))
		return ckpt_load(out, dir, which);
	if (comm->rank > 0) {
		while (serve_once(comm))
			;
		return 0;
	}
	const int rc = ckpt_load_helped(out, dir, which, &helper);
	struct task done = { .n = -1 };
	comm_broadcast(comm, &done, sizeof done, 0, WHAT);
	return rc;
}
