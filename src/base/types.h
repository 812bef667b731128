/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Basic types for all folders: element types, shapes, and positions in the user's YAML. No memory
 * is owned here. */
#ifndef DLX_BASE_TYPES_H
#define DLX_BASE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Most axes a tensor can have: grouped 3-D convolution weights need six. */
#define MAXD 6

#define DTYPE_LIST(X)   \
	X(F32, "f32", 4)    \
	X(F64, "f64", 8)    \
	X(F16, "f16", 2)    \
	X(BF16, "bf16", 2)  \
	X(I8, "i8", 1)      \
	X(U8, "u8", 1)      \
	X(I16, "i16", 2)    \
	X(U16, "u16", 2)    \
	X(I32, "i32", 4)    \
	X(I64, "i64", 8)

enum dtype {
#define X(id, name, size) DTYPE_##id,
	DTYPE_LIST(X)
#undef X
	DTYPE_COUNT
};

size_t dtype_size(enum dtype t);        /* bytes of one element */
const char *dtype_name(enum dtype t);   /* "f32"; never NULL */
int dtype_find(const char *name);       /* the enum value, or -1 */
bool dtype_is_float(enum dtype t);
bool dtype_is_16bit(enum dtype t);       /* F16, BF16 */

/* Reads/writes element i of an array of type t through a double. I64 values beyond
 * 2^53 round. Writing to an integer type rounds to nearest and saturates. */
double dtype_get(enum dtype t, const void *p, int64_t i);
void dtype_set(enum dtype t, void *p, int64_t i, double v);

/* Converts n elements from src (type ts) to dst (type td); a memcpy if the types are equal. */
void dtype_convert(enum dtype td, void *dst, enum dtype ts, const void *src, int64_t n);

/* A logical shape, outermost axis first: (N, C, [D,] H, W). nd = 0 is a scalar. */
struct shape {
	int nd;
	int64_t d[MAXD];
};

struct shape shape_of(int nd, const int64_t *d);
int64_t shape_count(const struct shape *s);              /* elements; 1 for a scalar */
bool shape_equal(const struct shape *a, const struct shape *b);
#define SHAPE_TEXT 128
/* "4x3x90x180" ("scalar" for nd = 0) into buf of SHAPE_TEXT bytes; returns buf. */
const char *shape_text(const struct shape *s, char *buf);
/* The coordinates of the element with row-major index `at`, "2, 0, 17", into buf of SHAPE_TEXT
 * bytes; returns buf. */
const char *shape_place(const struct shape *s, int64_t at, char *buf);

/* A place in a text the user wrote. file == NULL: unknown. line and col count from 1;
 * len is how many columns the caret line underlines. file is interned (str_intern in err.h),
 * so a loc may be copied and kept for the life of the process. */
struct loc {
	const char *file;
	int line, col, len;
};

#endif
