/* SPDX-License-Identifier: BSD-3-Clause */
#include "data/record_heads.h"

#include <string.h>

#include "data/record_format.h"

/* Behind it are the path, with its zero byte, and the file from `tail` on. */
struct head {
	uint64_t path_bytes, size, tail;
	uint8_t preamble[PREAMBLE_BYTES];
};

static struct buf *noted;
static const struct buf *used;

void record_heads_note(struct buf *out)
{
	noted = out;
}

void record_heads_use(const struct buf *from)
{
	used = from;
}

void record_head_note(const char *path, uint64_t size, const uint8_t *preamble,
                      const uint8_t *tail, uint64_t at)
{
	struct head h = { strlen(path) + 1, size, at, { 0 } };
	if (!noted)
		return;
	memcpy(h.preamble, preamble, sizeof h.preamble);
	buf_add(noted, &h, sizeof h);
	buf_add(noted, path, h.path_bytes);
	buf_add(noted, tail, size - at);
}

const char *record_head_find(const char *path, uint64_t size)
{
	struct head h;
	for (size_t at = 0; used && at < used->len;
	     at += sizeof h + h.path_bytes + (h.size - h.tail)) {
		memcpy(&h, used->data + at, sizeof h);
		if (h.size == size && strcmp(used->data + at + sizeof h, path) == 0)
			return used->data + at;
	}
	return NULL;
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
