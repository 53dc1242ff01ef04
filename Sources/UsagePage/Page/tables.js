// What stands in tables and sentences: the glance, the versions, the largest objects, the disk.

const swatch = name => make('i', { className: 'c-' + name, ariaHidden: 'true' });

/** A word as a shell takes it. */
const shellWord = word => /^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/** Commands for the store of the page, one after the other. */
const commands = (usage, ...verbs) => verbs.map(verb => 'castree '
  + (usage.path && usage.path !== '.castree' ? `--store ${shellWord(usage.path)} ` : '')
  + verb.map(shellWord).join(' ')).join(' && ');

/** Copies text, also where a page may not write to the clipboard by itself. */
const copyText = async text => {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch { /* no clipboard for this page: as a person would */ }
  const field = make('textarea', { value: text, readOnly: true, className: 'hidden' });
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  return isCopied;
};

/** A command with a button that copies it. */
const commandWithCopy = text => {
  const button = make('button', { type: 'button', className: 'quiet copy', textContent: 'Copy', ariaLabel: 'Copy ' + text });
  button.addEventListener('click', async () => {
    const words = await copyText(text) ? 'Copied' : 'Not copied: select it';
    button.textContent = words;
    byID('copied').textContent = words + ': ' + text;
    button.focus({ preventScroll: true });
    setTimeout(() => { button.textContent = 'Copy'; }, 2000);
  });
  return make('span', { className: 'command' }, make('code', { textContent: text }), button);
};

/** What the bar consists of: every part of the store by its name. */
const composition = usage => {
  const { store, growth } = usage;
  const unique = growth.reduce((sum, point) => sum + point.uniqueBytes, 0);
  if (usage.sizes === contentSizes) {
    return [
      ['shared', Math.max(store.objectBytes - store.unreferencedBytes - unique, 0), 'used by several versions'],
      ['unique', unique, 'used by one version only'],
      ['garbage', store.unreferencedBytes, 'unreferenced'], ['staged', store.stagedBytes, 'staged']
    ];
  }
  // What versions use is objects, their directories and their manifests.
  const used = growth[growth.length - 1]?.objectBytes ?? 0;
  const empty = store.disk.parts.reduce((sum, each) => sum + each.diskBytes - partOnDisk(usage, each.part), 0);
  const places = store.objectBytes + partOnDisk(usage, 'trees') + partOnDisk(usage, 'manifests') + empty;
  const known = [
    ['shared', Math.max(used - unique, 0), 'used by several versions'],
    ['unique', unique, 'used by one version only, with its directories'],
    ['garbage', store.unreferencedBytes + partOnDisk(usage, 'quarantine'), 'unreferenced'],
    ['staged', store.stagedBytes, 'staged'], ['index', partOnDisk(usage, 'index'), 'the index'],
    ['packing', partOnDisk(usage, 'packing'), 'what packs were made of'],
    ['trees', Math.max(places - used - store.unreferencedBytes, 0), 'directories of the store itself'],
    ['reserve', partOnDisk(usage, 'reserve'), 'the reserve, so that gc works on a full disk']
  ];
  const sum = known.reduce((sum, [, bytes]) => sum + bytes, 0);
  return [...known, ['rest', Math.max(store.diskBytes - sum, 0), 'lifecycle, log, leases']];
};

/** The version whose retiring gives most back: none that something needs, and never the newest. */
const idlest = usage => {
  const newest = usage.growth[usage.growth.length - 1]?.version;
  return usage.versions.filter(each => !usage.kept.has(each.version) && each.version !== newest && each.uniqueBytes > 0)
    .sort((one, other) => other.uniqueBytes - one.uniqueBytes)[0];
};

/** The line that answers first: where the disk went, and what would come back. */
const drawGlance = usage => {
  const { store, growth } = usage;
  const bold = text => make('b', { textContent: text });
  const headline = byID('headline');
  if (!store.objects && !growth.length) headline.replaceChildren('The store is empty.');
  else {
    const isOnDisk = usage.sizes === diskSizes;
    const taken = isOnDisk ? store.diskBytes : store.objectBytes;
    const times = taken ? store.apparentBytes / taken : 0;
    const reserve = isOnDisk ? partOnDisk(usage, 'reserve') : 0;
    headline.replaceChildren(
      bold(sizeText(taken)), isOnDisk ? ' on disk ' : ' of content ', isOnDisk && growth.length === 1 ? 'holds ' : 'hold ',
      bold(counted(growth.length, 'version')), '. As plain copies they would take ', bold(sizeText(store.apparentBytes)),
      times > 1.05 ? `, ${times.toFixed(1)} times as much.`
        : times < 0.95 && reserve ? `; of the store, ${sizeText(reserve)} are a reserve.` : '.');
  }
  const parts = composition(usage).filter(([, bytes]) => bytes > 0);
  const bar = byID('composition');
  bar.replaceChildren(...parts.map(([name, bytes, words]) => {
    const part = make('span', { className: 'c-' + name, title: `${sizeText(bytes)} ${words}` });
    part.style.flex = `${bytes} 1 0`;
    return part;
  }));
  bar.setAttribute('aria-label', parts.map(([, bytes, words]) => `${sizeText(bytes)} ${words}`).join(', '));
  byID('composition-legend').replaceChildren(...parts.map(([name, bytes, words]) =>
    make('li', {}, swatch(name), bold(sizeText(bytes)), ' ' + words)));
  const idle = idlest(usage);
  const now = store.unreferencedBytes > 0 && ['You would get back ', bold(sizeText(store.unreferencedBytes)), ' now with ',
    commandWithCopy(commands(usage, ['gc']))];
  const later = idle && [now ? ', and ' : 'You would get back ', bold(sizeText(idle.uniqueBytes)), ' by retiring ',
    bold(idle.version), ', the most of all older versions that nothing needs: ',
    commandWithCopy(commands(usage, ['retire', idle.version], ['gc']))];
  byID('back').replaceChildren(...(now || []), ...(later || [now ? '.' : 'Every object belongs to a version: gc has nothing to delete.']));
};

