// What the page knows: the figures as they came, and the tree of files in typed columns.

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
const sizeText = bytes => {
  let unit = 0;
  let size = Math.abs(bytes);
  while (size >= 1024 && unit < units.length - 1) { size /= 1024; unit++; }
  if (unit && size >= 1023.95 && unit < units.length - 1) { size = 1; unit++; }
  return (bytes < 0 ? '-' : '') + (unit ? size.toFixed(1) : size) + ' ' + units[unit];
};
const countText = count => count.toLocaleString('en-US');
const counted = (count, noun) => countText(count) + ' ' + noun + (count === 1 ? '' : 's');
const percentText = (part, whole) => {
  if (!whole) return '0 %';
  const percent = 100 * part / whole;
  return (percent > 0 && percent < 0.1 ? '< 0.1' : percent < 10 ? percent.toFixed(1) : percent.toFixed(0)) + ' %';
};
const timeText = seconds => seconds > 0 ? new Date(seconds * 1000).toISOString().slice(0, 16).replace('T', ' ') : '';

/** Makes an element; text is always text, never markup. */
const make = (name, properties = {}, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in element) element[key] = value; else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
};
const byID = id => document.getElementById(id);

/** Which of the chosen versions cannot go together, and why: one must stay that can be gone back to. */
const refusals = (lifecycle, chosen) => {
  const refused = lifecycle.kept.filter(each => chosen.includes(each.version));
  const going = chosen.filter(version => !refused.some(each => each.version === version));
  const { usableGood } = lifecycle;
  if (usableGood.length && usableGood.every(version => going.includes(version))) {
    refused.push({ version: usableGood[0], reason: 'it would be the last known good version' });
  }
  return refused;
};

/** What a leaf is: a file; or, beside the tree, what no path shows. The names are those of the colours. */
const kinds = ['file', 'garbage', 'staged', 'rest', 'trees', 'trees', 'manifests', 'index', 'packing', 'reserve'];
const [FILE, GARBAGE, STAGED, REST, TREES, SHARDS, MANIFESTS, INDEX, PACKING, RESERVE] = kinds.keys();

/** The two kinds of sizes that the page knows: what files say, and what the disk gives them. */
const contentSizes = 'content', diskSizes = 'disk';

/** Whether the figures know the disk. */
const knowsDisk = usage => usage.store.plainDiskBytes !== undefined;

/** What a part of the store takes on disk; nothing if it is only an empty directory. */
const partOnDisk = (usage, name) => {
  const part = usage.store.disk.parts.find(each => each.part === name);
  return part && (part.files || name === 'trees') ? part.diskBytes : 0;
};

/** The same figures with all sizes of one kind, so that whoever reads them cannot mix two. */
const measured = (usage, sizes) => {
  if (sizes === contentSizes) return { ...usage, sizes };
  const { store } = usage;
  return {
    ...usage, sizes,
    store: {
      ...store, objectBytes: partOnDisk(usage, 'objects') + partOnDisk(usage, 'twins'),
      stagedBytes: partOnDisk(usage, 'staging'), unreferencedBytes: store.unreferencedDiskBytes,
      apparentBytes: store.plainDiskBytes
    },
    versions: usage.versions.map(each => ({
      ...each, apparentBytes: each.plainDiskBytes, uniqueBytes: each.uniqueDiskBytes, sharedBytes: each.sharedDiskBytes
    })),
    growth: usage.growth.map(each => ({
      ...each, newBytes: each.newDiskBytes, uniqueBytes: each.uniqueDiskBytes, objectBytes: each.diskBytes,
      apparentBytes: each.plainDiskBytes
    })),
    largest: usage.largest.map(each => ({ ...each, bytes: each.diskBytes }))
  };
};

