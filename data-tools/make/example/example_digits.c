/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Coloured digits: a font of 5x7 dots, turned, slanted, scaled and shifted, on a ground of another
 * colour, with noise. Channels last, as pictures usually come. */
#include <math.h>

#include "data-tools/make/example/example.h"

#define COUNT 3000
#define SIDE 28

static const char font[10][7][6] = {
	{ " ### ", "#   #", "#  ##", "# # #", "##  #", "#   #", " ### " },
	{ "  #  ", " ##  ", "  #  ", "  #  ", "  #  ", "  #  ", " ### " },
	{ " ### ", "#   #", "    #", "   # ", "  #  ", " #   ", "#####" },
	{ "#####", "   # ", "  #  ", "   # ", "    #", "#   #", " ### " },
	{ "   # ", "  ## ", " # # ", "#  # ", "#####", "   # ", "   # " },
	{ "#####", "#    ", "#### ", "    #", "    #", "#   #", " ### " },
	{ "  ## ", " #   ", "#    ", "#### ", "#   #", "#   #", " ### " },
	{ "#####", "    #", "   # ", "  #  ", " #   ", " #   ", " #   " },
	{ " ### ", "#   #", "#   #", " ### ", "#   #", "#   #", " ### " },
	{ " ### ", "#   #", "#   #", " ####", "    #", "   # ", " ##  " },
};

static double dot(int digit, int row, int column)
{
	return row >= 0 && row < 7 && column >= 0 && column < 5 && font[digit][row][column] == '#';
}

/* The font between its dots: bilinear. */
static double ink(int digit, double row, double column)
{
	const int y = (int)floor(row), x = (int)floor(column);
	const double v = row - y, u = column - x;
	return (1 - v) * ((1 - u) * dot(digit, y, x) + u * dot(digit, y, x + 1)) +
	       v * ((1 - u) * dot(digit, y + 1, x) + u * dot(digit, y + 1, x + 1));
}

/* Two colours, one of them darker by a third at least in each of red, green, blue. */
static void colours(struct example_rng *r, double paper[3], double pen[3])
{
	const bool dark = example_choice(r, 2);
	for (int c = 0; c < 3; c++) {
		paper[c] = example_uniform(r, 0, 1. / 3);
		pen[c] = example_uniform(r, 2. / 3, 1);
		if (dark) {
			paper[c] = 1 - paper[c];
			pen[c] = 1 - pen[c];
		}
	}
}

static void draw(struct example_rng *r, int digit, uint8_t *out)
{
	const double angle = example_uniform(r, -0.3, 0.3), slant = example_uniform(r, -0.3, 0.3);
	const double height = example_uniform(r, 2, 3.2), width = example_uniform(r, 2, 3.6);
	const double top = example_uniform(r, -3, 3), left = example_uniform(r, -3, 3);
	double paper[3], pen[3];
	colours(r, paper, pen);
	for (int y = 0; y < SIDE; y++)
		for (int x = 0; x < SIDE; x++) {
			const double v = y - 13.5 - top, u = x - 13.5 - left;
			const double row = (v * cos(angle) - u * sin(angle)) / height;
			const double column = (v * sin(angle) + u * cos(angle)) / width + slant * row;
			const double black = ink(digit, row + 3, column + 2);

			for (int c = 0; c < 3; c++)
				dtype_set(DTYPE_U8, out, (y * SIDE + x) * 3 + c,
				          255 * (paper[c] + (pen[c] - paper[c]) * black) + 20 * example_normal(r));
		}
}

int example_digits(const char *dir)
{
	const int64_t d[] = { COUNT, SIDE, SIDE, 3 };
	struct example_array a[] = {
		example_new("images", "red, green, blue of each point", DTYPE_U8, 4, d),
		example_new("labels", "the digit", DTYPE_U8, 1, d),
	};
	struct example_rng r = example_rng("digits");
	int rc;
	for (int i = 0; i < COUNT; i++) {
		const int digit = example_choice(&r, 10);

		dtype_set(DTYPE_U8, a[1].data, i, digit);
		draw(&r, digit, (uint8_t *)a[0].data + (int64_t)i * SIDE * SIDE * 3);
	}
	rc = example_write(dir, "digits.npy", &a[0], 1);
	if (rc == 0)
		rc = example_write(dir, "digits-labels.idx", &a[1], 1);
	example_release(a, 2);
	return rc;
}
