/* SPDX-License-Identifier: BSD-3-Clause
 *
 * LMDB databases of arrays, one a key, as STEMDL wrote them: the keys that have a name and a number
 * after it are the samples of a variable, in the order of the numbers. Types and extents are
 * those of the command line, else those of STEMDL's header, which are entries too: input_name,
 * input_dtype, input_shape and the same of output. */

#include "config.h"

#include <stdio.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "data-tools/source/little.h"
#include "data-tools/source/source.h"

#define META 16                  /* bytes of a page before what it holds */
#define MAGIC 0xbeefc0deU
#define CONTENT "data.mdb"              /* of a folder, next to a file of locks */

static const char *const extensions[] = { ".mdb", ".lmdb", NULL };

/* The file of a database that is a folder, or itself one; mem_free. */
static char *file_of(const char *path)
{
	return io_is_folder(path) ? io_join(path, CONTENT) : mem_strdup(path);
}

bool source_is_lmdb(const char *path)
{
	char *file = file_of(path);
	FILE *f = fopen(file, "rb");
	uint8_t head[META + 4];
	const bool is = f && fread(head, 1, sizeof head, f) == sizeof head &&
	                little(head + META, 4) == MAGIC;
	if (f)
		fclose(f);
	mem_free(file);
	return is;
}

#ifdef HAVE_LMDB
#include <errno.h>
#include <inttypes.h>
#include <lmdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io_reader.h"
#include "data-tools/source/declared.h"
#include "data-tools/source/element.h"

#define VARIABLES_MOST 64
#define AHEAD ((size_t)1 << 17)                /* bytes that are requested from the disk at once */
#define TOUCHED_MOST ((size_t)32 << 20)        /* bytes of values, until the file is mapped anew */

struct row {
	size_t at, n;                /* of the key, in handle.keys */
	size_t digits;               /* at its end */
};

struct handle {
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi db;
	uint64_t size;               /* of the file */
	struct declared as;
	char *prefix;                /* of the keys */
	struct buf keys;
	struct row *row;
	int64_t n;
	size_t bytes;                /* of a value */
	size_t touched;              /* bytes that were read since the file was mapped */
};

static int fail(const struct source *s, int rc)
{
	return ERR(rc == ENOMEM ? E_NOMEM : E_DATA, NULL, "'%s': lmdb: %s", s->path, mdb_strerror(rc));
}

#define MDB(call)                             \
	do {                                      \
		int mdb_rc_ = (call);                 \
		if (mdb_rc_ != MDB_SUCCESS)           \
			return fail(s, mdb_rc_);          \
	} while (0)

/* --- the file --- */

#define META_END (META + 136)

/* The library maps the file, and a page beyond its end would end the process by SIGBUS: the newer
 * one of the two headers, which are its first pages, tells how many pages there are. */
static int check_file(const struct source *s, struct handle *h, const char *path)
{
	uint8_t page[2][META_END];
	struct io_reader f;
	uint64_t size = 0, last;
	int newer, rc;
	TRY(io_reader_open(&f, path));
	h->size = f.size;
	rc = f.size < META_END ? 1 : io_reader_read(&f, 0, page[0], META_END);
	if (rc == 0) {
		size = little(page[0] + META + 24, 4);
		rc = little(page[0] + META, 4) != MAGIC || size < META_END || size > 65536 ||
		     f.size < size + META_END ? 1 : io_reader_read(&f, size, page[1], META_END);
	}
	io_reader_close(&f);
	if (rc != 0)
		return rc < 0 ? rc : source_bad(s, "lmdb: no database of this kind of machine, or its "
		                                "first bytes are damaged");
	newer = little(page[1] + META, 4) == MAGIC &&
	        little(page[1] + META + 128, 8) > little(page[0] + META + 128, 8);
	last = little(page[newer] + META + 120, 8);
	if (last >= h->size / size)
		return ERR(E_DATA, NULL, "'%s': lmdb: it ends at byte %" PRIu64 ", its header (byte %"
		           PRIu64 ") tells of %" PRIu64 " pages of %" PRIu64 " bytes", path, h->size,
		           newer ? size : 0, last + 1, size);
	return 0;
}

