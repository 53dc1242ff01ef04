// The phase of the moon, after J. Meeus, Astronomical Algorithms, chapter 48 (the short series).
(function (global) {
  "use strict";

  const radians = Math.PI / 180;
  const sin = (degrees) => Math.sin(degrees * radians);
  const turn = (degrees) => ((degrees % 360) + 360) % 360;

  // The moon's angle from the sun: 0 new, 90 first quarter, 180 full, 270 last quarter.
  function angle(date) {
    const t = Julian.centuries(date);
    const d = 297.8501921 + 445267.1114034 * t; // mean elongation of the moon
    const m = 357.5291092 + 35999.0502909 * t; // mean anomaly of the sun
    const n = 134.9633964 + 477198.8675055 * t; // mean anomaly of the moon
    return turn(
      d + 6.289 * sin(n) - 2.1 * sin(m) + 1.274 * sin(2 * d - n) + 0.658 * sin(2 * d) +
      0.214 * sin(2 * n) + 0.11 * sin(d)
    );
  }

  const light = (date) => (1 - Math.cos(angle(date) * radians)) / 2;

  // The next moment at which the angle is `wanted`, to the minute.
  function next(wanted, after) {
    const perDay = 360 / 29.530588853;
    let day = Julian.day(after) + turn(wanted - angle(after)) / perDay;
    for (let round = 0; round < 8; round++) {
      const off = turn(wanted - angle(Julian.date(day)) + 180) - 180;
      day += off / perDay;
    }
    const found = Julian.date(day);
    return found > after ? found : next(wanted, new Date(after.getTime() + 86400000));
  }

  const names = [
    "New moon", "Waxing crescent", "First quarter", "Waxing gibbous",
    "Full moon", "Waning gibbous", "Last quarter", "Waning crescent",
  ];
  // A principal phase gets its name for a day around it, the four between get the rest.
  function name(date) {
    const a = angle(date);
    const quarter = Math.round(a / 90);
    if (Math.abs(a - quarter * 90) < 6.1) return names[(quarter * 2) % 8];
    return names[Math.floor(a / 90) * 2 + 1];
  }

  // A drawing of the moon: the dark disc, and the lit part as two arcs.
  function picture(date, label) {
    const a = angle(date);
    const waxing = a < 180;
    const width = 48 * Math.cos(a * radians); // half the width of the terminator's ellipse
    const limb = `M50 2A48 48 0 0 ${waxing ? 1 : 0} 50 98`;
    const sweep = waxing === width > 0 ? 0 : 1;
    const terminator = `A${Math.abs(width).toFixed(2)} 48 0 0 ${sweep} 50 2z`;
    return element(
      "svg", { viewBox: "0 0 100 100", role: label ? "img" : "presentation", "aria-label": label },
      element("circle", { cx: 50, cy: 50, r: 48, fill: "#2a3560" }),
      element("path", { d: limb + terminator, fill: "#f6e7b4" })
    );
  }

  global.Moon = { angle, light, next, name, picture };
})(globalThis);
