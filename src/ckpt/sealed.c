/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The hash in the tail, which has a fixed size, is verified first, so that the parser sees only
 * text as it was written. The parser is strict nevertheless, because a foreign file may have a
 * correct hash. */
#include "ckpt/sealed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#define TAIL_HEAD ",\n  \"hash\": \""
#define TAIL_END "\"\n}\n"
#define TAIL (sizeof TAIL_HEAD - 1 + HASH128_TEXT - 1 + sizeof TAIL_END - 1)

struct hash128 sealed_end(struct buf *out, size_t start)
{
	char text[HASH128_TEXT];
	const struct hash128 h = hash128_bytes(out->data + start, out->len - start);
	buf_printf(out, TAIL_HEAD "%s" TAIL_END, hash128_text(h, text));
	return h;
}

static int check_tail(struct hash128 *out, const char *file, const char *text, size_t size)
{
	const char *tail = size > TAIL ? text + size - TAIL : NULL;
	char have[HASH128_TEXT], says[HASH128_TEXT];
	if (!tail || memcmp(tail, TAIL_HEAD, sizeof TAIL_HEAD - 1) != 0 ||
	    memcmp(text + size - (sizeof TAIL_END - 1), TAIL_END, sizeof TAIL_END - 1) != 0 ||
	    !hash128_parse(tail + sizeof TAIL_HEAD - 1, out))
		return ERR(E_DATA, NULL, "'%s': %zu bytes without the end of a checkpoint's file", file,
		           size);
	const struct hash128 h = hash128_bytes(text, size - TAIL);
	if (!hash128_equal(h, *out))
		return ERR(E_DATA, NULL, "'%s': damaged: its hash is %s, but it says %s", file,
		           hash128_text(h, have), hash128_text(*out, says));
	return 0;
}

int sealed_parse(struct json **out, struct hash128 *hash, struct arena *a, const char *file,
                 const char *text, size_t size)
{
	TRY(check_tail(hash, file, text, size));
	TRY(json_parse(out, a, file, 0, text, size));
	return (*out)->kind == JSON_OBJECT ? 0 : ERR(E_DATA, NULL, "'%s': not a map", file);
}

int sealed_wrong(const char *file, const struct json *v, const char *key, const char *expected)
{
	return ERR(E_DATA, NULL, "'%s': byte %zu: '%s': expected %s", file, v->at, key, expected);
}

int sealed_find(const struct json **out, const char *file, const struct json *map, const char *key)
{
	*out = json_find(map, key);
	if (!*out)
		return ERR(E_DATA, NULL, "'%s': byte %zu: '%s' is missing", file, map->at, key);
	return 0;
}

int sealed_count(int64_t *out, const char *file, const struct json *map, const char *key)
{
	const struct json *v;
	TRY(sealed_find(&v, file, map, key));
	if (!json_int(v, out) || *out < 0 || *out > INT64_MAX / 2)
		return sealed_wrong(file, v, key, "an integer of 0 or more");
	return 0;
}

int sealed_string(const char **out, const char *file, const struct json *map, const char *key)
{
	const struct json *v;
	TRY(sealed_find(&v, file, map, key));
	if (v->kind != JSON_STRING)
		return sealed_wrong(file, v, key, "a string");
	*out = v->text;
	return 0;
}

int sealed_format(const char *file, const struct json *map, const char *name, int version)
{
	const size_t n = strlen(name);
	const char *have;
	TRY(sealed_string(&have, file, map, "format"));
	if (strncmp(have, name, n) != 0 || have[n] != ' ')
		return ERR(E_DATA, NULL, "'%s': format '%.40s' is not '%s %d'", file, have, name, version);
	if (atoi(have + n + 1) > version)
		return ERR(E_DATA, NULL, "'%s' is of format '%.40s', of a later dlx; this one knows "
		           "'%s %d'", file, have, name, version);
	char expected[64];
	snprintf(expected, sizeof expected, "%s %d", name, version);
	if (strcmp(have, expected) != 0)
		return ERR(E_DATA, NULL, "'%s': format '%.40s' is not '%s'", file, have, expected);
	return 0;
}
