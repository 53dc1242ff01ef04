import CASStore

// Versions of equal content: what is known of one name holds for all.
extension Lifecycle {
    /// Shows a version from now on, and recognizes it if its content was known under another name.
    mutating func activate(
        _ version: String, _ versions: some StartableVersions
    ) throws(StoreError) {
        try recognize(version, versions)
        let before = before
        let isSame = try hasContentOfCurrent(version, versions)
        activate(version)
        // A version with the same content is nothing to roll back to.
        if isSame { self.before = before }
    }

    /// Recognizes content that is known good under another name: it needs no confirmation, and failed starts are dropped.
    ///
    /// The same holds for the content of the version that was current before the attempt.
    mutating func recognize(
        _ version: String, _ versions: some StartableVersions
    ) throws(StoreError) {
        guard isBeingTried(version), let content = try versions.content(of: version),
            ban(of: content) == nil
        else { return }
        if let before, try versions.content(of: before) == content { self.before = version }
        let names = try knownGoodNames(of: content, versions)
        guard let oldest = names.last else { return }
        if knownGood.count >= Self.knownGoodMax {
            // Drop another name of the same content rather than other content that could be rolled back to.
            knownGood.removeAll { $0 == oldest }
        }
        knownGood.insert(version, at: 0)
        attempts.removeAll { $0.content == content }
    }

    /// Forgets all names of banned content, so that none is rolled back to.
    mutating func forgetNames(
        of content: ObjectID, _ versions: some StartableVersions
    ) throws(StoreError) {
        let names = try knownGoodNames(of: content, versions)
        knownGood.removeAll { names.contains($0) }
        if let pending, try versions.content(of: pending) == content { self.pending = nil }
        if let before, try versions.content(of: before) == content { self.before = nil }
    }

    func hasContentOfCurrent(
        _ version: String, _ versions: some StartableVersions
    ) throws(StoreError) -> Bool {
        guard let current else { return false }
        if current == version { return true }
        guard let content = try versions.content(of: current) else { return false }
        return try versions.content(of: version) == content
    }

    /// The known good names of a content, newest first.
    private func knownGoodNames(
        of content: ObjectID, _ versions: some StartableVersions
    ) throws(StoreError) -> [String] {
        var names: [String] = []
        for name in knownGood where try versions.content(of: name) == content {
            names.append(name)
        }
        return names
    }
}
