// What a page knows of itself: whether it is whole, and where it is shown.
extension BridgeScript {
    static let wholeness = #"""
        // Scripts and styles that say another version than the document, because a worker or the browser kept them. If
        // their bytes are not this version's, the page is loaded again, once in a tab, and confirms nothing.
        let isMixed = false;
        const others = () => {
          const own = said.slice(9), start = location.origin + '/';
          if (!own) return '';
          return performance.getEntriesByType('resource').map(({ name, initiatorType, serverTiming }) => {
            const its = serverTiming && serverTiming.find(entry => entry.name === 'castree');
            if (!its || its.description === own || initiatorType === 'iframe' || !name.startsWith(start)) return '';
            return its.description + ' ' + name.slice(start.length - 1) + '\n';
          }).filter(Boolean).slice(0, 64).join('').slice(0, 8000);
        };
        const isWhole = async () => {
          const files = others();
          if (isMixed || !files) return !isMixed;
          if (!link || !link.isOpen) await opened();
          try {
            const answer = await fetch('/_castree/mixed?session=' + session + said, { method: 'POST', body: files });
            if (answer.status !== 409) return true;
          } catch (error) { return true; }
          if (isMixed) return false;
          isMixed = true;
          try {
            const tab = sessionStorage;
            if (frameElement || tab.castreeMixed === (tab.castreeMixed = said)) kept(() => location.reload());
            else location.reload();
          } catch (error) {}
          return false;
        };
        addEventListener('load', () => { isWhole(); });
        """#

    static let foreignness = #"""
        // A page in a frame of another site starts no version, so it is not told of one.
        const isForeign = (() => {
          if (!window.parent || window.parent === window || frameElement) return false;
          const all = location.ancestorOrigins;
          return !all || Array.from(all).some(origin => origin.split('/').pop().split(':')[0] !== location.hostname);
        })();
        """#
}
