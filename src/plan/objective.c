/* SPDX-License-Identifier: BSD-3-Clause */
#include "plan/objective.h"

#include <string.h>

#include "optim/optim.h"

static int64_t times(const struct objectives *o, int k)
{
	return o->v[k].continues ? 0 : o->v[k].times;
}

static int64_t round_steps(const struct objectives *o)
{
	int64_t n = 0;
	for (int k = 0; k < o->n; k++)
		n += times(o, k);
	return n;
}

struct turn objective_turn(const struct objectives *o, int64_t step)
{
	const int64_t each = round_steps(o), round = step / each;
	int64_t at = step % each;
	int k = 0;
	while (at >= times(o, k))
		at -= times(o, k++);
	struct turn t = { k, round * o->v[k].times + at };
	while (t.objective + 1 < o->n && o->v[t.objective + 1].continues &&
	       t.step >= o->v[t.objective].steps)
		t.step -= o->v[t.objective++].steps;
	return t;
}

/* Of all phases together. */
static int64_t steps_of_all(const struct objectives *o, int first, int64_t steps)
{
	const int64_t each = round_steps(o);
	int64_t at = steps % each;
	for (int i = 0; i < first; i++)
		at -= times(o, i);
	at = at < 0 ? 0 : at > o->v[first].times ? o->v[first].times : at;
	return steps / each * o->v[first].times + at;
}

int64_t objective_steps(const struct objectives *o, int k, int64_t steps)
{
	int first = k;
	while (o->v[first].continues)
		first--;
	int64_t n = steps_of_all(o, first, steps);
	for (int i = first; i < k; i++)
		n -= o->v[i].steps;
	const bool more = k + 1 < o->n && o->v[k + 1].continues;
	return n < 0 ? 0 : more && n > o->v[k].steps ? o->v[k].steps : n;
}

struct strings objectives_arrays(const struct objectives *o, struct arena *a)
{
	const char **v = ARENA_ARRAY(a, const char *, o->n);
	int n = 0;
	for (int k = 0; k < o->n; k++) {
		int i = 0;
		while (o->v[k].weights && i < n && strcmp(v[i], o->v[k].weights) != 0)
			i++;
		if (o->v[k].weights && i == n)
			v[n++] = o->v[k].weights;
	}
	return (struct strings){ .n = n, .v = v };
}

bool objectives_average(const struct objectives *o)
{
	for (int k = 0; k < o->n; k++)
		if (!o->v[k].lbfgs && optim_averages(o->v[k].optimizer))
			return true;
	return false;
}

bool objective_trains(const struct objective *o, const char *param)
{
	for (int i = 0; o->networks && i < o->networks->n; i++) {
		const size_t n = strlen(o->networks->v[i]);
		if (strncmp(param, o->networks->v[i], n) == 0 && (param[n] == '.' || !param[n]))
			return true;
	}
	return o->networks == NULL;
}