static int open_database(const struct source *s, struct handle *h)
{
	const bool folder = io_is_folder(s->path);
	char *file = file_of(s->path);
	int rc = check_file(s, h, file);
	mem_free(file);
	TRY(rc);
	MDB(mdb_env_create(&h->env));
	MDB(mdb_env_open(h->env, s->path,
	                 MDB_RDONLY | MDB_NOLOCK | MDB_NORDAHEAD | (folder ? 0 : MDB_NOSUBDIR), 0));
	MDB(mdb_txn_begin(h->env, NULL, MDB_RDONLY, &h->txn));
	MDB(mdb_dbi_open(h->txn, NULL, 0, &h->db));
	return 0;
}

/* Whether an entry fits in the file: a damaged length may be any number. */
static bool within(const struct handle *h, const MDB_val *v)
{
	return v->mv_size <= h->size;
}

static bool get(const struct handle *h, const char *key, MDB_val *out)
{
	MDB_val k = { .mv_size = strlen(key), .mv_data = (void *)(uintptr_t)key };

	return mdb_get(h->txn, h->db, &k, out) == MDB_SUCCESS && within(h, out);
}

/* --- variables --- */

struct variable {
	char *prefix, *name;         /* of the keys; without the mark at its end */
};

static size_t count_digits(const char *key, size_t n)
{
	size_t digits = 0;
	while (digits < n && key[n - 1 - digits] >= '0' && key[n - 1 - digits] <= '9')
		digits++;
	return digits;
}

static char *text_of(const char *p, size_t n)
{
	char *text = mem_calloc(1, n + 1);
	memcpy(text, p, n);
	return text;
}

static struct variable variable_of(const char *key, size_t n)
{
	struct variable v = { text_of(key, n), NULL };
	n = strlen(v.prefix);
	v.name = text_of(v.prefix, n > 1 && strchr("_-./", v.prefix[n - 1]) ? n - 1 : n);
	return v;
}

/* Goes through all keys, in the database's order. visit is given those that end in a number. */
static int each_key(const struct source *s, struct handle *h, void *arg,
                    void (*visit)(void *arg, const char *key, size_t n, size_t digits))
{
	MDB_cursor *c;
	MDB_val key, value;
	int rc;

	MDB(mdb_cursor_open(h->txn, h->db, &c));
	while ((rc = mdb_cursor_get(c, &key, &value, MDB_NEXT)) == MDB_SUCCESS) {
		const size_t digits = within(h, &key) ? count_digits(key.mv_data, key.mv_size) : 0;

		if (!within(h, &key)) {
			rc = MDB_CORRUPTED;
			break;
		}
		if (digits)
			visit(arg, key.mv_data, key.mv_size, digits);
	}
	mdb_cursor_close(c);
	return rc == MDB_NOTFOUND ? 0 : fail(s, rc);
}

struct variables {
	int n;
	struct variable v[VARIABLES_MOST];
};

static void add_variable(void *arg, const char *key, size_t n, size_t digits)
{
	struct variables *all = arg;
	const size_t prefix = n - digits;
	for (int i = all->n - 1; i >= 0; i--)
		if (strlen(all->v[i].prefix) == prefix && memcmp(all->v[i].prefix, key, prefix) == 0)
			return;
	if (all->n < VARIABLES_MOST)
		all->v[all->n++] = variable_of(key, prefix);
}

static int choose_among(struct source *s, struct handle *h, const struct variables *all)
{
	const char *names[VARIABLES_MOST + 1] = { NULL };
	const struct variable *chosen = NULL;
	for (int i = 0; i < all->n; i++) {
		const struct variable *v = &all->v[i];

		names[i] = v->name;
		if (h->as.name ? strcmp(v->name, h->as.name) == 0 || strcmp(v->prefix, h->as.name) == 0 :
		    all->n == 1)
			chosen = v;
	}
	if (!chosen)
		return all->n ? source_no_variable(s->path, h->as.name, names, all->n) :
		       source_bad(s, "no key ends in a number, as those of samples do");
	h->prefix = mem_strdup(chosen->prefix);
	if (*chosen->name)
		s->name = mem_strdup(chosen->name);
	else
		source_take_stem(s);
	return 0;
}

static int choose_variable(struct source *s, struct handle *h)
{
	struct variables all = { 0 };
	int rc = each_key(s, h, &all, add_variable);
	if (rc == 0)
		rc = choose_among(s, h, &all);
	for (int i = 0; i < all.n; i++) {
		mem_free(all.v[i].prefix);
		mem_free(all.v[i].name);
	}
	return rc;
}

