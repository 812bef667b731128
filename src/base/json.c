/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Recursive descent over the bytes. The members of the arrays and objects that are still open
 * are on one stack; closing one moves its members into an array of their own in the arena. */
#include "base/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"

struct parser {
	struct arena *a;
	const char *file;
	size_t base;
	const char *text;
	size_t size, pos;
	int depth, values;
	struct json **stack;
	int nstack, cap;
};

static int value(struct parser *p, struct json **out);

static int fail(const struct parser *p, size_t pos, const char *what)
{
	return ERR(E_DATA, NULL, "'%s': byte %zu: %s", p->file, p->base + pos, what);
}

/* The byte at the cursor; -1 at the end, so that it equals no character. */
static int peek(const struct parser *p)
{
	return p->pos < p->size ? (unsigned char)p->text[p->pos] : -1;
}

static bool accept(struct parser *p, char c)
{
	if (peek(p) != c)
		return false;
	p->pos++;
	return true;
}

static void skip_space(struct parser *p)
{
	while (peek(p) == ' ' || peek(p) == '\t' || peek(p) == '\n' || peek(p) == '\r')
		p->pos++;
}

static bool digit(int c)
{
	return c >= '0' && c <= '9';
}

/* --- strings --- */

static int hex4(struct parser *p, unsigned *out)
{
	*out = 0;
	for (int i = 0; i < 4; i++) {
		int c = peek(p), v;
		if (digit(c))
			v = c - '0';
		else if (c >= 'a' && c <= 'f')
			v = c - 'a' + 10;
		else if (c >= 'A' && c <= 'F')
			v = c - 'A' + 10;
		else
			return fail(p, p->pos, "expected four hexadecimal digits after '\\u'");
		*out = *out * 16 + (unsigned)v;
		p->pos++;
	}
	return 0;
}

static char *put_utf8(char *w, unsigned c)
{
	if (c < 0x80) {
		*w++ = (char)c;
	} else if (c < 0x800) {
		*w++ = (char)(0xc0 | c >> 6);
		*w++ = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		*w++ = (char)(0xe0 | c >> 12);
		*w++ = (char)(0x80 | (c >> 6 & 0x3f));
		*w++ = (char)(0x80 | (c & 0x3f));
	} else {
		*w++ = (char)(0xf0 | c >> 18);
		*w++ = (char)(0x80 | (c >> 12 & 0x3f));
		*w++ = (char)(0x80 | (c >> 6 & 0x3f));
		*w++ = (char)(0x80 | (c & 0x3f));
	}
	return w;
}

/* After "\u": one code point, from a surrogate pair where needed. */
static int unicode_escape(struct parser *p, unsigned *out)
{
	size_t start = p->pos;
	unsigned low;
	TRY(hex4(p, out));
	if (*out == 0)
		return fail(p, start, "U+0000 is not accepted in a string");
	if (*out < 0xd800 || *out > 0xdfff)
		return 0;
	if (*out > 0xdbff || !accept(p, '\\') || !accept(p, 'u'))
		return fail(p, start, "half of a surrogate pair");
	TRY(hex4(p, &low));
	if (low < 0xdc00 || low > 0xdfff)
		return fail(p, start, "half of a surrogate pair");
	*out = 0x10000 + ((*out - 0xd800) << 10) + (low - 0xdc00);
	return 0;
}

static int escape(struct parser *p, char **w)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	int c = peek(p);
	const char *hit = c > 0 ? strchr(from, c) : NULL;
	unsigned point;
	if (hit) {
		p->pos++;
		*(*w)++ = to[hit - from];
		return 0;
	}
	if (!accept(p, 'u'))
		return fail(p, p->pos, "unknown escape in a string");
	TRY(unicode_escape(p, &point));
	*w = put_utf8(*w, point);
	return 0;
}

/* The cursor is on the opening quote. The decoded text is never longer than the written one;
 * the closing quote ends a broken UTF-8 sequence as a NUL would. */
static int string(struct parser *p, const char **out)
{
	size_t start = p->pos++, end = p->pos;
	char *text, *w;
	while (end < p->size && p->text[end] != '"')
		end += p->text[end] == '\\' ? 2 : 1;
	if (end >= p->size)
		return fail(p, start, "a string without an end");
	text = w = arena_alloc(p->a, end - start);
	while (!accept(p, '"')) {
		const char *s = p->text + p->pos;
		int len;

		if (accept(p, '\\')) {
			TRY(escape(p, &w));
			continue;
		}
		if ((unsigned char)*s < 0x20)
			return fail(p, p->pos, "a control character in a string");
		len = utf8_length(s);
		if (!len)
			return fail(p, p->pos, "a string that is not UTF-8");
		memcpy(w, s, (size_t)len);
		w += len;
		p->pos += (size_t)len;
	}
	*out = text;
	return 0;
}

/* --- the other kinds --- */

static int digits(struct parser *p)
{
	if (!digit(peek(p)))
		return fail(p, p->pos, "expected a digit");
	while (digit(peek(p)))
		p->pos++;
	return 0;
}

static int number(struct parser *p, struct json *v)
{
	size_t start = p->pos;
	char *text;
	v->kind = JSON_NUMBER;
	accept(p, '-');
	if (!accept(p, '0'))
		TRY(digits(p));
	else if (digit(peek(p)))
		return fail(p, start, "a number with a leading zero");
	if (accept(p, '.'))
		TRY(digits(p));
	if (accept(p, 'e') || accept(p, 'E')) {
		if (!accept(p, '+'))
			accept(p, '-');
		TRY(digits(p));
	}
	text = arena_alloc(p->a, p->pos - start + 1);
	memcpy(text, p->text + start, p->pos - start);
	v->text = text;
	return 0;
}

