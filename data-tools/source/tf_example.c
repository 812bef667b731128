/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Protocol buffers by hand. An Example has Features (1), which have entries (1) of a name (1) and a
 * Feature (2), which has one of three lists: bytes (1), float (2), int64 (3). Each list has its
 * values in field 1: bytes each by itself, numbers together ("packed") or one by one. Fields that
 * are not known are skipped. */
#include "data-tools/source/tf_example.h"

#include <string.h>

#include "base/mem.h"

#define MARKED 65536             /* values of a list from mark to mark */
#define VARINT_MOST 10
#define NAME_PART 256            /* bytes of a name that are compared at once */

enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

struct reader {
	struct message *m;
	uint64_t at, end;
	const char *wrong;
};

struct field {
	unsigned number;
	enum wire wire;
	uint64_t at, n;              /* WIRE_BYTES: the content; WIRE_32, WIRE_64: the value */
	uint64_t value;              /* WIRE_VARINT */
};

static bool wrong(struct reader *r, const char *what)
{
	r->wrong = what;
	return false;
}

/* --- bytes --- */

int message_read(struct message *m, uint64_t at, void *out, size_t n)
{
	if (m->rc < 0)
		return m->rc;
	if (at >= m->from && at - m->from <= m->have && n <= m->have - (at - m->from))
		memcpy(out, m->window + (at - m->from), n);
	else
		m->rc = m->read(m->user, at, out, n);
	return m->rc;
}

/* The bytes at `at`, *n of them or as many as there are. */
static const uint8_t *look(struct message *m, uint64_t at, uint64_t end, size_t *n)
{
	const uint64_t left = m->n - at < m->room ? m->n - at : m->room;
	*n = end - at < *n ? (size_t)(end - at) : *n;
	if (at < m->from || at - m->from > m->have || *n > m->have - (at - m->from)) {
		m->have = 0;
		if (m->rc == 0)
			m->rc = m->read(m->user, at, m->window, (size_t)left);
		if (m->rc < 0)
			return NULL;
		m->from = at;
		m->have = (size_t)left;
	}
	return m->window + (at - m->from);
}

static bool varint(struct reader *r, uint64_t *out)
{
	size_t n = VARINT_MOST;
	const uint8_t *p = look(r->m, r->at, r->end, &n);
	*out = 0;
	if (!p)
		return wrong(r, "unread");
	for (size_t i = 0; i < n; i++) {
		*out |= (uint64_t)(p[i] & 127) << 7 * i;
		if (p[i] < 128) {
			r->at += i + 1;
			return true;
		}
	}
	return wrong(r, n < VARINT_MOST ? "a number that is cut off"
	                                : "a number of more than ten bytes");
}

/* The next field; false at the end, or with r->wrong. r->at stays at what is wrong. */
static bool next_field(struct reader *r, struct field *f)
{
	uint64_t key, n = 0;
	const uint64_t start = r->at;
	if (r->at == r->end || !varint(r, &key))
		return false;
	*f = (struct field){ .number = key >> 3 < 1000 ? (unsigned)(key >> 3) : 1000,
	                    .wire = (enum wire)(key & 7) };
	if (f->wire == WIRE_VARINT)
		return varint(r, &f->value);
	if (f->wire == WIRE_BYTES && !varint(r, &n))
		return false;
	if (f->wire != WIRE_BYTES)
		n = f->wire == WIRE_64 ? 8 : f->wire == WIRE_32 ? 4 : UINT64_MAX;
	if (n > r->end - r->at) {
		r->at = start;
		return wrong(r, n == UINT64_MAX ? "a field of unknown type" : "a field that is cut off");
	}
	f->at = r->at;
	f->n = n;
	r->at += n;
	return true;
}

static bool is_bytes(const struct field *f, unsigned number)
{
	return f->number == number && f->wire == WIRE_BYTES;
}

/* --- lists --- */

