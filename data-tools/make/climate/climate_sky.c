/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lengths are kilometres unless said otherwise, pressures Pa, winds m/s. */
#include "data-tools/make/climate/climate_sky.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "data-tools/make/fourier.h"

#define DEGREE (M_PI / 180)
#define GRAVITY 9.81
#define AIR 1.2                      /* kg/m^3, near the ground */
#define CORIOLIS 1.4584e-4           /* of the pole, 1/s */

const char *const variable_name[VARIABLES] = {
	"TMQ", "U850", "V850", "UBOT", "VBOT", "QREFHT", "PS", "PSL", "T200", "T500", "PRECT", "TS",
	"TREFHT", "Z1000", "Z200", "ZBOT"
};

/* Fields of mean 0 and variance 1 that are drawn for each snapshot. */
enum noise { EDDY, UPPER, WARMTH, MOISTURE, SHOWERS, NOISES };

struct sky {
	int height, width;
	int64_t points;
	struct fourier *fourier;
	kiss_fft_cpx *modes;
	float *noise[NOISES], *ground;       /* ground: of the seed */
	float *value;
	uint64_t seed;
	bool has_ground;
	int nstorms;
	struct storm storm[STORMS_MOST];
	/* Of the snapshot's random numbers. */
	int64_t number;
	uint64_t drawn;
};

/* --- the grid --- */

int sky_height(const struct sky *s)
{
	return s->height;
}

int sky_width(const struct sky *s)
{
	return s->width;
}

double sky_latitude(const struct sky *s, int row)
{
	return -90 + (row + 0.5) * 180 / s->height;
}

double sky_longitude(const struct sky *s, int column)
{
	return (column + 0.5) * 360 / s->width;
}

double sky_distance(double lat, double lon, double lat2, double lon2)
{
	const double a = sin((lat2 - lat) * DEGREE / 2), b = sin((lon2 - lon) * DEGREE / 2);
	const double h = a * a + cos(lat * DEGREE) * cos(lat2 * DEGREE) * b * b;
	return 2 * EARTH_RADIUS * asin(sqrt(h < 1 ? h : 1));
}

const float *sky_values(const struct sky *s)
{
	return s->value;
}

int sky_storms(const struct sky *s, const struct storm **storms)
{
	*storms = s->storm;
	return s->nstorms;
}

int sky_new(struct sky **out, int height, int width)
{
	struct sky *s = mem_calloc(1, sizeof *s);
	bool memory = true;
	int rc = fourier_new(&s->fourier, 1, height, width);
	s->height = height;
	s->width = width;
	s->points = (int64_t)height * width;
	for (int i = 0; i < NOISES && rc == 0; i++)
		memory &= (s->noise[i] = mem_map((size_t)s->points * sizeof(float))) != NULL;
	if (rc == 0) {
		s->modes = mem_map((size_t)fourier_modes(s->fourier) * sizeof *s->modes);
		s->ground = mem_map((size_t)s->points * sizeof(float));
		s->value = mem_map((size_t)(VARIABLES * s->points) * sizeof(float));
		if (!memory || !s->modes || !s->ground || !s->value)
			rc = ERR(E_NOMEM, NULL, "no memory for %d x %d points", height, width);
	}
	if (rc < 0)
		sky_free(s);
	*out = rc < 0 ? NULL : s;
	return rc;
}

static void unmap(void *p, int64_t n, size_t size)
{
	if (p)
		mem_unmap(p, (size_t)n * size);
}

void sky_free(struct sky *s)
{
	if (!s)
		return;
	for (int i = 0; i < NOISES; i++)
		unmap(s->noise[i], s->points, sizeof(float));
	unmap(s->modes, s->fourier ? fourier_modes(s->fourier) : 0, sizeof *s->modes);
	unmap(s->ground, s->points, sizeof(float));
	unmap(s->value, VARIABLES * s->points, sizeof(float));
	fourier_free(s->fourier);
	mem_free(s);
}

