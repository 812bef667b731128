/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A record as JSON. */
#include "data-tools/inspect/inspect.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/utf8.h"

/* The record's own JSON on one line. What is not visible is in strings, where it may be
 * escaped, but for newlines and the like, which never do. */
static void add_description(struct buf *out, const char *text, size_t len)
{
	struct buf copy = BUF_INIT;
	buf_add(&copy, text, len);
	for (const char *p = copy.data; *p;) {
		const int n = utf8_length(p);

		if (utf8_visible(p, n))
			buf_add(out, p, (size_t)n);
		else if (n == 1 && *p < 0x20)
			buf_putc(out, ' ');
		else
			buf_json_escape(out, p, n);
		p += n ? n : 1;
	}
	buf_release(&copy);
}

static void add_chunk(struct buf *b, const struct record *r, const struct record_chunk *c)
{
	static const char *const codecs[RECORD_CODECS] = { "raw", "zstd", "planes" };
	buf_printf(b, "{\"offset\": %" PRIu64 ", \"stored\": %" PRIu64 ", \"raw\": %" PRIu64
	           ", \"codec\": \"%s\", \"hash\": \"%016" PRIx64 "\"", c->offset, c->stored, c->raw,
	           codecs[c->codec], c->hash);
	if (c->array >= 0) {
		buf_puts(b, ", \"array\": ");
		buf_json_string(b, record_array_name(record_info(r), c->array));
	}
	buf_putc(b, '}');
}

static void add_sample(struct buf *b, const struct record *r, int64_t i)
{
	const char *key = record_key(r, i), *group = record_group(r, i);
	buf_printf(b, "{\"size\": %d", record_size_of(r, i));
	if (key) {
		buf_puts(b, ", \"key\": ");
		buf_json_string(b, key);
	}
	if (group) {
		buf_puts(b, ", \"group\": ");
		buf_json_string(b, group);
	}
	buf_puts(b, ", \"chunks\": [");
	for (int64_t k = 0; k < record_chunks(r, i); k++) {
		const struct record_chunk c = record_chunk_get(r, i, k);

		buf_puts(b, k ? ", " : "");
		add_chunk(b, r, &c);
	}
	buf_puts(b, "]}");
}

void inspect_json(const struct record *r, bool verified)
{
	struct buf b = BUF_INIT;
	const int64_t n = record_info(r)->samples;
	size_t len;
	const char *text = record_description(r, &len);
	buf_puts(&b, "{\"file\": ");
	buf_json_string(&b, record_path(r));
	buf_printf(&b,
	           ", \"version\": %d, \"bytes\": %" PRIu64 ", \"hash\": \"%016" PRIx64
	           "\", \"verified\": %s, "
	           "\"description\": ",
	           RECORD_VERSION, record_file_bytes(r), record_hash(r), verified ? "true" : "null");
	add_description(&b, text, len);
	buf_puts(&b, ", \"index\": [");
	for (int64_t i = 0; i < n; i++) {
		buf_puts(&b, i ? ", " : "");
		add_sample(&b, r, i);
	}
	buf_puts(&b, "]}\n");
	fputs(b.data, stdout);
	buf_release(&b);
}
