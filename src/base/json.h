/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A strict reader of JSON (RFC 8259) for record files, checkpoint manifests and the like. Refused,
 * with the byte offset: duplicate member names, text that is not UTF-8, U+0000, nesting deeper than
 * JSON_DEPTH, more than JSON_VALUES values, anything after the value but white space. Everything
 * lives in the caller's arena. */
#ifndef DLX_BASE_JSON_H
#define DLX_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define JSON_DEPTH 32
#define JSON_VALUES (4 << 20)     /* limits the memory that a malicious text can make dlx
                                   * allocate */

enum json_kind {
	JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT
};

struct json {
	enum json_kind kind;
	size_t at;                /* byte offset, base included */
	const char *key;          /* the name of an object's member, else NULL */
	const char *text;         /* JSON_NUMBER: as written; JSON_STRING: decoded; else "" */
	int n;                    /* JSON_ARRAY, JSON_OBJECT: members, in the order written */
	struct json **item;
};

/* Parses text. file names it in errors; base is where text starts in that file. E_DATA. */
int json_parse(struct json **out, struct arena *a, const char *file, size_t base,
               const char *text, size_t size);
/* The member of an object, or NULL (also if object is none). */
const struct json *json_find(const struct json *object, const char *key);
/* The number v as an exact integer / the nearest double; false if v is not such a number. */
bool json_uint(const struct json *v, uint64_t *out);
bool json_int(const struct json *v, int64_t *out);
bool json_double(const struct json *v, double *out);

#endif
