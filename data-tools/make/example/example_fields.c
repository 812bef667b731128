/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fields: the wind around storms, whose place, pressure, strength and rain are to be found, and
 * weather on a globe whose rain follows from wind, humidity and the slope of the ground. */
#include <math.h>
#include <stdio.h>

#include "data-tools/make/example/example.h"

#define PI 3.14159265358979323846

static void set(const struct example_array *a, int64_t i, double v)
{
	dtype_set(a->dtype, a->data, i, v);
}

/* --- storms --- */

#define STORMS 1500
#define GRID 32
#define SPACING 25.               /* km */
#define AIR 1.2                   /* kg m-3 */

enum { U, V, X, Y, PRESSURE, SPEED, RAINFALL, STORM_FIELDS };

/* In the centre of a storm whose wind at a distance of q radii is speed * q * exp(1 - q): the
 * pressure that balances the centrifugal force of all the air around it, in Pa. */
static double centre_pressure(double speed)
{
	return 101300 - AIR * speed * speed * exp(2) / 4;
}

/* Storm n: the wind turns around its centre and is strongest at its radius, and it rains within
 * that radius, 20 mm in an hour where the wind is 40 m/s. */
static void blow(struct example_rng *r, struct example_array *a, int64_t n)
{
	const double x = example_uniform(r, -250, 250), y = example_uniform(r, -250, 250);
	const double radius = example_uniform(r, 50, 150), speed = example_uniform(r, 20, 60);
	const double u0 = example_uniform(r, -10, 10), v0 = example_uniform(r, -10, 10);
	set(&a[X], n, x);
	set(&a[Y], n, y);
	set(&a[PRESSURE], n, centre_pressure(speed));
	set(&a[SPEED], n, speed);
	set(&a[RAINFALL], n, PI * radius * radius * 1e6 * 0.5 * speed);
	for (int64_t i = 0; i < GRID * GRID; i++) {
		const double dx = ((double)(i % GRID) - (GRID - 1) / 2.) * SPACING - x;
		const double dy = ((double)(i / GRID) - (GRID - 1) / 2.) * SPACING - y;
		const double q = hypot(dx, dy) / radius, turn = speed / radius * exp(1 - q);

		set(&a[U], n * GRID * GRID + i, u0 - turn * dy + 2 * example_normal(r));
		set(&a[V], n * GRID * GRID + i, v0 + turn * dx + 2 * example_normal(r));
	}
}

int example_storms(const char *dir)
{
	const int64_t d[] = { STORMS, GRID, GRID };
	struct example_array a[STORM_FIELDS] = {
		[U] = example_new("u", "wind to the east, m/s", DTYPE_F32, 3, d),
		[V] = example_new("v", "wind to the north, m/s", DTYPE_F32, 3, d),
		[X] = example_new("x", "centre, east of the middle, km", DTYPE_F32, 1, d),
		[Y] = example_new("y", "centre, north of the middle, km", DTYPE_F32, 1, d),
		[PRESSURE] = example_new("pressure", "in the centre, Pa", DTYPE_F32, 1, d),
		[SPEED] = example_new("speed", "of the strongest wind, m/s", DTYPE_F32, 1, d),
		[RAINFALL] = example_new("rain", "of an hour, kg", DTYPE_F32, 1, d),
	};
	struct example_rng r = example_rng("storms");
	int rc;
	for (int64_t n = 0; n < STORMS; n++)
		blow(&r, a, n);
	rc = example_write(dir, "storms.h5", a, STORM_FIELDS);
	example_release(a, STORM_FIELDS);
	return rc;
}

/* --- rain --- */

#define LAT 24
#define LON 48
#define WAVES 4

/* A smooth field that is periodic in longitude: a sum of waves. */
struct waves {
	double size[WAVES], phase[WAVES], slope[WAVES];
};

static struct waves waves(struct example_rng *r, double size)
{
	struct waves w;
	for (int k = 0; k < WAVES; k++) {
		w.size[k] = size / (1 + k) * example_normal(r);
		w.phase[k] = example_uniform(r, 0, 2 * PI);
		w.slope[k] = example_uniform(r, -0.4, 0.4);
	}
	return w;
}

static double waves_at(const struct waves *w, int64_t lat, int64_t lon)
{
	double v = 0;
	for (int k = 0; k < WAVES; k++)
		v += w->size[k] * sin((k + 1) * 2 * PI * (double)lon / LON + w->slope[k] * (double)lat +
		                      w->phase[k]);
	return v;
}

/* Height of the ground in kilometres: mountains, of which one is cut by the edge of the map. */
static double ground(int64_t lat, int64_t lon)
{
	static const double mountain[][4] = {  /* latitude, longitude, width, height */
		{ 8, 1, 3, 2 }, { 15, 14, 4, 2.5 }, { 6, 25, 3, 3 }, { 17, 36, 4, 2 }
	};
	double h = 0;
	for (int k = 0; k < 4; k++) {
		const double dy = (double)lat - mountain[k][0];
		const double dx = remainder((double)lon - mountain[k][1], LON);

		h += mountain[k][3] * exp(-(dx * dx + dy * dy) / (2 * mountain[k][2] * mountain[k][2]));
	}
	return h;
}

