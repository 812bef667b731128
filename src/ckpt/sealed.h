/* SPDX-License-Identifier: BSD-3-Clause
 *
 * JSON texts that end with a hash of all before it, in a line of fixed form:
 *
 *     ...,
 *     "hash": "<32 hexadecimal digits>"         XXH3 128 of the text before this line's comma
 *   } */
#ifndef DLX_CKPT_SEALED_H
#define DLX_CKPT_SEALED_H

#include "base/buf.h"
#include "base/hash.h"
#include "base/json.h"

/* Ends the object whose text began at byte `start` of out. Returns the hash. */
struct hash128 sealed_end(struct buf *out, size_t start);
/* Verifies the hash and parses the text, an object. file names it in errors. E_DATA. */
int sealed_parse(struct json **out, struct hash128 *hash, struct arena *a, const char *file,
                 const char *text, size_t size);

/* Members of an object; E_DATA with the byte if one is missing or not as expected. */
int sealed_find(const struct json **out, const char *file, const struct json *map,
                const char *key);
int sealed_wrong(const char *file, const struct json *v, const char *key, const char *expected);
int sealed_count(int64_t *out, const char *file, const struct json *map, const char *key);
int sealed_string(const char **out, const char *file, const struct json *map, const char *key);
/* The string must be this format; a later one of the same name is refused by name. */
int sealed_format(const char *file, const struct json *map, const char *name, int version);

#endif
