/// The page's end of the bridge, served as `/_castree/bridge.js`.
///
/// ES2017 without dependencies; the protocol is docs/bridge-protocol.md.
package enum BridgeScript {
    package static let path = "/_castree/bridge.js"

    package static let text = #"""
        // castree's bridge between this page and its app.
        //   castree.bridge.send(string, ArrayBuffer or view)   throws when too much waits
        //   castree.bridge.addEventListener(type, event => event.detail)
        //     message: string or ArrayBuffer; open: {resumed, transport}; close;
        //     version-ready, progress, rolled-back: about the app's versions; a page whose own version was left, or
        //     that hears of one to be shown at once, reloads itself, unless a listener calls event.preventDefault()
        //     checking, available, ready, up-to-date, update-failed: about updates
        //   castree.confirm()   says that this version has started well; a promise of true or false
        //   castree.check(), castree.update()   ask for a new version; a promise of {type, ...detail}
        (() => {
          'use strict';
          if (window.castree && window.castree.bridge) return void castree.bridge.dispatchEvent(new Event('loaded-again'));
          // The page's own server, whatever `<base>` says; a frame without an address (`srcdoc`) has that of the page around it.
          const site = location.origin === 'null' ? origin : location.origin;
          const home = site + '/_castree/', address = home + 'bridge';
          const encoder = new TextEncoder(), decoder = new TextDecoder();
          const textOf = x => typeof x === 'string' ? x : decoder.decode(x);
          const bridge = new EventTarget();
          // A document that is written anew (`document.open`) has lost its listeners, and has them again with this script.
          const always = (target, type, act) => {
            const listen = () => target.addEventListener(type, act);
            listen();
            bridge.addEventListener('loaded-again', listen);
          };
          const names = /^(version-ready|progress|rolled-back|checking|available|ready|up-to-date|update-failed)$/;
          // What the document says of its version, wherever the copy was kept: a service worker may show an old one.
          const worker = window.navigator && navigator.serviceWorker;
          const [{ workerStart, type, activationStart, deliveryType } = {}] =
            performance.getEntriesByType('navigation');
          // The path that a page was loaded from: what its address says now, a script may have written.
          const pathOf = page => {
            const [{ name } = {}] = page.performance.getEntriesByType('navigation');
            return encodeURIComponent((name ? new URL(name) : page.location).pathname);
          };
          // A page that was fetched ahead of its visit: its reload is not.
          const isAhead = activationStart > 0 || deliveryType === 'navigational-prefetch';
          \#(remembering)
          // Without a worker, the server alone decides what the next load gets: it may be one that nobody remembers.
          const isAlone = () => !!tab && !(worker && worker.controller);
          \#(saying)
          // An address may have 8 KiB.
          const isShort = path => path.length < 2048;
          const whose = said + (isShort(pathOf(window)) ? '&from=' + pathOf(window) : '')
            + (place && outermost === window ? '&shell=1' : '')
            + (worker && (worker.controller || workerStart) ? '' : '&worker=0');
          \#(turning)
          \#(framing)
          \#(sharing)
          \#(telling)
          const bytesOf = x => typeof x === 'string' ? encoder.encode(x) : x;
          const join = (...parts) => {
            const all = parts.map(bytesOf);
            const bytes = new Uint8Array(all.reduce((sum, part) => sum + part.length, 0));
            all.reduce((at, part) => (bytes.set(part, at), at + part.length), 0);
            return bytes;
          };

          // In: the last number received and the last told. Out: what is not acked.
          let session = '', received = 0, told = 0, heard = '', wasHeard = false, greetedAt = 0;
          let queue = [], queued = 0, acked = 0, sent = 0, highest = 0;
          let link = null, failures = 0, misses = 0, timer = 0;

          bridge.send = content => {
            if (typeof content !== 'string') {
              const { buffer = content, byteOffset, byteLength } = content;
              content = new Uint8Array(buffer, byteOffset, byteLength).slice();
            }
            const size = bytesOf(content).length;
            if (size > 1 << 20) throw new RangeError('message over 1 MiB');
            if (queue.length > 1023 || queued + size > 8 << 20) throw new Error('queue full');
            queue.push({ content, size, mark: '' });
            queued += size;
            if (link) link.flush();
          };

          // What may be sent now: [head, content] pairs.
          const take = () => {
            const frames = [];
            let flying = queue.slice(0, sent - acked).reduce((sum, m) => sum + m.size, 0);
            while (sent - acked < Math.min(queue.length, 256)) {
              const { content, size, mark } = queue[sent - acked];
              if (flying && flying + size > 4 << 20) break;
              flying += size;
              highest = Math.max(highest, ++sent);
              const kind = typeof content === 'string' ? 'M' : 'B';
              frames.push([`${kind} ${sent} ${received}${mark}\n`, content]);
              told = received;
            }
            return frames;
          };

          const ack = number => {
            if (!(number <= highest)) throw new Error('bad ack');
            for (; acked < number; acked++) queued -= queue.shift().size;
            sent = Math.max(sent, acked);
          };

          const welcome = (name, number) => {
            const resumed = name === session;
            if (resumed) {
              if (!(number >= acked && number <= highest)) throw new Error('bad resume');
              sent = number;
              told = -1;
            } else {
              // No cookie tells another run of the server the version that this page has.
              if (session && isBlocked) settle('', { reload: true });
              // Nor does one that was deleted: what this page asks for is refused, or is another page's.
              else if (session && original) noteUnknown();
              queue.slice(0, highest - acked).forEach(m => { m.mark = ' again'; });
              session = name;
              received = told = acked = sent = highest = 0;
            }
            link.isOpen = true;
            greetedAt = greetedAt || Date.now();
            if (!resumed) noteShown();
            // What breaks at once did not work.
            const here = link;
            setTimeout(() => { if (link === here) failures = 0; }, 2000);
            // Of a new session the server believes that it is seen; what was said while there was no link may be lost.
            tellVisibility(document.hidden || resumed);
            emit('open', { resumed, transport: link.transport });
          };

          // Takes one frame from the server, a string or bytes.
          const receive = frame => {
            const isText = typeof frame === 'string';
            const end = frame.indexOf(isText ? '\n' : 10);
            const line = end < 0 ? frame : frame.slice(0, end);
            const [kind, first, second, name] = textOf(line).split(' ');
            if (kind === 'W') return welcome(second, +name);
            if (kind === 'A') return ack(+first);
            ack(+second);
            if (+first <= received) { told = -1; return; }
            if (+first !== received + 1) throw new Error('gap');
            const isFirst = !received++ && !wasHeard;
            wasHeard = true;
            const rest = frame.slice(end + 1);
            if (kind === 'E') {
              // Kept for the day when the cookie is lost: the storage is this port's alone.
              if (name === 'token') try { localStorage.castreeToken = JSON.parse(textOf(rest)).token; } catch (error) {}
              if (!names.test(name)) return;
              const detail = JSON.parse(textOf(rest));
              if (name === 'version-ready') {
                // Our page around a frame gets this event itself, if it has the bridge; the frame gets that page's version.
                if (frameElement && !(detail.reload && shownPage())) return;
                // The way back led to a copy that the browser kept, without asking. Else once in a tab: a page that a
                // service worker keeps would reload for ever.
                if (isFirst && isRestored) detail.reload = true;
                else try {
                  // What the page came as is to be shown: it is that again.
                  if (detail.version === original) tab.castreeSuccessor = ' ';
                  const before = heard, last = tab[toldOf], isKept = worker && worker.controller;
                  // Hidden by a worker, what was to be shown at once may have been taken back, and waits: no news.
                  if (isKept && last === detail.version + ' reload') detail.reload = true;
                  heard = detail.version + (detail.reload ? ' reload' : '');
                  const isAgain = last === (tab[toldOf] = heard);
                  if (!isAgain) tab.castreeKept = tab.castreeAgain = '';
                  const isOld = isForgotten && Date.now() - greetedAt < 2000;
                  if (isAgain && !isAhead || isOld && isKept) {
                    if (before !== heard) kept(() => { if (emit(name, detail)) settle(name, detail); });
                    return;
                  }
                } catch (error) { detail.reload = detail.reload && isAlone(); }
              }
              if (emit(name, detail)) settle(name, detail);
            } else emit('message', kind === 'B' ? rest.buffer : textOf(rest));
          };

          \#(keeping)
          // What the script does unless a listener prevents it.
          const settle = async (name, detail) => {
            const page = shownPage();
            if (!page) return;
            if (detail.reload) return page.location.reload();
            if (!detail.own) return;
            // A page with files of another version may be about to load itself again.
            if (judging) await judging;
            if (isLeaving) return;
            // The page's version was left. In a tab that shows it again, a worker gives what it has while it fetches what
            // the next load gets: a few times more.
            try {
              const mark = `${detail.version} ${detail.at}`;
              const count = tab.castreeLeft === mark ? 1 + +(tab.castreeLeftAgain || 0)
                : isForgotten && (detail.at + 1) * 1000 < performance.timeOrigin ? 3 : 0;
              tab.castreeLeft = mark;
              tab.castreeLeftAgain = count;
              if (!count) {
                // What was in vain while another start went on, is not now.
                tab.castreeKept = tab.castreeAgain = '';
                return page.location.reload();
              }
              kept(() => page.location.reload());
              if (count < 3) setTimeout(() => page.location.reload(), 400 * 5 ** count);
            } catch (error) { if (isAlone()) page.location.reload(); }
          };

          const greeting = () => session ? `H 1 ${session} ${received}` : 'H 1 -';

          // Where a worker answers navigations, the server has not seen the token in the page's address.
          const [, given] = /[?&](\#(AppHandler.tokenPrefix)\d+=\w+)/.exec(location.search) || [];
          const present = token => { if (token) fetch(`${home}status?${token}`).catch(() => {}); };
          const lost = which => {
            if (link !== which) return;
            link = null;
            which.drop();
            if (which.isOpen) emit('close');
            // Another server of this host's name may have deleted the cookie that lets pages in.
            if (failures) {
              present(given);
              try { present(localStorage.castreeToken); } catch (error) {}
            }
            clearTimeout(timer);
            timer = setTimeout(connect, Math.min(200 * 2 ** failures++, 15000) * (0.5 + Math.random()));
          };

          const openSocket = here => {
            const socket = new WebSocket(
              address.replace('http', 'ws') + whose.replace('&', '?'));
            socket.binaryType = 'arraybuffer';
            here.transport = 'websocket';
            let quiet = setTimeout(lost, 10000, here), tell = 0;
            const tellNow = () => {
              if (link === here && told < received) socket.send(`A ${told = received}`);
            };
            here.flush = () => {
              if (!here.isOpen) return;
              for (const [head, content] of take()) {
                socket.send(typeof content === 'string' ? head + content : join(head, content));
              }
            };
            // The page goes: a worker that is being replaced, or does not run, loses what passes it; this does not.
            here.bye = () => {
              here.flush();
              if (here.isOpen) socket.send('C');
            };
            here.drop = () => {
              clearTimeout(quiet);
              if (!here.isOpen) misses++;
              socket.onopen = socket.onmessage = socket.onerror = socket.onclose = null;
              socket.close();
            };
            socket.onopen = () => socket.send(greeting());
            socket.onerror = socket.onclose = () => lost(here);
            socket.onmessage = ({ data }) => {
              try {
                receive(typeof data === 'string' ? data : new Uint8Array(data));
              } catch (error) { return lost(here); }
              misses = 0;
              clearTimeout(quiet);
              quiet = setTimeout(() => {
                socket.send('P');
                quiet = setTimeout(lost, 10000, here);
              }, 30000);
              here.flush();
              if (told < 0 || received - told >= 32) tellNow();
              clearTimeout(tell);
              tell = setTimeout(tellNow, 20);
            };
          };

          const batch = frames => join(...[].concat(...frames.map(([head, content]) => {
            content = bytesOf(content || '');
            return [`${bytesOf(head).length + content.length}\n`, head, content];
          })));

          // The same over requests: one GET that waits, and one POST at a time.
          const openPoll = here => {
            const began = Date.now(), abort = new AbortController();
            let isPosting = false;
            here.transport = 'poll';
            here.drop = () => {
              // Nothing has got through for long, so the WebSocket may not be at fault.
              if (failures > 3) misses = 1;
              abort.abort();
            };
            const request = async (query, body) => {
              const limit = setTimeout(() => abort.abort(), 40000);
              try {
                const method = body ? 'POST' : 'GET';
                const answer = await fetch(address + query, { method, body, signal: abort.signal });
                if (!answer.ok) throw new Error(answer.status);
                const bytes = new Uint8Array(await answer.arrayBuffer());
                for (let at = 0; at < bytes.length && link === here;) {
                  const start = bytes.indexOf(10, at) + 1;
                  at = start + +textOf(bytes.slice(at, start));
                  receive(bytes.slice(start, at));
                }
                // Others of this browser wait already: a browser has six connections for all its pages and frames.
                return +answer.headers.get('retry-after');
              } finally { clearTimeout(limit); }
            };
            here.flush = async () => {
              if (!here.isOpen || isPosting) return;
              isPosting = true;
              try {
                for (let frames; link === here && (frames = take()).length;) {
                  await request('?session=' + session + whose, batch(frames));
                }
              } catch (error) { lost(here); }
              isPosting = false;
            };
            (async () => {
              await request('', batch([[greeting()]]));
              while (link === here) {
                here.flush();
                const pause = await request(`?session=${session}&ack=${received}${whose}`);
                if (pause) await new Promise(done => setTimeout(done, pause * 1000 * (0.5 + Math.random())));
                // From time to time, a WebSocket is tried again.
                if (Date.now() - began > 30000) { misses = 1; failures = 0; lost(here); }
              }
            })().catch(() => lost(here));
          };

          const connect = () => {
            if (link || isTurned) return;
            link = { isOpen: false, flush() {}, drop() {} };
            const here = link;
            try { (misses < 2 ? openSocket : openPoll)(here); } catch (error) {
              misses++;
              lost(here);
            }
          };

          \#(leaving)
          // For an app that is brought up to date while nobody sees it.
          const tellVisibility = isNews => {
            if (!session || !isNews) return;
            navigator.sendBeacon(`${home}${document.hidden ? 'hidden' : 'visible'}?session=${session}`);
          };
          always(document, 'visibilitychange', tellVisibility);
          bridge.addEventListener('loaded-again', tellVisibility);
          \#(returning)
          \#(wholeness)

          const opened = () => new Promise(done => bridge.addEventListener('open', done, { once: true }));
          // The session shows that a page asks, and which page. Where it has ended (a long absence, another run of the
          // server), the bridge begins another one at once.
          const post = async (path, body, how = '') => {
            for (;;) {
              if (!link || !link.isOpen) await opened();
              const name = session;
              const answer = await fetch(`${home}${path}?session=${name}${said}${how}`, { method: 'POST', body });
              if (answer.status !== 410) return answer;
              if (link && session === name) lost(link);
            }
          };
          const confirm = async () => {
            if (!link || !link.isOpen) await opened();
            try { return await isWhole() && (await post('confirm')).ok; } catch (error) { return false; }
          };

          // What comes of it is an event for all pages. A session that begins meanwhile may have missed it, and asks again.
          const ask = async (wish, ends) => {
            if (!link || !link.isOpen) await opened();
            let stop, isTaken = false;
            const outcome = new Promise((done, fail) => {
              const hear = ({ type, detail }) => {
                if (type === 'update-failed') fail(new Error(detail.message));
                else done({ type, ...detail });
              };
              const send = async () => {
                isTaken = false;
                const answer = await post(wish);
                if (!answer.ok) throw new Error(await answer.text());
                isTaken = true;
              };
              const again = ({ detail }) => { if (isTaken && !detail.resumed) send().catch(fail); };
              for (const end of ends) bridge.addEventListener(end, hear);
              bridge.addEventListener('open', again);
              stop = () => {
                ends.forEach(end => bridge.removeEventListener(end, hear));
                bridge.removeEventListener('open', again);
              };
              send().catch(fail);
            });
            try { return await outcome; } finally { stop(); }
          };
          const check = () => ask('check', ['available', 'ready', 'up-to-date', 'update-failed']);
          const update = () => ask('update', ['ready', 'up-to-date', 'update-failed']);

          \#(refusing)

          window.castree = { bridge, confirm, check, update };
          if (isTurned) location.reload();
          connect();
        })();
        """#

    // MARK: The script as it is served

    /// The served bytes: the script without comments, indentation, and spaces and line ends beside punctuation.
    package static let bytes = served(refusing: false)
    package static let refusingBytes = served(refusing: true)

    private static func served(refusing isRefusing: Bool) -> [UInt8] {
        var result: [UInt8] = []
        for line in text.utf8.split(separator: 10) {
            let code = line.drop { $0 == 32 }
            if code.isEmpty || code.starts(with: [47, 47]) { continue }
            let isSwitch = isRefusing && code.elementsEqual("const refuses = false;".utf8)
            appendTightly(isSwitch ? Array("const refuses = true;".utf8) : Array(code), to: &result)
            // No statement ends behind these.
            if !",;([{".utf8.contains(result[result.count - 1]) { result.append(10) }
        }
        return result
    }

    /// Appends a line; spaces within quotes, between two `+`, and beside `-` and `/`, matter and stay.
    private static func appendTightly(_ code: [UInt8], to result: inout [UInt8]) {
        let punctuation = Array("=<>?:,;{}()[]|&*!+".utf8)
        var quote: UInt8?
        for (index, byte) in code.enumerated() {
            if let open = quote {
                if byte == open { quote = nil }
            } else if byte == 39 || byte == 96 {
                quote = byte
            } else if byte == 32 {
                let around = [index - 1, index + 1].filter(code.indices.contains).map { code[$0] }
                if around != [43, 43], around.contains(where: punctuation.contains) { continue }
            }
            result.append(byte)
        }
    }
}
