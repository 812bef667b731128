/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The values that outlive a step: params and states, by name, in the physical layout the first plan
 * chose. Several plans (training, evaluation, a short last batch) share one store. */
#ifndef DLX_BACKEND_STORE_H
#define DLX_BACKEND_STORE_H

#include "backend/device.h"

struct store_entry {
	const char *name;
	enum role role;              /* ROLE_PARAM or ROLE_STATE */
	struct shape shape;
	enum dtype dtype;            /* on the device */
	struct layout layout;
	struct init init;
	enum state_use use;          /* of a state */
	const struct device *dev;
	void *data;                  /* in the device's memory; code that
	                              * writes there calls store_touch */
	size_t bytes;
	uint64_t *changes;           /* of the store */
};

struct store;

struct store *store_new(const struct device *dev, uint64_t seed);
void store_free(struct store *s);                 /* NULL is fine */
/* Before pass_layout: gives the params and states of g the layouts the store has already. */
void store_preset(const struct store *s, struct graph *g);
/* The value of this name, not yet there, is to be in this memory (of as many bytes as it will
 * need, zeroed), which the store borrows. */
void store_place(struct store *s, const char *name, void *memory);
bool store_is_placed(const struct store *s, const char *name);
/* Bytes of the store's memory that a value of this many bytes takes. */
size_t store_padded(size_t bytes);
/* After planning: makes an entry, initialised, for each param and state of g that is not there. A
 * shape that differs is E_SHAPE. E_NOMEM with a table of what is needed if memory is refused. */
int store_add(struct store *s, const struct graph *g);
/* The entries alone, without memory and values, for what is only planned; store_add is not for such
 * a store. */
int store_note(struct store *s, const struct graph *g);
/* Gives every entry its initial value once more. */
int store_begin_again(struct store *s);
int store_count(const struct store *s);
struct store_entry *store_at(const struct store *s, int i);           /* in order of first use */
struct store_entry *store_find(const struct store *s, const char *name);   /* or NULL */
/* Values in plain layout, converted to/from dtype t. Only a
 * device with a memory of its own can fail. */
int store_get(const struct store_entry *e, enum dtype t, void *plain);
int store_set(struct store_entry *e, enum dtype t, const void *plain);
/* store_get in its own dtype on a device with a memory of its own, concurrent with kernels: _begin
 * starts the copy (copy_beside) to store_room bytes of its alloc_host memory, _end makes them plain
 * once copy_wait has returned, in any thread. */
size_t store_room(const struct store_entry *e);          /* elsewhere those of the plain values */
int store_get_begin(const struct store_entry *e, void *room);
int store_get_end(const struct store_entry *e, void *room);
/* A number that changes whenever values are written: by store_set, by a plan's update, or by
 * store_touch. Data derived from values are valid as long as it stays the same. */
uint64_t store_changes(const struct store *s);
void store_touch(struct store_entry *e);
uint64_t store_touch_all(struct store *s);               /* the new number */
/* From now on a plan in the host's memory calls this in each run with updates, before the first of
 * them writes a value that is kept. call NULL: no longer. store_meet_update is for plans. */
void store_before_update(struct store *s, void (*call)(void *arg), void *arg);
void store_meet_update(const struct store *s);
/* Whether the network itself needs it, trained or not: params and running statistics. */
bool store_is_weight(const struct store_entry *e);

#endif
