/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The files that a command reads, by device and inode, so that no output takes the place of one
 * whatever it is called: by another path, a symbolic or a hard link. */
#include <pthread.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/mem.h"

struct input {
	dev_t device;
	ino_t inode;
	struct timespec changed;
	char *name;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct input *inputs;
static int ninputs, room;

void io_input(const char *path)
{
	struct stat st;
	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
		return;
	pthread_mutex_lock(&lock);
	if (ninputs == room) {
		room = room ? 2 * room : 16;
		inputs = mem_realloc(inputs, (size_t)room * sizeof *inputs);
	}
	inputs[ninputs++] = (struct input){ st.st_dev, st.st_ino, st.st_mtim, mem_strdup(path) };
	pthread_mutex_unlock(&lock);
}

static bool same(const struct input *i, const struct stat *st)
{
	return i->device == st->st_dev && i->inode == st->st_ino;
}

/* The inode number of a removed input may have been reused for another file. It still is the input
 * if it has the same name or the same modification time. */
static bool is(const struct input *i, const struct stat *st)
{
	struct stat now;
	if (!same(i, st))
		return false;
	return (i->changed.tv_sec == st->st_mtim.tv_sec && i->changed.tv_nsec == st->st_mtim.tv_nsec) ||
	       (stat(i->name, &now) == 0 && same(i, &now));
}

void io_input_forget(const char *path)
{
	struct stat st;
	int kept = 0;
	if (stat(path, &st) != 0)
		return;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < ninputs; i++) {
		if (is(&inputs[i], &st))
			mem_free(inputs[i].name);
		else
			inputs[kept++] = inputs[i];
	}
	ninputs = kept;
	pthread_mutex_unlock(&lock);
}

const char *io_input_find(const struct stat *st)
{
	const char *name = NULL;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < ninputs && !name; i++)
		if (is(&inputs[i], st))
			name = inputs[i].name;
	pthread_mutex_unlock(&lock);
	return name;
}
