/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A kept head is a file of its own, named by the hash of the record file's path, with a hash in
 * front: what was not written to the end, or is damaged, is no head. */
#include "data/record_heads.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/mem.h"
#include "data/record_format.h"

/* Header of a cache entry. It is followed by the path, with its zero byte, and the file's bytes
 * from `tail` on. */
struct head {
	uint64_t path_bytes, size, tail;
	uint64_t device, stamp;                /* io_stat_stamp */
	uint8_t preamble[PREAMBLE_BYTES];
};

static struct buf *noted;
static const struct buf *used;
static char *kept_prefix;
static struct buf loaded = BUF_INIT;       /* a kept head, after its hash */

void record_heads_note(struct buf *out)
{
	noted = out;
}

void record_heads_use(const struct buf *from)
{
	used = from;
}

void record_heads_keep(const char *prefix)
{
	mem_free(kept_prefix);
	kept_prefix = prefix ? mem_strdup(prefix) : NULL;
	buf_release(&loaded);
}

static void describe(struct head *h, const char *path, const struct stat *st, uint64_t tail)
{
	*h = (struct head){ strlen(path) + 1, (uint64_t)st->st_size, tail, (uint64_t)st->st_dev,
		io_stat_stamp(st), { 0 } };
}

static size_t bytes_of(const struct head *h)
{
	return sizeof *h + h->path_bytes + (h->size - h->tail);
}

/* --- kept --- */

/* The file that keeps the head of path; NULL: none. To be freed. */
static char *kept_name(const char *path)
{
	char *whole = kept_prefix ? realpath(path, NULL) : NULL;
	struct buf name = BUF_INIT;
	if (!whole)
		return NULL;
	buf_printf(&name, "%s%016" PRIx64, kept_prefix, hash_name(whole));
	free(whole);
	return buf_detach(&name);
}

static void keep(const char *path, const struct buf *entry)
{
	char *name = kept_name(path);
	const int fd = name ? io_open(name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600) : -1;
	const int mark = err_count();
	uint64_t hash = hash_bytes(entry->data, entry->len, 0);
	if (fd >= 0 && io_append(fd, name, &hash, sizeof hash) == 0)
		io_append(fd, name, entry->data, entry->len);
	err_truncate(mark);
	if (fd >= 0)
		close(fd);
	mem_free(name);
}

/* Whether `loaded` is a complete entry for the current version of this file. */
static bool fits(const char *path, const struct stat *st)
{
	struct head h, now;
	uint64_t hash;
	if (loaded.len < sizeof hash + sizeof h)
		return false;
	memcpy(&hash, loaded.data, sizeof hash);
	memcpy(&h, loaded.data + sizeof hash, sizeof h);
	describe(&now, path, st, h.tail);
	return hash == hash_bytes(loaded.data + sizeof hash, loaded.len - sizeof hash, 0) &&
	       loaded.len == sizeof hash + bytes_of(&h) && h.size == now.size &&
	       h.device == now.device && h.stamp == now.stamp;
}

/* A file of another user is not trusted. */
static const char *load(const char *path, const struct stat *st)
{
	char *name = kept_name(path);
	const int mark = err_count();
	struct stat of;
	buf_clear(&loaded);
	if (name && lstat(name, &of) == 0 && S_ISREG(of.st_mode) && of.st_uid == geteuid())
		io_read_file(name, &loaded);
	err_truncate(mark);
	mem_free(name);
	return fits(path, st) ? loaded.data + sizeof(uint64_t) : NULL;
}

/* --- for record_open --- */

void record_head_note(const char *path, const struct stat *st, const uint8_t *preamble,
                      const uint8_t *tail, uint64_t at)
{
	struct buf entry = BUF_INIT;
	struct head h;
	if (!noted && !kept_prefix)
		return;
	describe(&h, path, st, at);
	memcpy(h.preamble, preamble, sizeof h.preamble);
	buf_add(&entry, &h, sizeof h);
	buf_add(&entry, path, h.path_bytes);
	buf_add(&entry, tail, h.size - at);
	if (noted)
		buf_add(noted, entry.data, entry.len);
	if (kept_prefix && !fits(path, st))
		keep(path, &entry);
	buf_release(&entry);
}

const char *record_head_find(const char *path, const struct stat *st)
{
	struct head h;
	for (size_t at = 0; used && at < used->len; at += bytes_of(&h)) {
		memcpy(&h, used->data + at, sizeof h);
		if (h.size == (uint64_t)st->st_size && strcmp(used->data + at + sizeof h, path) == 0)
			return used->data + at;
	}
	return load(path, st);
}

bool record_head_read(const char *head, uint64_t at, void *p, size_t n)
{
	struct head h;
	memcpy(&h, head, sizeof h);
	if (at + n <= sizeof h.preamble)
		memcpy(p, h.preamble + at, n);
	else if (at >= h.tail && n <= h.size - at)
		memcpy(p, head + sizeof h + h.path_bytes + (at - h.tail), n);
	else
		return false;
	return true;
}
