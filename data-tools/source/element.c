/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A table of NumPy's codes and names. */
#include "data-tools/source/element.h"

#include <string.h>

static const struct {
	const char *code, *name;
	enum dtype dtype;
} types[] = {
	{ "f2", "float16", DTYPE_F16 }, { "f4", "float32", DTYPE_F32 }, { "f8", "float64", DTYPE_F64 },
	{ "", "bfloat16", DTYPE_BF16 }, { "i1", "int8", DTYPE_I8 },     { "u1", "uint8", DTYPE_U8 },
	{ "b1", "bool", DTYPE_U8 },     { "i2", "int16", DTYPE_I16 },   { "u2", "uint16", DTYPE_U16 },
	{ "i4", "int32", DTYPE_I32 },   { "u4", "uint32", DTYPE_I64 },  { "i8", "int64", DTYPE_I64 },
	{ "u8", "uint64", DTYPE_I64 },
};

bool element_find(struct element *out, const char *text)
{
	const bool coded = *text && strchr("<>|=", *text) != NULL;
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		if (strcmp(coded ? text + 1 : text, coded ? types[i].code : types[i].name) != 0)
			continue;
		if (coded && !text[1])
			return false;
		out->dtype = types[i].dtype;
		out->wide = strcmp(types[i].name, "uint32") == 0;
		out->unsigned64 = strcmp(types[i].name, "uint64") == 0;
		out->size = out->wide ? 4 : dtype_size(out->dtype);
		out->big_endian = *text == '>';
		return true;
	}
	return false;
}

bool element_take_sign(struct element *e, bool sign)
{
	static const struct {
		struct element with, without;
	} integers[] = {
		{ { .dtype = DTYPE_I8 }, { .dtype = DTYPE_U8 } },
		{ { .dtype = DTYPE_I16 }, { .dtype = DTYPE_U16 } },
		{ { .dtype = DTYPE_I32 }, { .dtype = DTYPE_I64, .wide = true } },
		{ { .dtype = DTYPE_I64 }, { .dtype = DTYPE_I64, .unsigned64 = true } },
	};
	for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
		const struct element *is = sign ? &integers[i].without : &integers[i].with,
		                     *to = sign ? &integers[i].with : &integers[i].without;

		if (e->dtype != is->dtype || e->wide != is->wide || e->unsigned64 != is->unsigned64)
			continue;
		e->dtype = to->dtype;
		e->wide = to->wide;
		e->unsigned64 = to->unsigned64;
		return true;
	}
	return false;
}