static int word(struct parser *p, struct json *v)
{
	static const struct {
		const char *text;
		enum json_kind kind;
	} words[] = { { "null", JSON_NULL }, { "true", JSON_TRUE }, { "false", JSON_FALSE } };

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		size_t n = strlen(words[i].text);
		if (p->size - p->pos >= n && memcmp(p->text + p->pos, words[i].text, n) == 0) {
			p->pos += n;
			v->kind = words[i].kind;
			return 0;
		}
	}
	return fail(p, p->pos,
	            p->pos < p->size ? "expected a value" : "ends where a value is expected");
}

static void push(struct parser *p, struct json *v)
{
	if (p->nstack == p->cap) {
		p->cap = p->cap ? 2 * p->cap : 64;
		p->stack = mem_realloc(p->stack, (size_t)p->cap * sizeof *p->stack);
	}
	p->stack[p->nstack++] = v;
}

static int by_key(const void *a, const void *b)
{
	const struct json *x = *(struct json *const *)a, *y = *(struct json *const *)b;
	int d = strcmp(x->key, y->key);
	return d ? d : x->at < y->at ? -1 : x->at > y->at;
}

static int check_unique(struct parser *p, const struct json *object)
{
	size_t bytes = (size_t)object->n * sizeof *object->item;
	struct json **sorted;
	int rc = 0;
	if (object->n < 2)
		return 0;
	sorted = mem_alloc(bytes);
	memcpy(sorted, object->item, bytes);
	qsort(sorted, (size_t)object->n, sizeof *sorted, by_key);
	for (int i = 1; i < object->n && rc == 0; i++)
		if (strcmp(sorted[i - 1]->key, sorted[i]->key) == 0)
			rc = ERR(E_DATA, NULL, "'%s': byte %zu: the name '%.100s' stands twice in one object",
			         p->file, sorted[i]->at, sorted[i]->key);
	mem_free(sorted);
	return rc;
}

static int member(struct parser *p, bool object)
{
	const char *key = NULL;
	struct json *v;
	skip_space(p);
	if (object) {
		if (peek(p) != '"')
			return fail(p, p->pos, "expected a name in double quotes");
		TRY(string(p, &key));
		skip_space(p);
		if (!accept(p, ':'))
			return fail(p, p->pos, "expected ':'");
	}
	TRY(value(p, &v));
	v->key = key;
	push(p, v);
	skip_space(p);
	return 0;
}

static int members(struct parser *p, struct json *v, bool object)
{
	char close = object ? '}' : ']';
	int first = p->nstack;
	if (++p->depth > JSON_DEPTH)
		return fail(p, p->pos, "nested too deeply");
	v->kind = object ? JSON_OBJECT : JSON_ARRAY;
	p->pos++;
	skip_space(p);
	if (!accept(p, close)) {
		do
			TRY(member(p, object));
		while (accept(p, ','));
		if (!accept(p, close))
			return fail(p, p->pos, object ? "expected ',' or '}'" : "expected ',' or ']'");
	}
	p->depth--;
	v->n = p->nstack - first;
	if (v->n > 0)
		v->item = arena_copy(p->a, p->stack + first, (size_t)v->n * sizeof *v->item);
	p->nstack = first;
	return object ? check_unique(p, v) : 0;
}

static int value(struct parser *p, struct json **out)
{
	struct json *v = *out = ARENA_NEW(p->a, struct json);
	skip_space(p);
	v->at = p->base + p->pos;
	v->text = "";
	if (++p->values > JSON_VALUES)
		return fail(p, p->pos, "too many values");
	switch (peek(p)) {
	case '{':
		return members(p, v, true);
	case '[':
		return members(p, v, false);
	case '"':
		v->kind = JSON_STRING;
		return string(p, &v->text);
	case '-': case '0': case '1': case '2': case '3': case '4':
	case '5': case '6': case '7': case '8': case '9':
		return number(p, v);
	default:
		return word(p, v);
	}
}

int json_parse(struct json **out, struct arena *a, const char *file, size_t base,
               const char *text, size_t size)
{
	struct parser p = { .a = a, .file = file, .base = base, .text = text, .size = size };
	int rc = value(&p, out);
	skip_space(&p);
	if (rc == 0 && p.pos < size)
		rc = fail(&p, p.pos, "text after the end of the value");
	mem_free(p.stack);
	return rc;
}

/* --- access --- */

const struct json *json_find(const struct json *object, const char *key)
{
	if (object->kind != JSON_OBJECT)
		return NULL;
	for (int i = 0; i < object->n; i++)
		if (strcmp(object->item[i]->key, key) == 0)
			return object->item[i];
	return NULL;
}

bool json_uint(const struct json *v, uint64_t *out)
{
	if (v->kind != JSON_NUMBER || v->text[strspn(v->text, "0123456789")])
		return false;
	errno = 0;
	*out = strtoull(v->text, NULL, 10);
	return errno == 0;
}

bool json_int(const struct json *v, int64_t *out)
{
	if (v->kind != JSON_NUMBER || v->text[strspn(v->text, "-0123456789")])
		return false;
	errno = 0;
	*out = strtoll(v->text, NULL, 10);
	return errno == 0;
}

bool json_double(const struct json *v, double *out)
{
	if (v->kind != JSON_NUMBER)
		return false;
	*out = strtod(v->text, NULL);
	return true;
}