/** The tree of files. Nodes stand before what is in them; node 0 is the root. */
class Model {
  /** @param usage figures, of one kind of sizes */
  constructor(usage) {
    this.usage = usage;
    const map = usage.map;
    const bytes = this.sizes(map);
    // What executable files take in the store a second time.
    const copies = this.copies = new Map(usage.sizes === diskSizes ? map.twins : []);
    const extra = this.extras(usage, bytes.map((each, leaf) => each + (copies.get(leaf) ?? 0)));
    const count = map.names.length + extra.length;
    this.count = count;
    this.names = map.names.concat(extra.map(each => each.name));
    this.parent = new Int32Array(count).fill(-1);
    this.leaf = new Int32Array(count).fill(-1);
    this.kind = new Uint8Array(count);
    this.children = new Array(count).fill(null);
    this.bytes = Float64Array.from(bytes.concat(extra.map(each => each.bytes)));
    this.references = Int32Array.from(map.references.concat(extra.map(() => 1)));
    this.sets = Int32Array.from(map.sets.concat(extra.map(() => -1)));
    this.objects = Int32Array.from(map.objects.concat(extra.map(() => 0)));
    this.folded = new Map(map.folded);
    this.versionSets = map.versionSets;
    this.versions = map.versions;
    this.directories = new Map(usage.versions.map(each => [each.version, each.directoryDiskBytes ?? 0]));
    this.build(map.children, extra);
    this.findHomes();
    this.findTwins();
  }

  /** The sizes of the leaves: on disk in whole units, but for those that the document names. */
  sizes(map) {
    if (this.usage.sizes !== diskSizes) return map.bytes;
    const bytes = map.bytes.map(each => Math.ceil(each / map.unit) * map.unit);
    for (const [leaf, exact] of map.disk) bytes[leaf] = exact;
    return bytes;
  }

  /** What takes space without a path. */
  extras(usage, sizes) {
    const { store, map } = usage;
    const homes = new Set();
    let shown = 0;
    sizes.forEach((bytes, leaf) => {
      const object = map.objects[leaf];
      if (!map.references[leaf] || homes.has(object)) return;
      if (object) homes.add(object);
      shown += bytes;
    });
    // Here are also the empty directories that every store has.
    const empty = usage.sizes === diskSizes ? store.disk.parts.reduce((sum, each) => sum + each.diskBytes
      - partOnDisk(usage, each.part), 0) : 0;
    const older = store.objectBytes - store.unreferencedBytes - shown + empty;
    const own = usage.sizes !== diskSizes ? [] : [
      [TREES, 'Directories of the versions', 'trees'], [MANIFESTS, 'Manifests', 'manifests'], [INDEX, 'Index', 'index'],
      [PACKING, 'Packing: what packs were made of', 'packing'],
      [RESERVE, 'Reserve: so that gc works on a full disk', 'reserve'],
      [GARBAGE, 'Quarantine: damaged objects', 'quarantine'], [REST, 'Lifecycle, log, leases', 'other']
    ].map(([kind, name, part]) => ({ kind, name, bytes: partOnDisk(usage, part) }));
    return [
      { kind: GARBAGE, name: 'Unreferenced: gc frees it', bytes: store.unreferencedBytes },
      { kind: STAGED, name: 'Staged: partial objects', bytes: store.stagedBytes },
      { kind: usage.sizes === diskSizes ? SHARDS : REST, name: usage.growth.length > map.versions.length
        ? 'In versions that are not shown' : usage.sizes === diskSizes
          ? 'Directories of objects, and publishers’ manifests' : 'Without a path: publishers’ manifests', bytes: older },
      ...own
    ].filter(each => each.bytes > 0);
  }

  build(childCounts, extra) {
    const stack = [];
    let leaves = 0;
    for (let node = 0; node < childCounts.length; node++) {
      while (stack.length && !stack[stack.length - 1].left) stack.pop();
      const above = stack[stack.length - 1];
      if (above) {
        above.left--;
        this.parent[node] = above.node;
        this.children[above.node].push(node);
      }
      if (childCounts[node] || node === 0) {
        this.children[node] = [];
        stack.push({ node, left: childCounts[node] });
      } else this.leaf[node] = leaves++;
    }
    extra.forEach((each, place) => {
      const node = childCounts.length + place;
      this.parent[node] = 0;
      this.kind[node] = each.kind;
      this.leaf[node] = leaves++;
      this.children[0].push(node);
    });
  }

  /** An object is counted once in the store: at its first leaf. */
  findHomes() {
    this.isHome = new Uint8Array(this.bytes.length);
    const seen = new Set();
    for (let leaf = 0; leaf < this.bytes.length; leaf++) {
      const object = this.objects[leaf];
      this.isHome[leaf] = object && seen.has(object) ? 0 : 1;
      if (object) seen.add(object);
    }
  }

