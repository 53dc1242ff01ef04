// The page's knowledge of itself: its version, whether its files match, where it is shown, what it shares.
extension BridgeScript {
    static let remembering = #"""
        // Frames share what the tab remembers: what was told, each has for itself; the rest, each page of ours with its frames.
        const placeOf = own => own.parent && own.parent !== own
          ? placeOf(own.parent) + '.' + [].indexOf.call(own.parent, own) : '';
        // A frame in a shadow tree has no number there, but a history.
        const idOf = own => {
          const place = placeOf(own), [{ key } = {}] = place && own.navigation ? own.navigation.entries() : [];
          return place + (key || '');
        };
        let outermost = window;
        while (outermost.frameElement) outermost = outermost.parent;
        const place = idOf(outermost), toldOf = 'castreeReady' + idOf(window);
        // What the tab remembers when its page is loaded again. Where site data is blocked, its name does, if it has none.
        let isBlocked = false;
        const store = (key, value) => {
          try { sessionStorage[key] = value; } catch (error) {
            sessionStorage.castreeRoom = '';
            sessionStorage[key] = value;
          }
          return true;
        };
        const tab = (() => {
          try {
            if (sessionStorage) {
              // Room of its own, for the day when the app has filled the storage.
              for (let size = 4096; size > 128; size /= 2) try {
                sessionStorage.castreeRoom = ' '.repeat(size);
                break;
              } catch (error) {}
              return new Proxy({}, {
                get: (all, key) => sessionStorage[key + place],
                set: (all, key, value) => store(key + place, value),
              });
            }
          } catch (error) { isBlocked = true; }
          const own = 'castree tab ', { name } = window;
          if (frameElement || name && !name.startsWith(own)) return null;
          try {
            return new Proxy(JSON.parse((name || '').slice(own.length) || '{}'), {
              set: (all, key, value) => { all[key] = value; window.name = own + JSON.stringify(all); return true; },
            });
          } catch (error) { return null; }
        })();
        """#

    static let saying = #"""
        // A document without an address of its own (`srcdoc`, `about:`, `blob:`) is of the version of the page that made it:
        // it came without a field. Where that page is gone, or cannot be asked, its version is not known.
        const saidBy = page => {
          const { timeOrigin } = page.performance;
          const [{ name = page.location.href, serverTiming, workerStart } = {}] =
            page.performance.getEntriesByType('navigation');
          if (/^(about|blob):/.test(name)) {
            const maker = page.frameElement ? page.parent : page.opener;
            return maker.performance.timeOrigin > timeOrigin ? '&version=' : saidBy(maker);
          }
          if (!serverTiming) return '';
          const own = serverTiming.find(entry => entry.name === 'castree');
          return own ? '&version=' + own.description : workerStart ? '&version=' : '';
        };
        let said = '&version=';
        try { said = saidBy(window); } catch (error) {}
        // A copy that a worker keeps may be a page of a later version, too: then it has said so, and is one.
        const original = said.slice(9);
        try {
          const [from, to] = tab.castreeSuccessor.split(' ');
          if (worker && worker.controller && from === original) said = '&version=' + to;
        } catch (error) {}
        """#

    static let telling = #"""
        // What is ready, or was left, is told to whoever listens first, however late.
        const unheard = { 'version-ready': null, 'rolled-back': null };
        const emit = (type, detail) => {
          const ready = unheard['version-ready'];
          if (type === 'rolled-back' && ready && ready.version === detail.version) unheard['version-ready'] = null;
          if (type in unheard) unheard[type] = detail;
          return bridge.dispatchEvent(new CustomEvent(type, { detail, cancelable: true }));
        };
        bridge.addEventListener = (type, ...how) => {
          EventTarget.prototype.addEventListener.call(bridge, type, ...how);
          const detail = unheard[type];
          delete unheard[type];
          if (detail) queueMicrotask(() => emit(type, detail));
        };
        """#

    static let turning = #"""
        // The way back: what the browser has in memory it takes for a page without asking, whatever `Vary` says. A tab that
        // has had pages of two versions loads such a page again.
        const isRestored = type === 'back_forward' && !frameElement;
        // `isForgotten`: the app deletes what the tab remembers, so that what this page hears at once, it may have heard before.
        let isTurned = false, isForgotten = false;
        try {
          // What came as it was told may be told of once more, should it be left and wait again.
          if (tab[toldOf] && tab[toldOf].split(' ')[0] === said.slice(9)) tab[toldOf] = '';
          if (said && !frameElement) {
            isForgotten = type === 'reload' && !tab.castreeVersion;
            if (tab.castreeVersion && tab.castreeVersion !== said) tab.castreeTurned = 1;
            tab.castreeVersion = said;
            if (tab.castreeKept !== said) tab.castreeKept = '';
          }
          isTurned = isRestored && !!tab.castreeTurned;
        } catch (error) {}
        """#

    static let keeping = #"""
        // This page was loaded again and is what it was: a service worker keeps it. The server is told, the worker's
        // script is asked for, and what was in vain is done again when another worker has taken over. It is asked for
        // more than once, each time told anew: an answer may have been on its way before the server was told, and a
        // server that was restarted knows nothing of it.
        const kept = act => {
          if (!worker || !worker.controller) return;
          let pause = 2000, wait = 0, isOver = false;
          // However often a worker takes over, or asks for pages: three times in a tab, until there is other news.
          const again = () => {
            const [page, count] = (tab.castreeAgain || '').split(' ');
            const times = page === said ? +count : 0;
            tab.castreeAgain = `${said} ${times + 1}`;
            if (times < 3) act();
          };
          worker.addEventListener('controllerchange', () => {
            isOver = true;
            clearTimeout(wait);
            again();
          }, { once: true });
          const ask = async () => {
            try {
              // 205: the worker asks for pages by their addresses, and now gets the next page's.
              if ((await post('stale-page')).status === 205) again();
              const own = await worker.getRegistration();
              // A script that is gone is no newer one either.
              let isNewest = false;
              if (own) try { await own.update(); isNewest = true; } catch (error) {}
              const page = shownPage();
              if (!(own && (own.installing || own.waiting)) && !isOver && !isForgotten) {
                // Another one may have taken over while this page came from the one before, or it has gone: once more, in this tab.
                if (tab.castreeKept !== said) {
                  tab.castreeKept = said;
                  again();
                } else if (isNewest && page && await succeeds(heard.split(' ')[0])) page.location.reload();
              }
            } catch (error) {}
            if (!isOver) wait = setTimeout(ask, pause = Math.min(2 * pause, 3600000));
          };
          ask();
        };
        """#

    static let wholeness = #"""
        // Scripts and styles that say another version than the document, because a worker or the browser kept them. If
        // their bytes are not this version's, the page confirms nothing, and is loaded again, once in a tab: before that,
        // the browser's cache gets them anew. If that was in vain, the server leaves the version.
        let isMixed = false, isLeaving = false, judging = null, watch = null;
        const files = new Set(), fine = new Set();
        const note = entries => {
          for (const { name, initiatorType, serverTiming } of entries) {
            const its = serverTiming && serverTiming.find(entry => entry.name === 'castree');
            if (its && initiatorType !== 'iframe' && files.size < 4096 && name && name.startsWith(site + '/')) {
              files.add(its.description + ' ' + name.slice(site.length) + '\n');
            }
          }
        };
        // The browser's own list is short, and the page may empty it. The page itself is one more, if it is a version's only
        // by what it has said.
        if (said.slice(9)) try {
          if (original !== said.slice(9)) note(performance.getEntriesByType('navigation'));
          watch = new PerformanceObserver(list => note(list.getEntries()));
          watch.observe({ type: 'resource', buffered: true });
        } catch (error) { watch = null; }
        // The files that come with another version's name.
        const strangers = (version, known) =>
          Array.from(files).filter(file => !file.startsWith(version + ' ') && !known.has(file));
        // Whether a version has the bytes of all; null if that cannot be told.
        const isOf = async (version, known, how) => {
          note(watch ? watch.takeRecords() : performance.getEntriesByType('resource'));
          for (let some; ;) {
            let room = 8000;
            some = strangers(version, known).filter((file, at) => at < 32 && (!at || (room -= file.length) > 0));
            if (!some.length) return true;
            const { status, ok } = await post('mixed', some.join(''), how);
            if (!ok) return status === 409 ? false : null;
            some.forEach(file => known.add(file));
          }
        };
        // Whether this page is a later version's as well: with all that it has, or it has files of another one already. The
        // next load says that version, and is judged by it.
        const succeeds = async version => {
          // Once in a tab.
          const pair = original + ' ' + version;
          if (!version || !original || version === said.slice(9) || tab.castreeSuccessor === pair) return false;
          if (document.readyState !== 'complete') await new Promise(done => addEventListener('load', done, { once: true }));
          const how = '&as=' + version;
          if (await isWhole() && !await isOf(version, new Set(), how)) return false;
          const gone = window.top === shownPage() ? sessionStorage.castreeShown : '';
          if ((await post('mixed', gone, how)).status !== 205) return false;
          tab.castreeSuccessor = pair;
          return true;
        };
        const judge = async () => {
          let isAgain = false;
          try {
            if (tab.castreeMixed !== said) tab.castreeMixed = '';
            isAgain = !!tab.castreeMixed || isForgotten;
          } catch (error) {}
          const how = worker && worker.controller ? '&worker=1' : isAgain ? '&again=1' : '';
          try {
            if (await isOf(said.slice(9), fine, how) !== false) return;
          } catch (error) { return; }
          isMixed = true;
          const page = shownPage(), again = () => (page || window).location.reload();
          if (isAgain) return kept(again);
          await Promise.all(strangers(said.slice(9), fine).slice(0, 64).map(file =>
            fetch(site + file.slice(file.indexOf(' ') + 1, -1), { cache: 'reload' }).catch(() => {})));
          if (!page) return kept(again);
          try {
            tab.castreeMixed = said;
            isLeaving = true;
            again();
          } catch (error) { isLeaving = false; }
        };
        const isWhole = async () => {
          if (!isMixed) await (judging = judging || judge());
          judging = null;
          return !isMixed;
        };
        always(window, 'load', () => { isWhole(); });
        """#

    static let leaving = #"""
        // The sessions that the tab has had, before its page was loaded again and in frames: they go with the page, or are gone, also where
        // a worker that was being replaced has lost the last request. A new window has a copy of its opener's storage.
        if (window.parent === window && type !== 'reload') try { sessionStorage.castreeShown = ''; } catch (error) {}
        const noteShown = () => {
          try { store('castreeShown', (`${sessionStorage.castreeShown || ''} ` + session).slice(-528)); } catch (error) {}
        };
        // The frames of a page go with it. Over plain http to a name the server cannot tell them from pages.
        const pathsIn = page => Array.from(page).map(frame => {
          try { return [].concat(pathOf(frame), ...pathsIn(frame)); } catch (error) { return []; }
        });
        // The page goes: one last request carries what is unacked.
        always(window, 'pagehide', ({ persisted }) => {
          if (!session) return;
          // Which frames go with it only the request says, to servers that cannot tell frames from pages (older Safari).
          const isSaid = !window.length || navigator.userAgentData;
          if (!persisted && worker && worker.controller && link && link.bye && isSaid) link.bye();
          sent = acked;
          const all = take(), frames = [[`A ${received}`]];
          let room = 60000;
          for (const frame of all) {
            if ((room -= 64 + bytesOf(frame[1]).length) < 0) break;
            frames.push(frame);
          }
          if (!persisted && frames.length > queue.length) {
            frames.push(['C']);
            if (link) link.drop();
            link = { flush() {} };
          }
          const paths = [].concat(pathOf(window), ...pathsIn(window)).filter(isShort).slice(0, 16);
          while (!isShort(paths.slice(1).join())) paths.pop();
          const query = `?session=${session}${persisted ? '&kept=1' : ''}`;
          navigator.sendBeacon(address + query + paths.map(path => '&page=' + path).join(''), batch(frames));
        });
        """#

    static let returning = #"""
        // Loads the page again, unless a listener prevents it, or the next load gets what it is.
        const goOn = async own => {
          const { version } = await (await fetch(home + 'status')).json();
          const detail = { version, reload: true };
          if (version && version !== own && emit('version-ready', detail)) settle('version-ready', detail);
        };
        // Another run of the server may not know this page: what it asks for is in doubt, or another page's.
        const noteUnknown = async () => {
          try {
            const own = site + decodeURIComponent(pathOf(window));
            const { headers } = await fetch(own, { method: 'HEAD', cache: 'no-store' });
            const [, given] = /castree;desc="([^"]+)/.exec(headers.get('server-timing')) || [];
            const isOther = given && given !== original && given !== said.slice(9);
            if (isOther || headers.get('castree-unknown')) await goOn();
          } catch (error) {}
        };

        // Out of the browser's memory a page comes as it was: it is loaded again if the server shows another version.
        always(window, 'pageshow', async ({ persisted }) => {
          if (!persisted) return;
          connect();
          const own = said.slice(9);
          if (!own || !shownPage()) return;
          for (;;) try { return await goOn(own); } catch (error) { await opened(); }
        });
        """#

    static let sharing = #"""
        // Pages of one address and name share a worker, whatever their versions. So its address says the page's version:
        // a page of another one has a worker of its own, and the server knows by it what each asks for (Referer).
        if (window.SharedWorker && said.length > 9) {
          window.SharedWorker = new Proxy(SharedWorker, {
            construct(shared, [address, ...options], made) {
              if (typeof address === 'string' || address instanceof URL) {
                address = new URL(address, document.baseURI);
                if (address.href.startsWith(site + '/')) {
                  address.search += (address.search ? '&' : '') + 'castree_' + said.slice(1);
                }
              }
              return Reflect.construct(shared, [address, ...options], made);
            },
          });
        }
        """#

    static let framing = #"""
        // What is loaded again: this page; in a frame the page of ours around it, unless that has the bridge itself.
        const shownPage = () => {
          let own = window;
          while (own.frameElement) {
            own = own.parent;
            if (own.castree && own.castree.bridge) return null;
          }
          return own;
        };
        if (frameElement) try {
          const [load] = (shownPage() || window).performance.getEntriesByType('navigation');
          isForgotten = load.type === 'reload' && !tab.castreeFramed;
          tab.castreeFramed = 1;
        } catch (error) {}
        """#

    static let refusing = #"""
        // What a worker has shown is loaded again without it. Until the page has gone, a worker that is removed comes
        // back if it is registered again: not by this page, and if another does, a few times more.
        const refuses = false;
        if (refuses && worker) {
          worker.register = async () => { throw new TypeError('This server refuses service workers.'); };
          const free = async () => {
            const all = await worker.getRegistrations();
            await Promise.all(all.map(each => each.unregister()));
            const page = shownPage();
            if (!page) return;
            if (!worker.controller && !workerStart) tab.castreeFreed = '';
            else if (!isForgotten && !(tab.castreeFreed > 4)) {
              tab.castreeFreed = 1 + +(tab.castreeFreed || 0);
              page.location.reload();
            }
          };
          worker.addEventListener('controllerchange', () => free().catch(() => {}));
          free().catch(() => {});
        }
        """#
}
