import CASStore
package import StrictJSON
package import VersionTree

/// A release's requirements and its place among its publisher's releases, kept with the version.
///
/// A member `terms` of the version's manifest:
/// `{"order":7,"scope":"stable","requirements": [{"kind":"compatibility","value":"…"}]}`. After an app update it
/// prevents a rollback to a version that the new app cannot run.
package struct ReleaseTerms: Sendable, Hashable {
    /// Orders releases of one origin: a larger one is newer.
    package var order: Int64?
    /// The scope of ``order``: the channel of a castree origin; nil if unknown.
    package var scope: String?
    /// The version's format, if it is not castree's own: its orders are not comparable with castree's.
    var family: String?
    package var requirements: [Requirement] = []
}

extension ReleaseTerms {
    package init(of release: Release) {
        self.init(order: release.order, scope: release.scope, requirements: release.requirements)
    }

    /// Empty for a version that was added by hand.
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
    /// A release's requirements, and the app that must meet them: one rule for a ``Pull`` and an ``UpdateManager``.
    ///
    /// Servers of other systems name a compatibility key for every app, and few apps know their own. Such an app counts
    /// as what the current version required; without a current version nothing is compared. castree's channels state
    /// only what their publisher wants, so there an app without a key does not meet it.
    /// - Parameter platform: the app's, if known; requirements for other platforms are omitted.
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

    /// `nil` if there is none, or it cannot be read.
    func currentManifest() throws(StoreError) -> Manifest? {
        guard let current = try lifecycle().current else { return nil }
        return try readableManifest(of: current)
    }
}
