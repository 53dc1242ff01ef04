// The part of a page that is served: how things are now. It asks every few seconds, while somebody looks.

const askEvery = 2000, askLatest = 30000;

class Live {
  constructor() {
    this.tags = {};
    this.revision = null;
    this.samples = new Map();
    this.pause = askEvery;
    this.waiting = 0;
    this.isAsking = false;
    this.hasEnded = false;
    document.addEventListener('visibilitychange', () => {
      clearTimeout(this.waiting);
      if (!document.hidden) this.ask();
    });
    this.ask();
  }

  /** A document of the server's; nothing if it is as it was. */
  async read(name) {
    const answer = await fetch(name, {
      cache: 'no-store', credentials: 'same-origin', headers: this.tags[name] ? { 'If-None-Match': this.tags[name] } : {}
    });
    if (answer.status === 304) return null;
    if (answer.status === 403) {
      this.hasEnded = true;
      throw new Error('The server was started again: open the address that it has printed.');
    }
    // By the server's clock, which need not be this one's.
    this.answeredAt = Date.parse(answer.headers.get('Date')) / 1000;
    if (!answer.ok) throw new Error((await answer.text()).trim());
    const read = await answer.json();
    this.tags[name] = answer.headers.get('ETag');
    return read;
  }

  async ask() {
    if (this.isAsking || document.hidden || this.hasEnded) return;
    this.isAsking = true;
    try {
      const status = await this.read('status.json');
      if (status) this.status = status;
      this.show(Boolean(status));
      await this.follow();
      this.pause = askEvery;
      this.time('As of ' + new Date().toLocaleTimeString([], { hour12: false }));
    } catch (error) {
      this.pause = Math.min(2 * this.pause, askLatest);
      this.time(error instanceof TypeError ? 'The server does not answer; the page asks again.' : error.message);
    }
    this.isAsking = false;
    clearTimeout(this.waiting);
    if (!document.hidden && !this.hasEnded) this.waiting = setTimeout(() => this.ask(), this.pause);
  }

  time(text) { byID('live-time').textContent = text; }

  /** Figures that are no longer so are replaced; what is chosen stays chosen, the focus where it is. */
  async follow() {
    const { revision, lifecycle, versions } = this.status;
    if (revision === this.revision) return;
    const shown = window.castreeUsage.page.usage;
    if (this.revision === null && shown.lifecycle.current === lifecycle.current && shown.growth.length === versions.length) {
      // The page came with figures of its own.
      this.revision = revision;
      return;
    }
    if (revision !== this.seen) {
      this.seen = revision;
      this.seenAt = this.answeredAt;
    }
    const usage = await this.read('usage.json');
    // The server keeps figures for a while: those from before the change do not end the asking.
    if ((usage || shown).takenAt > this.seenAt) this.revision = revision;
    if (!usage) return;
    const boxes = () => [...byID('versions').querySelectorAll('input')];
    const chosen = new Set(boxes().filter(box => box.checked).map(box => box.ariaLabel));
    const focused = document.activeElement;
    const row = focused && focused.closest('#versions tr');
    const label = row && row.querySelector('input') && row.querySelector('input').ariaLabel;
    const kind = focused && focused.tagName;
    const id = focused && focused.id;
    const top = scrollY;
    show(usage);
    for (const box of boxes()) {
      if (chosen.has(box.ariaLabel)) box.click();
      if (box.ariaLabel === label) box.closest('tr').querySelector(kind)?.focus({ preventScroll: true });
    }
    if (id && !label) byID(id)?.focus({ preventScroll: true });
    scrollTo(0, top);
  }

  show(isNew) {
    const { status } = this;
    if (isNew) {
      this.tell(status);
      this.versions(status);
      this.check(status.lastCheck);
    }
    this.downloads(status.downloads);
  }

  /** What a person who only listens should hear. */
  tell(status) {
    const before = this.told;
    this.told = status;
    if (!before) return;
    const { current } = status.lifecycle;
    const news = [];
    if (current !== before.lifecycle.current) news.push(current ? `Version ${current} is current now.` : 'No version is current.');
    const left = new Set(status.downloads.map(each => each.version));
    for (const { version } of before.downloads) if (!left.has(version)) news.push(`Version ${version} is no longer downloading.`);
    if (status.lastCheck && (!before.lastCheck || status.lastCheck.endedAt !== before.lastCheck.endedAt)) {
      news.push(`A check has ended: ${this.found(status.lastCheck)}.`);
    }
    if (news.length) byID('live-news').textContent = news.join(' ');
  }