/* Walks through a list's values. */
struct walk {
	struct reader r;
	enum feature_kind kind;
	uint64_t value;              /* the next one's number */
	struct feature *marked;      /* of which marks are made, or NULL */
	uint64_t first, n;           /* those wanted */
	uint8_t *out;                /* NULL: none is */
};

static void mark(struct walk *w, uint64_t at, uint64_t end)
{
	struct feature *f = w->marked;
	if (!f || w->value < MARKED || (f->nmarks && w->value - f->mark[f->nmarks - 1].value < MARKED))
		return;
	if ((f->nmarks & (f->nmarks - 1)) == 0)
		f->mark = mem_realloc(f->mark, (size_t)(f->nmarks ? 2 * f->nmarks : 1) * sizeof *f->mark);
	f->mark[f->nmarks++] = (struct feature_mark){ w->value, at, end };
}

/* The next n values, of this many bytes each, which lie one after the other at `at`. */
static bool take_values(struct walk *w, uint64_t at, uint64_t n, size_t size)
{
	const uint64_t from = w->first > w->value ? w->first : w->value,
	               to = w->first + w->n < w->value + n ? w->first + w->n : w->value + n;
	if (w->out && to > from && message_read(w->r.m, at + (from - w->value) * size,
	                                        w->out + (from - w->first) * size,
	                                        (size_t)(to - from) * size) < 0)
		return wrong(&w->r, "unread");
	w->value += n;
	return true;
}

static void take_integer(struct walk *w, uint64_t v)
{
	const int64_t is = (int64_t)v;
	if (w->out && w->value >= w->first)
		memcpy(w->out + (w->value - w->first) * sizeof is, &is, sizeof is);
	w->value++;
}

static bool is_done(const struct walk *w)
{
	return w->out && w->value >= w->first + w->n;
}

/* Integers that are packed, up to byte `end`. */
static bool walk_packed(struct walk *w, uint64_t end)
{
	struct reader list = { w->r.m, w->r.at, end, NULL };
	uint64_t v;
	while (list.at < end && !is_done(w)) {
		mark(w, list.at, end);
		if (!varint(&list, &v)) {
			w->r.at = list.at;
			return wrong(&w->r, list.wrong);
		}
		take_integer(w, v);
	}
	w->r.at = end;
	return true;
}

static bool take_field(struct walk *w, const struct field *f)
{
	const enum wire one = w->kind == FEATURE_BYTES ? WIRE_BYTES :
	                      w->kind == FEATURE_FLOATS ? WIRE_32 : WIRE_VARINT;
	if (f->wire != one && f->wire != WIRE_BYTES)
		return wrong(&w->r, "a value of another type than its list");
	if (w->kind == FEATURE_BYTES)
		return take_values(w, f->at, f->n, 1);
	if (w->kind == FEATURE_FLOATS)
		return f->n % 4 ? wrong(&w->r, "floats of no whole number of bytes")
		                : take_values(w, f->at, f->n / 4, 4);
	if (f->wire == WIRE_VARINT) {
		take_integer(w, f->value);
		return true;
	}
	w->r.at = f->at;
	return walk_packed(w, f->at + f->n);
}

static bool walk_list(struct walk *w, uint64_t packed_end)
{
	struct field f;
	if (packed_end && !walk_packed(w, packed_end))
		return false;
	for (;;) {
		if (is_done(w))
			return true;
		mark(w, w->r.at, 0);
		if (!next_field(&w->r, &f))
			return !w->r.wrong;
		if (f.number == 1 && !take_field(w, &f))
			return false;
	}
}