/* --- chance --- */

static double uniform(struct sky *s, double from, double to)
{
	return from + (to - from) * rng_uniform(s->seed, hash_name("climate.places"),
	                                        (uint64_t)s->number, s->drawn++);
}

/* A field of mean 0 and variance 1 whose power falls from wave number `from` (around the globe) on
 * with this exponent. The grid counts as periodic in both directions: what this does at the poles
 * is scaled away with the winds. */
static void draw_field(struct sky *s, const char *name, int64_t number, double from,
                       double exponent, float *to)
{
	const int half = s->width / 2 + 1;
	const uint64_t stream = hash_name(name);
	double row[2], sum = 0;
	for (int64_t i = 0; i < s->points; i += 2) {
		rng_normals(s->seed, stream, (uint64_t)number, i, 2, row);
		to[i] = (float)row[0];
		to[i + 1] = (float)row[1];
	}
	fourier_forward(s->fourier, to, s->modes);
	for (int64_t i = 0; i < fourier_modes(s->fourier); i++) {
		/* two rows are as far apart as two columns at the equator */
		const double y = 2.0 * fourier_wave((int)(i / half), s->height);
		const double k = hypot((double)(i % half), y);
		const double by = k > 0 ? pow(1 + k * k / (from * from), -exponent / 4) : 0;
		s->modes[i].r = (float)(by * (double)s->modes[i].r);
		s->modes[i].i = (float)(by * (double)s->modes[i].i);
	}
	fourier_inverse(s->fourier, s->modes, to);
	for (int64_t i = 0; i < s->points; i++)
		sum += (double)to[i] * (double)to[i];
	for (int64_t i = 0; i < s->points; i++)
		to[i] = (float)((double)to[i] * sqrt((double)s->points / sum));
}

/* --- the weather without events --- */

static double bell(double x, double width)
{
	return exp(-x * x / (2 * width * width));
}

/* Specific humidity at saturation near the ground, of a temperature in K (Magnus). */
static double saturation(double t)
{
	const double c = t - 273.15;
	return 0.622 * 611.2 * exp(17.62 * c / (243.12 + c)) / 101325;
}

/* Metres above the sea; half a quarter of the globe has some. */
static double terrain(const struct sky *s, int64_t i)
{
	const double g = (double)s->ground[i] - 0.5;
	return g > 0 ? 900 * g : 0;
}

struct place {
	double lat, warm;            /* degrees; 0 at a pole .. 1 below the sun */
	double psi, psi_x, psi_y;    /* stream function of eddies (10^6 m^2/s) and its slopes (m/s) */
	double up, up_x, up_y;       /* at 200 hPa */
};

/* Slopes of a field of noise, per metre. */
static void slopes(const struct sky *s, const float *f, int row, int column, double *x, double *y)
{
	const int w = s->width, up = row + 1 < s->height ? row + 1 : row, down = row > 0 ? row - 1 : 0;
	const double metre = EARTH_RADIUS * 1000 * DEGREE;
	const double shrink = fmax(cos(sky_latitude(s, row) * DEGREE), 0.15);
	const double dx = metre * 360 / w * shrink, dy = metre * 180 / s->height;
	const int64_t at = (int64_t)row * w;
	*x = (double)(f[at + (column + 1) % w] - f[at + (column + w - 1) % w]) / (2 * dx);
	*y = (double)(f[(int64_t)up * w + column] - f[(int64_t)down * w + column]) / ((up - down) * dy);
}

static struct place place_of(const struct sky *s, int row, int column, double sun)
{
	const int64_t i = (int64_t)row * s->width + column;
	struct place p = { .lat = sky_latitude(s, row) };
	/* eddies are those of the westerlies */
	const double storm_track = 3 + 7 * (bell(p.lat - 48, 18) + bell(p.lat + 48, 18));
	p.warm = pow(fmax(cos((p.lat - sun) * DEGREE), 0), 1.8);
	slopes(s, s->noise[EDDY], row, column, &p.psi_x, &p.psi_y);
	slopes(s, s->noise[UPPER], row, column, &p.up_x, &p.up_y);
	p.psi = storm_track * (double)s->noise[EDDY][i];
	p.psi_x *= storm_track * 1e6;
	p.psi_y *= storm_track * 1e6;
	p.up = 2 * storm_track * (double)s->noise[UPPER][i];
	p.up_x *= 2e6 * storm_track;
	p.up_y *= 2e6 * storm_track;
	return p;
}

