/* SPDX-License-Identifier: BSD-3-Clause
 *
 * PKWARE's APPNOTE 6.3, as far as one stored member needs it. Times are those of the format's first
 * day, so that the same predictions are the same bytes. */
#include "report/zip_file.h"

#include <string.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/err.h"

#define LOCAL 0x04034b50
#define DESCRIPTOR 0x08074b50
#define CENTRAL 0x02014b50
#define END 0x06054b50
#define END64 0x06064b50
#define LOCATOR64 0x07064b50
#define AT_END (1 << 3)          /* flag: CRC and sizes follow the member */
#define FIRST_DAY 0x21
#define NONE32 UINT32_MAX        /* the number is in a 64-bit record */

static void put(struct buf *b, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		buf_putc(b, (char)(v >> 8 * i & 0xff));
}

/* With some room for the headers. */
static bool large(const struct zip_file *z)
{
	return z->size > UINT32_MAX - 65536;
}

/* What local and central headers have in common, up to the length of the name. */
static void put_member(struct buf *b, const struct zip_file *z, uint32_t crc)
{
	const uint32_t size = large(z) ? NONE32 : (uint32_t)z->size;
	put(b, large(z) ? 45 : 20, 2);
	put(b, AT_END, 2);
	put(b, 0, 2);                /* stored */
	put(b, 0, 2);
	put(b, FIRST_DAY, 2);
	put(b, crc, 4);
	put(b, size, 4);
	put(b, size, 4);
	put(b, strlen(z->name), 2);
	put(b, large(z) ? 20 : 0, 2);
}

static void put_extra(struct buf *b, const struct zip_file *z)
{
	buf_puts(b, z->name);
	if (!large(z))
		return;
	put(b, 1, 2);
	put(b, 16, 2);
	put(b, z->size, 8);
	put(b, z->size, 8);
}

static int write_all(struct zip_file *z, struct buf *b)
{
	int rc = io_write(z->file, b->data, b->len);
	buf_release(b);
	return rc;
}

static size_t local_bytes(const struct zip_file *z)
{
	return 30 + strlen(z->name) + (large(z) ? 20 : 0);
}

static size_t descriptor_bytes(const struct zip_file *z)
{
	return large(z) ? 24 : 16;
}

int zip_begin(struct zip_file *z)
{
	struct buf b = BUF_INIT;
	z->written = 0;
	z->crc = 0;
	put(&b, LOCAL, 4);
	put_member(&b, z, 0);
	put_extra(&b, z);
	return write_all(z, &b);
}

int zip_write(struct zip_file *z, const void *p, size_t n)
{
	const unsigned char *at = p;
	z->written += n;
	for (size_t left = n; left;) {
		const size_t part = left < 1 << 30 ? left : 1 << 30;

		z->crc = (uint32_t)crc32(z->crc, at, (uInt)part);
		at += part;
		left -= part;
	}
	return io_write(z->file, p, n);
}

/* Where the directory is, beyond 4 GiB. */
static void put_end64(struct buf *b, uint64_t directory, uint64_t bytes)
{
	put(b, END64, 4);
	put(b, 44, 8);
	put(b, 45, 2);
	put(b, 45, 2);
	put(b, 0, 4);
	put(b, 0, 4);
	put(b, 1, 8);
	put(b, 1, 8);
	put(b, bytes, 8);
	put(b, directory, 8);
	put(b, LOCATOR64, 4);
	put(b, 0, 4);
	put(b, directory + bytes, 8);
	put(b, 1, 4);
}

static void put_end(struct buf *b, const struct zip_file *z, uint64_t directory, uint64_t bytes)
{
	if (large(z))
		put_end64(b, directory, bytes);
	put(b, END, 4);
	put(b, 0, 2);
	put(b, 0, 2);
	put(b, 1, 2);
	put(b, 1, 2);
	put(b, bytes, 4);
	put(b, large(z) ? NONE32 : directory, 4);
	put(b, 0, 2);
}

int zip_end(struct zip_file *z)
{
	struct buf b = BUF_INIT;
	const uint64_t directory = local_bytes(z) + z->size + descriptor_bytes(z);
	size_t start;
	BUG_IF(z->written != z->size, "%llu bytes of an archive's %llu",
	       (unsigned long long)z->written, (unsigned long long)z->size);
	put(&b, DESCRIPTOR, 4);
	put(&b, z->crc, 4);
	put(&b, z->size, large(z) ? 8 : 4);
	put(&b, z->size, large(z) ? 8 : 4);
	start = b.len;
	put(&b, CENTRAL, 4);
	put(&b, 45, 2);              /* made by, of no system in particular */
	put_member(&b, z, z->crc);
	put(&b, 0, 2);               /* no comment */
	put(&b, 0, 2);
	put(&b, 0, 2);
	put(&b, 0, 4);
	put(&b, 0, 4);               /* the member is the first thing in the file */
	put_extra(&b, z);
	put_end(&b, z, directory, b.len - start);
	return write_all(z, &b);
}
