import CASStore
import VersionTree

/// What a release requires, and the app that must meet it: one rule for a ``Pull`` and an
/// ``UpdateManager``.
///
/// Servers of other systems name a compatibility key for every app, and few apps know their own. Then the
/// app counts as what the current version required; in a store without one there is nothing to compare
/// with. A channel of castree's requires only what its publisher wanted: there an app that says nothing
/// does not meet it.
struct ReleaseDemand {
    /// What is required.
    let requirements: [Requirement]
    /// The app that must meet it.
    let app: AppTraits

    /// - Parameters:
    ///   - app: what the app says of itself.
    ///   - platform: the app's, if known: requirements for other platforms are left out.
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

    /// The key that the current version came with, for one of the platforms of the required keys.
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
