/* SPDX-License-Identifier: BSD-3-Clause */
#include "backend/second.h"

#include "base/err.h"
#include "base/mem.h"

void second_start(struct second *s, const struct device *d, int n)
{
	*s = (struct second){ .dev = d, .given = mem_calloc((size_t)n + 1, sizeof *s->given) };
}

void second_stop(struct second *s)
{
	mem_free(s->given);
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
