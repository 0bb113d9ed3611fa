// Controls, and links that are not in a text, of less than 44 pixels (WCAG 2.2, 2.5.5).
(() => {
  const all = document.querySelectorAll("button, select, input, summary, nav a, .go a, h3 a, th a, dt a");
  const shown = [...all].filter((one) => one.checkVisibility());
  const small = shown.filter((one) => one.getBoundingClientRect().height < 44);
  return small.map((one) => `${one.outerHTML.slice(0, 80)}: ${one.getBoundingClientRect().height}`);
})()