/* --- samples --- */

static void add_row(void *arg, const char *key, size_t n, size_t digits)
{
	struct handle *h = arg;
	if (strlen(h->prefix) != n - digits || memcmp(h->prefix, key, n - digits) != 0)
		return;
	if ((h->n & (h->n - 1)) == 0)
		h->row = mem_realloc(h->row, (size_t)(h->n ? 2 * h->n : 1) * sizeof *h->row);
	h->row[h->n++] = (struct row){ h->keys.len, n, digits };
	buf_add(&h->keys, key, n);
}

static const char *all_keys;     /* of the comparison, which takes no argument of its caller's */

/* By the numbers at their ends, whatever zeros these begin with. */
static int compare(const void *x, const void *y)
{
	const struct row *row[2] = { x, y };
	const char *p[2];
	size_t n[2];
	int order;
	for (int i = 0; i < 2; i++) {
		n[i] = row[i]->digits;
		for (p[i] = all_keys + row[i]->at + row[i]->n - n[i]; n[i] > 1 && *p[i] == '0'; p[i]++)
			n[i]--;
	}
	order = n[0] != n[1] ? (n[0] > n[1]) - (n[0] < n[1]) : memcmp(p[0], p[1], n[0]);
	return order ? order : (row[0]->digits > row[1]->digits) - (row[0]->digits < row[1]->digits);
}

static int get_row(const struct source *s, const struct handle *h, int64_t i, MDB_val *out)
{
	const struct row *r = &h->row[i];
	MDB_val key = { .mv_size = r->n, .mv_data = h->keys.data + r->at };

	MDB(mdb_get(h->txn, h->db, &key, out));
	if (within(h, out))
		return 0;
	return ERR(E_DATA, NULL, "'%s': lmdb: the value of key '%.*s' is beyond the end of the file",
	           s->path, (int)r->n, h->keys.data + r->at);
}

/* --- types --- */

/* STEMDL's header of the side, input or output, whose name is that of the keys. */
static int read_header_of(const struct source *s, struct handle *h, const char *side)
{
	char key[32];
	struct element e;
	MDB_val v;
	char *text;

	snprintf(key, sizeof key, "%s_name", side);
	if (!get(h, key, &v) || v.mv_size != strlen(h->prefix) ||
	    memcmp(v.mv_data, h->prefix, v.mv_size) != 0)
		return 0;
	snprintf(key, sizeof key, "%s_dtype", side);
	if (!get(h, key, &v))
		return 0;
	text = text_of(v.mv_data, v.mv_size < 32 ? v.mv_size : 32);
	if (!element_find(&e, text) || e.wide)
		snprintf(key, sizeof key, "wrong");
	mem_free(text);
	if (strcmp(key, "wrong") == 0)
		return source_bad(s, "lmdb: its header names a type that is not known; say another one");
	h->as.dtype = (int)e.dtype;
	h->as.big_endian = e.big_endian;
	snprintf(key, sizeof key, "%s_shape", side);
	if (!get(h, key, &v) || v.mv_size % 8 || v.mv_size / 8 > MAXD)
		return 0;
	h->as.shape.nd = (int)(v.mv_size / 8);
	for (int i = 0; i < h->as.shape.nd; i++)
		h->as.shape.d[i] = (int64_t)little((const uint8_t *)v.mv_data + 8 * i, 8);
	h->as.shaped = true;
	return 0;
}

static int take_type(struct source *s, struct handle *h)
{
	struct shape sample;
	MDB_val first;

	TRY(get_row(s, h, 0, &first));
	h->bytes = first.mv_size;
	if (h->as.dtype < 0) {
		TRY(read_header_of(s, h, "input"));
		TRY(read_header_of(s, h, "output"));
	}
	TRY(declared_shape(&h->as, s->path, s->name, h->bytes, &sample));
	s->dtype = (enum dtype)h->as.dtype;
	return source_take_samples(s, h->n, &sample);
}

static int open_lmdb(struct source *s, const char *variable)
{
	struct handle *h = mem_calloc(1, sizeof *h);
	s->handle = h;
	buf_init(&h->keys);
	TRY(declared_read(&h->as, variable));
	TRY(open_database(s, h));
	TRY(choose_variable(s, h));
	TRY(each_key(s, h, h, add_row));
	all_keys = h->keys.data;
	qsort(h->row, (size_t)h->n, sizeof *h->row, compare);
	return take_type(s, h);
}

