// Puts the page together, and keeps its parts at one view.

const listMax = 300;

class Page {
  /** @param sizes the kind of sizes that is shown */
  constructor(figures, sizes) {
    const usage = this.usage = measured(figures, sizes);
    usage.kept = new Map(usage.lifecycle.kept.map(each => [each.version, each.reason]));
    usage.roles = version => {
      const { current, pending, embedded, knownGood, bad } = usage.lifecycle;
      return [[current === version, 'current'], [pending === version, 'pending'], [embedded === version, 'embedded'],
        [knownGood.includes(version), 'known good'], [bad.includes(version), 'bad']]
        .filter(([is]) => is).map(([, name]) => name);
    };
    this.model = new Model(usage);
    this.model.look(-1);
    byID('taken').textContent = [usage.path, usage.takenAt ? timeText(usage.takenAt) + ' UTC' : ''].filter(Boolean).join(' · ');
    drawGlance(usage);
    this.makeView();
    this.map = new TreeMap(this.model, this.freshCanvas(), {
      zoomed: node => this.zoomed(node), tip: (text, x, y) => this.tip(text, x, y),
      says: text => { byID('map-says').textContent = text; }
    });
    this.zoomed(0);
    this.makeSearch();
    this.makeTheme();
    this.makeSizes(figures);
    this.makeLegend();
    drawVersions(usage, chosen => this.together(chosen), version => {
      const place = this.model.versions.indexOf(version);
      if (place < 0) return;
      byID('view').value = String(place);
      this.look(place);
      byID('where-card').scrollIntoView({ block: 'start' });
      byID('map').focus({ preventScroll: true });
    });
    this.drawGrowth();
    drawSharing(usage.sharing, byID('sharing'), text => { byID('sharing-says').textContent = text; });
    byID('sharing-note').textContent = 'The darker a cell, the more of its row’s version is in its column’s version too. '
      + 'Sizes are those of content.'
      + (usage.sharing.omitted ? ` The newest ${usage.sharing.versions.length}; ${counted(usage.sharing.omitted, 'older version')} left out.` : '');
    drawLargest(usage, '');
    drawDisk(usage.store.disk);
  }

  /** A canvas that nobody listens to yet: a page may be shown new figures. */
  freshCanvas() {
    const old = byID('map');
    const canvas = old.cloneNode(false);
    old.replaceWith(canvas);
    return canvas;
  }

  makeView() {
    const { versions } = this.model;
    const view = byID('view');
    const options = [make('option', { value: '-1', textContent: 'Whole store' })];
    for (let place = versions.length - 1; place >= 0; place--) {
      const roles = this.usage.roles(versions[place]);
      options.push(make('option', { value: String(place),
        textContent: versions[place] + (roles.length ? ` (${roles[0]})` : '') }));
    }
    view.replaceChildren(...options);
    view.onchange = () => this.look(Number(view.value));
    const { omittedVersions } = this.usage.map;
    const folded = this.model.folded.size;
    byID('map-note').textContent = [
      omittedVersions ? `The map has the newest ${versions.length} versions; ${counted(omittedVersions, 'older version')} `
        + 'would make it too large.' : '',
      folded ? 'Small files of a directory are put together.' : ''].filter(Boolean).join(' ');
  }

  /** Shows a version, or the whole store. */
  look(version) {
    const open = this.map.root;
    this.model.look(version);
    if (this.query) this.match();
    // The same directory, if the version has it.
    this.map.zoom(this.model.weight[open] > 0 ? open : 0);
  }

  zoomed(node) {
    const { model } = this;
    const trail = [];
    for (let each = node; each >= 0; each = model.parent[each]) trail.unshift(each);
    byID('crumbs').replaceChildren(...trail.map(each => {
      if (each === node) return make('li', {}, make('span', { ariaCurrent: 'true', textContent: model.label(each) }));
      const button = make('button', { type: 'button', className: 'link', textContent: model.label(each) });
      button.addEventListener('click', () => this.map.zoom(each));
      return make('li', {}, button);
    }));
    byID('map-says').textContent = (node ? model.path(node) : model.label(0)) + ': ' + model.describe(node);
    this.list();
  }

