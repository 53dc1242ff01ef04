import CASStore
import VersionTree

/// What a release asks of an app, and the app that it is asked of: one rule for a ``Pull`` and an
/// ``UpdateManager``.
///
/// Servers of other systems name a compatibility key for every app, and few apps know their own. What the
/// current version asked for is what the app is, then; in a store that has none there is nothing to
/// compare with. A channel of castree's asks only what its publisher wished: there an app that says
/// nothing does not fulfil it.
struct ReleaseDemand {
    /// What is asked.
    let requirements: [Requirement]
    /// Of whom.
    let app: AppTraits

    /// - Parameters:
    ///   - app: what the app says of itself.
    ///   - platform: the app's, if it is known: what concerns others is not asked.
    ///   - versions: where the current version is.
    init(
        of release: Release, app: AppTraits, platform: String?, in versions: VersionStore
    ) throws(StoreError) {
        let wanted = release.requirements.filter { $0.concerns(platform: platform) }
        let keys = wanted.filter { $0.kind == Requirement.compatibility }
        guard app.compatibility == nil, !keys.isEmpty,
            release.family != CastreeFormat().family
        else {
            (requirements, self.app) = (wanted, app)
            return
        }
        var app = app
        app.compatibility = try Self.keptKey(like: keys, in: versions)
        requirements =
            app.compatibility == nil
            ? wanted.filter { $0.kind != Requirement.compatibility } : wanted
        self.app = app
    }

    /// The key that the current version came with, for one of the platforms of those that are asked for.
    private static func keptKey(
        like keys: [Requirement], in versions: VersionStore
    ) throws(StoreError) -> String? {
        guard let current = try versions.lifecycle().current,
            let manifest = try versions.readableManifest(of: current)
        else { return nil }
        let kept = ReleaseTerms(of: manifest).requirements
        return kept.first { own in
            own.kind == Requirement.compatibility
                && keys.contains { own.concerns(platform: $0.platform) }
        }?.value
    }
}
