"use strict";
// Links lead into closed details. Most browsers open them; this is for the others, and takes the keyboard there.
(() => {
  const open = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (!target) return;
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    const cell = target.closest("details");
    cell.scrollIntoView();
    cell.firstElementChild.focus({ preventScroll: true });
  };
  addEventListener("hashchange", open);
  // The same link again changes no hash.
  addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (link && link.hash && link.hash === location.hash) open();
  });
  open();
})();