  /** The list beside the map: what is in the directory, or what a search has found. */
  list() {
    const { model, map } = this;
    const nodes = this.query ? this.found : model.inside(map.root);
    const whole = model.weight[map.root] || 1;
    const rows = nodes.slice(0, listMax).map(node => {
      const isDirectory = model.isDirectory(node);
      const text = (this.query ? model.path(node) : model.label(node)) + (isDirectory ? '/' : '');
      const name = make('button', { type: 'button', className: 'link', textContent: text,
        title: model.describe(node) });
      name.addEventListener('click', () => {
        if (isDirectory) map.zoom(node);
        else {
          if (this.query) map.zoom(model.parent[node], node);
          map.choose(node);
        }
      });
      const meter = make('span', { className: 'meter', ariaHidden: 'true' });
      const part = make('i', { className: 'c-' + this.swatchOf(node) });
      part.style.width = Math.min(100 * model.size(node) / whole, 100) + '%';
      meter.append(part);
      return make('tr', {}, make('td', { className: 'path' }, name, meter),
        make('td', { className: 'number', textContent: sizeText(model.size(node)) }));
    });
    if (nodes.length > listMax) {
      rows.push(make('tr', {}, make('td', { colSpan: 2, className: 'faint',
        textContent: `and ${countText(nodes.length - listMax)} smaller ones` })));
    }
    if (!rows.length) {
      rows.push(make('tr', {}, make('td', { colSpan: 2, className: 'faint',
        textContent: this.query ? 'Nothing is called so.' : 'Nothing here takes space.' })));
    }
    byID('list').tBodies[0].replaceChildren(...rows);
  }

  swatchOf(node) {
    const { model } = this;
    if (model.kind[node]) return kinds[model.kind[node]];
    const leaf = model.leaf[node];
    if (leaf >= 0 && !model.references[leaf]) return 'missing';
    if (leaf >= 0) return model.references[leaf] === 1 ? 'unique' : 'shared';
    return model.unique[node] * 2 > model.weight[node] ? 'unique' : 'shared';
  }

