// Where the sun is watched from. Stays on this device.
(function (global) {
  "use strict";

  const key = "almanac.place";
  const greenwich = { latitude: 51.48, longitude: 0 };

  function load() {
    try {
      const { latitude, longitude } = JSON.parse(localStorage.getItem(key));
      if (Math.abs(latitude) <= 89 && Math.abs(longitude) <= 180) return { latitude, longitude };
    } catch {
      // Nothing stored, or storage is off: the default will do.
    }
    return { ...greenwich };
  }

  function save(place) {
    try {
      localStorage.setItem(key, JSON.stringify(place));
    } catch {
      // Storage is off: the place lasts as long as the page.
    }
  }

  global.Place = { load, save };
})(globalThis);
