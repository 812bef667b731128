/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Compares two folders that dlx-train --dump-step wrote: the loss, and every tensor of outputs,
 * gradients and parameters.
 *
 *     compare_steps [-a] [-t TOLERANCE] A B [C]
 *
 * The distance of two tensors is the root mean square of their difference, as a share of the same
 * of the tensor in A, or of a thousandth of the largest in its file: a gradient that is zero but
 * for rounding has no digits to compare. With -a all tensors of a file count as one, for steps in
 * 16 bits, where single small tensors are far off. Each file of B may also be 1.5 times as far from
 * A as that of C is: a step of the same network that is rounded elsewhere, which says how much its
 * roundings grow. Prints the largest distance of each file; exits with 1 if one exceeds what is
 * allowed (1e-3, unless TOLERANCE says otherwise), with 2 if the folders cannot be compared. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "ckpt/safetensors.h"

#define LEAST 1e-3
#define FARTHER 1.5           /* than C: chance has a share in where roundings turn a ReLU */

static double tolerance = 1e-3;
static bool as_one;

struct dump {
	struct buf text;
	struct arena *arena;
	struct st_file f;
};

static int open_dump(struct dump *d, const char *dir, const char *file)
{
	char *path = io_join(dir, file);
	d->arena = arena_new();
	int rc = io_read_file(path, &d->text);
	if (rc == 0)
		rc = st_parse(&d->f, d->arena, arena_strdup(d->arena, path), d->text.data, d->text.len);
	mem_free(path);
	return rc;
}

static void close_dump(struct dump *d)
{
	buf_release(&d->text);
	arena_free(d->arena);
}

static double squares(const struct st_tensor *a, const struct st_tensor *b)
{
	const int64_t n = shape_count(&a->shape);
	double sum = 0;
	for (int64_t i = 0; i < n; i++) {
		double d = dtype_get(a->dtype, a->data, i) - (b ? dtype_get(b->dtype, b->data, i) : 0);
		sum += d * d;
	}
	return sum;
}

static double rms(const struct st_tensor *a, const struct st_tensor *b)
{
	const int64_t n = shape_count(&a->shape);
	return n ? sqrt(squares(a, b) / (double)n) : 0;
}

static double largest_rms(const struct st_file *f)
{
	double most = 0;
	for (int i = 0; i < f->n; i++)
		most = fmax(most, rms(&f->tensor[i], NULL));
	return most;
}

/* How far apart, and which tensor is. NaN if one has values that are no numbers. */
static int compare(const struct st_file *a, const struct st_file *b, double *most,
                   const char **which)
{
	const double floor = LEAST * largest_rms(a);
	double difference = 0, all = 0;
	*most = 0;
	*which = a->n ? a->tensor[0].name : "";
	if (a->n != b->n)
		return ERR(E_DATA, NULL, "%d tensors here, %d there", a->n, b->n);
	for (int i = 0; i < a->n; i++) {
		const struct st_tensor *x = &a->tensor[i], *y = st_find(b, x->name);
		if (!y || !shape_equal(&x->shape, &y->shape))
			return ERR(E_DATA, NULL, "'%s' is missing or of another shape there", x->name);
		double size = fmax(rms(x, NULL), floor), d = rms(x, y);
		d = d == 0 ? 0 : d / size;
		difference += squares(x, y);
		all += squares(x, NULL);
		if (!(d <= *most)) {
			*most = d;
			*which = x->name;
			if (isnan(d))
				return 0;
		}
	}
	if (as_one && a->n)
		*most = difference == 0 ? 0 : sqrt(difference / all);
	return 0;
}

static int distance_of(const char *dir_a, const char *dir_b, const char *file, double *most,
                       char which[256])
{
	struct dump a = { 0 }, b = { 0 };
	const char *name = "";
	int rc = open_dump(&a, dir_a, file);
	if (rc == 0)
		rc = open_dump(&b, dir_b, file);
	if (rc == 0)
		rc = compare(&a.f, &b.f, most, &name);
	snprintf(which, 256, "%s", name);
	close_dump(&a);
	if (b.arena)
		close_dump(&b);
	return rc;
}

/* 1 if the files differ by more than is allowed. dir_c: or NULL. */
static int compare_files(const char *dir_a, const char *dir_b, const char *dir_c, const char *file)
{
	double most = 0, allowed = 0;
	char which[256];
	if (dir_c)
		TRY(distance_of(dir_a, dir_c, file, &allowed, which));
	TRY(distance_of(dir_a, dir_b, file, &most, which));
	const int far = !(most <= fmax(FARTHER * allowed, tolerance));
	printf("%-26s %.3e  %s%s", file, most, which, far ? "  TOO FAR" : "");
	if (dir_c)
		printf(" (the other is %.3e away)", allowed);
	putchar('\n');
	return far;
}

static int read_loss(const char *dir, double *out)
{
	struct buf text = BUF_INIT;
	char *path = io_join(dir, "loss.json");
	int rc = io_read_file(path, &text);
	if (rc == 0 && sscanf(text.data, "{\"loss\": %lf", out) != 1)
		rc = ERR(E_DATA, NULL, "'%s' holds no loss", path);
	buf_release(&text);
	mem_free(path);
	return rc;
}

static int compare_losses(const char *dir_a, const char *dir_b)
{
	double a, b;
	TRY(read_loss(dir_a, &a));
	TRY(read_loss(dir_b, &b));
	double d = fabs(a - b) / fmax(fabs(a), LEAST);
	int far = !(d <= tolerance);
	printf("%-26s %.3e  %.9g and %.9g%s\n", "loss.json", d, a, b, far ? "  TOO FAR" : "");
	return far;
}

int main(int argc, char **argv)
{
	static const char *const file[] = { "outputs.safetensors", "gradients.safetensors",
		"parameters.safetensors" };
	if (argc > 1 && strcmp(argv[1], "-a") == 0) {
		as_one = true;
		argv++;
		argc--;
	}
	if (argc >= 5 && strcmp(argv[1], "-t") == 0) {
		char *end;
		tolerance = strtod(argv[2], &end);
		argv += *end ? 0 : 2;
		argc -= *end ? 0 : 2;
	}
	if (argc != 3 && argc != 4) {
		fprintf(stderr, "usage: compare_steps [-a] [-t TOLERANCE] A B [C]\n");
		return 2;
	}
	int rc = compare_losses(argv[1], argv[2]);
	for (int i = 0; i < 3 && rc >= 0; i++) {
		int one = compare_files(argv[1], argv[2], argv[3], file[i]);
		rc = one < 0 ? one : rc | one;
	}
	if (rc < 0) {
		err_print(stderr, "compare_steps");
		return 2;
	}
	return rc;
}
