/* SPDX-License-Identifier: BSD-3-Clause
 *
 * data/axes_match.h: the same places, whatever the rounding; the same in another order; others.
 * Coordinates on several axes as JSON: read back equal, and hostile texts. data/epsg.h. */
#include <math.h>

#include "cases.h"
#include "base/buf.h"
#include "base/json.h"
#include "data/axes_match.h"
#include "data/axes_parts.h"
#include "data/epsg.h"

static struct axis of(const char *name, int n, const double *v)
{
	return (struct axis){ .name = name, .n = n, .values = v };
}

static void expect(const struct axis *x, const struct axis *y, bool longitude,
                   enum axis_relation relation, int64_t roll, double offset)
{
	const struct axis_relation_of r = axis_relate(x, y, longitude);
	assert_int_equal(r.relation, relation);
	assert_int_equal(r.roll, roll);
	assert_true(fabs(r.offset - offset) < 1e-9);
}

static void same(void **state)
{
	const double a[] = { 90, 45, 0, -45, -90 }, b[] = { 90, 45.04, 0, -45, -90 },
	             c[] = { 90, 45.05, 0, -45, -90 }, tenth[] = { 0.1, 0.2, 0.3 },
	             rounded[] = { 0.1f, 0.2f, 0.3f }, far[] = { 5000000.1, 5000001.1 },
	             far_rounded[] = { 5000000.0, 5000001.0 };
	const struct axis x = of("lat", 5, a), y = of("lat", 5, b), z = of("lat", 5, c);
	const struct axis t = of("x", 3, tenth), r = of("x", 3, rounded);
	const struct axis f = of("y", 2, far), g = of("y", 2, far_rounded);
	const struct axis one = of("z", 1, a), other = of("z", 1, c), third = of("z", 1, b + 1);
	expect(&x, &x, false, AXIS_SAME, 0, 0);
	expect(&x, &y, false, AXIS_SAME, 0, 0);
	expect(&x, &z, false, AXIS_OTHER, 0, 0);
	expect(&t, &r, false, AXIS_SAME, 0, 0);
	expect(&f, &g, false, AXIS_SAME, 0, 0);
	expect(&one, &other, false, AXIS_SAME, 0, 0);
	expect(&one, &third, false, AXIS_SHIFTED, 0, -44.96);
}

static void unknown(void **state)
{
	const double a[] = { 1, 2, 3 }, n[] = { 1, NAN, 3 };
	const struct axis x = of("y", 3, a), none = of("y", 3, NULL), bad = of("y", 3, n),
	                  two = of("y", 2, a);
	expect(&x, &none, false, AXIS_UNKNOWN_RELATION, 0, 0);
	expect(&none, &x, false, AXIS_UNKNOWN_RELATION, 0, 0);
	expect(&x, &bad, false, AXIS_UNKNOWN_RELATION, 0, 0);
	expect(&x, &two, false, AXIS_OTHER, 0, 0);
}

static void other_order(void **state)
{
	const double east[] = { 0, 90, 180, 270 }, both[] = { -180, -90, 0, 90 },
	             west[] = { 270, 180, 90, 0 }, whole[] = { -360, -270, -180, -90 },
	             half[] = { 45, 135, 225, 315 }, up[] = { 1, 2, 4, 8 }, next[] = { 2, 4, 8, 1 },
	             moved[] = { 1.5, 2.5, 4.5, 8.5 };
	const struct axis e = of("lon", 4, east), b = of("lon", 4, both), w = of("lon", 4, west),
	                  o = of("lon", 4, whole), h = of("lon", 4, half), u = of("z", 4, up),
	                  n = of("z", 4, next), m = of("z", 4, moved);
	expect(&e, &b, true, AXIS_ROLLED, 2, 0);
	expect(&b, &e, true, AXIS_ROLLED, 2, 0);
	expect(&e, &b, false, AXIS_SHIFTED, 0, -180);
	expect(&e, &o, true, AXIS_SAME, 0, 0);
	expect(&e, &o, false, AXIS_SHIFTED, 0, -360);
	expect(&e, &w, true, AXIS_REVERSED, 0, 0);
	expect(&e, &h, true, AXIS_SHIFTED, 0, 45);
	expect(&u, &n, false, AXIS_ROLLED, 1, 0);
	expect(&n, &u, false, AXIS_ROLLED, 3, 0);
	expect(&u, &m, false, AXIS_SHIFTED, 0, 0.5);
	expect(&u, &e, false, AXIS_OTHER, 0, 0);
}

