/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Uses zlib on top of an io_reader, since zlib's own file functions report neither the reason nor
 * the place of a failure. A kept state of zlib takes about 40 KiB. */
#include "data-tools/source/packed_file.h"

#include <inttypes.h>
#include <string.h>
#include <zlib.h>

#include "base/err.h"
#include "base/io_reader.h"
#include "base/mem.h"

#define STEP 65536
#define DEFLATE_MOST 1040    /* deflate packs no more than 1032 : 1 */
#define KEPT 256             /* states, of 10 MiB */
#define LEAP 262144           /* bytes that take longer to be inflated than a state to be copied */

/* A place in the bytes from which on they can be inflated. */
struct cursor {
	z_stream z;
	uint64_t next;               /* byte of the file that is read next */
	uint64_t at;                 /* bytes that were inflated */
	bool ended;                  /* the end of all was seen */
	uint64_t left;               /* when it was left, in places left */
};

struct packed_file {
	struct io_reader file;
	uint64_t from, end;          /* of the file's bytes */
	bool packed, members;        /* compressed; members of gzip may follow each other */
	struct cursor *now;          /* whose input is `in`; NULL: none yet */
	int nkept;
	struct cursor *kept[KEPT];
	uint64_t left;
	uint8_t in[STEP], skipped[STEP];
};

static bool is_packed(const uint8_t *p, size_t n)
{
	if (n < 3)
		return false;
	return (p[0] == 0x1f && p[1] == 0x8b && p[2] == 8) ||
	       ((p[0] & 15) == 8 && p[0] >> 4 <= 7 && (p[0] << 8 | p[1]) % 31 == 0);
}

int packed_open(struct packed_file **out, const char *path,
                bool (*is_plain)(const uint8_t *head, size_t n))
{
	struct packed_file *f = mem_calloc(1, sizeof *f);
	uint8_t head[16];
	int rc = io_reader_open(&f->file, path);
	const size_t n = f->file.size < sizeof head ? (size_t)f->file.size : sizeof head;
	if (rc == 0)
		rc = io_reader_read(&f->file, 0, head, n);
	f->packed = f->members = rc == 0 && !is_plain(head, n) && is_packed(head, n);
	f->end = f->file.size;
	*out = rc < 0 ? NULL : f;
	if (rc < 0)
		packed_close(f);
	return rc;
}

int packed_open_part(struct packed_file **out, const char *path, uint64_t at, uint64_t n,
                     bool deflated)
{
	struct packed_file *f = mem_calloc(1, sizeof *f);
	const int rc = io_reader_open(&f->file, path);
	f->packed = deflated;
	f->from = at;
	f->end = at + n;
	*out = rc < 0 ? NULL : f;
	if (rc < 0)
		packed_close(f);
	return rc;
}

static void cursor_free(struct cursor *c)
{
	if (!c)
		return;
	inflateEnd(&c->z);
	mem_free(c);
}

void packed_close(struct packed_file *f)
{
	if (!f)
		return;
	cursor_free(f->now);
	for (int k = 0; k < f->nkept; k++)
		cursor_free(f->kept[k]);
	io_reader_close(&f->file);
	mem_free(f);
}

uint64_t packed_size(const struct packed_file *f)
{
	return f->packed ? UINT64_MAX : f->end - f->from;
}

uint64_t packed_most(const struct packed_file *f)
{
	const uint64_t n = f->end - f->from;
	return !f->packed ? n : n > UINT64_MAX / DEFLATE_MOST ? UINT64_MAX : n * DEFLATE_MOST;
}

/* --- inflating on --- */

static int damaged(const struct packed_file *f, const char *what)
{
	TRY(io_reader_unchanged(&f->file));
	return ERR(E_DATA, NULL, "'%s': %s at byte %" PRIu64, f->file.path, what,
	           f->now->next - f->now->z.avail_in);
}

static int more_input(struct packed_file *f)
{
	struct cursor *c = f->now;
	const uint64_t left = f->end - c->next;
	const size_t n = left < STEP ? (size_t)left : STEP;
	if (c->z.avail_in > 0 || n == 0)
		return 0;
	TRY(io_reader_read(&f->file, c->next, f->in, n));
	c->next += n;
	c->z.next_in = f->in;
	c->z.avail_in = (uInt)n;
	return 0;
}

/* After a member's end: another one, or the end of the file. */
static int next_member(struct packed_file *f)
{
	if (f->members)
		TRY(more_input(f));
	f->now->ended = !f->members || f->now->z.avail_in == 0;
	if (!f->now->ended)
		inflateReset(&f->now->z);
	return 0;
}

