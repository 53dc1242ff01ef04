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

    /// The name of the member.
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
