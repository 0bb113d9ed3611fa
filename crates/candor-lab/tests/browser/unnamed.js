// What has no name for those who hear a page instead of seeing it, and identifiers that are there twice.
(() => {
  const found = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  const say = (what, element) => found.push(`${what}: ${element.outerHTML.slice(0, 120)}`);
  if (!document.documentElement.lang || !document.title) found.push("no language or title");
  for (const one of all("input")) if (!one.labels.length) say("no label", one);
  for (const one of all("svg")) {
    const isHidden = one.closest("[aria-hidden=true]");
    if (!isHidden && !(one.getAttribute("role") === "img" && one.getAttribute("aria-label"))) say("a picture without a name", one);
  }
  for (const one of all("details")) if (one.firstElementChild?.tagName !== "SUMMARY" || !one.firstElementChild.textContent.trim()) say("no summary", one);
  for (const one of all("table")) if (!one.querySelector("th")) say("no heads", one);
  for (const one of all("thead th")) if (!one.textContent.trim()) say("an empty head", one);
  for (const one of all("a")) if (!one.textContent.trim()) say("an empty link", one);
  const levels = all("h1, h2, h3").map((one) => Number(one.tagName[1]));
  if (levels.filter((level) => level === 1).length !== 1) found.push("not one h1");
  levels.reduce((before, level) => { if (level > before + 1) found.push(`h${level} after h${before}`); return level; }, 0);
  const groups = all("input[type=radio]");
  if (groups.length && !groups[0].closest("fieldset, [role=radiogroup]")) found.push("a choice without a name");
  const ids = new Set();
  for (const one of all("[id]")) { if (ids.has(one.id)) say("twice", one); ids.add(one.id); }
  return found.slice(0, 10);
})()
