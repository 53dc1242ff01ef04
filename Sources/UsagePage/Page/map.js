// The map: draws boxes on a canvas, zooms, says what it shows.

class TreeMap {
  constructor(model, canvas, tell) {
    this.model = model;
    this.canvas = canvas;
    this.context = canvas.getContext('2d');
    this.tell = tell;
    this.root = 0;
    this.chosen = -1;
    this.matches = null;
    this.boxes = [];
    this.observer = new ResizeObserver(() => this.layOut());
    this.observer.observe(canvas.parentElement);
    canvas.addEventListener('click', event => this.clicked(event));
    canvas.addEventListener('pointermove', event => this.hover(event));
    canvas.addEventListener('pointerleave', () => this.tell.tip(null));
    canvas.addEventListener('keydown', event => this.pressed(event));
    canvas.addEventListener('focus', () => {
      if (this.chosen < 0) this.choose(this.model.inside(this.root)[0] ?? -1);
      this.draw();
    });
    canvas.addEventListener('blur', () => this.draw());
  }

  /** Shows a directory. */
  zoom(node, chosen = -1) {
    this.root = this.model.isDirectory(node) ? node : this.model.parent[node];
    this.chosen = chosen;
    this.layOut();
    this.tell.zoomed(this.root);
  }

  layOut() {
    const { clientWidth: width, clientHeight: height } = this.canvas.parentElement;
    if (!width || !height) return;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.ratio = ratio;
    this.boxes = layOut(this.model, this.root, width, height);
    this.draw();
  }

  readColours() {
    const probe = make('i');
    this.canvas.parentElement.append(probe);
    const read = name => {
      probe.style.color = `var(--${name})`;
      return getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
    };
    this.colours = Object.fromEntries([...kinds.slice(1), 'unique', 'shared', 'missing', 'directory', 'card', 'text',
      'faint', 'line', 'focus'].map(name => [name, read(name)]));
    probe.remove();
  }

  /** The colour of a node: between shared and unique for a directory that is drawn as one. */
  colour(node) {
    const { model, colours } = this;
    if (model.kind[node] !== FILE) return colours[kinds[model.kind[node]]];
    const leaf = model.leaf[node];
    if (leaf >= 0 && !model.references[leaf]) return colours.missing;
    if (leaf < 0) return blend(colours.shared, colours.unique, model.unique[node] / (model.weight[node] || 1));
    if (model.references[leaf] === 1) return colours.unique;
    // The more versions share it, the calmer.
    const all = Math.max(model.usage.growth.length, 2);
    const share = Math.log(model.references[leaf]) / Math.log(all);
    return blend(colours.shared, colours.card, 0.42 * (1 - Math.min(share, 1)));
  }

  draw() {
    if (!this.colours) this.readColours();
    const { context, colours, model } = this;
    context.setTransform(this.ratio || 1, 0, 0, this.ratio || 1, 0, 0);
    context.fillStyle = css(colours.card);
    context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    context.textBaseline = 'middle';
    for (const box of this.boxes) this.drawBox(box);
    const chosen = this.boxes.find(box => box.node === this.chosen && !box.rest);
    if (chosen && document.activeElement === this.canvas) {
      context.lineWidth = 3;
      context.strokeStyle = css(colours.text);
      context.strokeRect(chosen.x + 1.5, chosen.y + 1.5, Math.max(chosen.w - 3, 1), Math.max(chosen.h - 3, 1));
    }
    if (!this.boxes.length) {
      context.fillStyle = css(colours.faint);
      context.font = '14px system-ui, sans-serif';
      context.fillText('Nothing here takes space.', 16, 24);
    }
  }

  drawBox(box) {
    const { context, colours, model } = this;
    const gap = box.w > 6 && box.h > 6 ? 1 : 0.25;
    const [x, y, w, h] = [box.x, box.y, box.w - gap, box.h - gap];
    if (w <= 0 || h <= 0) return;
    const isDim = this.matches && !this.matches[box.node];
    const open = box.isOpen;
    let fill = open ? colours.directory : box.rest
      ? blend(colours.shared, colours.unique, model.unique[box.node] / (model.weight[box.node] || 1))
      : this.colour(box.node);
    if (isDim && !open) fill = blend(fill, colours.card, 0.82);
    context.fillStyle = css(fill);
    context.fillRect(x, y, w, h);
    const leaf = model.leaf[box.node];
    if (leaf >= 0 && !model.references[leaf] && !box.rest) this.hatch(x, y, w, h);
    if (box.rest) { if (!isDim) this.dots(x, y, w, h, fill); return; }
    const ink = open ? isDim ? colours.faint : colours.text : this.ink(fill);
    if (open && box.header) {
      this.label(model.label(box.node), x + 6, y + HEADER / 2 + 1, w - 12, '600 12px system-ui, sans-serif', ink,
        sizeText(model.weight[box.node]));
    } else if (!open && w > 46 && h > 17) {
      this.label(model.label(box.node), x + 6, y + 11, w - 12, '12px system-ui, sans-serif', ink);
      const size = sizeText(model.weight[box.node]);
      // Half a number would be a wrong one.
      if (h > 36 && context.measureText(size).width <= w - 12) context.fillText(size, x + 6, y + 27);
    }
  }

