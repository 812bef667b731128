/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the writer and the reader of record files share: sizes of a sample's parts, the checks
 * of a description, and the fixed parts as bytes. The extents come from a file, so every
 * product is checked before it is used. */
#include "data/record.h"

#include <string.h>

#include "base/hash.h"
#include "data/record_format.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "record files are mapped as they are: a big-endian machine needs a swap in record_read"
#endif

#define MAX_ELEMENTS ((int64_t)1 << 40)

static size_t array_bytes(const struct record_array *a)
{
	return (size_t)shape_count(&a->shape) * dtype_size(a->dtype);
}

size_t record_input_bytes(const struct record_info *i)
{
	return array_bytes(&i->input);
}

size_t record_target_bytes(const struct record_info *i)
{
	return array_bytes(&i->target);
}

size_t record_target_offset(const struct record_info *i)
{
	return (array_bytes(&i->input) + 7) & ~(size_t)7;
}

size_t record_raw_bytes(const struct record_info *i)
{
	return record_target_offset(i) + array_bytes(&i->target);
}

struct record_array record_no_target(void)
{
	return (struct record_array){.dtype = DTYPE_U8, .shape = {.nd = 1, .d = {0}}};
}

bool record_has_target(const struct record_info *i)
{
	return shape_count(&i->target.shape) > 0;
}

static bool is_no_target(const struct record_array *a)
{
	const struct record_array none = record_no_target();

	return a->dtype == none.dtype && shape_equal(&a->shape, &none.shape);
}

static const char *shape_fault(const struct record_array *a, int min_axes, int max_axes)
{
	int64_t n = 1;

	if ((int)a->dtype < 0 || a->dtype >= DTYPE_COUNT)
		return "unknown dtype";
	if (a->shape.nd < min_axes || a->shape.nd > max_axes)
		return "wrong number of axes";
	for (int i = 0; i < a->shape.nd; i++) {
		if (a->shape.d[i] < 1)
			return "an extent below 1";
		if (a->shape.d[i] > MAX_ELEMENTS / n)
			return "a sample of more than 2^40 values";
		n *= a->shape.d[i];
	}
	return NULL;
}

const char *record_info_fault(const struct record_info *i)
{
	const bool integer = !dtype_is_float(i->target.dtype);
	const char *why = shape_fault(&i->input, 1, 4);

	if (!why && !is_no_target(&i->target))
		why = shape_fault(&i->target, 0, 4);
	if (why)
		return why;
	if (i->mask < -1 || i->mask >= i->input.shape.d[0])
		return "no such mask channel";
	if (i->nclasses < 0 || i->nclasses > RECORD_MAX_CLASSES)
		return "too many classes";
	if (!integer && (i->nclasses > 0 || i->ignore != RECORD_NO_IGNORE))
		return "classes for a target that is not an integer";
	if (i->classes && i->nclasses == 0)
		return "names of no classes";
	return NULL;
}

/* --- bytes --- */

uint64_t get_u64(const uint8_t *p)
{
	uint64_t v = 0;

	for (int i = 7; i >= 0; i--)
		v = v << 8 | p[i];
	return v;
}

static void put_u64(uint8_t *p, uint64_t v)
{
	for (int i = 0; i < 8; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

void record_preamble(uint8_t out[PREAMBLE_BYTES])
{
	memcpy(out, RECORD_MAGIC, MAGIC_BYTES);
	put_u64(out + 8, RECORD_VERSION);
}

void record_entry_put(uint8_t out[ENTRY_BYTES], const struct record_entry *e)
{
	put_u64(out, e->offset);
	put_u64(out + 8, e->frame_bytes);
	put_u64(out + 16, e->raw_bytes);
	put_u64(out + 24, e->frame_hash);
	put_u64(out + 32, e->raw_hash);
}

void record_entry_read(const uint8_t in[ENTRY_BYTES], struct record_entry *e)
{
	e->offset = get_u64(in);
	e->frame_bytes = get_u64(in + 8);
	e->raw_bytes = get_u64(in + 16);
	e->frame_hash = get_u64(in + 24);
	e->raw_hash = get_u64(in + 32);
}

void record_footer_put(uint8_t out[FOOTER_BYTES], const struct record_footer *f)
{
	put_u64(out, f->description);
	put_u64(out + 8, f->index);
	put_u64(out + 16, f->samples);
	put_u64(out + 24, f->size);
	put_u64(out + 32, f->hash);
	memcpy(out + 40, RECORD_END_MAGIC, MAGIC_BYTES);
}

void record_footer_read(const uint8_t in[FOOTER_BYTES], struct record_footer *f)
{
	f->description = get_u64(in);
	f->index = get_u64(in + 8);
	f->samples = get_u64(in + 16);
	f->size = get_u64(in + 24);
	f->hash = get_u64(in + 32);
}

uint64_t record_footer_hash(const uint8_t preamble[PREAMBLE_BYTES], const void *tail, size_t n,
                            const uint8_t footer[FOOTER_BYTES])
{
	struct hash_state *h = hash_new();
	uint64_t v;

	hash_update(h, preamble, PREAMBLE_BYTES);
	hash_update(h, tail, n);
	hash_update(h, footer, FOOTER_HASHED);
	v = hash_value(h);
	hash_free(h);
	return v;
}
