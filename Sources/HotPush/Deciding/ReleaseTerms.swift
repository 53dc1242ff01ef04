import CASStore
package import StrictJSON
package import VersionTree

/// What a release requires and its place among its publisher's releases, kept with the version.
///
/// A member `terms` of the version's manifest: `{"order":7,"scope":"stable","requirements":
/// [{"kind":"compatibility","value":"…"}]}`. An app update reads it: nobody goes back to what the
/// new app cannot run.
package struct ReleaseTerms: Sendable, Hashable {
    /// Orders releases of one origin: a larger one is newer.
    package var order: Int64?
    /// The scope of ``order``: the channel of a castree origin; nil if unknown.
    package var scope: String?
    /// The format that the version came in, if it is not castree's own: its orders are of another kind.
    var family: String?
    /// What an app must satisfy to run it.
    package var requirements: [Requirement] = []
}

extension ReleaseTerms {
    /// The terms of a release.
    package init(of release: Release) {
        self.init(
            order: release.order, scope: release.scope, requirements: release.requirements)
    }

    /// The terms that a version came with; empty for one that was added by hand.
    package init(of manifest: Manifest) {
        let terms = manifest.foreign.first { $0.key == Self.key }?.value
        self.init(
            order: terms?["order"]?.asInt64, scope: terms?["scope"]?.asString,
            requirements: (terms?["requirements"]?.asArray ?? []).compactMap { requirement in
                guard let kind = requirement["kind"]?.asString,
                    let value = requirement["value"]?.asString
                else { return nil }
                return Requirement(
                    kind: kind, value: value, platform: requirement["platform"]?.asString)
            })
        family = manifest.foreign.first { $0.key == "family" }?.value.asString
    }

    /// Whether the version came from a channel of that name of a castree origin.
    func isOf(_ channel: String) -> Bool { family == nil && scope == channel }

    static let key = "terms"

    /// The member of a manifest that keeps them; `nil` if there is nothing to keep.
    package var member: JSONValue.Member? {
        guard order != nil || scope != nil || !requirements.isEmpty else { return nil }
        let list = requirements.map { requirement in
            JSONValue.members([
                "kind": .string(requirement.kind), "value": .string(requirement.value),
                "platform": .text(requirement.platform),
            ])
        }
        let document = JSONValue.members([
            "order": .number(order), "scope": .text(scope),
            "requirements": list.isEmpty ? nil : .array(list),
        ])
        return .init(key: Self.key, value: document)
    }
}

extension VersionStore {
    /// What a release requires, and the app that must meet it: one rule for a ``Pull`` and an
    /// ``UpdateManager``.
    ///
    /// Servers of other systems name a compatibility key for every app, and few apps know their own. Then the
    /// app counts as what the current version required; in a store without one there is nothing to compare
    /// with. A channel of castree's requires only what its publisher wanted: there an app that says nothing
    /// does not meet it.
    ///
    /// - Parameter platform: the app's, if known: requirements for other platforms are left out.
    func demand(
        of release: Release, on app: AppTraits, platform: String?
    ) throws(StoreError) -> (requirements: [Requirement], app: AppTraits) {
        let wanted = release.requirements.filter { $0.concerns(platform: platform) }
        let keys = wanted.filter { $0.kind == Requirement.compatibility }
        guard app.compatibility == nil, !keys.isEmpty, release.family != CastreeFormat().family
        else { return (wanted, app) }
        let kept = try currentManifest().map { ReleaseTerms(of: $0).requirements }
        var app = app
        app.compatibility =
            kept?.first { own in
                own.kind == Requirement.compatibility
                    && keys.contains { own.concerns(platform: $0.platform) }
            }?.value
        guard app.compatibility == nil else { return (wanted, app) }
        return (wanted.filter { $0.kind != Requirement.compatibility }, app)
    }

    /// The manifest of the current version; `nil` if there is none, or it cannot be read.
    func currentManifest() throws(StoreError) -> Manifest? {
        guard let current = try lifecycle().current else { return nil }
        return try readableManifest(of: current)
    }
}
