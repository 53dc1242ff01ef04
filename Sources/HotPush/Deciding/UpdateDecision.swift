package import CASStore
package import VersionTree

/// What an origin offers, as far as it matters for deciding.
package struct UpdateOffer: Sendable, Hashable {
    /// The name of the version.
    package var version: String
    /// The address of its content, if the format says it before a byte is fetched.
    package var content: ObjectID?
    /// Orders releases of the origin.
    package var order: Int64?
    /// What an app must fulfil.
    package var requirements: [Requirement] = []
    /// Which devices may have it.
    package var audience = Audience()
    /// Whether the app must not go on without it.
    package var isMandatory = false
}

extension UpdateOffer {
    /// What a release offers.
    init(_ release: Release) throws(StoreError) {
        self.init(
            version: release.version.description, content: try release.contentAddress(),
            order: release.order, requirements: release.requirements, audience: release.audience,
            isMandatory: release.isMandatory)
    }
}

/// What a store has and an app is, as far as it matters for deciding.
package struct UpdateStanding: Sendable {
    /// A version in the store.
    package struct Known: Sendable, Hashable {
        /// The address of its content.
        package var content: ObjectID
        /// Whether none of its objects is missing.
        package var isComplete: Bool
    }

    /// Where things stand.
    package var lifecycle: Lifecycle
    /// The registered versions by name.
    package var versions: [String: Known]
    /// The app.
    package var app = AppTraits()
    /// What names the device in staged roll-outs.
    package var device: String?
    /// The place of the embedded version among the origin's releases, if the app says it.
    package var embeddedOrder: Int64?
}

/// What to do about an offer, and why.
package enum UpdateDecision: Sendable, Hashable {
    /// Nothing: the app shows it, and why that is so.
    case nothing(String)
    /// This version is it, complete, and waits for its turn.
    case waiting(version: String)
    /// Leave it; the reasons are sentences about the release.
    case refuse([String])
    /// Fetch what is missing.
    case download
    /// It is complete under its name: it only has to become pending.
    case take
    /// The app shows its content, under this name; what waits is not offered any more, and no longer
    /// waits.
    case stay(version: String)

    /// Decides about an offer.
    ///
    /// The origin has the last word on which version is right: an older one than the current is taken
    /// too, for that is how publishers take a release back. Only what the app itself was shipped with
    /// is not undercut.
    package static func decide(
        _ offer: UpdateOffer, _ standing: UpdateStanding
    ) throws(StoreError) -> UpdateDecision {
        let lifecycle = standing.lifecycle
        if let pending = lifecycle.pending, offer.isSame(as: pending, standing) {
            return .waiting(version: pending)
        }
        if let current = lifecycle.current, offer.isSame(as: current, standing) {
            // What waits was offered before and is not offered any more.
            if lifecycle.pending != nil {
                return current == offer.version ? .take : .stay(version: current)
            }
            return .nothing("version \(current) is current already")
        }
        let reasons = try offer.objections(standing)
        guard reasons.isEmpty else { return .refuse(reasons) }
        guard let known = standing.versions[offer.version] else { return .download }
        return known.isComplete ? .take : .download
    }

    /// Whether an update must be shown at once.
    ///
    /// - Parameter owed: whether an earlier release, which never came to be shown, had to be: what
    ///   replaces it inherits that.
    package static func isForced(_ offer: UpdateOffer, owed: Bool) -> Bool {
        offer.isMandatory || owed
    }
}

extension UpdateOffer {
    /// Whether a version of the store is what is offered: by its content, or by its name where the
    /// format says no content.
    fileprivate func isSame(as name: String, _ standing: UpdateStanding) -> Bool {
        guard let content, let known = standing.versions[name] else { return name == version }
        return known.content == content
    }

    fileprivate func objections(_ standing: UpdateStanding) throws(StoreError) -> [String] {
        var reasons = standing.app.objections(to: requirements)
        reasons += try audience.objections(device: standing.device, standing.app)
        if let ban = ban(standing) {
            reasons.append("it is banned on this device: \(ban.reason)")
        }
        if let order, let embeddedOrder = standing.embeddedOrder, order < embeddedOrder {
            reasons.append("it is older than the version that the app was shipped with")
        }
        if let known = standing.versions[version], known.isComplete, let content,
            known.content != content
        {
            reasons.append(
                "the store has version \(version) with other content; other content needs another "
                    + "name")
        }
        return reasons
    }

    /// Bans are kept by content: the same name with new content is free.
    private func ban(_ standing: UpdateStanding) -> Lifecycle.Ban? {
        if let content = content ?? standing.versions[version]?.content {
            return standing.lifecycle.ban(of: content)
        }
        return standing.lifecycle.bad.first { $0.version == version }
    }
}

extension Release {
    /// The address of the content that the release will be, as bans are kept by; `nil` if the format
    /// does not say the address and size of every file.
    package func contentAddress() throws(StoreError) -> ObjectID? {
        var entries: [Manifest.Entry] = []
        for file in files {
            guard let address = file.address, let byteCount = file.byteCount else { return nil }
            entries.append(
                Manifest.Entry(
                    path: file.path, address: address, byteCount: byteCount,
                    isExecutable: file.isExecutable, routes: file.routes))
        }
        return try Manifest(version: version, ordinal: 0, createdAt: 0, entries: entries)
            .contentAddress()
    }
}
