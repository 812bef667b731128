/* SPDX-License-Identifier: BSD-3-Clause
 *
 * main for a fuzz target without a fuzzer: runs LLVMFuzzerTestOneInput over every file of the
 * folders and over the files given as arguments, and over a fixed number of mutations of each, the
 * same ones every time. Under libFuzzer the target is linked without this file.
 *
 *     fuzz_yaml_check [-n MUTATIONS] [FOLDER|FILE...]
 *
 * With no FOLDER it is FUZZ_CORPUS, which the Makefile defines for each target, so that `make
 * check` can run it. A crash, a sanitizer's report or a hang is the failure. Before each input its
 * name and the mutation's number are kept, so that a fatal signal can say which one it was; `-o
 * FILE` with `-i NUMBER` writes that input out. */
#include <dirent.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	char *path;
	uint8_t *data;
	size_t size;
};

static struct input *inputs;
static int ninputs;
static int mutations = 3000;
static const char *out_path;
static int out_number = -1;

static const char *now_path = "";
static int now_number;

static void fatal_signal(int sig)
{
	char text[512];
	int n = snprintf(text, sizeof text, "\nfuzz: signal %d at input '%s', mutation %d\n", sig,
	                 now_path, now_number);
	if (write(STDERR_FILENO, text, (size_t)n) < 0)
		_exit(2);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void *must(void *p)
{
	if (!p) {
		fprintf(stderr, "fuzz: out of memory\n");
		exit(2);
	}
	return p;
}

static void add_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct input in = { .path = must(strdup(path)) };
	size_t room = 0, n;
	if (!f) {
		perror(path);
		exit(2);
	}
	do {
		room = room ? room * 2 : 4096;
		in.data = must(realloc(in.data, room));
		n = fread(in.data + in.size, 1, room - in.size, f);
		in.size += n;
	} while (in.size == room);
	fclose(f);
	inputs = must(realloc(inputs, (size_t)(ninputs + 1) * sizeof *inputs));
	inputs[ninputs++] = in;
}

static int visible(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

/* Sorted, so that the mutations do not depend on the file system's order. */
static void add_path(const char *path)
{
	struct dirent **list;
	struct stat st;
	int n;
	if (stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
		add_file(path);
		return;
	}
	n = scandir(path, &list, visible, alphasort);
	if (n < 0) {
		perror(path);
		exit(2);
	}
	for (int i = 0; i < n; i++) {
		char *file = must(malloc(strlen(path) + strlen(list[i]->d_name) + 2));
		sprintf(file, "%s/%s", path, list[i]->d_name);
		add_path(file);
		free(file);
		free(list[i]);
	}
	free(list);
}

static uint64_t state;

/* splitmix64 */
static uint64_t draw(void)
{
	uint64_t x = state += 0x9E3779B97F4A7C15;
	x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
	x = (x ^ x >> 27) * 0x94D049BB133111EB;
	return x ^ x >> 31;
}

static size_t below(size_t n)
{
	return n ? (size_t)(draw() % n) : 0;
}

/* Replaces a part of the input by a part of another one. */
static void splice(struct input *m)
{
	const struct input *other = &inputs[below((size_t)ninputs)];
	size_t at = below(m->size + 1), cut = below(m->size - at + 1);
	size_t from = below(other->size + 1), take = below(other->size - from + 1);
	uint8_t *data;
	if (take > 4096)
		take = 4096;
	data = must(malloc(m->size - cut + take + 1));
	memcpy(data, m->data, at);
	memcpy(data + at, other->data + from, take);
	memcpy(data + at + take, m->data + at + cut, m->size - at - cut);
	free(m->data);
	m->data = data;
	m->size += take - cut;
}

/* Sizes and counts of a binary format are where a reader errs: put an extreme one somewhere. */
static void extreme(struct input *m)
{
	static const uint64_t values[] = {
		0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
		INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX, UINT64_MAX - 7,
	};
	uint64_t v = values[below(sizeof values / sizeof values[0])];
	size_t width = (size_t)1 << below(4);
	if (m->size >= width)
		memcpy(m->data + below(m->size - width + 1), &v, width);
}

static void mutate(struct input *m)
{
	size_t rounds = 1 + below(4);
	while (rounds--) {
		switch (below(6)) {
		case 0:
		case 1:
			if (m->size)
				m->data[below(m->size)] ^= (uint8_t)(1u << below(8));
			break;
		case 2:
			if (m->size)
				m->data[below(m->size)] = (uint8_t)draw();
			break;
		case 3:
			m->size = below(m->size + 1);
			break;
		case 4:
			extreme(m);
			break;
		case 5:
			splice(m);
			break;
		}
	}
}

/* The input goes to the target in memory of its exact size, so that a read beyond it is seen. */
static void run(const struct input *in, int number)
{
	uint8_t *data = must(malloc(in->size ? in->size : 1));
	FILE *f;
	memcpy(data, in->data, in->size);
	now_path = in->path;
	now_number = number;
	if (out_path && number == out_number) {
		f = must(fopen(out_path, "wb"));
		fwrite(data, 1, in->size, f);
		fclose(f);
	}
	LLVMFuzzerTestOneInput(data, in->size);
	free(data);
}

static void run_mutations(const struct input *in)
{
	for (int i = 1; i <= mutations; i++) {
		struct input m = { .path = in->path, .size = in->size };
		m.data = must(malloc(in->size + 1));
		memcpy(m.data, in->data, in->size);
		state = (uint64_t)i * 0x2545F4914F6CDD1D + in->size;
		mutate(&m);
		run(&m, i);
		free(m.data);
	}
}

int main(int argc, char **argv)
{
	int c;
	while ((c = getopt(argc, argv, "n:o:i:")) != -1) {
		switch (c) {
		case 'n': mutations = atoi(optarg); break;
		case 'o': out_path = optarg; break;
		case 'i': out_number = atoi(optarg); break;
		default: return 2;
		}
	}
	for (int i = optind; i < argc; i++)
		add_path(argv[i]);
#ifdef FUZZ_CORPUS
	if (optind == argc)
		add_path(FUZZ_CORPUS);
#endif
	if (ninputs == 0) {
		fprintf(stderr, "fuzz: no inputs\n");
		return 2;
	}
	signal(SIGSEGV, fatal_signal);
	signal(SIGBUS, fatal_signal);
	signal(SIGABRT, fatal_signal);
	signal(SIGFPE, fatal_signal);
	for (int i = 0; i < ninputs; i++) {
		run(&inputs[i], 0);
		run_mutations(&inputs[i]);
	}
	printf("%d inputs, %d mutations of each\n", ninputs, mutations);
	for (int i = 0; i < ninputs; i++) {
		free(inputs[i].path);
		free(inputs[i].data);
	}
	free(inputs);
	return 0;
}
