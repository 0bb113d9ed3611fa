"use strict";
(() => {
  const lines = JSON.parse(document.getElementById("data").textContent);
  const svg = document.getElementById("profile");
  const cursor = document.getElementById("cursor");
  const readout = document.getElementById("readout");
  if (!svg) return;
  const at = (name) => Number(svg.dataset[name]);
  // Frames with at least this latency: the count of the first step that is not below it.
  const reach = (line, ns) => {
    let low = 0, high = line.profile.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (line.profile[middle][0] < ns) low = middle + 1; else high = middle;
    }
    return low < line.profile.length ? line.profile[low][1] : line.lost;
  };
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
    const inside = x >= at("left") && x <= at("right");
    cursor.setAttribute("visibility", inside ? "visible" : "hidden");
    if (!inside) return;
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
    const us = (x - at("left")) / (at("right") - at("left")) * at("maxUs");
    const says = lines.map((line) => {
      const count = reach(line, us * 1000);
      return `${line.device} ${count.toLocaleString("en")} (${(100 * count / line.frames).toPrecision(3)} %)`;
    });
    readout.textContent = `At least ${us.toFixed(2)} µs: ${says.join(" · ")}`;
  });
  svg.addEventListener("pointerleave", () => cursor.setAttribute("visibility", "hidden"));
})();
