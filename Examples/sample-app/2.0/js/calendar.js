// A month of days, each with its moon.
(function (global) {
  "use strict";

  const language = undefined; // the browser's
  const sameDay = (a, b) => a.toDateString() === b.toDateString();
  const noon = (date) => new Date(date.getFullYear(), date.getMonth(), date.getDate(), 12);

  function weekdays() {
    const format = new Intl.DateTimeFormat(language, { weekday: "short" });
    // 2024-01-01 was a Monday.
    return Array.from({ length: 7 }, (_, i) => format.format(new Date(2024, 0, 1 + i)));
  }

  function draw(target, shown, choose) {
    const first = new Date(shown.getFullYear(), shown.getMonth(), 1, 12);
    const count = new Date(shown.getFullYear(), shown.getMonth() + 1, 0).getDate();
    const lead = (first.getDay() + 6) % 7;
    const cells = weekdays().map((day) => element("div", { class: "weekday" }, day));
    for (let i = 0; i < lead; i++) cells.push(element("div"));
    for (let i = 1; i <= count; i++) {
      const day = new Date(shown.getFullYear(), shown.getMonth(), i, 12);
      cells.push(element(
        "button",
        {
          class: sameDay(day, new Date()) ? "day today" : "day",
          "aria-pressed": sameDay(day, shown),
          "aria-label": `${day.toLocaleDateString(language, { dateStyle: "long" })}, ${Moon.name(day)}`,
          click: () => choose(day),
        },
        element("span", {}, String(i)), Moon.picture(day)
      ));
    }
    const hadFocus = target.contains(document.activeElement);
    target.replaceChildren(...cells);
    // The button that was pressed is gone with the old month; its successor takes the focus.
    if (hadFocus) target.querySelector('[aria-pressed="true"]').focus();
  }

  global.Calendar = { draw, noon };
})(globalThis);