static struct axis with(const char *name, const char *key, const char *text)
{
	static struct axis_attribute attribute;
	attribute = (struct axis_attribute){ .name = key, .text = text };
	return (struct axis){ .name = name, .nattributes = 1, .attribute = &attribute };
}

static bool longitude(const char *name, const char *key, const char *text)
{
	const struct axis x = with(name, key, text);
	return axis_is_longitude(&x);
}

static void longitudes(void **state)
{
	assert_true(longitude("x", "units", "degrees_east"));
	assert_true(longitude("x", "units", "degree_E"));
	assert_true(longitude("x", "standard_name", "longitude"));
	assert_true(longitude("Longitude", "units", "degrees"));
	assert_true(longitude("XLONG", "long_name", "x"));
	assert_false(longitude("lon", "units", "m"));
	assert_false(longitude("lon", "units", "radians"));
	assert_false(longitude("lon", "standard_name", "projection_x_coordinate"));
	assert_false(longitude("lat", "units", "degrees_north"));
	assert_false(longitude("longwave", "long_name", "x"));
	assert_false(longitude(NULL, "long_name", "x"));
}

static void described(void **state)
{
	const double v[] = { 90, 0, -90 };
	struct axis x = with("lat", "units", "degrees_north");
	struct buf b = BUF_INIT;
	x.n = 3;
	x.values = v;
	axis_describe(&x, &b);
	assert_string_equal(b.data, "lat 90 ... -90 degrees_north (3 of them)");
	buf_clear(&b);
	x = of(NULL, 7, NULL);
	axis_describe(&x, &b);
	assert_string_equal(b.data, "an axis without a name (7 of them)");
	buf_clear(&b);
	x = of("lon", 3, v);
	axis_relation_describe((struct axis_relation_of){ AXIS_ROLLED, 2, 0 }, &x, &b);
	assert_string_equal(b.data, "rolled by 2 of 3");
	buf_release(&b);
}

/* --- as JSON --- */

static const struct axis three[] = { { .n = 2 }, { .n = 3 }, { .n = 1 } };

static const char *read_fields(struct arena *a, const char *text, struct axes *out)
{
	struct json *root;
	*out = (struct axes){ .n = 3, .axis = three };
	assert_int_equal(json_parse(&root, a, "test", 0, text, strlen(text)), 0);
	return axes_read_fields(a, root, out);
}

static void fields_read_back(void **state)
{
	static const float f[] = { 1, 2.5f, NAN, 4, 5, 6 };
	static const double d[] = { 1e300 }, number[] = { 2, 3 };
	static const struct axis_attribute said[] = {
		{ .name = "units", .text = "m" }, { .name = "range", .n = 2, .values = number } };
	const struct axis_field field[] = {
		{ .name = "lat", .nd = 2, .on = { 1, 0 }, .dtype = DTYPE_F32, .values = f,
		  .attributes = { 2, said } },
		{ .name = "height", .dtype = DTYPE_F64, .values = d },
	};
	const struct axis_mapping mapping = { "crs", { 1, said } };
	const struct axes x = { .n = 3, .axis = three, .nfields = 2, .field = field,
		.grid_mapping = "crs", .nmappings = 1, .mapping = &mapping };
	struct arena *a = arena_new();
	struct buf text = BUF_INIT;
	struct axes y;
	buf_puts(&text, "{\"samples\": 2");
	axes_write_fields(&text, &x);
	buf_putc(&text, '}');
	assert_null(read_fields(a, text.data, &y));
	assert_int_equal(y.nfields, 2);
	for (int i = 0; i < 2; i++)
		assert_true(axis_field_equal(&x, &field[i], &y, &y.field[i]));
	assert_string_equal(y.grid_mapping, "crs");
	assert_int_equal(y.nmappings, 1);
	assert_true(axis_attributes_equal(y.mapping[0].attributes, mapping.attributes));
	buf_release(&text);
	arena_free(a);
}

#define FIELD(axes, dtype, values) "{\"coordinates\": [{\"name\": \"a\", \"axes\": " axes \
	", \"dtype\": \"" dtype "\", \"values\": \"" values "\"}]}"