/* How steeply the wind climbs. */
static double climb(int64_t lat, int64_t lon, double u, double v)
{
	return u * (ground(lat, lon + 1) - ground(lat, lon - 1)) / 2 +
	       v * (ground(lat + 1, lon) - ground(lat - 1, lon)) / 2;
}

enum { TIME, LATITUDE, LONGITUDE, WIND_U, WIND_V, HUMIDITY, RAIN, WEATHER_FIELDS };

static void weather_at(struct example_rng *r, struct example_array *a, int64_t t)
{
	const struct waves wu = waves(r, 0.6), wv = waves(r, 0.6), wq = waves(r, 0.3);
	for (int64_t i = 0; i < LAT * LON; i++) {
		const int64_t lat = i / LON, lon = i % LON;
		const double u = 1 + waves_at(&wu, lat, lon), v = waves_at(&wv, lat, lon);
		const double q = exp(waves_at(&wq, lat, lon)), up = climb(lat, lon, u, v);

		set(&a[WIND_U], t * LAT * LON + i, 10 * u);
		set(&a[WIND_V], t * LAT * LON + i, 10 * v);
		set(&a[HUMIDITY], t * LAT * LON + i, 5 * q);
		set(&a[RAIN], t * LAT * LON + i, 0.2 * q + (up > 0 ? 3 * q * up : 0));
	}
}

static struct example_array coordinate(const char *name, const char *units, int64_t n, double first,
                                       double step)
{
	struct example_array a = example_new(name, "coordinate", DTYPE_F64, 1, &n);
	a.axis[0] = name;
	a.units = units;
	for (int64_t i = 0; i < n; i++)
		set(&a, i, first + step * (double)i);
	return a;
}

/* A field over latitude and longitude, of the hours of a file unless there are none. */
static struct example_array field(const char *name, const char *about, const char *units,
                                  int64_t hours)
{
	const int64_t d[] = { hours, LAT, LON };
	const int skip = hours == 0;
	struct example_array a = example_new(name, about, DTYPE_F32, 3 - skip, d + skip);
	static const char *const axes[] = { "time", "lat", "lon" };
	for (int i = 0; i < a.shape.nd; i++)
		a.axis[i] = axes[i + skip];
	a.units = units;
	return a;
}

static struct example_array latitudes(void)
{
	return coordinate("lat", "degrees_north", LAT, -57.5, 5);
}

static struct example_array longitudes(void)
{
	return coordinate("lon", "degrees_east", LON, 0, 360. / LON);
}

static struct example_array heights(void)
{
	struct example_array a = field("height", "of the ground, without a time", "km", 0);
	for (int64_t i = 0; i < LAT * LON; i++)
		set(&a, i, ground(i / LON, i % LON));
	return a;
}

/* A forecast has the height in its own file, and no rain. */
struct weather {
	const char *file;
	int first, hours;
	bool forecast;
};

static int write_weather(const char *dir, struct example_rng *r, const struct weather *w)
{
	struct example_array a[WEATHER_FIELDS] = {
		[TIME] = coordinate("time", "hours since 2001-01-01", w->hours, w->first, 1),
		[LATITUDE] = latitudes(),
		[LONGITUDE] = longitudes(),
		[WIND_U] = field("u", "wind to the east", "m s-1", w->hours),
		[WIND_V] = field("v", "wind to the north", "m s-1", w->hours),
		[HUMIDITY] = field("q", "humidity", "g kg-1", w->hours),
		[RAIN] = field("rain", "what is to be predicted", "mm h-1", w->hours),
	};
	int rc;
	for (int64_t t = 0; t < w->hours; t++)
		weather_at(r, a, t);
	if (w->forecast) {
		example_release(&a[RAIN], 1);
		a[RAIN] = heights();
	}
	rc = example_write(dir, w->file, a, WEATHER_FIELDS);
	example_release(a, WEATHER_FIELDS);
	return rc;
}

static int write_ground(const char *dir)
{
	struct example_array a[] = { latitudes(), longitudes(), heights() };
	int rc = example_write(dir, "ground.nc", a, 3);
	example_release(a, 3);
	return rc;
}

int example_rain(const char *dir)
{
	static const struct weather files[] = {
		{ "weather-1.nc", 60, 60, false },
		{ "weather-2.nc", 120, 60, false },
		{ "weather-3.nc", 180, 60, false },
		{ "weather-4.nc", 240, 60, false },
		{ "forecast.nc", 300, 24, true },
	};
	struct example_rng r = example_rng("rain");
	int rc = write_ground(dir);
	for (size_t i = 0; rc == 0 && i < sizeof files / sizeof *files; i++)
		rc = write_weather(dir, &r, &files[i]);
	return rc;
}
