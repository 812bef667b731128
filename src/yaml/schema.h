/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tables that say what a config section, an op's attributes or a schedule may contain. One row has
 * the key's name, type, range, default, choices, offset in the C struct and its documentation;
 * parsing, checking, "--help-config", the man page and did-you-mean all read the same row. YAML
 * keys are the C field names.
 *
 *   static const struct field fields[] = {
 *       FIELD_INT(struct conv, filters, "", 1, 1 << 20, "output channels"),   "" = required
 *       FIELD_ENUM(struct conv, padding, "valid", padding_names, "how the border is treated"),
 *       FIELD_END
 *   };
 *
 * schema_read reports every mistake it finds (one error entry each, with the place) and goes on;
 * it returns the first code. It never leaves a field unset: absent keys get the row's default. */
#ifndef DLX_YAML_SCHEMA_H
#define DLX_YAML_SCHEMA_H

#include "yaml/ytree.h"

enum field_type {
	FT_END = 0,
	FT_BOOL,      /* bool */
	FT_INT,       /* int64_t */
	FT_FLOAT,     /* double */
	FT_STRING,    /* const char * (NULL if nullable and null) */
	FT_PATH,      /* const char *, with $VAR and ~ expanded; an unset variable is an error */
	FT_ENUM,      /* int: index in choices */
	FT_INTS,      /* struct ints: one integer or a list */
	FT_FLOATS,    /* struct floats: one number or a list */
	FT_STRINGS,   /* struct strings: one string or a list */
	FT_PATHS,     /* struct strings: one path, as FT_PATH, or a list */
	FT_BYTES,     /* int64_t: 4096, 512KiB, 8GiB, 1.5GB */
	FT_SECONDS,   /* double: 90, "90s", "10m", "2h", or {minutes: 10} */
	FT_SECTION,   /* the struct sub describes, embedded at offset */
	FT_NODE,      /* struct ynode *: not interpreted here but by the owner (NULL if absent). sub,
	               * variants and entries only serve the help: with sub it is a map from names to
	               * such sections, with variants that have a `key` one of these, with other
	               * variants or with entries a list of tagged entries */
	FT_VARIANT,   /* struct variant_value: a map with `type: NAME`, or just NAME */
	FT_SECTIONS   /* struct sections: a list of maps whose keys are the fields of variants[0]; if
	               * one of these has FIELD_SHORTHAND, also a list of its values, or a single
	               * value */
};

struct ints {
	int n;
	const int64_t *v;
};
struct floats {
	int n;
	const double *v;
};
struct strings {
	int n;
	const char *const *v;
	const struct loc *loc;     /* of each */
};

struct sections {
	int n;
	const void *v;             /* structs of variants[0].size */
	const struct loc *loc;     /* of each */
};

/* One of several shapes a section can have, chosen by its `type` key or by the single key of a
 * tagged map. */
struct preset;
struct variant {
	const char *name;              /* NULL ends the list */
	const char *doc;
	const struct field *fields;    /* may be NULL: no keys */
	size_t size;                   /* bytes of the C struct */
	const char *key;               /* the key whose value names the variant; NULL: "type". The same
	                                * in every row */
	const struct preset *presets;  /* NULL: none */
	const void *own;               /* data of the table's owner; the schema code does not read it */
};
/* A named set of values for some of a variant's keys, such as the settings of a publication. The
 * user chooses it with the key `variant`; keys that are given explicitly override it. */
struct preset {
	const char *name;              /* NULL ends the list */
	const char *doc;
	const char *yaml;              /* the inside of a flow map: "growth: 32, kernel: 5" */
};
/* "type", or what the rows say. */
const char *variant_key(const struct variant *variants);

struct variant_value {
	const struct variant *v;       /* NULL if nullable and absent */
	const void *data;              /* the struct of v, read; in the arena */
	const char *preset;            /* the value of `variant`, or NULL */
	struct loc loc;
};

enum {
	FIELD_NULLABLE = 1,     /* `null` allowed: INT and BYTES read INT64_MIN, FLOAT
	                         * and SECONDS NaN, ENUM -1, others NULL or empty */
	FIELD_SHORTHAND = 2     /* a section or tagged entry that is not a map
	                         * sets this key: {normalize: min_max} */
};

struct field {
	const char *name;
	enum field_type type;
	size_t offset;
	const char *dflt;                 /* YAML; "" = required; NULL = absent (zero, NULL, empty) */
	double min, max;                  /* inclusive limits of a number, size or time, or of each item
	                                   * of a list; both 0: no limits */
	const char *const *choices;       /* FT_ENUM: NULL-terminated */
	const struct field *sub;          /* FT_SECTION, FT_NODE */
	const struct variant *variants;   /* FT_VARIANT: the types; FT_NODE: the entries allowed in the
	                                   * list */
	unsigned flags;
	const char *doc;                  /* one line: lower case, no final stop */
	const struct variant *(*entries)(struct arena *a);   /* FT_NODE: makes the variants on demand;
	                                                      * NULL: they are in `variants` */
};
/* The variants of a row, from f->variants or by f->entries; NULL if it has none. */
const struct variant *field_variants(const struct field *f, struct arena *a);

