import VersionTree

/// The state of one answering thread: responders with the heads that they have made.
///
/// A responder answers only for the site it was made of. The caller has chosen the version; choosing again here could
/// give another one, since versions may be switched at any moment.
///
/// `@unchecked Sendable`: only the loop's own thread answers its requests.
final class LoopState: @unchecked Sendable {
    private var generation = -1
    @exclusivity(unchecked) private(set) var current: Responder?
    private var others: [VersionName: Responder] = [:]
    /// The Host field that was last allowed; a browser sends the same one with every request.
    var allowedHost: [UInt8] = []

    /// Takes in which site is current, if that has changed since the last time.
    func renew(_ cache: SiteCache) {
        let generation = cache.currentGeneration
        guard self.generation != generation else { return }
        self.generation = generation
        current = cache.current.map { Responder(site: $0.site) }
        others = [:]
    }

    func respondCurrent(to head: borrowing RequestHead) -> Response? { current?.respond(to: head) }

    /// The answer of a version's site, whatever is current by now.
    func respond(to head: borrowing RequestHead, from site: Site) -> Response {
        if site === current?.site, let response = current?.respond(to: head) { return response }
        let version = site.version
        if others[version]?.site !== site {
            if others.count >= 8 { others = [:] }
            others[version] = Responder(site: site, headCountMax: 256)
        }
        return others[version]?.respond(to: head) ?? Responder.respond(to: head, site: site)
    }
}
