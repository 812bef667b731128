/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An entry has its kind, the number of bytes of its content, the content, and a hash of these. An
 * entry that a power failure has truncated ends the list. Only the same version of the program, on
 * the same kind of machine, reads a journal, which the hash of the conversion ensures. */
#include "data-tools/convert/convert_journal.h"

#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/mem.h"

#define SUFFIX ".journal"
#define MAGIC UINT64_C(0x314c4e524a584c44)     /* "DLXJRNL1" */
#define FLUSH 4096                             /* bytes of entries that are held back */
#define FLUSH_CHUNKS ((uint64_t)256 << 10)     /* but none of this many bytes */

enum { ENTRY_FILE = 1, ENTRY_SAMPLE };

struct header {
	uint64_t magic, what;
};

struct head {                      /* of an entry; its content and a hash follow */
	uint64_t kind, bytes;
};

struct journal {
	struct io_file *file;
	bool keep;
	struct buf there;              /* what was there */
	size_t at;                     /* of the next entry in it */
	struct buf entries;            /* not yet written */
	struct record_chunk *chunks;
};

static uint64_t hash_of(const struct head *h, const void *content)
{
	return hash_bytes(content, h->bytes, hash_bytes(h, sizeof *h, 0));
}

/* The entry at byte *at, which moves past it; NULL: there is none that is whole. */
static const char *next_entry(const struct buf *b, size_t *at, struct head *h)
{
	const size_t left = b->len - *at;
	uint64_t hash;
	if (left < sizeof *h + sizeof hash)
		return NULL;
	memcpy(h, b->data + *at, sizeof *h);
	if (h->bytes > left - sizeof *h - sizeof hash)
		return NULL;
	const char *content = b->data + *at + sizeof *h;
	memcpy(&hash, content + h->bytes, sizeof hash);
	if (hash != hash_of(h, content))
		return NULL;
	*at += sizeof *h + h->bytes + sizeof hash;
	return content;
}

/* --- opening --- */

static void remove_parts(const struct buf *there)
{
	size_t at = sizeof(struct header);
	struct head h;
	const char *content;
	while (there->len >= sizeof(struct header) && (content = next_entry(there, &at, &h))) {
		struct buf path = BUF_INIT;

		if (h.kind == ENTRY_FILE && h.bytes > 0 && content[h.bytes - 1] == '\0') {
			buf_printf(&path, "%s.part", content);
			unlink(path.data);
		}
		buf_release(&path);
	}
}

static int read_there(struct journal *j)
{
	const int mark = err_count();
	if (io_read_file(io_temporary(j->file), &j->there) < 0)
		err_truncate(mark);
	return 0;
}

static int take_over(struct journal *j, const char *output, uint64_t what)
{
	struct header h = { 0 };
	if (j->there.len >= sizeof h)
		memcpy(&h, j->there.data, sizeof h);
	if (j->there.len > 0 && (h.magic != MAGIC || h.what != what))
		return ERR(E_USAGE, NULL, "--resume: '%s" SUFFIX "' is of a conversion with other options "
		           "or of sources that have changed since; without --resume it begins anew",
		           output);
	if (j->there.len > 0)
		return 0;
	return io_write(j->file, &(struct header){ MAGIC, what }, sizeof h);
}

static int begin_anew(struct journal *j, uint64_t what)
{
	remove_parts(&j->there);
	buf_clear(&j->there);
	TRY(io_cut(j->file, 0));
	return io_write(j->file, &(struct header){ MAGIC, what }, sizeof(struct header));
}

int journal_open(struct journal **out, const char *output, uint64_t what, bool resume)
{
	struct journal *j = mem_calloc(1, sizeof *j);
	int rc = io_create_named(&j->file, output, SUFFIX, true);
	*out = NULL;
	if (rc < 0) {
		mem_free(j);
		return rc;
	}
	io_keep(j->file, true);        /* also where it turns out to be another's */
	rc = read_there(j);
	if (rc == 0)
		rc = resume ? take_over(j, output, what) : begin_anew(j, what);
	if (rc == 0) {
		j->keep = resume;
		io_keep(j->file, resume);
		journal_rewind(j);
		*out = j;
		return 0;
	}
	journal_close(j, rc);
	return rc;
}

