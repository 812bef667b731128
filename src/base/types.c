/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Element types by table, and conversion between any two of them: a block of source elements
 * becomes doubles, the doubles become the target type. A double holds every value of every type
 * but the large I64s. Elements are moved by memcpy, because data of a mapped file may be at any
 * address. */
#include "base/types.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/half.h"
#include "base/simd.h"

#define BLOCK 256

static const struct {
	const char *name;
	size_t size;
} info[DTYPE_COUNT] = {
#define X(id, name, size) { name, size },
	DTYPE_LIST(X)
#undef X
};

size_t dtype_size(enum dtype t)
{
	BUG_IF((unsigned)t >= DTYPE_COUNT, "element type %d", (int)t);
	return info[t].size;
}

const char *dtype_name(enum dtype t)
{
	return (unsigned)t < DTYPE_COUNT ? info[t].name : "?";
}

int dtype_find(const char *name)
{
	for (int t = 0; t < DTYPE_COUNT; t++)
		if (!strcmp(name, info[t].name))
			return t;
	return -1;
}

bool dtype_is_float(enum dtype t)
{
	return t == DTYPE_F32 || t == DTYPE_F64 || t == DTYPE_F16 || t == DTYPE_BF16;
}

bool dtype_is_16bit(enum dtype t)
{
	return t == DTYPE_F16 || t == DTYPE_BF16;
}

/* v to nearest (ties to even) within [lo, hi]; NaN becomes 0. hi + 1 must be a double. */
static double clamp(double v, double lo, double hi)
{
	v = rint(v);
	if (!(v >= lo))
		return v < lo ? lo : 0;
	return v > hi ? hi : v;
}

/* The same for integers of at most 32 bits, without a call or a branch: adding a number so large
 * that a double's last bit has the value 1 rounds v to an integer. */
static inline double clamp_small(double v, double lo, double hi)
{
	v = v >= lo ? v : v < lo ? lo : 0;
	v = v > hi ? hi : v;
	return (v + 0x1.8p52) - 0x1.8p52;
}

static int64_t clamp_i64(double v)
{
	if (v >= 0x1p63)
		return INT64_MAX;
	return (int64_t)clamp(v, -0x1p63, 0x1p63);
}

/* Element k of src as `type`, by way of `expr` in v. */
#define LOAD(type, expr)                                                \
	_Pragma("omp simd")                                                 \
	for (int k = 0; k < n; k++) {                                       \
		type v;                                                         \
		memcpy(&v, src + (size_t)k * sizeof v, sizeof v);               \
		out[k] = (double)(expr);                                        \
	}                                                                   \
	break

static void load(enum dtype t, const char *src, int n, double *out)
{
	switch (t) {
	case DTYPE_F32: LOAD(float, v);
	case DTYPE_F64: LOAD(double, v);
	case DTYPE_F16: LOAD(uint16_t, half_to_float(v));
	case DTYPE_BF16: LOAD(uint16_t, bfloat_to_float(v));
	case DTYPE_I8: LOAD(int8_t, v);
	case DTYPE_U8: LOAD(uint8_t, v);
	case DTYPE_I16: LOAD(int16_t, v);
	case DTYPE_U16: LOAD(uint16_t, v);
	case DTYPE_I32: LOAD(int32_t, v);
	case DTYPE_I64: LOAD(int64_t, v);
	case DTYPE_COUNT: BUG("element type %d", (int)t);
	}
}

#define STORE(type, expr)                                               \
	_Pragma("omp simd")                                                 \
	for (int k = 0; k < n; k++) {                                       \
		double v = in[k];                                               \
		type x = (type)(expr);                                          \
		memcpy(dst + (size_t)k * sizeof x, &x, sizeof x);               \
	}                                                                   \
	break

static void store(enum dtype t, char *dst, int n, const double *in)
{
	switch (t) {
	case DTYPE_F32: STORE(float, v);
	case DTYPE_F64: STORE(double, v);
	case DTYPE_F16: STORE(uint16_t, half_from_float((float)v));
	case DTYPE_BF16: STORE(uint16_t, bfloat_from_float((float)v));
	case DTYPE_I8: STORE(int8_t, clamp_small(v, INT8_MIN, INT8_MAX));
	case DTYPE_U8: STORE(uint8_t, clamp_small(v, 0, UINT8_MAX));
	case DTYPE_I16: STORE(int16_t, clamp_small(v, INT16_MIN, INT16_MAX));
	case DTYPE_U16: STORE(uint16_t, clamp_small(v, 0, UINT16_MAX));
	case DTYPE_I32: STORE(int32_t, clamp_small(v, INT32_MIN, INT32_MAX));
	case DTYPE_I64: STORE(int64_t, clamp_i64(v));
	case DTYPE_COUNT: BUG("element type %d", (int)t);
	}
}

