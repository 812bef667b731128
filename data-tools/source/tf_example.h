/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of TensorFlow's type Example: a map of named features, each a list of bytes, of floats
 * or of integers. A message of any size is read through a window, and only the values asked for. */
#ifndef DLX_DATA_TOOLS_TF_EXAMPLE_H
#define DLX_DATA_TOOLS_TF_EXAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* n bytes of a message that begin at byte `from`: the window, and how others are read. */
struct message {
	uint64_t n;
	int (*read)(void *user, uint64_t at, void *out, size_t n);
	void *user;
	uint8_t *window;             /* of `have` bytes from byte `from` on, with room for `room` */
	uint64_t from;
	size_t have, room;           /* room: 16 at least */
	int rc;                      /* of the read that failed */
};

enum feature_kind { FEATURE_NONE, FEATURE_BYTES, FEATURE_FLOATS, FEATURE_INTS };

/* A value of a list, at byte `at` of the message: that of a field, or within one that ends at byte
 * `end`, if that is not 0. */
struct feature_mark {
	uint64_t value, at, end;
};

struct feature {
	uint64_t name, name_length;  /* its place in the message */
	enum feature_kind kind;
	uint64_t list, size;         /* the list's */
	uint64_t count;              /* bytes (of all values together), floats or integers */
	int nmarks;                  /* of a long list, so that reading begins near what is asked for */
	struct feature_mark *mark;
};

/* Walks through the features of a message; zeroed to begin with. */
struct example {
	struct message *m;
	uint64_t at;                 /* in the message */
	uint64_t end;                /* of the Features that are being read */
	const char *wrong;           /* what is damaged, at `at`; else NULL */
};

/* The next feature, to be released; false at the end, if the message is damaged, or if reading it
 * failed (m->rc). */
bool example_next(struct example *e, struct feature *out);
/* The feature of this name, the last one if it is there twice; false if there is none. Sets what
 * example_next sets. */
bool example_find(struct example *e, const char *name, struct feature *out);
void feature_release(struct feature *f);         /* a zeroed one is fine */
/* n of its values from value `first` on, all within the count: bytes as they are, float or int64_t.
 * As message.read. */
int feature_read(struct message *m, const struct feature *f, uint64_t first, uint64_t n, void *out);
/* n bytes of the message, all within it. As message.read. */
int message_read(struct message *m, uint64_t at, void *out, size_t n);

#endif
