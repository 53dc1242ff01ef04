package import CASStore
package import VersionTree

/// The state of a store and an app, as far as the decision depends on it.
package struct DeviceState: Sendable {
    package struct Known: Sendable, Hashable {
        package var content: ObjectID
        package var isComplete: Bool
    }

    package var lifecycle: Lifecycle
    /// By name.
    package var versions: [String: Known]
    package var app = AppTraits()
    /// The device's name in gradual rollouts.
    package var device: String?
    /// The place of the embedded version among the origin's releases, if the app gives it.
    package var embeddedOrder: Int64?
}

/// What to do about an offer, and why.
package enum UpdateDecision: Sendable, Hashable {
    /// Nothing: the app already shows it, and the reason.
    case nothing(String)
    /// Nothing: this version is the offered one, complete and pending.
    case waiting(version: String)
    /// Ignore it; the reasons are sentences about the release.
    case refuse([String])
    /// Fetch what is missing.
    case download
    /// It is complete under its name and only needs to become pending.
    case take
    /// The app shows its content under this name; the pending version is no longer offered and must not wait.
    case stay(version: String)

    /// Decides about an offer.
    ///
    /// The origin decides which version is right: even one older than the current version is taken, because publishers
    /// take releases back so. Only the version shipped with the app sets a lower limit.
    package static func decide(
        on release: Release, _ state: DeviceState
    ) throws(StoreError) -> UpdateDecision {
        let version = release.version.description
        let content = try release.contentAddress()
        let lifecycle = state.lifecycle
        // By the content, or by the name if the format does not give the content.
        func isOffered(_ name: String) -> Bool {
            guard let content, let known = state.versions[name] else { return name == version }
            return known.content == content
        }
        if let pending = lifecycle.pending, isOffered(pending) {
            return .waiting(version: pending)
        }
        if let current = lifecycle.current, isOffered(current) {
            // The pending version is no longer offered.
            if lifecycle.pending != nil {
                return current == version ? .take : .stay(version: current)
            }
            return .nothing("version \(current) is current already")
        }
        let reasons = try release.objections(content, state)
        guard reasons.isEmpty else { return .refuse(reasons) }
        guard let known = state.versions[version] else { return .download }
        return known.isComplete ? .take : .download
    }
}

extension Release {
    fileprivate func objections(
        _ content: ObjectID?, _ state: DeviceState
    ) throws(StoreError) -> [String] {
        var reasons = state.app.objections(to: requirements)
        reasons += try audience.objections(device: state.device, state.app)
        let known = state.versions[version.description]
        // Bans are kept by content: the same name with new content is not banned.
        let ban =
            if let content = content ?? known?.content { state.lifecycle.ban(of: content) } else {
                state.lifecycle.bad.first { $0.version == version.description }
            }
        if let ban { reasons.append("it is banned on this device: \(ban.reason)") }
        if let order, let embeddedOrder = state.embeddedOrder, order < embeddedOrder {
            reasons.append("it is older than the embedded version")
        }
        if let known, known.isComplete, let content, known.content != content {
            reasons.append(
                "the store has version \(version) with other content; other content needs another "
                    + "name")
        }
        return reasons
    }

    /// The address of the release's content, by which bans are kept; `nil` if the format does not give the address and
    /// size of every file.
    package func contentAddress() throws(StoreError) -> ObjectID? {
        if let statedContent { return statedContent }
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
