extension RequestHead {
    /// What kind of load a request begins or belongs to.
    package enum Load: Sendable, Hashable {
        case page
        /// A page inside another one (iframe, frame, object, embed), or a prefetched one.
        case frame
        case subresource
    }

    /// The kind of load, as Fetch Metadata says; if a browser sends none (before 2023, or over plain http to a name
    /// other than localhost), ``looksLikeNavigation`` decides.
    package var load: Load {
        if isEmbeddedPage { return .page }
        guard method == .get || method == .head else { return .subresource }
        let mode = value(of: "sec-fetch-mode")
        let destination = value(of: "sec-fetch-dest")
        if let destination {
            if matches(destination, "document") { return isPreview ? .frame : .page }
            for frame: StaticString in ["iframe", "frame", "object", "embed", "fencedframe"]
            where matches(destination, frame) {
                // Only its mode says that an image in an <object> is no navigation.
                if let mode, !matches(mode, "navigate") { return .subresource }
                return .frame
            }
            if mode == nil { return .subresource }
        }
        guard mode.map({ matches($0, "navigate") }) ?? looksLikeNavigation else {
            return .subresource
        }
        return isPreview ? .frame : .page
    }

    /// Whether a request that does not say what it is for goes to a page.
    ///
    /// It asks for `text/html` by name. But so do scripts that put the HTML into the current page (Turbo, htmx,
    /// pjax). With navigations alone, browsers ask for https (Upgrade Insecure Requests, section 3.2.1). Old ones,
    /// which do not, ask for XHTML and for anything else besides; a script that does both without its name in a field
    /// counts as one of them. So does one without a Referer, which counts as a tool.
    private var looksLikeNavigation: Bool {
        guard accepts("text/html") else { return false }
        if value(of: "upgrade-insecure-requests").map({ matches($0, "1") }) ?? false { return true }
        if isNamedByScript { return false }
        guard let own = authority ?? host, let page = url(in: "referer"),
            Self.areSame(page.authority, bytes[own])
        else { return true }
        return accepts("application/xhtml+xml") && accepts("*/*")
    }

    /// Whether a field names the script, as libraries do that request parts of pages.
    private var isNamedByScript: Bool {
        // Android's old web views send the app's name with everything, and that has dots.
        if let value = value(of: "x-requested-with"), !bytes[value].contains(46) { return true }
        let names: [StaticString] = [
            "hx-request", "turbo-frame", "x-turbo-request-id", "x-pjax", "x-up-version",
            "x-inertia", "x-barba",
        ]
        return names.contains { value(of: $0) != nil }
    }

    package var isForFrame: Bool { load == .frame && !isPreview }

    /// Whether a page of another site is around the one that sends this, so that no `Lax` cookie comes with it.
    ///
    /// Browsers tell by this field alone (Storage Access Headers): a frame that another site's page leads back has no
    /// such page around it, and sends `Sec-Fetch-Site: cross-site` too.
    package var hasForeignStorage: Bool { value(of: "sec-fetch-storage-access") != nil }

    /// Whether another site's page is the tab's, and frames get only that site's own cookies.
    package var isInAnotherSitesTab: Bool {
        isForFrame && value(of: "sec-fetch-storage-access").map { matches($0, "none") } ?? false
    }

    /// Whether the browser itself says that the answer becomes a document, so that it can be no script, style or
    /// image.
    package var isForDocument: Bool {
        guard let destination = value(of: "sec-fetch-dest") else { return false }
        return matches(destination, "document") || matches(destination, "iframe")
            || matches(destination, "frame")
    }

    /// Whether the browser may show the answer as a page of its own; not HEAD, nor what it saves (a link's
    /// `download`).
    ///
    /// A service worker that forwards a navigation says `empty`, as a download does. But what `fetch` sends has an
    /// Accept (Fetch, section 4), and a download has none.
    package var mayBeginPage: Bool {
        guard method == .get, load == .page else { return false }
        guard !isEmbeddedPage, let destination = value(of: "sec-fetch-dest") else { return true }
        return matches(destination, "document")
            || matches(destination, "empty") && value(of: "accept") != nil
    }

    /// Whether a browser prefetches a page, whose visit then sends no navigation (Speculation Rules).
    package var isPageAhead: Bool {
        guard isPreview, !isEmbeddedPage, let destination = value(of: "sec-fetch-dest"),
            let mode = value(of: "sec-fetch-mode")
        else { return false }
        return matches(destination, "document") && matches(mode, "navigate")
    }

    /// Whether this is fetched ahead of a visit or instead of one: by a page (Speculation Rules, prefetch), or for a
    /// preview of the page.
    private var isPreview: Bool {
        for name: StaticString in ["sec-purpose", "purpose", "x-purpose", "x-moz"] {
            guard let purpose = value(of: name) else { continue }
            let bytes = bytes[purpose]
            for word: StaticString in ["prefetch", "preview", "prerender"]
            where bytes.prefix(word.utf8CodeUnitCount).isWord(word) {
                return true
            }
        }
        return false
    }

    /// Whether a browser loads a service worker's script (Service Workers, section 4.3), or its equivalent.
    package var isWorkerScript: Bool {
        isImportOfWorker
            || value(of: "service-worker").map { matches($0, "script") } ?? isWorkersList
    }

    /// Whether a module is loaded that a service worker imports (Fetch, section 2.2.5).
    package var isForWorkersModule: Bool {
        method == .get && value(of: "sec-fetch-dest").map { matches($0, "serviceworker") } ?? false
    }

