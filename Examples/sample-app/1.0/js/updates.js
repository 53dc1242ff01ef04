// Tells castree that this version works, and offers the next one as soon as it is there. Served by anything else,
// or opened as a file, the app has no castree and does without.
globalThis.Updates = {
  // Called when everything is drawn: a version that never says this is left for the one before it.
  started(notice) {
    const castree = globalThis.castree;
    if (!castree) return;
    castree.confirm();
    castree.bridge.addEventListener("version-ready", ({ detail }) => {
      const reload = () => location.reload();
      notice.replaceChildren(
        `Version ${detail.version} is here. `, element("button", { click: reload }, "Show it"));
    });
  },
};