  makeSearch() {
    const search = byID('search');
    let waiting = 0;
    this.query = '';
    search.value = '';
    search.oninput = () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => this.search(), 120);
    };
    search.onkeydown = event => {
      if (event.key === 'Escape') { search.value = ''; this.search(); }
    };
  }

  search() {
    this.query = byID('search').value.trim().toLowerCase();
    this.match();
    this.map.draw();
    this.list();
    drawLargest(this.usage, this.query);
  }

  /** Finds the paths that contain the words, whatever their case. */
  match() {
    const { model, query } = this;
    if (!query) {
      this.map.matches = null;
      byID('found').textContent = '';
      return;
    }
    const { matches, found, files, bytes } = model.search(query);
    this.found = found;
    this.map.matches = matches;
    byID('found').textContent = files ? `${counted(files, 'file')} found, ${sizeText(bytes)}`
      : found.length ? '' : 'Nothing is called so.';
  }

  tip(text, x, y) {
    const tip = byID('tip');
    tip.hidden = !text;
    if (!text) return;
    tip.replaceChildren(make('b', { textContent: text[0] }), text[1]);
    const frame = tip.parentElement;
    tip.style.left = Math.max(0, Math.min(x + 14, frame.clientWidth - tip.offsetWidth)) + 'px';
    tip.style.top = (y + 20 + tip.offsetHeight > frame.clientHeight ? Math.max(0, y - tip.offsetHeight - 12) : y + 20) + 'px';
  }

  makeLegend() {
    const entries = [['unique', 'in one version only'], ['shared', 'shared; the deeper, the more versions'],
      ['garbage', 'unreferenced'], ['staged', 'staged'], ['missing', 'not here yet'], ['trees', 'directories'],
      ['manifests', 'manifests'], ['index', 'index'], ['packing', 'packing'], ['reserve', 'reserve']];
    const { model } = this;
    const isThere = {
      unique: true, shared: true, garbage: model.kind.includes(GARBAGE), staged: model.kind.includes(STAGED),
      missing: model.references.includes(0), trees: model.kind.includes(TREES), manifests: model.kind.includes(MANIFESTS),
      index: model.kind.includes(INDEX), packing: model.kind.includes(PACKING), reserve: model.kind.includes(RESERVE)
    };
    byID('map-legend').replaceChildren(...entries.filter(([name]) => isThere[name])
      .map(([name, words]) => make('li', {}, swatch(name), words)));
  }

  together(chosen) {
    const places = chosen.map(version => this.model.versions.indexOf(version));
    if (!chosen.length) byID('together').textContent = '';
    else if (places.includes(-1)) {
      byID('together').textContent = 'castree du --retire ' + chosen.join(',') + ' tells what these would free.';
    } else {
      const refused = refusals(this.usage.lifecycle, chosen);
      const going = chosen.filter(version => !refused.some(each => each.version === version));
      const retiring = [...going.map(version => ['retire', version]), ['gc']];
      byID('together').replaceChildren(`Retiring ${chosen.join(', ')} would free `
        + `${this.model.folded.size ? 'about ' : ''}${sizeText(this.freed(chosen, places))}`
        + refused.map(({ version, reason }) => `; ${version} cannot go now: ${reason}`).join('') + '. ',
        ...going.length ? [commandWithCopy(commands(this.usage, ...retiring))] : []);
    }
  }

  /** What retiring versions together would free: of one, as the table says. */
  freed(chosen, places) {
    const rows = this.usage.versions.filter(each => chosen.includes(each.version));
    if (rows.length === 1 && chosen.length === 1) return rows[0].uniqueBytes;
    // What is not in the objects is each one's own: directories, manifests.
    const own = this.usage.sizes === diskSizes ? places.reduce((sum, place, index) => sum
      + (rows.find(each => each.version === chosen[index])?.uniqueBytes ?? 0) - this.model.freed([place]), 0) : 0;
    return this.model.freed(places) + Math.max(own, 0);
  }

  /** The choice between the two kinds of sizes; what is shown begins anew where it was. */
  makeSizes(figures) {
    const { sizes } = this.usage;
    const select = byID('sizes');
    byID('sizes-label').hidden = !knowsDisk(figures);
    select.value = sizes;
    select.onchange = () => {
      preferredSizes(select.value);
      const boxes = () => [...byID('versions').querySelectorAll('input')];
      const chosen = new Set(boxes().filter(box => box.checked).map(box => box.ariaLabel));
      show(figures);
      for (const box of boxes()) if (chosen.has(box.ariaLabel)) box.click();
    };
    byID('sizes-say').textContent = sizes === diskSizes
      ? 'All sizes are what du would say on this disk: blocks, of files and directories.'
      : 'All sizes are the sums of what files hold; the disk gives them whole blocks, and directories take some, too.';
  }

  drawGrowth() {
    const { growth } = this.usage;
    const last = growth[growth.length - 1];
    byID('growth-says').textContent = last ? 'The line is what the store takes after each version; dashed is what plain '
      + 'copies would take. Counted over the versions that are here now.' : 'There is no version yet.';
    if (last) {
      const chart = this.chart = new GrowthChart(growth, byID('growth'), text => {
        byID('growth-point').textContent = text;
      });
      byID('compare').checked = true;
      byID('compare').onchange = event => {
        chart.compares = event.target.checked;
        chart.draw();
      };
    }
    drawGrowthTable(growth);
  }

  /** Where the page is: the version, the directory and the words that are searched for, all by name. */
  place() {
    const { model, map } = this;
    const path = [];
    for (let node = map.root; node > 0; node = model.parent[node]) path.unshift(model.names[node]);
    return { version: model.versions[model.version], path, query: byID('search').value };
  }

  /** Goes where another page was, as far as there is still such a place. */
  goTo({ version, path, query }) {
    const { model } = this;
    const shown = model.versions.indexOf(version);
    byID('view').value = String(shown);
    if (shown >= 0) model.look(shown);
    let node = 0;
    for (const name of path) {
      const next = model.inside(node).find(each => model.names[each] === name && model.isDirectory(each));
      if (next === undefined) break;
      node = next;
    }
    byID('search').value = query;
    this.search();
    this.map.zoom(node);
  }

  /** Lets go of what it listens to. */
  close() {
    this.map.observer.disconnect();
    if (this.chart) this.chart.observer.disconnect();
  }

  makeTheme() {
    const button = byID('theme');
    const root = document.documentElement;
    const themes = ['system', 'light', 'dark'];
    const set = theme => {
      if (theme === 'system') delete root.dataset.theme; else root.dataset.theme = theme;
      button.textContent = 'Theme: ' + theme;
      this.map.colours = null;
      this.map.draw();
    };
    let theme = 'system';
    // A file that is opened from a disk may have no storage.
    try { theme = themes.find(each => each === localStorage.getItem('castree-theme')) ?? theme; } catch { /* as the system */ }
    set(theme);
    button.onclick = () => {
      theme = themes[(themes.indexOf(theme) + 1) % themes.length];
      try { localStorage.setItem('castree-theme', theme); } catch { /* for this time only */ }
      set(theme);
    };
    matchMedia('(prefers-color-scheme: dark)').onchange = () => set(theme);
  }
}

/** Which kind of sizes somebody wants to see: remembers it where a page may remember something. */
const preferredSizes = wanted => {
  if (wanted) preferredSizes.now = wanted;
  // A file that is opened from a disk may have no storage.
  try {
    if (wanted) localStorage.setItem('castree-sizes', wanted);
    else preferredSizes.now ??= localStorage.getItem('castree-sizes');
  } catch { /* for this time only */ }
  return preferredSizes.now === contentSizes ? contentSizes : diskSizes;
};

/** Shows figures; a page that is served calls it again when they change, and stays where it was. */
const show = usage => {
  const old = window.castreeUsage.page;
  const place = old && old.place();
  if (old) old.close();
  const page = window.castreeUsage.page = new Page(usage, knowsDisk(usage) ? preferredSizes() : contentSizes);
  if (place) page.goTo(place);
};
window.castreeUsage = { show };
show(JSON.parse(byID('usage').textContent));
