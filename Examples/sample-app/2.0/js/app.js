// Holds the one day that is shown, and draws everything from it.
(function () {
  "use strict";

  const at = (id) => document.getElementById(id);
  const long = (date) => date.toLocaleDateString(undefined, { dateStyle: "full" });
  const brief = (date) =>
    date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });

  const clock = (date) => (date ? date.toLocaleTimeString(undefined, { timeStyle: "short" }) : "–");
  const duration = (hours) => {
    const minutes = Math.round(hours * 60);
    return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  };

  let shown = Calendar.noon(new Date());
  let place = Place.load();

  function showSun() {
    const { rise, set, hours } = Sun.day(shown, place.latitude, place.longitude);
    at("sun-rise").textContent = clock(rise);
    at("sun-set").textContent = clock(set);
    at("sun-hours").textContent = duration(hours);
    at("sun-curve").replaceChildren(Sun.curve(shown, place.latitude, place.longitude));
  }

  function show(date) {
    shown = Calendar.noon(date);
    at("moon-date").textContent = long(shown);
    at("moon-name").textContent = Moon.name(shown);
    at("moon-light").textContent = `${Math.round(Moon.light(shown) * 100)} % of its face is lit.`;
    at("moon-picture").replaceChildren(Moon.picture(shown, Moon.name(shown)));
    at("moon-next").replaceChildren(
      ...[["New", 0], ["First quarter", 90], ["Full", 180], ["Last quarter", 270]]
        .map(([name, angle]) => ({ name, date: Moon.next(angle, shown) }))
        .sort((a, b) => a.date - b.date)
        .flatMap(({ name, date }) => [element("dt", {}, name), element("dd", {}, brief(date))])
    );
    at("month-name").textContent =
      shown.toLocaleDateString(undefined, { month: "long", year: "numeric" });
    Calendar.draw(at("month"), shown, show);
    showSun();
  }

  const days = (count) =>
    new Date(shown.getFullYear(), shown.getMonth(), shown.getDate() + count, 12);
  const months = (count) => new Date(shown.getFullYear(), shown.getMonth() + count, 1, 12);

  at("month-before").addEventListener("click", () => show(months(-1)));
  at("month-after").addEventListener("click", () => show(months(1)));
  document.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 }[event.key];
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.target instanceof HTMLInputElement) return;
    if (step) show(days(step));
    else if (event.key === "Home") show(new Date());
    else return;
    event.preventDefault();
  });

  const form = at("place");
  form.latitude.value = place.latitude;
  form.longitude.value = place.longitude;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    if (!form.checkValidity()) return;
    place = { latitude: form.latitude.valueAsNumber, longitude: form.longitude.valueAsNumber };
    Place.save(place);
    showSun();
  });

  at("version").textContent = `Version ${almanacVersion}.`;
  show(new Date());
  Updates.started(at("update"));
})();