double dtype_get(enum dtype t, const void *p, int64_t i)
{
	double v = 0;
	load(t, (const char *)p + (size_t)i * dtype_size(t), 1, &v);
	return v;
}

void dtype_set(enum dtype t, void *p, int64_t i, double v)
{
	store(t, (char *)p + (size_t)i * dtype_size(t), 1, &v);
}

/* Small integers are converted without going through a double; the result is the same. */
#define DIRECT(to, from)                                                \
	_Pragma("omp simd")                                                 \
	for (int64_t i = 0; i < n; i++) {                                   \
		from v;                                                         \
		to x;                                                           \
		memcpy(&v, (const char *)src + (size_t)i * sizeof v, sizeof v); \
		x = (to)v;                                                      \
		memcpy((char *)dst + (size_t)i * sizeof x, &x, sizeof x);       \
	}                                                                   \
	return true

SIMD_CLONES(bool, convert_small,
            (enum dtype td, void *dst, enum dtype ts, const void *src, int64_t n),
            (td, dst, ts, src, n))
{
	if (td == DTYPE_I32 && ts == DTYPE_U8) {
		DIRECT(int32_t, uint8_t);
	}
	if (td != DTYPE_F32)
		return false;
	switch (ts) {
	case DTYPE_I8: DIRECT(float, int8_t);
	case DTYPE_U8: DIRECT(float, uint8_t);
	case DTYPE_I16: DIRECT(float, int16_t);
	case DTYPE_U16: DIRECT(float, uint16_t);
	default: return false;
	}
}

void dtype_convert(enum dtype td, void *dst, enum dtype ts, const void *src, int64_t n)
{
	size_t sd = dtype_size(td), ss = dtype_size(ts);
	double block[BLOCK];
	if (td == ts) {
		if (n > 0)
			memcpy(dst, src, (size_t)n * sd);
		return;
	}
	if (convert_small(td, dst, ts, src, n))
		return;
	for (int64_t i = 0; i < n; i += BLOCK) {
		int m = n - i < BLOCK ? (int)(n - i) : BLOCK;
		load(ts, (const char *)src + (size_t)i * ss, m, block);
		store(td, (char *)dst + (size_t)i * sd, m, block);
	}
}

struct shape shape_of(int nd, const int64_t *d)
{
	struct shape s = { .nd = nd };
	BUG_IF(nd < 0 || nd > MAXD, "shape of %d axes", nd);
	if (nd)
		memcpy(s.d, d, (size_t)nd * sizeof *d);
	return s;
}

/* Too many elements to count become INT64_MAX, which no size check lets pass. */
int64_t shape_count(const struct shape *s)
{
	int64_t n = 1;
	for (int i = 0; i < s->nd; i++)
		if (s->d[i] == 0)
			return 0;
	for (int i = 0; i < s->nd; i++)
		if (__builtin_mul_overflow(n, s->d[i], &n))
			return INT64_MAX;
	return n;
}

bool shape_equal(const struct shape *a, const struct shape *b)
{
	if (a->nd != b->nd)
		return false;
	for (int i = 0; i < a->nd; i++)
		if (a->d[i] != b->d[i])
			return false;
	return true;
}

const char *shape_text(const struct shape *s, char *buf)
{
	int at = 0;
	if (s->nd == 0)
		return strcpy(buf, "scalar");
	for (int i = 0; i < s->nd; i++)
		at += snprintf(buf + at, (size_t)(SHAPE_TEXT - at), i ? "x%lld" : "%lld",
		               (long long)s->d[i]);
	return buf;
}

const char *shape_place(const struct shape *s, int64_t at, char *buf)
{
	int64_t index[MAXD];
	int used = 0;
	buf[0] = '\0';
	for (int i = s->nd - 1; i >= 0; i--) {
		index[i] = at % s->d[i];
		at /= s->d[i];
	}
	for (int i = 0; i < s->nd; i++)
		used += snprintf(buf + used, (size_t)(SHAPE_TEXT - used), "%s%lld", i ? ", " : "",
		                 (long long)index[i]);
	return buf;
}