/* What was read of the map stays in memory until there is another one. Pointers into it end. */
static int map_anew(const struct source *s, struct handle *h)
{
	h->touched = 0;
	mdb_txn_reset(h->txn);
	MDB(mdb_env_set_mapsize(h->env, 0));     /* 0: of the size that it has */
	MDB(mdb_txn_renew(h->txn));
	return 0;
}

static int get_value(const struct source *s, const struct handle *h, int64_t i, MDB_val *out)
{
	const struct row *r = &h->row[i];
	TRY(get_row(s, h, i, out));
	if (out->mv_size == h->bytes)
		return 0;
	return ERR(E_DATA, NULL, "'%s': the value of key '%.*s' has %zu bytes, that of '%.*s' %zu",
	           s->path, (int)r->n, h->keys.data + r->at, out->mv_size, (int)h->row[0].n,
	           h->keys.data + h->row[0].at, h->bytes);
}

/* The library turns read-ahead off, which suits small values. */
static void copy_ahead(uint8_t *to, const uint8_t *from, size_t n)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	for (size_t at = 0, part; at < n; at += part) {
		const uintptr_t start = (uintptr_t)(from + at) & ~(page - 1);

		part = n - at < AHEAD ? n - at : AHEAD;
		if (part > page)
			madvise((void *)start, (uintptr_t)(from + at + part) - start, MADV_WILLNEED);
		memcpy(to + at, from + at, part);
	}
}

/* A large value is not read at once, so that it is never in memory as a whole. */
static int read_run(struct source *s, int64_t from, int64_t n, void *out)
{
	struct handle *h = s->handle;
	const size_t size = dtype_size(s->dtype);
	uint8_t *to = out;
	for (size_t at = (size_t)from * size, left = (size_t)n * size, part; left > 0; left -= part) {
		const size_t inside = at % h->bytes, rest = h->bytes - inside;
		MDB_val v;

		part = left < rest ? left : rest;
		part = part < TOUCHED_MOST ? part : TOUCHED_MOST;
		if (h->touched + part > TOUCHED_MOST)
			TRY(map_anew(s, h));
		TRY(get_value(s, h, (int64_t)(at / h->bytes), &v));
		copy_ahead(to, (const uint8_t *)v.mv_data + inside, part);
		h->touched += part;
		at += part;
		to += part;
	}
	if (h->as.big_endian)
		source_swap(out, size, n);
	return 0;
}

static int read_lmdb(struct source *s, int64_t first, int64_t n, void *out)
{
	const struct handle *h = s->handle;
	const int64_t row = (int64_t)(h->bytes / dtype_size(s->dtype));
	return read_run(s, first < 0 ? 0 : first * row, (first < 0 ? h->n : n) * row, out);
}

static int read_lmdb_box(struct source *s, const int64_t *start, const int64_t *count, void *out)
{
	return source_read_runs(s, start, count, out, read_run);
}

static void close_lmdb(struct source *s)
{
	struct handle *h = s->handle;
	if (h->txn)
		mdb_txn_abort(h->txn);
	if (h->env)
		mdb_env_close(h->env);
	declared_release(&h->as);
	buf_release(&h->keys);
	mem_free(h->prefix);
	mem_free(h->row);
	mem_free(h);
}

#else

static int open_lmdb(struct source *s, const char *variable)
{
	return ERR(E_UNAVAILABLE, NULL, "'%s' is an LMDB database, and dlx was built without liblmdb "
	           "(Debian: liblmdb-dev, then configure again)", s->path);
}

static int read_lmdb(struct source *s, int64_t first, int64_t n, void *out)
{
	return source_bad(s, "dlx was built without liblmdb");
}

static int read_lmdb_box(struct source *s, const int64_t *start, const int64_t *count, void *out)
{
	return source_bad(s, "dlx was built without liblmdb");
}

static void close_lmdb(struct source *s)
{
}
#endif

const struct source_format source_lmdb = {
	"lmdb", extensions, open_lmdb, read_lmdb, close_lmdb, .read_box = read_lmdb_box, .rows = true,
	.folder = true, .content = CONTENT,
};
