package import CASStore

// Confirmations. One that comes late counts more than a strike that came of not knowing.
extension Lifecycle {
    /// How many earlier starts are remembered whose tokens still count.
    static let unheardMax = 16

    /// Vouches for exactly the version that started, with the token that its start gave out.
    ///
    /// A later start may have taken the place of that one, and may have counted it as failed since nobody had
    /// heard of it: then the version is known good all the same, its strikes and its ban go, and it waits for the
    /// next start unless something else does.
    /// - Returns: whether that is news.
    package mutating func vouch(
        _ name: String, token: String
    ) throws(StoreError) -> Bool {
        if confirmed == .init(version: name, token: token), knownGood.contains(name),
            current == name
        {
            return false
        }
        if let boot, boot.version == name, boot.token == token, current == name {
            // While others may still speak, repeating this is no error.
            if !unheard.isEmpty { unheard.insert(boot, at: 0) }
            confirm(name, token: token)
            return true
        }
        guard let start = unheard.first(where: { $0.version == name && $0.token == token }) else {
            throw StoreError(
                .wrongToken,
                "version \(printable(name)) was not started with this token, or no longer runs; confirm needs the version and token that castree boot printed"
            )
        }
        guard !knownGood.contains(name) else { return false }
        vouch(late: start)
        return true
    }

    private mutating func vouch(late start: Boot) {
        if let boot, boot.version == start.version, current == start.version {
            // Whoever has the newer token may say the same.
            unheard.insert(boot, at: 0)
            return confirm(start.version, token: start.token)
        }
        knownGood.insert(start.version, at: 0)
        let isBanned = start.content.flatMap { ban(of: $0) } != nil
        if let content = start.content {
            forgive(content)
            // The same content runs under another name.
            if let boot, boot.content == content, boot.version == current {
                knownGood.removeAll { $0 == boot.version }
                knownGood.insert(boot.version, at: 0)
                unheard.insert(boot, at: 0)
                self.boot = nil
            }
        }
        trials.removeAll { $0.version == start.version }
        knownGood = Array(knownGood.prefix(Self.knownGoodMax))
        confirmed = Confirmation(version: start.version, token: start.token)
        // It was the ban that kept it from waiting.
        if isBanned, pending == nil, current != start.version { pending = start.version }
    }

    /// Remembers a start whose place another one takes, unless it ended with the system.
    mutating func keepToken(of former: Boot?, _ request: StartRequest) {
        unheard.removeAll { Self.isOfAnotherSystem($0, request) }
        guard let former, !Self.isOfAnotherSystem(former, request),
            former.token != boot?.token
        else { return }
        unheard.insert(former, at: 0)
        unheard = Array(unheard.prefix(Self.unheardMax))
    }

    /// A version was left for a reason that is known: no earlier start speaks for it any more.
    mutating func forgetTokens(
        of version: String, _ versions: some StartableVersions
    ) throws(StoreError) {
        guard !unheard.isEmpty else { return }
        let content = try versions.content(of: version)
        unheard.removeAll {
            $0.version == version || (content != nil && $0.content == content)
        }
    }
}