  /** Which files have the name of another one beside them: one path with two contents. */
  findTwins() {
    this.isTwin = new Uint8Array(this.count);
    for (const inside of this.children) {
      if (!inside) continue;
      const first = new Map();
      for (const node of inside) {
        if (this.kind[node] !== FILE || this.names[node] === '') continue;
        const other = first.get(this.names[node]);
        if (other === undefined) first.set(this.names[node], node);
        else this.isTwin[node] = this.isTwin[other] = 1;
      }
    }
  }

  has(set, version) {
    if (set < 0) return false;
    const runs = this.versionSets[set];
    for (let place = 0; place < runs.length; place += 2) {
      if (version >= runs[place] && version <= runs[place + 1]) return true;
    }
    return false;
  }

  /** Looks at one version, by its place; -1 for the whole store: what nodes weigh, and how much of it is unique. */
  look(version) {
    this.version = version;
    const weight = this.weight = new Float64Array(this.count);
    const unique = this.unique = new Float64Array(this.count);
    const files = this.files = new Int32Array(this.count);
    const shows = version < 0 ? null : this.versionSets.map((_, set) => this.has(set, version));
    for (let node = this.count - 1; node >= 0; node--) {
      const leaf = this.leaf[node];
      if (leaf >= 0) {
        const isShown = version < 0 || (this.sets[leaf] >= 0 && shows[this.sets[leaf]]);
        const isThere = this.references[leaf] > 0;
        files[node] = isShown && this.kind[node] === FILE ? this.folded.get(leaf) || 1 : 0;
        weight[node] = isShown && (version >= 0 || (isThere && this.isHome[leaf])) ? this.leafSize(leaf) : 0;
        if (this.kind[node] === TREES && version >= 0) {
          weight[node] = this.directories.get(this.versions[version]) ?? 0;
        }
        if (this.references[leaf] === 1 && this.kind[node] === FILE) unique[node] = weight[node];
      }
      const above = this.parent[node];
      if (above >= 0) {
        weight[above] += weight[node];
        unique[above] += unique[node];
        files[above] += files[node];
      }
    }
    this.sorted = new Array(this.count).fill(null);
  }

  /** What is in a directory and weighs something, heaviest first. */
  inside(node) {
    if (!this.children[node]) return [];
    return this.sorted[node] ??= this.children[node].filter(each => this.weight[each] > 0)
      .sort((one, other) => this.weight[other] - this.weight[one] || one - other);
  }

  isDirectory(node) { return this.children[node] !== null; }

  /** Whether the view shows it: files also where they weigh nothing, empty or counted at another path. */
  shows(node) { return this.files[node] > 0 || this.weight[node] > 0; }

  /** How large it is: of a file its own size, also where its content is counted at another path. */
  size(node) {
    return this.leaf[node] < 0 || this.kind[node] === TREES ? this.weight[node] : this.leafSize(this.leaf[node]);
  }

  /** What a leaf is in the view: in a store with its executable copy, which a version does not show twice. */
  leafSize(leaf) { return this.bytes[leaf] + (this.version < 0 ? this.copies.get(leaf) ?? 0 : 0); }

  /** The paths of the view that contain the words, whatever their case; in a store each content weighs once. */
  search(words) {
    const query = words.toLowerCase();
    this.lowered ??= this.names.map(name => name.toLowerCase());
    const hasSlash = query.includes('/');
    const matches = new Uint8Array(this.count);
    const found = [];
    const seen = new Set();
    let [files, bytes] = [0, 0];
    for (let node = 1; node < this.count; node++) {
      const above = this.parent[node];
      const own = hasSlash ? this.leaf[node] >= 0 && this.path(node, true).toLowerCase().includes(query)
        : this.lowered[node].includes(query);
      matches[node] = matches[above] || own ? 1 : 0;
      if (!matches[node] || !this.shows(node)) continue;
      if (!matches[above]) found.push(node);
      const leaf = this.leaf[node];
      if (leaf < 0) continue;
      files += this.files[node];
      const object = this.objects[leaf];
      if (this.version >= 0) bytes += this.weight[node];
      else if (this.references[leaf] && !seen.has(object)) bytes += this.leafSize(leaf);
      if (object) seen.add(object);
    }
    found.sort((one, other) => this.size(other) - this.size(one) || one - other);
    return { matches, found, files, bytes };
  }

