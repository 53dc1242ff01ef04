import WebServer

/// The page for a browser without the token, whose cookie any server at another port of the host name may have
/// deleted.
///
/// The bridge keeps the token in the page's own storage, which belongs to one port. This page's script finds it there
/// and restores it, but only if the user or the app's own page navigates here. Other navigations would bypass
/// `SameSite=Strict`, so they end here until a person continues.
enum LostTokenPage {
    static let key = "castreeToken"

    static func kept(_ name: String, _ token: String) -> String { "\(name)=\(token)" }

    static func response(to head: RequestHead, _ name: String) -> Response? {
        guard head.mayBeginPage else { return nil }
        let text = page + (isOwn(head) ? script(name) : "")
        var response = ResponseHead(403).carrying(
            Array(text.utf8), "text/html; charset=utf-8", method: head.method)
        response.head.add(
            "Content-Security-Policy",
            "default-src 'none'; script-src 'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'"
        )
        response.head.add("Referrer-Policy", "same-origin")
        return response
    }

    /// Whether a person or one of the app's own pages sends a request, as far as the request tells.
    static func isOwn(_ head: RequestHead) -> Bool {
        head.value(of: "sec-fetch-site").map {
            head.matches($0, "none") || head.matches($0, "same-origin")
        } ?? (head.value(of: "referer") != nil && !head.isFromAnotherOrigin)
    }

    private static let page = """
        <!doctype html><html lang="en"><meta charset="utf-8"><title>Only for the app</title>
        <p>This server answers only to the app that it belongs to.</p>
        <p>If this is the app's browser, it has lost the cookie that says so: <a href="">show the app</a>, or open the address
        with the token, which castree serve has printed.</p>

        """

    private static func script(_ name: String) -> String {
        """
        <script>
        (async () => {
          const kept = localStorage.\(key) || '', status = '/_castree/status';
          if (!kept.startsWith('\(name)=')) return;
          const answer = await fetch(status + '?' + kept);
          if (answer.status === 403) delete localStorage.\(key);
          // Without it, to see that the browser keeps the cookie.
          if (answer.ok && (await fetch(status)).ok) location.reload();
        })().catch(() => {});
        </script>

        """
    }
}
