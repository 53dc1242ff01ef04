// Makes elements: element("p", { class: "quiet" }, "some text", anotherElement).
(function (global) {
  "use strict";

  const svgNames = new Set(["svg", "circle", "path", "line", "g", "text", "title"]);

  global.element = function element(name, attributes, ...children) {
    const made = svgNames.has(name)
      ? document.createElementNS("http://www.w3.org/2000/svg", name)
      : document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (typeof value === "function") made.addEventListener(key, value);
      else if (value !== undefined && value !== null) made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
  };
})(globalThis);
