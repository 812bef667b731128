/* SPDX-License-Identifier: BSD-3-Clause
 *
 * data/units.h: spellings of a unit, and other units. */
#include "cases.h"
#include "data/units.h"

static void spellings(void **state)
{
	static const char *const same[][2] = {
		{ "K", "K" }, { "K", "kelvin" }, { "degC", "Celsius" }, { "m s-1", "m/s" },
		{ "m s-1", "m s**-1" }, { "m s-1", "m.s^-1" }, { "W m-2", "W/m2" }, { "W m-2", "W/m**2" },
		{ "kg m-2 s-1", "kg m**-2 s**-1" }, { "1", "" }, { "1", "none" }, { "%", "percent" },
		{ "m per second", "m s-1" }, { "0.01", "0.01" }, { "1e-3 m", "1e-3 m" }, { "-", "1" },
	};
	static const char *const others[][2] = {
		{ "K", "degC" }, { "m", "mm" }, { "mm", "Mm" }, { "m s-1", "m s" }, { "m s-1", "km h-1" },
		{ "Pa", "hPa" }, { "%", "1" }, { "kg m-2", "kg" }, { "0.01", "0.1" }, { "m2", "m" },
	};
	for (size_t i = 0; i < sizeof same / sizeof *same; i++)
		if (!units_same(same[i][0], same[i][1]) || !units_same(same[i][1], same[i][0]))
			fail_msg("'%s' is not '%s'", same[i][0], same[i][1]);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (units_same(others[i][0], others[i][1]) || units_same(others[i][1], others[i][0]))
			fail_msg("'%s' is '%s'", others[i][0], others[i][1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(spellings) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
