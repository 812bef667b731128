/* SPDX-License-Identifier: BSD-3-Clause */
#include "backend/second.h"

#include <string.h>

void second_init(struct second *s, const struct device *d, int n, struct arena *a)
{
	*s = (struct second){ .dev = d, .n = n, .given = ARENA_ARRAY(a, bool, n + 1) };
}

void second_start(struct second *s)
{
	s->last = s->awaited = 0;
	memset(s->given, 0, ((size_t)s->n + 1) * sizeof *s->given);
}

int second_begin(struct second *s, int number)
{
	if (number == 0)
		return 0;
	s->last = number;
	s->given[number] = true;
	return s->dev->driver->second_begin(s->dev);
}

int second_end(struct second *s, int number)
{
	return number == 0 ? 0 : s->dev->driver->second_end(s->dev, number);
}

int second_await(struct second *s, int number)
{
	int i = number < s->last ? number : s->last;
	while (i > s->awaited && !s->given[i])
		i--;
	if (i <= s->awaited)
		return 0;
	s->awaited = i;
	return s->dev->driver->second_await(s->dev, i);
}