static int flush(struct journal *j)
{
	const int rc = j->entries.len ? io_write(j->file, j->entries.data, j->entries.len) : 0;
	buf_clear(&j->entries);
	return rc;
}

void journal_close(struct journal *j, int rc)
{
	const int mark = err_count();
	if (!j)
		return;
	if (rc < 0 && j->keep && flush(j) < 0)
		err_truncate(mark);        /* there is an error already */
	if (rc == 0)
		io_keep(j->file, false);
	io_discard(j->file);
	buf_release(&j->there);
	buf_release(&j->entries);
	mem_free(j->chunks);
	mem_free(j);
}

void journal_forget(const char *output)
{
	struct buf name = BUF_INIT, there = BUF_INIT;
	const int mark = err_count();
	buf_printf(&name, "%s" SUFFIX, output);
	if (io_is_regular(name.data) && io_read_file(name.data, &there) == 0) {
		remove_parts(&there);
		unlink(name.data);
	}
	err_truncate(mark);
	buf_release(&name);
	buf_release(&there);
}

/* --- what was there --- */

void journal_rewind(struct journal *j)
{
	j->at = sizeof(struct header);
}

bool journal_next(struct journal *j, struct journal_sample *out,
                  const struct record_chunk **chunks)
{
	const char *content;
	struct head h;
	do {
		content = j->at < j->there.len ? next_entry(&j->there, &j->at, &h) : NULL;
	} while (content && h.kind == ENTRY_FILE);
	if (!content || h.bytes < sizeof *out)
		return false;
	memcpy(out, content, sizeof *out);
	const uint64_t bytes = h.bytes - sizeof *out;
	if (out->nchunks < 0 || bytes / sizeof **chunks != (uint64_t)out->nchunks)
		return false;
	j->chunks = mem_realloc(j->chunks, bytes + 1);
	memcpy(j->chunks, content + sizeof *out, bytes);
	*chunks = j->chunks;
	return true;
}

int journal_cut(struct journal *j, int64_t n)
{
	const struct record_chunk *chunks;
	struct journal_sample s;
	journal_rewind(j);
	for (int64_t i = 0; i < n; i++)
		if (!journal_next(j, &s, &chunks))
			break;
	if (j->there.len == 0)
		return 0;
	/* files that were begun later are named again when they begin again */
	TRY(io_cut(j->file, j->at));
	j->there.len = j->at;
	return 0;
}

/* --- what is new --- */

static void add(struct journal *j, uint64_t kind, const void *p, size_t n, const void *q, size_t m)
{
	const struct head h = { kind, n + m };
	const size_t at = j->entries.len;
	buf_add(&j->entries, &h, sizeof h);
	buf_add(&j->entries, p, n);
	if (m)
		buf_add(&j->entries, q, m);
	const uint64_t hash = hash_of(&h, j->entries.data + at + sizeof h);
	buf_add(&j->entries, &hash, sizeof hash);
}

int journal_add_file(struct journal *j, const char *path)
{
	add(j, ENTRY_FILE, path, strlen(path) + 1, NULL, 0);
	return flush(j);
}

int journal_add(struct journal *j, const struct journal_sample *s,
                const struct record_chunk *chunks)
{
	uint64_t bytes = 0;
	for (int64_t k = 0; k < s->nchunks; k++)
		bytes += chunks[k].stored;
	add(j, ENTRY_SAMPLE, s, sizeof *s, chunks, (size_t)s->nchunks * sizeof *chunks);
	return j->entries.len >= FLUSH || bytes >= FLUSH_CHUNKS ? flush(j) : 0;
}
