/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Protocol buffers by hand. An Example has Features (1), which have entries (1) of a name (1) and a
 * Feature (2), which has one of three lists: bytes (1), float (2), int64 (3). Each list has its
 * values in field 1: bytes each by itself, numbers together ("packed") or one by one. Fields that
 * are not known are skipped. */
#include "tf_example.h"

#include <string.h>

enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

struct reader {
	const uint8_t *p, *end;
	const char *wrong;
};

struct field {
	unsigned number;
	enum wire wire;
	const uint8_t *p;            /* WIRE_BYTES: the content; WIRE_32, WIRE_64: the value */
	size_t n;
	uint64_t value;              /* WIRE_VARINT */
};

static bool wrong(struct reader *r, const char *what)
{
	r->wrong = what;
	return false;
}

static bool varint(struct reader *r, uint64_t *out)
{
	const uint8_t *p = r->p;
	*out = 0;
	for (int shift = 0; shift < 70; shift += 7) {
		if (p == r->end)
			return wrong(r, "a number that is cut off");
		*out |= (uint64_t)(*p & 127) << shift;
		if (*p++ < 128) {
			r->p = p;
			return true;
		}
	}
	return wrong(r, "a number of more than ten bytes");
}

/* The next field; false at the end, or with r->wrong. r->p stays at what is wrong. */
static bool next_field(struct reader *r, struct field *f)
{
	uint64_t key, n = 0;
	const uint8_t *start = r->p;
	if (r->p == r->end || !varint(r, &key))
		return false;
	*f = (struct field){ .number = key >> 3 < 1000 ? (unsigned)(key >> 3) : 1000,
	                    .wire = (enum wire)(key & 7) };
	if (f->wire == WIRE_VARINT)
		return varint(r, &f->value);
	if (f->wire == WIRE_BYTES && !varint(r, &n))
		return false;
	if (f->wire != WIRE_BYTES)
		n = f->wire == WIRE_64 ? 8 : f->wire == WIRE_32 ? 4 : UINT64_MAX;
	if (n > (uint64_t)(r->end - r->p)) {
		r->p = start;
		return wrong(r, n == UINT64_MAX ? "a field of unknown type" : "a field that is cut off");
	}
	f->p = r->p;
	f->n = (size_t)n;
	r->p += n;
	return true;
}

static bool is_bytes(const struct field *f, unsigned number)
{
	return f->number == number && f->wire == WIRE_BYTES;
}

/* The values of one field of a list of numbers, counted, and decoded if out. */
static bool numbers(struct reader *r, enum feature_kind kind, const struct field *f,
                    uint64_t *count, void *out)
{
	const enum wire one = kind == FEATURE_FLOATS ? WIRE_32 : WIRE_VARINT;
	struct reader list = { f->p, f->p + f->n, NULL };
	float *floats = out;
	int64_t *ints = out;
	uint64_t v;
	if (f->wire == one && kind == FEATURE_INTS) {
		if (out)
			ints[*count] = (int64_t)f->value;
		++*count;
		return true;
	}
	if (f->wire != one && f->wire != WIRE_BYTES)
		return wrong(r, "a value of another type than its list");
	if (kind == FEATURE_FLOATS) {
		if (f->n % 4)
			return wrong(r, "floats of no whole number of bytes");
		for (size_t i = 0; out && i < f->n; i += 4) {
			const uint32_t bits = (uint32_t)f->p[i] | (uint32_t)f->p[i + 1] << 8 |
			                      (uint32_t)f->p[i + 2] << 16 | (uint32_t)f->p[i + 3] << 24;

			memcpy(&floats[*count + i / 4], &bits, 4);
		}
		*count += f->n / 4;
		return true;
	}
	for (; list.p < list.end; ++*count) {
		if (!varint(&list, &v))
			return wrong(r, list.wrong);
		if (out)
			ints[*count] = (int64_t)v;
	}
	return true;
}

/* Counts the values of a list, and decodes them if out. */
static bool read_list(struct reader *r, struct feature *f, uint8_t *out)
{
	struct reader list = { f->list, f->list + f->size, NULL };
	struct field v;
	f->count = 0;
	while (next_field(&list, &v)) {
		if (v.number != 1)
			continue;
		if (f->kind != FEATURE_BYTES) {
			if (!numbers(&list, f->kind, &v, &f->count, out))
				break;
			continue;
		}
		if (v.wire != WIRE_BYTES) {
			wrong(&list, "a value of another type than its list");
			break;
		}
		if (out)
			memcpy(out + f->count, v.p, v.n);
		f->count += v.n;
	}
	if (!list.wrong)
		return true;
	r->p = list.p;
	return wrong(r, list.wrong);
}

static bool read_feature(struct reader *r, const struct field *entry, struct feature *out)
{
	struct reader feature = { entry->p, entry->p + entry->n, NULL };
	struct field f;
	while (next_field(&feature, &f)) {
		if (f.number < 1 || f.number > 3 || f.wire != WIRE_BYTES)
			continue;
		if (out->kind != FEATURE_NONE) {
			wrong(&feature, "a feature of two lists");
			break;
		}
		out->kind = (enum feature_kind)f.number;
		out->list = f.p;
		out->size = f.n;
		if (!read_list(&feature, out, NULL))
			break;
	}
	if (!feature.wrong)
		return true;
	r->p = feature.p;
	return wrong(r, feature.wrong);
}

static bool read_entry(struct reader *r, const struct field *of, struct feature *out)
{
	struct reader entry = { of->p, of->p + of->n, NULL };
	struct field f;
	*out = (struct feature){ .name = "" };
	while (next_field(&entry, &f)) {
		if (is_bytes(&f, 1)) {
			out->name = (const char *)f.p;
			out->name_length = f.n;
		} else if (is_bytes(&f, 2) && !read_feature(&entry, &f, out)) {
			break;
		}
	}
	if (!entry.wrong)
		return true;
	r->p = entry.p;
	return wrong(r, entry.wrong);
}

bool example_next(struct example *e, struct feature *out)
{
	struct reader r = { e->message + e->at, e->message + (e->end ? e->end : e->n), NULL };
	bool found = false;
	struct field f;
	while (!found) {
		if (!next_field(&r, &f)) {
			if (r.wrong || !e->end)
				break;
			e->end = 0;                  /* behind these Features: there may be more */
			r.end = e->message + e->n;
		} else if (!is_bytes(&f, 1)) {
			continue;
		} else if (!e->end) {
			e->end = (size_t)(f.p + f.n - e->message);
			r.p = f.p;
			r.end = f.p + f.n;
		} else {
			found = read_entry(&r, &f, out);
			if (!found)
				break;
		}
	}
	e->at = (size_t)(r.p - e->message);
	e->wrong = r.wrong;
	return found;
}

bool example_find(struct example *e, const char *name, struct feature *out)
{
	const size_t n = strlen(name);
	struct feature f;
	bool found = false;
	while (example_next(e, &f)) {
		if (f.name_length != n || memcmp(f.name, name, n) != 0)
			continue;
		*out = f;
		found = true;
	}
	return found && !e->wrong;
}

void feature_values(const struct feature *f, void *out)
{
	struct feature list = *f;
	struct reader r = { f->list, f->list, NULL };
	read_list(&r, &list, out);
}
