// Contrasts of a framed page as WCAG 2 defines them: the lowest of its texts, and of the lines and points of its pictures.
function contrasts(frame) {
  const view = frame.contentWindow, page = frame.contentDocument;
  const canvas = page.createElement('canvas').getContext('2d', { willReadFrequently: true });
  // Any color that CSS can compute, as red, green, blue and opacity.
  const parsed = (text) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below, opacity = 1) => {
    const a = top[3] * opacity;
    return [0, 1, 2].map((i) => top[i] * a + below[i] * (1 - a)).concat(1);
  };
  const luminance = (color) => {
    const linear = color.slice(0, 3).map((value) => value / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const ratio = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const background = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      const color = parsed(view.getComputedStyle(at).backgroundColor);
      if (color[3] > 0) layers.push(color);
      if (color[3] === 1) break;
    }
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const opacity = (element) => {
    let all = 1;
    for (let at = element; at; at = at.parentElement) all *= Number(view.getComputedStyle(at).opacity);
    return all;
  };
  const visible = (element) => {
    const box = element.getBoundingClientRect();
    return box.width + box.height > 0 && view.getComputedStyle(element).visibility === 'visible' && opacity(element) > 0;
  };
  const lowest = { text: { ratio: 99, what: 'none', seen: 0 }, line: { ratio: 99, what: 'none', seen: 0 } };
  const judge = (kind, element, color, alpha, what) => {
    const below = background(element);
    const found = ratio(over(parsed(color), below, alpha), below);
    lowest[kind].seen += 1;
    if (found < lowest[kind].ratio) Object.assign(lowest[kind], { ratio: found, what: what + ' ' + color });
  };
  const walker = page.createTreeWalker(page.body, view.NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.data.trim(), element = walker.currentNode.parentElement;
    if (!text || element.closest('title, desc, style, script') || !visible(element)) continue;
    const style = view.getComputedStyle(element);
    const color = element instanceof view.SVGElement ? style.fill : style.color;
    judge('text', element, color, opacity(element), text.slice(0, 40));
  }
  // The grid is meant to stay in the background, and bands lie below the lines that they belong to.
  for (const element of page.querySelectorAll('svg polyline, svg path, svg line, svg circle')) {
    if (!visible(element) || element.closest('.hints') || element.getAttribute('stroke') === '#D4D9DF') continue;
    const style = view.getComputedStyle(element), alpha = opacity(element);
    if (style.stroke !== 'none') judge('line', element, style.stroke, alpha * Number(style.strokeOpacity), element.tagName);
    else if (element.tagName === 'circle' && style.fill !== 'none' && Number(style.fillOpacity) === 1)
      judge('line', element, style.fill, alpha, 'circle');
  }
  return lowest;
}