int feature_read(struct message *m, const struct feature *f, uint64_t first, uint64_t n, void *out)
{
	struct feature_mark from = { 0, f->list, 0 };
	int low = 0, high = f->nmarks;
	while (low < high) {
		const int middle = low + (high - low) / 2;

		if (f->mark[middle].value <= first)
			low = middle + 1;
		else
			high = middle;
	}
	if (low > 0)
		from = f->mark[low - 1];
	struct walk w = { .r = { m, from.at, f->list + f->size, NULL }, .kind = f->kind,
	                  .value = from.value, .first = first, .n = n, .out = out };
	walk_list(&w, from.end);
	return m->rc;
}

/* --- messages --- */

void feature_release(struct feature *f)
{
	mem_free(f->mark);
	*f = (struct feature){ 0 };
}

/* Counts the values of a list. */
static bool read_list(struct reader *r, struct feature *f)
{
	struct walk w = { .r = { r->m, f->list, f->list + f->size, NULL }, .kind = f->kind,
	                  .marked = f };
	const bool good = walk_list(&w, 0);
	f->count = w.value;
	if (good)
		return true;
	r->at = w.r.at;
	return wrong(r, w.r.wrong);
}

static bool read_feature(struct reader *r, const struct field *entry, struct feature *out)
{
	struct reader feature = { r->m, entry->at, entry->at + entry->n, NULL };
	struct field f;
	while (next_field(&feature, &f)) {
		if (f.number < 1 || f.number > 3 || f.wire != WIRE_BYTES)
			continue;
		if (out->kind != FEATURE_NONE) {
			wrong(&feature, "a feature of two lists");
			break;
		}
		out->kind = (enum feature_kind)f.number;
		out->list = f.at;
		out->size = f.n;
		if (!read_list(&feature, out))
			break;
	}
	if (!feature.wrong)
		return true;
	r->at = feature.at;
	return wrong(r, feature.wrong);
}

static bool read_entry(struct reader *r, const struct field *of, struct feature *out)
{
	struct reader entry = { r->m, of->at, of->at + of->n, NULL };
	struct field f;
	*out = (struct feature){ 0 };
	while (next_field(&entry, &f)) {
		if (is_bytes(&f, 1)) {
			out->name = f.at;
			out->name_length = f.n;
		} else if (is_bytes(&f, 2) && !read_feature(&entry, &f, out)) {
			break;
		}
	}
	if (!entry.wrong)
		return true;
	feature_release(out);
	r->at = entry.at;
	return wrong(r, entry.wrong);
}

bool example_next(struct example *e, struct feature *out)
{
	struct reader r = { e->m, e->at, e->end ? e->end : e->m->n, NULL };
	bool found = false;
	struct field f;
	while (!found) {
		if (!next_field(&r, &f)) {
			if (r.wrong || !e->end)
				break;
			e->end = 0;                  /* after these Features: there may be more */
			r.end = e->m->n;
		} else if (!is_bytes(&f, 1)) {
			continue;
		} else if (!e->end) {
			e->end = f.at + f.n;
			r.at = f.at;
			r.end = e->end;
		} else {
			found = read_entry(&r, &f, out);
			if (!found)
				break;
		}
	}
	e->at = r.at;
	e->wrong = r.wrong;
	return found;
}

static bool is_called(struct message *m, const struct feature *f, const char *name, size_t n)
{
	char part[NAME_PART];
	if (f->name_length != n)
		return false;
	for (size_t at = 0, k; at < n; at += k) {
		k = n - at < sizeof part ? n - at : sizeof part;
		if (message_read(m, f->name + at, part, k) < 0 || memcmp(part, name + at, k) != 0)
			return false;
	}
	return true;
}

bool example_find(struct example *e, const char *name, struct feature *out)
{
	const size_t n = strlen(name);
	bool found = false;
	struct feature f;
	*out = (struct feature){ 0 };
	while (example_next(e, &f)) {
		if (!is_called(e->m, &f, name, n)) {
			feature_release(&f);
			continue;
		}
		feature_release(out);
		*out = f;
		found = true;
	}
	if (found && !e->wrong && e->m->rc == 0)
		return true;
	feature_release(out);
	return false;
}