static void hostile_fields(void **state)
{
	static const char *const bad[] = {
		"{\"coordinates\": 1}", "{\"coordinates\": [1]}", "{\"coordinates\": [{\"name\": 1}]}",
		FIELD("[3]", "f32", "AAAAAA=="), FIELD("[-1]", "f32", "AAAAAA=="),
		FIELD("[2, 2]", "f32", "AAAAAA=="), FIELD("7", "f32", "AAAAAA=="),
		FIELD("[0,1,2,0,1,2,0,1]", "f32", "AAAAAA=="), FIELD("[2]", "i32", "AAAAAA=="),
		FIELD("[2]", "f32", "AAAAA==="), FIELD("[2]", "f32", "AAAA"),
		FIELD("[2]", "f32", "AA!AAA=="),
		FIELD("[2]", "f32", "AAAAAAAAAAA="), FIELD("[2]", "f64", "AAAAAA=="),
		"{\"grid_mapping\": \"crs\"}", "{\"grid_mapping\": {\"attribute\": \"crs\"}}",
	};
	struct arena *a = arena_new();
	struct axes out;
	assert_null(read_fields(a, FIELD("[2]", "f32", "AAAAAA=="), &out));
	assert_null(read_fields(a, "{}", &out));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (!read_fields(a, bad[i], &out))
			fail_msg("taken: %s", bad[i]);
	arena_free(a);
}

/* --- reference systems --- */

static double number_of(const struct axes *x, const char *name)
{
	const struct axis_attributes all = x->mapping[0].attributes;
	for (int i = 0; i < all.n; i++)
		if (strcmp(all.v[i].name, name) == 0 && all.v[i].n == 1)
			return all.v[i].values[0];
	return NAN;
}

static struct axes mapped(struct arena *a, const char *y, const char *x)
{
	struct axis_attribute *said = ARENA_ARRAY(a, struct axis_attribute, 2);
	struct axis *axis = ARENA_ARRAY(a, struct axis, 3);
	struct axes out = { .n = 3, .axis = axis };
	said[0] = (struct axis_attribute){ .name = "epsg", .text = y };
	said[1] = (struct axis_attribute){ .name = "epsg", .text = x };
	axis[1] = (struct axis){ .nattributes = 1, .attribute = &said[0] };
	axis[2] = (struct axis){ .nattributes = 1, .attribute = &said[1] };
	epsg_to_mapping(a, &out);
	return out;
}

static void reference_systems(void **state)
{
	struct arena *a = arena_new();
	struct axes x = mapped(a, "EPSG:32633", "EPSG:32633");
	assert_string_equal(x.grid_mapping, "crs");
	assert_true(number_of(&x, "longitude_of_central_meridian") == 15);
	assert_true(number_of(&x, "false_northing") == 0);
	assert_string_equal(axis_text(&x.axis[1], "standard_name"), "projection_y_coordinate");
	assert_null(axis_text(&x.axis[1], "epsg"));
	x = mapped(a, "EPSG:32701", "EPSG:32701");
	assert_true(number_of(&x, "longitude_of_central_meridian") == -177);
	assert_true(number_of(&x, "false_northing") == 1e7);
	x = mapped(a, "EPSG:25832", "EPSG:25832");
	assert_true(number_of(&x, "longitude_of_central_meridian") == 9);
	assert_true(number_of(&x, "inverse_flattening") == 298.257222101);
	x = mapped(a, "EPSG:4326", "EPSG:4326");
	assert_string_equal(axis_text(&x.axis[2], "units"), "degrees_east");
	x = mapped(a, "EPSG:3035", "EPSG:3035");          /* not known here: its number alone */
	assert_int_equal(x.mapping[0].attributes.n, 1);
	assert_string_equal(x.mapping[0].attributes.v[0].text, "EPSG:3035");
	assert_null(axis_text(&x.axis[2], "units"));
	x = mapped(a, "EPSG:4326", "EPSG:3035");
	assert_null(x.grid_mapping);
	arena_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same),
		cmocka_unit_test(unknown),
		cmocka_unit_test(other_order),
		cmocka_unit_test(longitudes),
		cmocka_unit_test(described),
		cmocka_unit_test(fields_read_back),
		cmocka_unit_test(hostile_fields),
		cmocka_unit_test(reference_systems),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
