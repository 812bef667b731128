/* SPDX-License-Identifier: BSD-3-Clause
 *
 * zlib over an io_reader: its own files would tell neither reason nor place of a failure. */
#include "packed_file.h"

#include <inttypes.h>
#include <string.h>
#include <zlib.h>

#include "base/err.h"
#include "base/io_reader.h"
#include "base/mem.h"

#define STEP 65536

struct packed_file {
	struct io_reader file;
	bool packed;
	bool ended;                  /* the last member's end was seen */
	z_stream z;
	uint64_t next;               /* byte of the file that is read next */
	uint64_t at;                 /* bytes that were inflated */
	uint8_t in[STEP];
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
	*out = f;
	if (rc == 0)
		rc = io_reader_read(&f->file, 0, head, n);
	f->packed = rc == 0 && !is_plain(head, n) && is_packed(head, n);
	if (f->packed && inflateInit2(&f->z, MAX_WBITS + 32) != Z_OK) {
		f->packed = false;
		rc = ERR(E_NOMEM, NULL, "no memory for the decompressor");
	}
	if (rc < 0) {
		packed_close(f);
		*out = NULL;
	}
	return rc;
}

void packed_close(struct packed_file *f)
{
	if (!f)
		return;
	if (f->packed)
		inflateEnd(&f->z);
	io_reader_close(&f->file);
	mem_free(f);
}

uint64_t packed_size(const struct packed_file *f)
{
	return f->packed ? UINT64_MAX : f->file.size;
}

static void rewind_packed(struct packed_file *f)
{
	inflateReset(&f->z);
	f->z.avail_in = 0;
	f->next = f->at = 0;
	f->ended = false;
}

static int damaged(const struct packed_file *f, const char *what)
{
	TRY(io_reader_unchanged(&f->file));
	return ERR(E_DATA, NULL, "'%s': %s at byte %" PRIu64, f->file.path, what,
	           f->next - f->z.avail_in);
}

static int more_input(struct packed_file *f)
{
	const uint64_t left = f->file.size - f->next;
	const size_t n = left < STEP ? (size_t)left : STEP;
	if (f->z.avail_in > 0 || n == 0)
		return 0;
	TRY(io_reader_read(&f->file, f->next, f->in, n));
	f->next += n;
	f->z.next_in = f->in;
	f->z.avail_in = (uInt)n;
	return 0;
}

/* Behind a member's end: another one, or the end of all. */
static int next_member(struct packed_file *f)
{
	TRY(more_input(f));
	f->ended = f->z.avail_in == 0;
	if (!f->ended)
		inflateReset(&f->z);
	return 0;
}

/* Inflates up to n bytes; fewer only at the end. */
static int inflate_some(struct packed_file *f, uint8_t *out, size_t n, size_t *got)
{
	*got = 0;
	while (*got < n && !f->ended) {
		const size_t want = n - *got < UINT32_MAX ? n - *got : UINT32_MAX;
		int rc;

		TRY(more_input(f));
		if (f->z.avail_in == 0)
			return damaged(f, "the compressed data is cut off");
		f->z.next_out = out + *got;
		f->z.avail_out = (uInt)want;
		rc = inflate(&f->z, Z_NO_FLUSH);
		*got += want - f->z.avail_out;
		f->at += want - f->z.avail_out;
		if (rc == Z_STREAM_END)
			TRY(next_member(f));
		else if (rc != Z_OK)
			return damaged(f, "damaged compressed data");
	}
	return 0;
}

static int skip_to(struct packed_file *f, uint64_t at)
{
	uint8_t *scratch;
	int rc = 0;
	if (at < f->at)
		rewind_packed(f);
	if (at == f->at)
		return 0;
	scratch = mem_alloc(STEP);
	while (rc == 0 && f->at < at && !f->ended) {
		size_t got;

		rc = inflate_some(f, scratch, at - f->at < STEP ? (size_t)(at - f->at) : STEP, &got);
	}
	mem_free(scratch);
	return rc;
}

int packed_read(struct packed_file *f, uint64_t at, void *out, size_t n, size_t *got)
{
	*got = 0;
	if (f->packed) {
		TRY(skip_to(f, at));
		return f->at == at ? inflate_some(f, out, n, got) : 0;
	}
	if (at >= f->file.size)
		return 0;
	*got = n < f->file.size - at ? n : (size_t)(f->file.size - at);
	return io_reader_read(&f->file, at, out, *got);
}
