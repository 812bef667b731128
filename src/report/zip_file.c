/* SPDX-License-Identifier: BSD-3-Clause
 *
 * PKWARE's APPNOTE 6.3, as far as stored members need it. Times are those of the format's first
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

/* Where the member begins, or the directory, takes 64 bits. */
static bool is_far(uint64_t at)
{
	return at >= NONE32;
}

/* What local and central headers have in common, up to the length of the name. */
static void put_member(struct buf *b, const struct zip_file *z, uint32_t crc, size_t extra)
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
	put(b, extra ? extra + 4 : 0, 2);
}

/* extra: bytes of 64-bit numbers, of which the first two are sizes if these are large. */
static void put_extra(struct buf *b, const struct zip_file *z, size_t extra)
{
	buf_puts(b, z->name);
	if (!extra)
		return;
	put(b, 1, 2);
	put(b, extra, 2);
	if (large(z)) {
		put(b, z->size, 8);
		put(b, z->size, 8);
	}
	if (extra % 16)
		put(b, z->at, 8);
}

static int write_all(struct zip_file *z, struct buf *b)
{
	int rc = io_write(z->file, b->data, b->len);
	buf_release(b);
	return rc;
}

int zip_begin(struct zip_file *z)
{
	const size_t extra = large(z) ? 16 : 0;
	struct buf b = BUF_INIT;
	if (!z->directory.data)
		buf_init(&z->directory);
	z->written = 0;
	z->crc = 0;
	z->at = io_tell(z->file);
	put(&b, LOCAL, 4);
	put_member(&b, z, 0, extra);
	put_extra(&b, z, extra);
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

/* Where the directory is, and how much is in it, beyond what the record of 32 bits holds. */
static void put_end64(struct buf *b, const struct zip_file *z, uint64_t directory)
{
	const uint64_t bytes = z->directory.len;
	put(b, END64, 4);
	put(b, 44, 8);
	put(b, 45, 2);
	put(b, 45, 2);
	put(b, 0, 4);
	put(b, 0, 4);
	put(b, z->members, 8);
	put(b, z->members, 8);
	put(b, bytes, 8);
	put(b, directory, 8);
	put(b, LOCATOR64, 4);
	put(b, 0, 4);
	put(b, directory + bytes, 8);
	put(b, 1, 4);
}

static void put_end(struct buf *b, const struct zip_file *z, uint64_t directory)
{
	const uint64_t bytes = z->directory.len;
	const bool far = is_far(directory), many = z->members >= UINT16_MAX;
	if (far || many || is_far(bytes))
		put_end64(b, z, directory);
	put(b, END, 4);
	put(b, 0, 2);
	put(b, 0, 2);
	put(b, many ? UINT16_MAX : z->members, 2);
	put(b, many ? UINT16_MAX : z->members, 2);
	put(b, is_far(bytes) ? NONE32 : bytes, 4);
	put(b, far ? NONE32 : directory, 4);
	put(b, 0, 2);
}

int zip_end_member(struct zip_file *z)
{
	const size_t extra = (large(z) ? 16 : 0) + (is_far(z->at) ? 8 : 0);
	struct buf b = BUF_INIT, *d = &z->directory;
	BUG_IF(z->written != z->size, "%llu bytes of an archive's %llu",
	       (unsigned long long)z->written, (unsigned long long)z->size);
	put(&b, DESCRIPTOR, 4);
	put(&b, z->crc, 4);
	put(&b, z->size, large(z) ? 8 : 4);
	put(&b, z->size, large(z) ? 8 : 4);
	put(d, CENTRAL, 4);
	put(d, 45, 2);               /* made by, of no system in particular */
	put_member(d, z, z->crc, extra);
	put(d, 0, 2);                /* no comment */
	put(d, 0, 2);
	put(d, 0, 2);
	put(d, 0, 4);
	put(d, is_far(z->at) ? NONE32 : z->at, 4);
	put_extra(d, z, extra);
	z->members++;
	z->name = NULL;
	return write_all(z, &b);
}

int zip_end(struct zip_file *z)
{
	struct buf b = BUF_INIT;
	int rc = z->name ? zip_end_member(z) : 0;
	if (rc == 0) {
		put_end(&b, z, io_tell(z->file));
		rc = io_write(z->file, z->directory.data, z->directory.len);
	}
	if (rc == 0)
		rc = write_all(z, &b);
	buf_release(&b);
	zip_release(z);
	return rc;
}

void zip_release(struct zip_file *z)
{
	if (z->directory.data)
		buf_release(&z->directory);
}
