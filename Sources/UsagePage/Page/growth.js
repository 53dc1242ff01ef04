// The time line: what the store took after each version, and what plain copies would have taken.

const drawing = (name, attributes = {}, ...children) => {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
};

/** Round numbers up to a limit, in binary units. */
const ticksUpTo = limit => {
  const unit = 1024 ** Math.min(Math.floor(Math.log2(Math.max(limit, 1)) / 10), 6);
  const rough = limit / unit / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(each => each * power).find(each => each >= rough) * unit;
  const ticks = [];
  for (let tick = 0; tick <= limit; tick += step) ticks.push(tick);
  return ticks;
};

class GrowthChart {
  constructor(points, frame, tell) {
    this.points = points;
    this.frame = frame;
    this.tell = tell;
    this.at = points.length - 1;
    // By time where the clocks agree with the order; else one step for each version.
    const span = points.length > 1 ? points[points.length - 1].createdAt - points[0].createdAt : 0;
    const ascends = points.every((point, place) => !place || point.createdAt >= points[place - 1].createdAt);
    this.byTime = span > 0 && ascends;
    this.compares = true;
    this.observer = new ResizeObserver(() => { if (frame.clientWidth !== this.width) this.draw(); });
    this.observer.observe(frame);
  }

  position(place) {
    const { points } = this;
    if (points.length === 1) return 0.5;
    if (!this.byTime) return place / (points.length - 1);
    const [first, last] = [points[0].createdAt, points[points.length - 1].createdAt];
    return (points[place].createdAt - first) / (last - first);
  }

  draw() {
    const { points, frame } = this;
    const width = frame.clientWidth;
    if (!points.length || !width) return;
    this.width = width;
    const height = width < 600 ? 220 : 280;
    const [left, right, top, bottom] = [66, 12, 12, 26];
    const most = points.reduce((sum, point) =>
      Math.max(sum, this.compares ? point.apparentBytes : 0, point.objectBytes), 1);
    const x = place => left + this.position(place) * (width - left - right);
    const y = bytes => top + (1 - bytes / most) * (height - top - bottom);
    this.x = x;
    const svg = drawing('svg', {
      viewBox: `0 0 ${width} ${height}`, role: 'slider', tabindex: 0, 'aria-label': 'Growth, version by version',
      'aria-valuemin': 1, 'aria-valuemax': points.length
    });
    for (const tick of ticksUpTo(most)) {
      svg.append(
        drawing('line', { class: 'grid', x1: left, x2: width - right, y1: y(tick), y2: y(tick) }),
        drawing('text', { x: left - 8, y: y(tick) + 4, 'text-anchor': 'end' }, sizeText(tick)));
    }
    // Steps: between two versions nothing changes.
    const line = of => points.map((point, place) =>
      (place ? `H${x(place).toFixed(1)}V` : `M${x(place).toFixed(1)},`) + y(of(point)).toFixed(1)).join('');
    const stored = line(point => point.objectBytes);
    const floor = y(0).toFixed(1);
    svg.append(
      drawing('path', { class: 'area', d: `${stored}V${floor}H${x(0).toFixed(1)}Z` }),
      ...this.compares ? [drawing('path', { class: 'copies', d: line(point => point.apparentBytes) })] : [],
      drawing('path', { class: 'stored', d: stored }));
    this.drawDates(svg, left, width - right, height);
    this.cursor = drawing('line', { class: 'cursor', y1: top, y2: height - bottom });
    this.dots = (this.compares ? ['dot', 'dot plain'] : ['dot']).map(name => drawing('circle', { class: name, r: 4.5 }));
    svg.append(this.cursor, ...this.dots);
    this.y = y;
    svg.addEventListener('pointermove', event => this.near(event));
    svg.addEventListener('keydown', event => this.pressed(event));
    frame.replaceChildren(svg);
    this.svg = svg;
    this.show(this.at);
  }

  drawDates(svg, left, right, height) {
    const { points } = this;
    const text = place => this.byTime ? timeText(points[place].createdAt).slice(0, 10) : points[place].version;
    const label = (place, x, anchor) => {
      const words = text(place);
      svg.append(drawing('text', { x, y: height - 6, 'text-anchor': anchor },
        words.length > 18 ? words.slice(0, 17) + '…' : words));
    };
    if (points.length === 1) return label(0, this.x(0), 'middle');
    label(0, left, 'start');
    if (!this.byTime || text(0) !== text(points.length - 1)) {
      label(points.length - 1, right, 'end');
    }
  }

  near(event) {
    const frame = this.svg.getBoundingClientRect();
    const x = (event.clientX - frame.left) * this.width / frame.width;
    let best = 0;
    for (let place = 1; place < this.points.length; place++) {
      if (Math.abs(this.x(place) - x) <= Math.abs(this.x(best) - x)) best = place;
    }
    this.show(best);
  }

  pressed(event) {
    const last = this.points.length - 1;
    const next = {
      ArrowRight: this.at + 1, ArrowUp: this.at + 1, ArrowLeft: this.at - 1, ArrowDown: this.at - 1,
      PageUp: this.at + 10, PageDown: this.at - 10, Home: 0, End: last
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    this.show(Math.min(Math.max(next, 0), last));
  }

  show(place) {
    this.at = place;
    const point = this.points[place];
    const x = this.x(place);
    this.cursor.setAttribute('x1', x);
    this.cursor.setAttribute('x2', x);
    this.dots.forEach((dot, index) => {
      dot.setAttribute('cx', x);
      dot.setAttribute('cy', this.y(index ? point.apparentBytes : point.objectBytes));
    });
    const words = `${point.version}${point.createdAt ? ', ' + timeText(point.createdAt) : ''}: `
      + `brought ${sizeText(point.newBytes)}; then ${sizeText(point.objectBytes)} in the store, `
      + `${sizeText(point.apparentBytes)} as plain copies`;
    this.svg.setAttribute('aria-valuenow', place + 1);
    this.svg.setAttribute('aria-valuetext', words);
    this.tell(words);
  }
}
