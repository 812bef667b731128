/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks labels in the record's stored type, before they are converted to 32-bit integers: a wider
 * label could wrap to a valid class or to the ignored value. There is one loop for each integer
 * type. */
#include "data/labels_stored.h"

#include "base/err.h"
#include "data/dataset.h"

#define BLOCK 256                  /* labels that a vectorised loop checks at a time */

/* The first element that is neither a class nor ignored, or n. WIDE: an unsigned type that has room
 * for a label. An ignored value that no label can have is replaced by a class, which all may. */
#define FIND(name, type, wide)                                                             \
	static int64_t name(const void *labels, int64_t n, int64_t classes, int64_t ignore)    \
	{                                                                                      \
		const type *v = labels;                                                            \
		const wide most = classes < INT32_MAX ? (wide)classes : (wide)INT32_MAX;           \
		const wide skip = (type)ignore == ignore ? (wide)(type)ignore : 0;                 \
		int64_t i = 0;                                                                     \
		for (unsigned bad = 0; i + BLOCK <= n; i += BLOCK) {                               \
			_Pragma("omp simd reduction(| : bad)")                                         \
			for (int k = 0; k < BLOCK; k++)                                                \
				bad |= ((wide)v[i + k] >= most) & ((wide)v[i + k] != skip);                \
			if (bad)                                                                       \
				break;                                                                     \
		}                                                                                  \
		while (i < n && ((wide)v[i] < most || (wide)v[i] == skip))                         \
			i++;                                                                           \
		return i;                                                                          \
	}
FIND(find_i8, int8_t, uint32_t)
FIND(find_u8, uint8_t, uint32_t)
FIND(find_i16, int16_t, uint32_t)
FIND(find_u16, uint16_t, uint32_t)
FIND(find_i32, int32_t, uint32_t)
FIND(find_i64, int64_t, uint64_t)

static int64_t (*const find[])(const void *labels, int64_t n, int64_t classes, int64_t ignore) = {
	[DTYPE_I8] = find_i8, [DTYPE_U8] = find_u8, [DTYPE_I16] = find_i16,
	[DTYPE_U16] = find_u16, [DTYPE_I32] = find_i32, [DTYPE_I64] = find_i64,
};

int labels_stored_check(const struct label_rule *r, const struct dataset *d, int64_t sample,
                        const void *labels)
{
	const struct dataset_info *i = dataset_info_of(d, dataset_size_of(d, sample));
	const int64_t n = shape_count(&i->target);
	char place[SHAPE_TEXT];
	int64_t at, within;
	double value;
	if (r->classes == 0 || dtype_is_float(i->target_dtype))
		return 0;
	at = find[i->target_dtype](labels, n, r->classes, r->ignore);
	if (at == n)
		return 0;
	value = dtype_get(i->target_dtype, labels, at);
	const char *file = dataset_locate(d, sample, &within);
	return ERR(E_DATA, NULL, "'%s': sample %lld: the label %.0f at (%s) is no class 0..%lld%s; a "
	           "label that means no class is left out by 'loss.ignore: %.0f'", file,
	           (long long)within, value, shape_place(&i->target, at, place), (long long)r->classes -
	           1, r->ignore == INT64_MIN ? "" : ", nor the ignored value", value);
}

int labels_stored_check_all(const struct label_rule *r, const struct dataset *d)
{
	const void *input, *target;
	struct dataset_scratch *s;
	int rc = 0;
	if (dtype_is_float(dataset_info(d)->target_dtype) ||
	    dataset_counted_labels(d, r->classes, r->ignore) >= 0)
		return 0;
	s = dataset_scratch_new(d);
	for (int64_t i = 0; rc == 0 && i < dataset_info(d)->samples; i++) {
		rc = dataset_decode(d, s, i, &input, &target);
		if (rc == 0)
			rc = labels_stored_check(r, d, i, target);
	}
	dataset_scratch_free(s);
	return rc;
}
