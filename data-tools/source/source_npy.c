/* SPDX-License-Identifier: BSD-3-Clause
 *
 * NumPy arrays: .npy files, and .npz files, which are zip archives of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "data-tools/source/little.h"
#include "data-tools/source/source_stored.h"
#include "data-tools/source/unzip.h"

/* --- the array --- */

/* The text after 'key': in the header's Python dictionary, or NULL. */
static const char *dict_value(const char *header, const char *key)
{
	char quoted[32];
	const char *p;
	snprintf(quoted, sizeof(quoted), "'%s':", key);
	p = strstr(header, quoted);
	if (!p)
		return NULL;
	p += strlen(quoted);
	return p + strspn(p, " ");
}

static int read_descr(struct source *s, const char *header)
{
	static const struct {
		const char *code;
		int dtype;
	} types[] = {
	    { "f2", DTYPE_F16 }, { "f4", DTYPE_F32 }, { "f8", DTYPE_F64 }, { "i1", DTYPE_I8 },
	    { "u1", DTYPE_U8 },  { "b1", DTYPE_U8 },  { "i2", DTYPE_I16 }, { "u2", DTYPE_U16 },
	    { "i4", DTYPE_I32 }, { "i8", DTYPE_I64 }, { "u4", DTYPE_I64 }, { "u8", DTYPE_I64 },
	};
	const char *p = dict_value(header, "descr");
	struct stored *h = s->handle;

	if (!p || p[0] != '\'' || !strchr("<>|=", p[1]))
		return source_bad(s, "an element type that is neither float nor integer");
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (strncmp(p + 2, types[i].code, 2) != 0 || p[4] != '\'')
			continue;
		s->dtype = (enum dtype)types[i].dtype;
		h->element = (size_t)(types[i].code[1] - '0');
		h->big_endian = p[1] == '>';
		h->u32 = strcmp(types[i].code, "u4") == 0;
		s->unsigned64 = strcmp(types[i].code, "u8") == 0;
		return 0;
	}
	const bool text = strchr("US", p[2]) && p[2];
	return ERR(E_DATA, NULL, "'%s': element type %.*s is not supported%s", s->path,
	           (int)strcspn(p, ",}"), p, text ? ": it is text; number classes from 0" : "");
}

static int read_shape(struct source *s, const char *header)
{
	const char *p = dict_value(header, "shape");
	if (!p || *p != '(')
		return source_bad(s, "no shape in the header");
	for (p++; *p != ')';) {
		char *end;
		const long long v = strtoll(p, &end, 10);

		if (end == p || v < 0)
			return source_bad(s, "bad shape in the header");
		if (s->shape.nd == MAXD)
			return source_bad(s, "too many axes");
		s->shape.d[s->shape.nd++] = v;
		end += *end == 'L';              /* Python 2 marks a long integer */
		p = end + strspn(end, ", ");
	}
	return 0;
}

static int read_header(struct source *s, const char *header)
{
	const char *fortran = dict_value(header, "fortran_order");
	struct stored *h = s->handle;
	TRY(read_descr(s, header));
	TRY(read_shape(s, header));
	if (!fortran || (strncmp(fortran, "False", 5) != 0 && strncmp(fortran, "True", 4) != 0))
		return source_bad(s, "no fortran_order in the header");
	h->reversed = *fortran == 'T' && s->shape.nd > 1;
	s->at_once = h->reversed;
	return 0;
}

#define TURNED_MOST ((uint64_t)4 << 30)      /* bytes of an array that is turned round in memory */
#define MOST_HEADER ((size_t)1 << 20)

/* p: the first n bytes. */
static int parse_head(struct source *s, const uint8_t *p, size_t n)
{
	struct stored *h = s->handle;
	size_t start, length;
	char *header;
	int rc;
	if (n < 12 || memcmp(p, "\x93NUMPY", 6) != 0)
		return source_bad(s, "not an .npy array");
	start = p[6] == 1 ? 10 : 12;
	length = (size_t)little(p + 8, p[6] == 1 ? 2 : 4);
	if (p[6] < 1 || p[6] > 3 || length > n - start)
		return source_bad(s, "damaged .npy header");
	header = mem_calloc(1, length + 8);   /* ends in zeros: nothing below reads past them */
	memcpy(header, p + start, length);
	rc = read_header(s, header);
	mem_free(header);
	h->at = start + length;
	return rc;
}