/* Inflates up to n bytes; fewer only at the end. */
static int inflate_some(struct packed_file *f, uint8_t *out, size_t n, size_t *got)
{
	struct cursor *c = f->now;
	*got = 0;
	while (*got < n && !c->ended) {
		const size_t want = n - *got < UINT32_MAX ? n - *got : UINT32_MAX;
		int rc;

		TRY(more_input(f));
		c->z.next_out = out + *got;
		c->z.avail_out = (uInt)want;
		rc = inflate(&c->z, Z_NO_FLUSH);
		*got += want - c->z.avail_out;
		c->at += want - c->z.avail_out;
		if (rc == Z_STREAM_END)
			TRY(next_member(f));
		else if (rc == Z_BUF_ERROR)      /* all input is used, also what follows it in zlib */
			return damaged(f, "the compressed data is cut off");
		else if (rc != Z_OK)
			return damaged(f, "damaged compressed data");
	}
	return 0;
}

/* --- from place to place --- */

static int no_memory(void)
{
	return ERR(E_NOMEM, NULL, "no memory for the decompressor");
}

/* The input that was read for a cursor is another one's now. */
static void leave(struct packed_file *f, struct cursor *c)
{
	int k = f->nkept;
	c->next -= c->z.avail_in;
	c->z.avail_in = 0;
	c->left = ++f->left;
	if (k == KEPT) {
		k = 0;
		for (int i = 1; i < KEPT; i++)
			k = f->kept[i]->left < f->kept[k]->left ? i : k;
		cursor_free(f->kept[k]);
	} else {
		f->nkept++;
	}
	f->kept[k] = c;
}

static int begin(struct packed_file *f)
{
	struct cursor *c = mem_calloc(1, sizeof *c);
	f->now = c;
	c->next = f->from;
	if (inflateInit2(&c->z, f->members ? MAX_WBITS + 32 : -MAX_WBITS) == Z_OK)
		return 0;
	mem_free(c);
	f->now = NULL;
	return no_memory();
}

/* Leaves a copy of the present state where it is. */
static int leave_copy(struct packed_file *f)
{
	struct cursor *c = mem_alloc(sizeof *c);
	*c = *f->now;
	if (inflateCopy(&c->z, &f->now->z) != Z_OK) {
		mem_free(c);
		return no_memory();
	}
	leave(f, c);
	return 0;
}

/* The state that is kept nearest before byte `at`; -1: none, or the present one is nearer. */
static int nearest(const struct packed_file *f, uint64_t at)
{
	const bool ahead = f->now && f->now->at <= at;
	uint64_t best = ahead ? f->now->at : 0;
	int k = -1;
	for (int i = 0; i < f->nkept; i++) {
		const uint64_t is = f->kept[i]->at;

		if (is <= at && (is > best || (!ahead && k < 0))) {
			best = is;
			k = i;
		}
	}
	return k;
}

static int go_on_from(struct packed_file *f, uint64_t at)
{
	const int k = nearest(f, at);
	struct cursor *now = f->now;
	if (k < 0 && now && now->at <= at)
		return at - now->at > LEAP ? leave_copy(f) : 0;
	f->now = k < 0 ? NULL : f->kept[k];
	if (k >= 0)
		f->kept[k] = f->kept[--f->nkept];
	if (now)
		leave(f, now);
	return f->now ? 0 : begin(f);
}

static int skip_to(struct packed_file *f, uint64_t at)
{
	size_t got;
	TRY(go_on_from(f, at));
	while (f->now->at < at && !f->now->ended) {
		const uint64_t left = at - f->now->at;

		TRY(inflate_some(f, f->skipped, left < STEP ? (size_t)left : STEP, &got));
	}
	return 0;
}

int packed_read(struct packed_file *f, uint64_t at, void *out, size_t n, size_t *got)
{
	const uint64_t size = f->end - f->from;
	*got = 0;
	if (f->packed) {
		TRY(skip_to(f, at));
		return f->now->at == at ? inflate_some(f, out, n, got) : 0;
	}
	if (at >= size)
		return 0;
	*got = n < size - at ? n : (size_t)(size - at);
	return io_reader_read(&f->file, f->from + at, out, *got);
}

int packed_check(struct packed_file *f, uint64_t *n, uint32_t *crc)
{
	uint8_t *part = mem_alloc(STEP);
	size_t got = STEP;
	int rc = 0;
	*n = *crc = 0;
	while (rc == 0 && got == STEP) {
		rc = packed_read(f, *n, part, STEP, &got);
		*crc = (uint32_t)crc32_z(*crc, part, rc == 0 ? got : 0);
		*n += got;
	}
	mem_free(part);
	return rc;
}
