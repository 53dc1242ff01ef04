// Days as astronomers count them.
(function (global) {
  "use strict";

  const unixEpoch = 2440587.5; // 1970-01-01T00:00Z as a Julian date
  const millisecondsPerDay = 86400000;

  global.Julian = {
    day: (date) => date.getTime() / millisecondsPerDay + unixEpoch,
    date: (day) => new Date((day - unixEpoch) * millisecondsPerDay),
    // Centuries since the epoch J2000.0, the unit of most series.
    centuries: (date) => (global.Julian.day(date) - 2451545) / 36525,
  };
})(globalThis);