static int parse_npy(struct source *s)
{
	const struct stored *h = s->handle;
	const uint64_t most = packed_most(h->file);
	const size_t n = most < MOST_HEADER ? (size_t)most : MOST_HEADER;
	uint8_t *head = mem_alloc(n + 1);
	size_t got;
	int rc = stored_head(s, head, n, &got);
	if (rc == 0)
		rc = parse_head(s, head, got);
	mem_free(head);
	TRY(rc);
	TRY(stored_fits(s));
	if (h->reversed && (uint64_t)shape_count(&s->shape) * dtype_size(s->dtype) > TURNED_MOST)
		return source_bad(s, "Fortran order in more than 4 GiB, which would have to be in memory; "
		                  "save numpy.ascontiguousarray(x) instead");
	return 0;
}

static bool is_npy(const uint8_t *head, size_t n)
{
	(void)head;
	(void)n;
	return true;
}

static int open_npy(struct source *s, const char *variable)
{
	struct stored *h;
	if (variable)
		return ERR(E_USAGE, NULL, "'%s' is one array without a name; '%s' cannot be chosen",
		           s->path, variable);
	s->handle = h = mem_calloc(1, sizeof(*h));
	source_take_stem(s);
	TRY(packed_open(&h->file, s->path, is_npy));
	return parse_npy(s);
}

/* --- members of archives --- */

static int open_member(struct source *s, const struct unzip *z, const struct unzip_member *m)
{
	struct stored *h = s->handle;
	s->name = mem_strdup(m->name);
	h->summed = true;
	h->size = m->size;
	h->crc = m->crc;
	TRY(unzip_open_member(z, m, &h->file));
	TRYC(parse_npy(s), "in the member '%s'", m->name);
	return source_fits(&s->shape, h->element, m->size - (h->at < m->size ? h->at : m->size)) ? 0 :
	       source_bad(s, "truncated: the header promises more values than there are");
}

static int choose_member(struct source *s, const struct unzip *z, const char *variable)
{
	const struct unzip_member *m = NULL;
	const char **names;
	int rc;
	for (int i = 0; i < z->n; i++)
		if (variable ? strcmp(z->member[i].name, variable) == 0 : z->n == 1)
			m = &z->member[i];
	if (m)
		return open_member(s, z, m);
	names = mem_calloc((size_t)z->n + 1, sizeof(*names));
	for (int i = 0; i < z->n; i++)
		names[i] = z->member[i].name;
	rc = source_no_variable(s->path, variable, names, z->n);
	mem_free(names);
	return rc;
}

static int open_npz(struct source *s, const char *variable)
{
	struct unzip z;
	int rc;
	s->handle = mem_calloc(1, sizeof(struct stored));
	rc = unzip_open(&z, s->path);
	if (rc == 0)
		rc = choose_member(s, &z, variable);
	unzip_release(&z);
	return rc;
}

int source_npz_names(const char *path, char ***names, int *n)
{
	struct unzip z;
	const int rc = unzip_open(&z, path);
	*n = rc == 0 ? z.n : 0;
	*names = rc == 0 ? mem_calloc((size_t)z.n + 1, sizeof **names) : NULL;
	for (int i = 0; i < *n; i++)
		(*names)[i] = mem_strdup(z.member[i].name);
	unzip_release(&z);
	return rc;
}

static const char *const npy_extensions[] = { ".npy", NULL }, *const npz_extensions[] = { ".npz",
                                                                                       NULL };

const struct source_format source_npy = {
	"npy", npy_extensions, open_npy, stored_read, stored_close, stored_read_box, .apart = true,
	.ends = true,
};
const struct source_format source_npz = {
	"npz", npz_extensions, open_npz, stored_read, stored_close, stored_read_box, .ends = true,
};
