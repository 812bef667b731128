/* SPDX-License-Identifier: BSD-3-Clause */
#include "data-tools/convert/side/axis_role.h"

#include <string.h>
#include <strings.h>

#include "data/axes_match.h"

/* A name that ends in '*' is a beginning. */
struct known {
	char role;
	const char *const *names;
};

static const char *const x_names[] = { "x", "lon", "longitude", "rlon", "nx", "width", "column",
	"columns", "col", "east", "easting", "west_east", "west_east_stag", "xi_*", "nlon", "ni", "xh",
	"xq", "xt_ocean", "xu_ocean", "nav_lon", "longitude_*", "projection_x_coordinate", "XAX_1",
	NULL };
static const char *const y_names[] = { "y", "lat", "latitude", "rlat", "ny", "height", "row",
	"rows", "north", "northing", "south_north", "south_north_stag", "eta_*", "nlat", "nj", "yh",
	"yq", "yt_ocean", "yu_ocean", "nav_lat", "latitude_*", "projection_y_coordinate", "YAX_1",
	NULL };
static const char *const z_names[] = { "z", "lev", "level", "levels", "plev", "depth", "altitude",
	"nz", "pressure", "isobaric*", "pressure_level", "bottom_top", "bottom_top_stag",
	"soil_layers_stag", "s_rho", "s_w", "deptht", "depthu", "depthv", "depthw", "olevel",
	"st_ocean", "sw_ocean", "z_l", "z_i", "sigma", "hybrid", "plev*", "ilev", "sdepth", NULL };
static const char *const t_names[] = { "t", "time", "times", "month", "months", "day", "days",
	"year", "years", "step", "hour", "hours", "date", "dates", "valid_time", "ocean_time",
	"time_counter", "forecast_time", "frame", "frames", "TIME1", NULL };
static const char *const c_names[] = { "channel", "channels", "band", "bands", "variable",
	"variables", "feature", "features", "component", "components", "c", NULL };

static const struct known by_name[] = {
	{ 'C', c_names }, { 'T', t_names }, { 'X', x_names }, { 'Y', y_names }, { 'Z', z_names },
};

static const char *const x_standard[] = { "longitude", "projection_x_coordinate", "grid_longitude",
	NULL };
static const char *const y_standard[] = { "latitude", "projection_y_coordinate", "grid_latitude",
	NULL };
static const char *const z_standard[] = { "air_pressure", "height", "depth", "altitude",
	"atmosphere_*", "ocean_s*", "ocean_double*", "model_level_number", "geopotential_height",
	"height_above_*", NULL };
static const char *const t_standard[] = { "time", "forecast_period", "forecast_reference_time",
	NULL };

static const struct known by_standard_name[] = {
	{ 'X', x_standard }, { 'Y', y_standard }, { 'Z', z_standard }, { 'T', t_standard },
};

static const char *const x_units[] = { "degrees_east", "degree_east", "degree_E", "degrees_E",
	"degreeE", "degreesE", NULL };
static const char *const y_units[] = { "degrees_north", "degree_north", "degree_N", "degrees_N",
	"degreeN", "degreesN", NULL };
static const char *const z_units[] = { "Pa", "hPa", "mbar", "millibar", "millibars", "bar",
	"decibar", "atm", NULL };

static const struct known by_units[] = { { 'X', x_units }, { 'Y', y_units }, { 'Z', z_units } };

static bool is_one_of(const char *text, const char *const *list)
{
	for (; *list; list++) {
		const size_t n = strlen(*list);
		const bool begins = (*list)[n - 1] == '*';

		if (begins ? strncasecmp(text, *list, n - 1) == 0 : strcasecmp(text, *list) == 0)
			return true;
	}
	return false;
}

static char find(const struct known *list, size_t n, const char *text)
{
	for (size_t i = 0; text && i < n; i++)
		if (is_one_of(text, list[i].names))
			return list[i].role;
	return 0;
}

#define FIND(list, text) find(list, sizeof(list) / sizeof *(list), text)

char axis_role(const struct axis *x, char kind)
{
	const char *axis = axis_text(x, "axis"), *units = axis_text(x, "units");
	char role = kind;
	if (!role && axis && axis[0] && !axis[1] && strchr("XYZT", axis[0]))
		role = axis[0];
	if (!role)
		role = FIND(by_standard_name, axis_text(x, "standard_name"));
	if (!role && units && strstr(units, " since "))
		role = 'T';
	if (!role)
		role = FIND(by_units, units);
	if (!role && axis_text(x, "positive"))
		role = 'Z';
	return role ? role : FIND(by_name, x->name);
}

bool axis_is_place(char role)
{
	return role && strchr("XYZ", role);
}

const char *axis_role_name(char role)
{
	static const struct { char role; const char *name; } names[] = {
		{ 'X', "longitude or x" }, { 'Y', "latitude or y" }, { 'Z', "height, depth or pressure" },
		{ 'T', "time" }, { 'C', "channels" },
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].role == role)
			return names[i].name;
	return "unknown";
}