static void make_winds(const struct place *p, double v[VARIABLES])
{
	const double trades = -6 * bell(fabs(p->lat) - 14, 8), west = 9 * bell(fabs(p->lat) - 46, 12);
	v[U850] = trades + west - p->psi_y;
	v[V850] = p->psi_x - 0.5 * trades * (p->lat > 0 ? -1 : 1);
	v[UBOT] = 0.7 * v[U850];
	v[VBOT] = 0.7 * v[V850];
}

static void make_masses(const struct place *p, double height, double v[VARIABLES])
{
	const double f = CORIOLIS * sin(p->lat * DEGREE);
	v[PSL] = 101000 + 900 * bell(fabs(p->lat) - 32, 9) - 1100 * bell(fabs(p->lat) - 62, 10) +
	         AIR * f * p->psi * 1e6;
	v[PS] = v[PSL] * exp(-height / 8000);
	v[Z1000] = (v[PSL] - 100000) / (AIR * GRAVITY);
	v[Z200] = 10950 + 1480 * p->warm + f * p->up * 1e6 / GRAVITY;
}

static void make_heat(const struct sky *s, const struct place *p, int64_t i, double v[VARIABLES])
{
	const double height = terrain(s, i), warmth = (double)s->noise[WARMTH][i];
	v[TS] = 245 + 56 * p->warm + (4 - 3 * p->warm) * warmth - 0.0065 * height;
	v[TREFHT] = v[TS] - 1 + 0.4 * (double)s->noise[SHOWERS][i];
	v[T500] = 228 + 39 * p->warm + 2 * warmth + 0.2 * p->psi;
	v[T200] = 214 + 6 * p->warm - 0.25 * p->up;
	v[ZBOT] = 0.2206 * v[TREFHT];
}

/* Rain falls most where the air is moist and rises. */
static void make_water(const struct sky *s, int64_t i, double v[VARIABLES])
{
	const double moist = (double)s->noise[MOISTURE][i], showers = (double)s->noise[SHOWERS][i];
	v[QREFHT] = fmin(0.78 + 0.06 * moist, 0.98) * saturation(v[TREFHT]);
	v[TMQ] = fmax(2550 * v[QREFHT] * (1 + 0.16 * moist), 0.1);
	v[PRECT] = 6e-10 * v[TMQ] * exp(1.3 * showers + 0.7 * moist - 1);
}

static void make_background(struct sky *s, double sun)
{
	for (int row = 0; row < s->height; row++)
		for (int column = 0; column < s->width; column++) {
			const struct place p = place_of(s, row, column, sun);
			const int64_t i = (int64_t)row * s->width + column;
			double v[VARIABLES];
			make_winds(&p, v);
			make_masses(&p, terrain(s, i), v);
			make_heat(s, &p, i, v);
			make_water(s, i, v);
			for (int k = 0; k < VARIABLES; k++)
				s->value[k * s->points + i] = (float)v[k];
		}
}

/* --- events --- */

static void add(struct sky *s, enum variable k, int64_t i, double by)
{
	s->value[k * s->points + i] = (float)((double)s->value[k * s->points + i] + by);
}

/* The points within `reach` of a place: calls visit with the distance, and eastward and northward
 * parts of it. */
typedef void visit(struct sky *s, int64_t i, double r, double x, double y, const void *event);

