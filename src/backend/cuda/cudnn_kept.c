/* SPDX-License-Identifier: BSD-3-Clause */
#include "backend/cuda/cudnn_kept.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"

/* The first line. */
static void put_key(struct buf *b, const struct cudnn_kept_key *k)
{
	buf_printf(b, "dlx engine 1\t%s\t%s\t%s\t%s\n", k->problem, k->device, k->library, k->engine);
}

static char *path_of(const char *folder, const char *key)
{
	char name[32];
	snprintf(name, sizeof name, "%016" PRIx64 ".json", hash_name(key));
	return io_join(folder, name);
}

#define HASH_LINE 17           /* hexadecimal digits and the end of the line */

static bool whole(const struct buf *file, const struct buf *key)
{
	const size_t head = key->len + HASH_LINE;
	char hash[HASH_LINE + 1];
	if (file->len <= head || memcmp(file->data, key->data, key->len) != 0)
		return false;
	snprintf(hash, sizeof hash, "%016" PRIx64 "\n",
	         hash_bytes(file->data + head, file->len - head, 0));
	return memcmp(file->data + key->len, hash, HASH_LINE) == 0;
}

bool cudnn_kept_read(const char *folder, const struct cudnn_kept_key *k, struct buf *out)
{
	struct buf key = BUF_INIT, file = BUF_INIT;
	int mark = err_count();
	put_key(&key, k);
	char *path = path_of(folder, key.data);
	bool found = io_exists(path) && io_read_text(path, &file) == 0 && whole(&file, &key);
	buf_clear(out);
	if (found)
		buf_add(out, file.data + key.len + HASH_LINE, file.len - key.len - HASH_LINE);
	err_truncate(mark);
	mem_free(path);
	buf_release(&key);
	buf_release(&file);
	return found;
}

/* The user makes the folders above it, and the code that
 * writes the wisdom file reports if they are missing. */
static bool has_place(const char *folder)
{
	return mkdir(folder, 0777) == 0 || errno != ENOENT;
}

void cudnn_kept_write(const char *folder, const struct cudnn_kept_key *k, const struct buf *content)
{
	static bool reported;
	struct buf text = BUF_INIT;
	int mark = err_count();
	put_key(&text, k);
	char *path = path_of(folder, text.data);
	buf_printf(&text, "%016" PRIx64 "\n", hash_bytes(content->data, content->len, 0));
	buf_add(&text, content->data, content->len);
	if (has_place(folder) && io_write_file(path, text.data, text.len) < 0 && !reported) {
		reported = true;
		warn("what cuDNN compiled is not kept: %s", err_get(mark)->text);
	}
	err_truncate(mark);
	mem_free(path);
	buf_release(&text);
}