  label(node) {
    if (node === 0) return this.version < 0 ? 'Whole store' : this.versions[this.version];
    if (this.leaf[node] < 0) return this.names[node];
    if (this.names[node] !== '') {
      const isOneOfTwo = this.version < 0 && this.isTwin[node];
      return this.names[node] + (isOneOfTwo ? ` (${this.runs(this.leaf[node]).text})` : '');
    }
    return counted(this.folded.get(this.leaf[node]) || 1, 'smaller file');
  }

  /** The path, with the versions where it has two contents, unless it is plain. */
  path(node, isPlain = false) {
    const parts = [];
    for (let each = node; each > 0; each = this.parent[each]) {
      parts.unshift(isPlain && this.names[each] !== '' ? this.names[each] : this.label(each));
    }
    return parts.join('/');
  }

  /** The versions that show a leaf: how many, and which. */
  runs(leaf) {
    const runs = this.versionSets[this.sets[leaf]] || [];
    const parts = [];
    let count = 0;
    for (let place = 0; place < runs.length; place += 2) {
      const [first, last] = [runs[place], runs[place + 1]];
      count += last - first + 1;
      if (first === last) parts.push(this.versions[first]);
      else parts.push(this.versions[first] + (last > first + 1 ? ' … ' : ', ') + this.versions[last]);
    }
    return { count, text: parts.slice(0, 4).join(', ') + (parts.length > 4 ? ', …' : '') };
  }

  /** The versions that show a node, in words. */
  shownBy(node) {
    const { count, text } = this.runs(this.leaf[node]);
    return count === 1 ? 'in version ' + text : 'in ' + countText(count) + ' versions: ' + text;
  }

  /** What a node is, in a sentence without its name. */
  describe(node) {
    const size = sizeText(this.size(node));
    if (this.isDirectory(node)) {
      const files = counted(this.files[node], 'file');
      if (!this.weight[node] && this.files[node]) return files + ', empty, not here yet or counted at other paths';
      return size + ' in ' + files + '; ' + sizeText(this.unique[node]) + ' of it in one version only';
    }
    const leaf = this.leaf[node];
    if (this.kind[node] !== FILE) return size;
    if (!this.references[leaf]) return size + ' not here yet; ' + this.shownBy(node);
    const elsewhere = !this.objects[leaf] ? '' : this.version < 0 && !this.isHome[leaf]
      ? '; the same content is counted at another path' : '; the same content has other paths';
    return size + (this.references[leaf] === 1 ? ', unique: ' : ', shared by '
      + countText(this.references[leaf]) + ': ') + this.shownBy(node) + elsewhere;
  }

  /** What retiring versions, by their places, would free: the objects that only they name, without what is their own. */
  freed(chosen) {
    const isChosen = new Uint8Array(this.versions.length);
    chosen.forEach(version => { isChosen[version] = 1; });
    const naming = new Map();
    const places = set => {
      const found = [];
      const runs = this.versionSets[set];
      for (let place = 0; place < runs.length; place += 2) {
        for (let version = runs[place]; version <= runs[place + 1]; version++) {
          if (isChosen[version]) found.push(version);
        }
      }
      return found;
    };
    const ofSet = this.versionSets.map((_, set) => places(set));
    let bytes = 0;
    const size = leaf => this.bytes[leaf] + (this.copies.get(leaf) ?? 0);
    for (let leaf = 0; leaf < this.bytes.length; leaf++) {
      const set = this.sets[leaf];
      if (set < 0 || !this.references[leaf]) continue;
      const object = this.objects[leaf];
      if (!object) {
        if (ofSet[set].length === this.references[leaf]) bytes += size(leaf);
      } else if (ofSet[set].length) {
        const known = naming.get(object) || { versions: new Set(), leaf };
        ofSet[set].forEach(version => known.versions.add(version));
        naming.set(object, known);
      }
    }
    for (const { versions, leaf } of naming.values()) {
      if (versions.size === this.references[leaf]) bytes += size(leaf);
    }
    return bytes;
  }
}
