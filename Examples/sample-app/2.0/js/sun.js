// Sunrise, sunset and the length of a day, after the low-precision formulae of the Astronomical
// Almanac: good to about two minutes away from the poles.
(function (global) {
  "use strict";

  const radians = Math.PI / 180;
  const sin = (degrees) => Math.sin(degrees * radians);
  const cos = (degrees) => Math.cos(degrees * radians);
  const horizon = -0.833; // the sun's radius and the bending of light at the horizon

  // The day of `date` at a place; `rise` and `set` are null when the sun stays up or down.
  function day(date, latitude, longitude) {
    const noonUTC = Date.UTC(date.getFullYear(), date.getMonth(), date.getDate(), 12);
    const cycle = Math.round(Julian.day(new Date(noonUTC)) - 2451545);
    const meanNoon = cycle - longitude / 360;
    const m = 357.5291 + 0.98560028 * meanNoon; // mean anomaly
    const centre = 1.9148 * sin(m) + 0.02 * sin(2 * m) + 0.0003 * sin(3 * m);
    const ecliptic = m + centre + 180 + 102.9372; // longitude of the sun
    const transit = 2451545 + meanNoon + 0.0053 * sin(m) - 0.0069 * sin(2 * ecliptic);
    const declination = Math.asin(sin(ecliptic) * sin(23.4397)) / radians;
    const hourAngle =
      (sin(horizon) - sin(latitude) * sin(declination)) / (cos(latitude) * cos(declination));
    const noon = Julian.date(transit);
    if (hourAngle <= -1) return { noon, rise: null, set: null, hours: 24 };
    if (hourAngle >= 1) return { noon, rise: null, set: null, hours: 0 };
    const half = Math.acos(hourAngle) / radians / 360; // of a day
    return {
      noon,
      rise: Julian.date(transit - half),
      set: Julian.date(transit + half),
      hours: half * 48,
    };
  }

  // The year as a curve of day lengths, with a mark on the day that is shown.
  function curve(date, latitude, longitude) {
    const year = date.getFullYear();
    const x = (day) => (day / 365) * 360;
    const y = (hours) => 96 - (hours / 24) * 92;
    const ordinal = (Date.UTC(year, date.getMonth(), date.getDate()) - Date.UTC(year, 0, 1)) / 864e5;
    const points = [];
    for (let i = 0; i <= 365; i += 5) {
      const hours = day(new Date(year, 0, 1 + i, 12), latitude, longitude).hours;
      points.push(`${x(i).toFixed(1)} ${y(hours).toFixed(1)}`);
    }
    const line = `M${points.join("L")}`;
    return element(
      "svg", { viewBox: "0 0 360 100", role: "img", "aria-label": "Length of the days of the year" },
      element("path", { d: `${line}L360 96L0 96z`, class: "curve-fill" }),
      element("path", { d: line, class: "curve-line" }),
      element("line", { x1: 0, x2: 360, y1: y(12), y2: y(12), class: "curve-half" }),
      element("circle", {
        cx: x(ordinal), cy: y(day(date, latitude, longitude).hours), r: 4, class: "curve-mark",
      })
    );
  }

  global.Sun = { day, curve };
})(globalThis);