static void around(struct sky *s, double lat, double lon, double reach, visit *v, const void *event)
{
	const double high = reach / EARTH_RADIUS / DEGREE;
	const double shrink = fmax(cos((fabs(lat) + high) * DEGREE), 0.1), wide = high / shrink;
	const int first = (int)floor((lat - high + 90) * s->height / 180);
	const int last = (int)ceil((lat + high + 90) * s->height / 180);
	const int left = (int)floor((lon - wide) * s->width / 360);
	const int columns = (int)ceil(2 * wide * s->width / 360) + 1;
	for (int row = first < 0 ? 0 : first; row <= last && row < s->height; row++)
		for (int c = 0; c < columns && c < s->width; c++) {
			const int column = ((left + c) % s->width + s->width) % s->width;
			const double la = sky_latitude(s, row), lo = sky_longitude(s, column);
			const double r = sky_distance(lat, lon, la, lo);
			double east = remainder(lo - lon, 360) * DEGREE * EARTH_RADIUS * cos(la * DEGREE);
			if (r < reach)
				v(s, (int64_t)row * s->width + column, r, east,
				  (la - lat) * DEGREE * EARTH_RADIUS, event);
		}
}

struct cyclone {
	double speed, radius;        /* largest wind, and where it blows */
	double turn;                 /* 1: anticlockwise, as in the north */
	double arms;                 /* angle of the bands of rain */
};

#define HOLLAND_B 1.5

/* Winds and pressures of Holland (1980, Monthly Weather Review 108, 1212), a warm core, moisture
 * and bands of rain. */
static void add_cyclone(struct sky *s, int64_t i, double r, double x, double y, const void *event)
{
	const struct cyclone *c = event;
	const double from = fmax(r, 1), ratio = pow(c->radius / from, HOLLAND_B);
	const double far = bell(r, 450), wind = c->speed * sqrt(ratio * exp(1 - ratio)) * far;
	const double deficit = AIR * M_E / HOLLAND_B * c->speed * c->speed * (1 - exp(-ratio)) * far;
	/* inwards by 20 degrees */
	const double tangent = wind * cos(20 * DEGREE), inward = wind * sin(20 * DEGREE);
	const double u = (-c->turn * y * tangent - x * inward) / from;
	const double v = (c->turn * x * tangent - y * inward) / from;
	const double spiral = 0.5 + 0.5 * cos(2 * (atan2(y, x) - c->turn * log(from / 50)) + c->arms);
	add(s, U850, i, u);
	add(s, V850, i, v);
	add(s, UBOT, i, 0.8 * u);
	add(s, VBOT, i, 0.8 * v);
	add(s, PSL, i, -deficit);
	add(s, PS, i, -deficit);
	add(s, Z1000, i, -deficit / (AIR * GRAVITY));
	add(s, Z200, i, 0.02 * deficit);
	add(s, T500, i, 5 * bell(r, 120) * c->speed / 50);
	add(s, T200, i, 7 * bell(r, 160) * c->speed / 50);
	add(s, TMQ, i, 34 * bell(r, 280) * (0.6 + 0.4 * spiral));
	add(s, QREFHT, i, 0.0015 * bell(r, 250));
	add(s, PRECT, i, 1.5e-6 * c->speed / 50 * bell(r, 200) * spiral);
}

static void make_cyclones(struct sky *s, double sun)
{
	const int wanted = 1 + (int)uniform(s, 0, 3);
	s->nstorms = 0;
	for (int k = 0; k < wanted; k++) {
		/* three of four in the hemisphere that has summer */
		const double side = uniform(s, 0, 1) < 0.75 ? copysign(1, sun) : -copysign(1, sun);
		const double lat = side * uniform(s, 9, 30), lon = uniform(s, 0, 360);
		const struct cyclone c = { .speed = uniform(s, 28, 62), .radius = uniform(s, 40, 110),
			.turn = side, .arms = uniform(s, 0, 2 * M_PI) };
		bool apart = true;
		for (int j = 0; j < s->nstorms; j++)
			apart &= sky_distance(lat, lon, s->storm[j].lat, s->storm[j].lon) > 1800;
		if (!apart)
			continue;
		around(s, lat, lon, 1400, add_cyclone, &c);
		s->storm[s->nstorms++] = (struct storm){ lat, lon };
	}
}

