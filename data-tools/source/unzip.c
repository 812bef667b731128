/* SPDX-License-Identifier: BSD-3-Clause */
#include "data-tools/source/unzip.h"

#include <string.h>

#include "base/err.h"
#include "base/io_reader.h"
#include "base/mem.h"
#include "data-tools/source/little.h"

#define END 22               /* bytes of the record at the archive's end */
#define END64 56
#define COMMENT_MOST 65535   /* bytes that may follow it */
#define DIRECTORY_MOST ((uint64_t)1 << 28)

static int bad(const struct unzip *z, const char *what)
{
	return ERR(E_DATA, NULL, "'%s': %s", z->path, what);
}

void unzip_release(struct unzip *z)
{
	for (int i = 0; i < z->n; i++)
		mem_free(z->member[i].name);
	mem_free(z->member);
}

/* 64-bit sizes are in an extra field where the 32-bit ones are all ones. */
static void zip64(struct unzip_member *m, const uint8_t *extra, size_t n)
{
	while (n >= 4) {
		const size_t len = (size_t)little(extra + 2, 2);
		const uint8_t *p = extra + 4, *end = p + (len < n - 4 ? len : n - 4);
		uint64_t *const field[] = { &m->size, &m->packed, &m->at };

		for (int i = 0; little(extra, 2) == 1 && i < 3; i++) {
			if (*field[i] != UINT32_MAX || end - p < 8)
				continue;
			*field[i] = little(p, 8);
			p += 8;
		}
		if (len > n - 4)
			return;
		extra += 4 + len;
		n -= 4 + len;
	}
}

/* One entry of the central directory at p; returns its length, 0 if it is damaged. */
static size_t read_member(struct unzip *z, const uint8_t *p, size_t n)
{
	size_t name, extra, comment;
	struct unzip_member m;
	if (n < 46 || little(p, 4) != 0x02014b50)
		return 0;
	name = (size_t)little(p + 28, 2);
	extra = (size_t)little(p + 30, 2);
	comment = (size_t)little(p + 32, 2);
	if (name + extra + comment > n - 46)
		return 0;
	m = (struct unzip_member){
		.method = (int)little(p + 10, 2), .crc = (uint32_t)little(p + 16, 4),
		.packed = little(p + 20, 4), .size = little(p + 24, 4), .at = little(p + 42, 4),
	};
	zip64(&m, p + 46 + name, extra);
	m.name = mem_calloc(1, name + 1);
	memcpy(m.name, p + 46, name);
	if (name > 4 && strcmp(m.name + name - 4, ".npy") == 0)
		m.name[name - 4] = '\0';
	z->member = mem_realloc(z->member, ((size_t)z->n + 1) * sizeof(*z->member));
	z->member[z->n++] = m;
	return 46 + name + extra + comment;
}

struct end {
	uint64_t count, directory, at;       /* members; the first byte; its own */
};

/* Archives of 4 GiB or many members have another such record. */
static int read_end64(const struct io_reader *f, uint64_t at, struct end *e)
{
	uint8_t p[END64];
	if (f->size < END64 || at > f->size - END64)
		return 0;
	TRY(io_reader_read(f, at, p, END64));
	if (little(p, 4) != 0x06064b50)
		return 0;
	e->count = little(p + 32, 8);
	e->directory = little(p + 48, 8);
	return 0;
}

/* tail: the last n bytes. */
static int find_end(const struct unzip *z, const struct io_reader *f, const uint8_t *tail, size_t n,
                    struct end *e)
{
	size_t at = n - END;
	while (little(tail + at, 4) != 0x06054b50)   /* a comment may follow it */
		if (at-- == 0)
			return bad(z, "truncated zip archive: no directory at its end");
	e->at = f->size - n + at;
	e->count = little(tail + at + 10, 2);
	e->directory = little(tail + at + 16, 4);
	if (at >= 20 && little(tail + at - 20, 4) == 0x07064b50)
		return read_end64(f, little(tail + at - 12, 8), e);
	return 0;
}

static int read_end(const struct unzip *z, const struct io_reader *f, struct end *e)
{
	const uint64_t most = END + COMMENT_MOST + 20;
	const size_t n = (size_t)(f->size < most ? f->size : most);
	uint8_t *tail;
	int rc;
	if (f->size < END)
		return bad(z, "not a zip archive");
	tail = mem_alloc(n);
	rc = io_reader_read(f, f->size - n, tail, n);
	if (rc == 0)
		rc = find_end(z, f, tail, n, e);
	mem_free(tail);
	return rc;
}

static int read_directory(struct unzip *z, const struct io_reader *f)
{
	struct end e = { 0 };
	uint8_t *p;
	int rc;
	TRY(read_end(z, f, &e));
	if (e.directory > e.at || e.at - e.directory > DIRECTORY_MOST)
		return bad(z, "damaged zip directory");
	const size_t n = (size_t)(e.at - e.directory);
	p = mem_alloc(n + 1);
	rc = io_reader_read(f, e.directory, p, n);
	for (size_t at = 0, length; rc == 0 && e.count > 0; e.count--, at += length) {
		length = read_member(z, p + at, n - at);
		if (length == 0)
			rc = bad(z, "damaged zip directory");
	}
	mem_free(p);
	return rc;
}

int unzip_open(struct unzip *z, const char *path)
{
	struct io_reader f;
	*z = (struct unzip){ .path = path };
	TRY(io_reader_open(&f, path));
	const int rc = read_directory(z, &f);
	io_reader_close(&f);
	return rc;
}

static int bad_member(const struct unzip *z, const struct unzip_member *m, const char *what)
{
	return ERR(E_DATA, NULL, "'%s', '%s': %s", z->path, m->name, what);
}

/* Where the member's bytes are: after a head of its own. */
static int find_bytes(const struct unzip *z, const struct unzip_member *m, uint64_t *at)
{
	struct io_reader f;
	uint8_t p[30] = { 0 };
	int rc;
	TRY(io_reader_open(&f, z->path));
	const uint64_t size = f.size;
	const bool there = m->at <= size && size - m->at >= sizeof p;
	rc = there ? io_reader_read(&f, m->at, p, sizeof p) : 0;
	io_reader_close(&f);
	TRY(rc);
	if (!there || little(p, 4) != 0x04034b50)
		return bad_member(z, m, "damaged zip member");
	*at = m->at + sizeof p + little(p + 26, 2) + little(p + 28, 2);
	return *at > size || m->packed > size - *at ? bad_member(z, m, "truncated zip member") : 0;
}

int unzip_open_member(const struct unzip *z, const struct unzip_member *m,
                      struct packed_file **out)
{
	const bool deflated = m->method == 8;
	uint64_t at = 0;
	TRY(find_bytes(z, m, &at));
	if (!deflated && (m->method != 0 || m->packed != m->size))
		return bad_member(z, m, "a zip method that is neither stored nor deflated");
	TRY(packed_open_part(out, z->path, at, m->packed, deflated));
	return m->size > packed_most(*out) ?
	       bad_member(z, m, "damaged zip member: impossible size") : 0;
}