  versions(status) {
    const { lifecycle, pinned, held } = status;
    const rows = status.versions.map(each => {
      const { version } = each;
      const states = [[lifecycle.current === version, 'current', 'strong'], [lifecycle.pending === version, 'pending', 'strong'],
        [lifecycle.knownGood.includes(version), 'known good', ''], [each.isBad, 'bad', 'alarm'],
        [lifecycle.embedded === version, 'embedded', ''], [lifecycle.starting === version, 'not confirmed yet', ''],
        [each.state === 'incomplete', 'incomplete', 'alarm']]
        .filter(([is]) => is).map(([, name, kind]) => make('span', { className: ('tag ' + kind).trim(), textContent: name }));
      const keepers = [[each.isProtected, 'castree protect'], [held.includes(version), 'pages'], [status.serves === version, 'this server'],
        [pinned.includes(version) && !held.includes(version) && status.serves !== version, 'another process or this server']]
        .filter(([is]) => is).map(([, name]) => name);
      return make('tr', {}, make('th', { scope: 'row', textContent: version }), make('td', {}, ...states),
        make('td', { className: 'faint', textContent: keepers.join(', ') }));
    });
    if (!rows.length) rows.push(make('tr', {}, make('td', { colSpan: 3, className: 'faint', textContent: 'There is no version yet.' })));
    byID('live-versions').tBodies[0].replaceChildren(...rows);
  }

  /** Downloads, with how fast each is: from what has come since it was last looked at. */
  downloads(downloads) {
    const now = performance.now();
    const frame = byID('live-downloads');
    if (!downloads.length) {
      this.samples.clear();
      frame.replaceChildren(make('p', { className: 'faint', textContent: 'Nothing is being downloaded.' }));
      return;
    }
    frame.replaceChildren(...downloads.map(each => {
      const here = Math.max(each.totalBytes - each.missingBytes + each.stagedBytes, 0);
      const last = this.samples.get(each.version);
      if (!last || last.here !== here) {
        const rate = last && here > last.here ? (here - last.here) * 1000 / (now - last.at) : 0;
        this.samples.set(each.version, { here, at: now, rate });
      }
      const { at, rate } = this.samples.get(each.version);
      const moves = rate > 0 && now - at < 5 * askEvery;
      const percent = each.totalBytes ? 100 * here / each.totalBytes : 0;
      const left = Math.max(each.missingBytes - each.stagedBytes, 0);
      const bar = make('progress', { max: Math.max(each.totalBytes, 1), value: here, ariaLabel: 'Version ' + each.version });
      bar.setAttribute('aria-valuetext', `${Math.floor(percent)} %, ${sizeText(left)} missing`);
      const words = [`${sizeText(here)} of ${sizeText(each.totalBytes)} are here, ${counted(each.missingObjects, 'object')} missing`];
      if (each.outcome && !moves) words.push(each.reason ? `${each.outcome}: ${each.reason}` : each.outcome);
      else words.push(moves ? sizeText(Math.round(rate)) + '/s' : 'nothing comes at the moment');
      return make('div', { className: 'live-download' }, make('p', {}, make('b', { textContent: each.version }),
        ` ${Math.floor(percent)} %`), bar, make('p', { className: 'faint small', textContent: words.join(' · ') }));
    }));
  }

  found(check) {
    if (!check.findingCount) return 'nothing wrong';
    const left = this.left(check);
    const rest = check.leftoverCount ? 'the next writer or collection cleans up' : 'all repaired';
    return counted(check.findingCount, 'problem') + ' found, ' + (left ? countText(left) + ' left' : rest);
  }

  /** How many problems are left that do not mend themselves. */
  left(check) { return check.findingCount - check.repairedCount - check.leftoverCount; }

  check(check) {
    const frame = byID('live-check');
    if (!check) {
      frame.replaceChildren(make('p', { className: 'faint' }, 'Never checked: ', make('code', { textContent: 'castree fsck' }),
        ' does it.'));
      return;
    }
    const how = [(check.repair ? 'repair' : 'check') + (check.deep ? ' by SHA-256' : ' by fingerprint'),
      `${counted(check.checkedObjects, 'object')} read, ${sizeText(check.checkedBytes)}`];
    if (check.skippedObjects) how.push(countText(check.skippedObjects) + ' left out');
    const when = make('time', { dateTime: new Date(check.endedAt * 1000).toISOString(), textContent: timeText(check.endedAt) + ' UTC' });
    const says = make('span', { className: 'tag ' + (this.left(check) > 0 ? 'alarm' : 'strong'),
      textContent: this.found(check) });
    const parts = [make('p', {}, says, when), make('p', { className: 'faint small', textContent: how.join(' · ') })];
    if (check.findings.length) {
      const list = make('ul', { className: 'findings small', tabIndex: 0, ariaLabel: 'What was found' });
      list.append(...check.findings.map(each => make('li', {}, make('code', { textContent: each.kind }), ' ' + each.message
        + (each.repaired ? ' (repaired)' : ''))));
      parts.push(list);
      const more = check.findingCount - check.findings.length;
      if (more > 0) parts.push(make('p', { className: 'faint small', textContent: `and ${countText(more)} more` }));
    }
    frame.replaceChildren(...parts);
  }
}

window.castreeUsage.live = new Live();