/** The versions, with boxes to choose those that would be retired. */
const drawVersions = (usage, choose, look) => {
  const most = Math.max(...usage.versions.map(each => each.uniqueBytes + each.sharedBytes), 1);
  const chosen = new Set();
  byID('versions').tBodies[0].replaceChildren(...usage.versions.map(each => {
    const box = make('input', { type: 'checkbox', ariaLabel: 'Choose ' + each.version });
    box.addEventListener('change', () => {
      if (box.checked) chosen.add(each.version); else chosen.delete(each.version);
      choose([...chosen]);
    });
    const bar = make('div', { className: 'bar', ariaHidden: 'true' });
    for (const [name, bytes] of [['unique', each.uniqueBytes], ['shared', each.sharedBytes]]) {
      const part = make('span', { className: 'c-' + name });
      part.style.width = 100 * bytes / most + '%';
      bar.append(part);
    }
    const name = make('button', { type: 'button', className: 'link', textContent: each.version,
      title: 'Show in the map' });
    name.addEventListener('click', () => look(each.version));
    const roles = usage.roles(each.version).map(role => make('span', { className: 'tag', textContent: role }));
    if (each.missingBytes) {
      roles.push(make('span', { className: 'tag', textContent: sizeText(each.missingBytes) + ' missing' }));
    }
    return make('tr', {}, make('td', {}, box), make('th', { scope: 'row' }, name, ...roles),
      make('td', { className: 'wide faint', textContent: timeText(each.createdAt) }),
      make('td', { className: 'number wide', textContent: countText(each.files) }),
      make('td', { className: 'number', textContent: sizeText(each.apparentBytes) }),
      make('td', { className: 'number', textContent: sizeText(each.uniqueBytes) }),
      make('td', { className: 'number wide', textContent: sizeText(each.sharedBytes) }),
      make('td', { className: 'bar-column wide' }, bar));
  }));
};

const drawGrowthTable = growth => byID('growth-table').tBodies[0].replaceChildren(
  ...growth.slice().reverse().map(each => make('tr', {}, make('th', { scope: 'row', textContent: each.version }),
    ...[each.newBytes, each.objectBytes, each.apparentBytes].map(bytes =>
      make('td', { className: 'number', textContent: sizeText(bytes) })))));

/** The largest objects that a search leaves. */
const drawLargest = (usage, query) => {
  const shown = usage.largest.filter(each => !query
    || each.paths.some(path => path.toLowerCase().includes(query)));
  byID('largest').tBodies[0].replaceChildren(...shown.map(each => {
    const first = each.paths[0] ?? (each.references ? 'a publisher’s manifest' : 'nothing: gc frees it');
    const cell = make('td', { className: 'path' }, first);
    if (each.paths.length > 1) {
      const more = make('details', {}, make('summary', { textContent: counted(each.paths.length - 1, 'more path') }));
      // Filled when somebody looks: there may be thousands.
      more.addEventListener('toggle', () => {
        if (more.childElementCount > 1) return;
        const rest = each.paths.slice(1, 501).map(path => make('div', { textContent: path }));
        if (each.paths.length > 501) rest.push(make('div', { className: 'faint', textContent: '…' }));
        more.append(...rest);
      });
      cell.append(more);
    }
    return make('tr', {}, make('td', { className: 'number', textContent: sizeText(each.bytes) }),
      make('td', { className: 'number', textContent: countText(each.references) }), cell);
  }));
  if (!shown.length) {
    byID('largest').tBodies[0].append(make('tr', {}, make('td', { colSpan: 3, className: 'faint',
      textContent: 'None of the largest is called so.' })));
  }
};

const partNames = {
  objects: 'Objects', twins: 'Executable files, a second time', staging: 'Staged',
  quarantine: 'Quarantine: damaged objects', manifests: 'Manifests', trees: 'Trees: directories, and copies',
  index: 'Index', other: 'Lifecycle, log, leases, reserve'
};

const drawDisk = disk => {
  const row = (name, part) => make('tr', {}, make('th', { scope: 'row', textContent: name }),
    make('td', { className: 'number', textContent: countText(part.files) }),
    make('td', { className: 'number', textContent: sizeText(part.apparentBytes) }),
    make('td', { className: 'number', textContent: sizeText(part.diskBytes) }));
  byID('disk').tBodies[0].replaceChildren(
    ...disk.parts.filter(part => part.files || part.diskBytes).map(part => row(partNames[part.part] ?? part.part, part)),
    row('Together', disk));
  byID('disk-says').textContent = 'Each inode once, as du counts: sizes are what files say, blocks what the disk gives '
    + 'them. A link in a tree takes nothing but its name.';
};
