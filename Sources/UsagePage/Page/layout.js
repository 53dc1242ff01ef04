// Rectangles: a squarified treemap (Bruls, Huizing, van Wijk 2000) that lays out only what can be seen.

const HEADER = 19, PADDING = 3, LEAST_AREA = 14;

/** How long the worst rectangle of a row is against its width. */
const worst = (sum, least, most, side) =>
  Math.max(side * side * most / (sum * sum), sum * sum / (side * side * least));

/**
 * Divides a rectangle among weights that descend; calls place(index, x, y, width, height).
 * What would be too small to see is given to one rectangle together: rest(first, x, y, width, height).
 */
const squarify = (weights, x, y, width, height, place, rest) => {
  let left = 0;
  for (const weight of weights) left += weight;
  if (!(left > 0) || width <= 0 || height <= 0) return;
  const scale = width * height / left;
  let start = 0;
  while (start < weights.length) {
    if (weights[start] * scale < LEAST_AREA && weights.length - start > 1) {
      rest(start, x, y, width, height);
      return;
    }
    const side = Math.min(width, height);
    let sum = weights[start] * scale, end = start + 1;
    const most = sum;
    let ratio = worst(sum, most, most, side);
    while (end < weights.length) {
      const next = weights[end] * scale;
      const wider = worst(sum + next, next, most, side);
      if (wider > ratio) break;
      ratio = wider;
      sum += next;
      end++;
    }
    const depth = sum / side;
    let offset = 0;
    for (let index = start; index < end; index++) {
      const length = weights[index] * scale / depth;
      if (width >= height) place(index, x, y + offset, depth, length);
      else place(index, x + offset, y, length, depth);
      offset += length;
    }
    if (width >= height) { x += depth; width -= depth; } else { y += depth; height -= depth; }
    start = end;
  }
};

/** Lays out what is in a directory; boxes stand before what is in them. */
const layOut = (model, root, width, height) => {
  const boxes = [];
  const divide = (node, x, y, w, h, depth) => {
    const inside = model.inside(node);
    const weights = inside.map(each => model.weight[each]);
    squarify(weights, x, y, w, h, (index, bx, by, bw, bh) => {
      const child = inside[index];
      const box = { node: child, x: bx, y: by, w: bw, h: bh, depth, header: 0 };
      boxes.push(box);
      if (!model.isDirectory(child)) return;
      if (bw < 26 || bh < 22) return;
      box.header = bw > 44 && bh > HEADER + 14 ? HEADER : 0;
      box.isOpen = true;
      divide(child, bx + PADDING, by + (box.header || PADDING), bw - 2 * PADDING,
        bh - (box.header || PADDING) - PADDING, depth + 1);
    }, (first, bx, by, bw, bh) => {
      boxes.push({ node, x: bx, y: by, w: bw, h: bh, depth, header: 0, rest: inside.length - first, first });
    });
  };
  divide(root, 0, 0, width, height, 0);
  return boxes;
};

/** The innermost box at a point. */
const boxAt = (boxes, x, y) => {
  for (let index = boxes.length - 1; index >= 0; index--) {
    const box = boxes[index];
    if (x >= box.x && y >= box.y && x < box.x + box.w && y < box.y + box.h) return box;
  }
  return null;
};
