package import CASStore

// Confirmations. A late one outweighs a failed start that was counted for lack of it.
extension Lifecycle {
    /// How many earlier starts with valid tokens are remembered.
    static let unheardMax = 16

    /// Confirms exactly the version that started, with its start's token; returns whether this changed anything.
    ///
    /// A later start may have replaced it and counted it as failed for lack of a confirmation. The version is then
    /// known good all the same: its failed starts and its ban are dropped, and it becomes pending unless another one
    /// is.
    package mutating func acceptConfirmation(
        _ name: String, token: String
    ) throws(StoreError) -> Bool {
        if confirmed == .init(version: name, token: token), knownGood.contains(name),
            current == name
        {
            return false
        }
        if let boot, boot.version == name, boot.token == token, current == name {
            // While other starts may still be confirmed, repeating this is no error.
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
        acceptConfirmation(late: start)
        return true
    }

    private mutating func acceptConfirmation(late start: Boot) {
        if let boot, boot.version == start.version, current == start.version {
            // The holder of the newer token may confirm, too.
            unheard.insert(boot, at: 0)
            return confirm(start.version, token: start.token)
        }
        knownGood.insert(start.version, at: 0)
        let isBanned = start.content.flatMap { ban(of: $0) } != nil
        if let content = start.content {
            unban(content)
            // The same content runs under another name.
            if let boot, boot.content == content, boot.version == current {
                knownGood.removeAll { $0 == boot.version }
                knownGood.insert(boot.version, at: 0)
                unheard.insert(boot, at: 0)
                self.boot = nil
            }
        }
        attempts.removeAll { $0.version == start.version }
        knownGood = Array(knownGood.prefix(Self.knownGoodMax))
        confirmed = Confirmation(version: start.version, token: start.token)
        // Only the ban kept it from being pending.
        if isBanned, pending == nil, current != start.version { pending = start.version }
    }

    /// Remembers a start that another one replaces, unless it ended with the system.
    mutating func keepToken(of former: Boot?, _ request: StartRequest) {
        unheard.removeAll { Self.isOfAnotherSystem($0, request) }
        guard let former, !Self.isOfAnotherSystem(former, request),
            former.token != boot?.token
        else { return }
        unheard.insert(former, at: 0)
        unheard = Array(unheard.prefix(Self.unheardMax))
    }

    /// Invalidates the tokens of earlier starts of a version that was rolled back for a known reason.
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