  /** Black or white, by the contrast that WCAG 2.2 defines: one of the two always has 4.58 : 1 or more. */
  ink(colour) {
    const [r, g, b] = colour.map(part => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    const light = 0.2126 * r + 0.7152 * g + 0.0722 * b;
    return 1.05 / (light + 0.05) > (light + 0.05) / 0.05 ? [255, 255, 255] : [0, 0, 0];
  }

  label(text, x, y, width, font, ink, more) {
    const { context } = this;
    context.font = font;
    context.fillStyle = css(ink);
    const fitted = this.fit(text, width);
    if (!fitted) return;
    context.fillText(fitted, x, y);
    if (!more || fitted !== text) return;
    const used = context.measureText(text).width;
    context.font = '12px system-ui, sans-serif';
    if (used + context.measureText(more).width + 14 < width) {
      context.textAlign = 'right';
      context.fillText(more, x + width, y);
      context.textAlign = 'left';
    }
  }

  fit(text, width) {
    const { context } = this;
    if (text.length > 200) text = text.slice(0, 200);
    if (context.measureText(text).width <= width) return text;
    let [low, high] = [0, text.length];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (context.measureText(text.slice(0, middle) + '…').width <= width) low = middle; else high = middle - 1;
    }
    return low > 1 ? text.slice(0, low) + '…' : '';
  }

  hatch(x, y, w, h) { this.stripes(x, y, w, h, 7, css(this.colours.faint), 1); }

  dots(x, y, w, h, fill) { this.stripes(x, y, w, h, 4, css(blend(fill, this.colours.card, 0.35)), 1); }

  stripes(x, y, w, h, step, style, line) {
    const { context } = this;
    context.save();
    context.beginPath();
    context.rect(x, y, w, h);
    context.clip();
    context.beginPath();
    for (let at = -h; at < w; at += step) {
      context.moveTo(x + at, y + h);
      context.lineTo(x + at + h, y);
    }
    context.lineWidth = line;
    context.strokeStyle = style;
    context.stroke();
    context.restore();
  }

  // Mouse and touch

  point(event) {
    const frame = this.canvas.getBoundingClientRect();
    return boxAt(this.boxes, event.clientX - frame.left, event.clientY - frame.top);
  }

  clicked(event) {
    const box = this.point(event);
    if (!box) return;
    const { model } = this;
    if (box.rest) return this.zoom(box.node);
    // One level nearer to what was clicked.
    let node = box.node;
    while (node > 0 && model.parent[node] !== this.root) node = model.parent[node];
    if (model.isDirectory(node)) this.zoom(node);
    else this.choose(box.node);
  }

  hover(event) {
    const box = this.point(event);
    if (!box) return this.tell.tip(null);
    const frame = this.canvas.getBoundingClientRect();
    const text = box.rest ? [this.model.path(box.node) || this.model.label(0),
      counted(box.rest, 'small thing') + ' too small to draw; click to zoom in']
      : [this.model.path(box.node), this.model.describe(box.node)];
    this.tell.tip(text, event.clientX - frame.left, event.clientY - frame.top);
  }

  // Keys

  choose(node) {
    this.chosen = node;
    this.draw();
    if (node >= 0) this.tell.says(this.model.path(node) + ': ' + this.model.describe(node));
  }

  pressed(event) {
    const { model } = this;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const beside = step => {
      const among = model.inside(model.parent[this.chosen]);
      // What a search has found may weigh nothing, and has nothing beside it then.
      this.choose(among[Math.min(Math.max(among.indexOf(this.chosen) + step, 0), among.length - 1)] ?? this.chosen);
    };
    const into = () => {
      const first = model.inside(this.chosen)[0];
      if (first === undefined) return;
      if (!this.boxes.some(box => box.node === first && !box.rest)) this.zoom(this.chosen, this.chosen);
      this.choose(first);
    };
    const out = () => {
      if (model.parent[this.chosen] === this.root) return;
      this.choose(model.parent[this.chosen]);
    };
    const up = () => {
      if (this.root === 0) return;
      const left = this.root;
      this.zoom(model.parent[this.root], left);
      this.choose(left);
    };
    const verbs = {
      ArrowRight: () => beside(1), ArrowLeft: () => beside(-1), ArrowDown: into, ArrowUp: out,
      Enter: () => {
        if (this.chosen < 0 || !model.isDirectory(this.chosen)) return;
        this.zoom(this.chosen, model.inside(this.chosen)[0] ?? -1);
        this.choose(this.chosen);
      },
      Escape: up, Backspace: up,
      Home: () => { this.zoom(0, model.inside(0)[0] ?? -1); this.choose(this.chosen); }
    };
    const verb = verbs[event.key === ' ' ? 'Enter' : event.key];
    if (!verb) return;
    event.preventDefault();
    if (this.chosen < 0) this.chosen = model.inside(this.root)[0] ?? -1;
    if (this.chosen >= 0 || event.key === 'Escape') verb();
  }
}

const css = colour => `rgb(${colour.map(Math.round).join(',')})`;
const blend = (one, other, share) => one.map((part, index) => part + (other[index] - part) * share);
