// Texts whose contrast with what is behind them is below 4.5 (WCAG 2.2, 1.4.3), or 3 where they are large.
(() => {
  const parse = (text) => {
    const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number);
    return { r, g, b, a };
  };
  const over = (top, below) => {
    const mix = (one) => top[one] * top.a + below[one] * (1 - top.a);
    return { r: mix("r"), g: mix("g"), b: mix("b"), a: 1 };
  };
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.unshift(parse(getComputedStyle(at).backgroundColor));
    return layers.reduce((below, top) => over(top, below), { r: 255, g: 255, b: 255, a: 1 });
  };
  const light = ({ r, g, b }) => {
    const [red, green, blue] = [r, g, b].map((one) => {
      const share = one / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const ratio = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const faint = new Map();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !element.checkVisibility() || element.closest("script, style, title")) continue;
    const style = getComputedStyle(element);
    const below = behind(element);
    const ink = over(parse(element.closest("svg") ? style.fill : style.color), below);
    const isLarge = parseFloat(style.fontSize) >= 24;
    const found = ratio(ink, below);
    const key = `${element.tagName} ${element.getAttribute("class")} in ${element.parentElement.tagName} ${element.parentElement.getAttribute("class")}`;
    if (found < (isLarge ? 3 : 4.5) && !faint.has(key)) faint.set(key, `${node.data.trim().slice(0, 30)}: ${found.toFixed(2)}`);
  }
  return [...faint].map(([key, text]) => `${key}: ${text}`);
})()