/* A row of key m, which the member m of struct s takes; the rest by name: .dflt = "1", .max = 9. */
#define FIELD(s, m, t, ...) FIELD_AT(#m, t, offsetof(s, m), __VA_ARGS__)
#define FIELD_AT(key, t, at, ...) { .name = key, .type = t, .offset = at, __VA_ARGS__ }
#define FIELD_BOOL(s, m, d, doc_)           FIELD(s, m, FT_BOOL, .dflt = d, .doc = doc_)
#define FIELD_INT(s, m, d, lo, hi, doc_) \
	FIELD(s, m, FT_INT, .dflt = d, .min = lo, .max = hi, .doc = doc_)
#define FIELD_FLOAT(s, m, d, lo, hi, doc_) \
	FIELD(s, m, FT_FLOAT, .dflt = d, .min = lo, .max = hi, .doc = doc_)
/* A number or a list of numbers that can also be given in the short form (FIELD_SHORTHAND). */
#define FIELD_SHORT(s, m, t, d, lo, hi, doc_) \
	FIELD(s, m, t, .dflt = d, .min = lo, .max = hi, .flags = FIELD_SHORTHAND, .doc = doc_)
#define FIELD_STRING(s, m, d, doc_)         FIELD(s, m, FT_STRING, .dflt = d, .doc = doc_)
#define FIELD_PATH(s, m, d, doc_)           FIELD(s, m, FT_PATH, .dflt = d, .doc = doc_)
#define FIELD_ENUM(s, m, d, ch, doc_) \
	FIELD(s, m, FT_ENUM, .dflt = d, .choices = ch, .doc = doc_)
#define FIELD_INTS(s, m, d, lo, hi, doc_) \
	FIELD(s, m, FT_INTS, .dflt = d, .min = lo, .max = hi, .doc = doc_)
#define FIELD_FLOATS(s, m, d, lo, hi, doc_) \
	FIELD(s, m, FT_FLOATS, .dflt = d, .min = lo, .max = hi, .doc = doc_)
#define FIELD_STRINGS(s, m, d, doc_)        FIELD(s, m, FT_STRINGS, .dflt = d, .doc = doc_)
#define FIELD_SECTION(s, m, fields, doc_)   FIELD(s, m, FT_SECTION, .sub = fields, .doc = doc_)
#define FIELD_NODE(s, m, d, doc_)           FIELD(s, m, FT_NODE, .dflt = d, .doc = doc_)
#define FIELD_NAMED(s, m, d, fields, doc_) \
	FIELD(s, m, FT_NODE, .dflt = d, .sub = fields, .doc = doc_)
#define FIELD_LIST(s, m, d, vars, doc_) \
	FIELD(s, m, FT_NODE, .dflt = d, .variants = vars, .doc = doc_)
#define FIELD_LIST_OF(s, m, d, make, doc_) \
	FIELD(s, m, FT_NODE, .dflt = d, .doc = doc_, .entries = make)
#define FIELD_VARIANT(s, m, d, vars, doc_) \
	FIELD(s, m, FT_VARIANT, .dflt = d, .variants = vars, .doc = doc_)
#define FIELD_SECTIONS(s, m, row, doc_)     FIELD(s, m, FT_SECTIONS, .variants = row, .doc = doc_)
#define FIELD_END { .type = FT_END }

/* Reads map (NULL or Y_NULL: an empty one) into *out by the table. what: the name of the section in
 * messages ("'conv2d'", "section 'train'"); loc: its position, for "missing key" errors. */
int schema_read(struct arena *a, const struct ynode *map, const struct field *fields,
                const char *what, const struct loc *loc, void *out);

/* Reads a section that picks its shape by `type`: {type: sgd, momentum: 0.9} or just `sgd`. */
int schema_read_variant(struct arena *a, const struct ynode *node, const struct variant *variants,
                        const char *what, struct variant_value *out);

/* Reads a tagged entry, a map of one key that names the variant: {conv2d: {filters: 8}}, {roll:
 * {axis: width}}, or just `flip`. ignore: keys of the inner map that the caller reads itself
 * (NULL-terminated), e.g. "name", "inputs". */
int schema_read_tagged(struct arena *a, const struct ynode *node, const struct variant *variants,
                       const char *what, const char *const *ignore, struct variant_value *out);

/* The reverse of schema_read: the values of the struct at `in` as a YAML tree (the effective
 * config). */
struct ynode *schema_write(struct arena *a, const struct field *fields, const void *in);
/* for tests */
struct ynode *schema_write_variant(struct arena *a, const struct variant_value *in);

#endif