    /// Whether a browser loads a script, for a page, or for a worker that imports it.
    package var isForScript: Bool {
        method == .get && value(of: "sec-fetch-dest").map { matches($0, "script") } ?? false
    }

    /// Whether Angular's worker asks for the newest release's list of files; its script is the same in all releases
    /// (angular.dev/ecosystem/service-workers/devops).
    package var isWorkersList: Bool {
        guard let query, bytes[path].suffix(10).elementsEqual("/ngsw.json".utf8) else {
            return false
        }
        return bytes[query].starts(with: "ngsw-cache-bust=".utf8)
    }

    /// Whether a service worker forwards a navigation, so that the answer need not be what is shown.
    package var isNavigationOfWorker: Bool {
        if isPageOfWorker { return true }
        guard let mode = value(of: "sec-fetch-mode"), let destination = value(of: "sec-fetch-dest")
        else { return false }
        return matches(mode, "navigate") && matches(destination, "empty")
    }

    /// Whether a browser is certainly going to a page: it sends fields that scripts and tools do not.
    package var isBrowserNavigation: Bool {
        guard load == .page else { return false }
        if let mode = value(of: "sec-fetch-mode") { return matches(mode, "navigate") }
        return value(of: "upgrade-insecure-requests").map { matches($0, "1") } ?? false
    }

    /// Whether a page of another site sends the browser here: by Fetch Metadata (section 2.4), and where there is
    /// none by the host's name in Origin or Referer.
    package var isFromAnotherSite: Bool {
        // `serve --open` hands the browser a file that leads here, which counts as another site. And reloading a page
        // counts as a navigation by the site that led to it.
        if hasSecret || isShownAgain { return false }
        if isInAnotherSite { return true }
        if let site = value(of: "sec-fetch-site") { return matches(site, "cross-site") }
        return isNamedByAnother { Self.name(ofAuthority: $0) }
    }

    /// Whether a page of another origin causes this, even one of the same host at another port.
    package var isFromAnotherOrigin: Bool {
        if hasSecret { return false }
        if isEmbeddedPage || isLedByAnother { return true }
        if let site = value(of: "sec-fetch-site") {
            return matches(site, "cross-site") || matches(site, "same-site")
        }
        return isNamedByAnother { $0 }
    }

    /// Whether a page of this origin goes here, or loads itself again, though no person asked it to (Fetch Metadata,
    /// sections 2.4 and 2.5).
    package var isUnaskedOwn: Bool {
        guard let site = value(of: "sec-fetch-site") else { return false }
        return matches(site, "same-origin") && value(of: "sec-fetch-user") == nil
    }

    /// Whether Origin or Referer names another authority, or another part of it.
    private func isNamedByAnother(
        _ part: (ArraySlice<UInt8>) -> ArraySlice<UInt8>
    ) -> Bool {
        guard let own = authority ?? host else { return false }
        let ownName = part(bytes[own])
        // Origin: null is of a page that may not say where it is from.
        if let origin = value(of: "origin"), bytes[origin].isWord("null") { return true }
        for field: StaticString in ["origin", "referer"] {
            guard let named = url(in: field)?.authority else { continue }
            if !Self.areSame(part(named), ownName) { return true }
        }
        return false
    }

    /// The authority of the URL that a field holds, and the path with what follows it.
    package func url(
        in field: StaticString
    ) -> (authority: ArraySlice<UInt8>, rest: ArraySlice<UInt8>)? {
        guard let value = value(of: field) else { return nil }
        let text = bytes[value]
        guard let colon = text.firstIndex(of: 58), text[colon...].starts(with: [58, 47, 47])
        else { return nil }
        let authority = text[(colon + 3)...].prefix { $0 != 47 && $0 != 63 && $0 != 35 }
        return (authority, text[authority.endIndex...])
    }

    package static func areSame(_ one: ArraySlice<UInt8>, _ other: ArraySlice<UInt8>) -> Bool {
        one.elementsEqual(other) { FieldText.lowercased($0) == FieldText.lowercased($1) }
    }

    private static func name(ofAuthority authority: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        if authority.first == 91, let end = authority.firstIndex(of: 93) {
            return authority[...end]
        }
        return authority.prefix { $0 != 58 }
    }

    /// The same request for the file as it is, not for one that is precompressed.
    package var withoutEncodings: RequestHead {
        var head = self
        head.fields.removeAll { matches($0.name, "accept-encoding") }
        return head
    }

    /// The same request without the conditions that revalidate a copy.
    package var withoutRevalidation: RequestHead {
        var head = self
        head.fields.removeAll {
            matches($0.name, "if-none-match") || matches($0.name, "if-modified-since")
        }
        return head
    }

    /// Whether a person asked to load the page again: browsers then make every cache on the way check
    /// (`Cache-Control: max-age=0` or `no-cache`).
    package var isReload: Bool {
        lists("max-age=0", in: "cache-control") || lists("no-cache", in: "cache-control")
    }

    /// Whether Accept names the type itself, with a weight other than 0.
    private func accepts(_ type: StaticString) -> Bool {
        guard mayHave("accept") else { return false }
        for field in fields where matches(field.name, "accept") {
            for element in bytes[field.value].split(separator: 44) {
                let (name, weight) = element.weighted()
                if name.isWord(type) { return (weight ?? 0) > 0 }
            }
        }
        return false
    }
}