/* A river is a path that is followed in steps; each adds what the step before has not. */
struct river {
	double width, moisture;      /* kg/m^2 on its axis */
	double u, v;                 /* the wind along it */
	float *strength;             /* by point, how much of it is there already */
};

static void add_river(struct sky *s, int64_t i, double r, double x, double y, const void *event)
{
	const struct river *a = event;
	const double now = bell(r, a->width), more = now - (double)a->strength[i];
	(void)x;
	(void)y;
	if (more <= 0)
		return;
	a->strength[i] = (float)now;
	add(s, TMQ, i, a->moisture * more);
	add(s, U850, i, a->u * more);
	add(s, V850, i, a->v * more);
	add(s, UBOT, i, 0.6 * a->u * more);
	add(s, VBOT, i, 0.6 * a->v * more);
	add(s, QREFHT, i, 0.003 * more);
	add(s, TREFHT, i, 2 * more);
	add(s, PRECT, i, 1.2e-7 * more * exp((double)s->noise[SHOWERS][i]));
}

#define RIVER_STEP 60.0

/* From the subtropics towards the pole and the east, bending. strength: scratch of all points. */
static void make_river(struct sky *s, float *strength)
{
	const double side = uniform(s, 0, 1) < 0.5 ? 1 : -1, length = uniform(s, 2200, 5200);
	const double bend = uniform(s, -55, 40) * DEGREE / length;
	double lat = side * uniform(s, 19, 27), lon = uniform(s, 0, 360);
	double course = uniform(s, 25, 60) * DEGREE;      /* from east towards the pole */
	struct river a = { .width = uniform(s, 120, 230), .strength = strength };
	const double moisture = uniform(s, 20, 33), wind = uniform(s, 12, 26);
	memset(strength, 0, (size_t)s->points * sizeof *strength);
	for (double at = 0; at < length && fabs(lat) < 62; at += RIVER_STEP) {
		const double fade = sin(M_PI * fmin(fmax(at / length, 0.05), 0.95));
		a.moisture = moisture * sqrt(fade);
		a.u = wind * cos(course);
		a.v = side * wind * sin(course);
		around(s, lat, lon, 3 * a.width, add_river, &a);
		lat += side * RIVER_STEP * sin(course) / (EARTH_RADIUS * DEGREE);
		lon += RIVER_STEP * cos(course) / (EARTH_RADIUS * DEGREE * cos(lat * DEGREE));
		lon -= lon >= 360 ? 360 : 0;
		course += bend * RIVER_STEP;
	}
}

static void make_rivers(struct sky *s)
{
	const int n = 4 + (int)uniform(s, 0, 6);
	for (int k = 0; k < n; k++)
		make_river(s, s->noise[UPPER]);      /* which is used up */
}

void sky_make(struct sky *s, uint64_t seed, int64_t number)
{
	if (!s->has_ground || s->seed != seed) {
		s->seed = seed;
		draw_field(s, "climate.ground", 0, 3, 5, s->ground);
		s->has_ground = true;
	}
	s->number = number;
	s->drawn = 0;
	draw_field(s, "climate.eddy", number, 7, 7, s->noise[EDDY]);
	draw_field(s, "climate.upper", number, 6, 7, s->noise[UPPER]);
	draw_field(s, "climate.warmth", number, 8, 5, s->noise[WARMTH]);
	draw_field(s, "climate.moisture", number, 9, 4.5, s->noise[MOISTURE]);
	draw_field(s, "climate.showers", number, 20, 3, s->noise[SHOWERS]);
	const double sun = 8 * sin(uniform(s, 0, 2 * M_PI));       /* where it is warmest, degrees */
	make_background(s, sun);
	make_cyclones(s, sun);
	make_rivers(s);
}
