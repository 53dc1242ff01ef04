import HotPush
package import Platform
package import VersionTree

// What several systems cannot be told.

extension ClientObjection {
    /// What to say if no client asks for any channel; empty if some may.
    package static func unlessAsked(_ configuration: ClientConfiguration) -> [ClientObjection] {
        guard configuration.deployments.isEmpty else { return [] }
        return [
            ClientObjection(
                refuses: false,
                "no client of \(configuration.system.rawValue) asks for any channel: name the deployments, with castree "
                    + "origin enable ORIGIN \(configuration.system.rawValue) --deployment NAME=CHANNEL"
            )
        ]
    }

    /// What to say of a release that every version of an app gets, also one whose native code knows nothing of it; empty
    /// if it requires one of the kinds.
    package static func unlessRequiring(
        _ kinds: [String], _ release: ClientRelease, _ clients: String, example: String
    ) -> [ClientObjection] {
        let requirements = release.release.requirements
        guard release.content != nil, !requirements.contains(where: { kinds.contains($0.kind) })
        else { return [] }
        return [
            ClientObjection(
                refuses: false,
                "without --require every version of the app gets it from \(clients), also those that were built before "
                    + "it, or ship with something newer: name the apps that it runs in, as in --require \(example)"
            )
        ]
    }

    /// What to say of the largest archive that clients unpack; empty if it is not exceeded.
    package static func unlessArchived(
        _ archive: () throws(StoreError) -> Void
    ) throws(StoreError) -> [ClientObjection] {
        do throws(StoreError) {
            try archive()
            return []
        } catch {
            guard error.code == .unsupported else { throw error }
            return [ClientObjection(refuses: true, error.message)]
        }
    }

    /// What to say of files with the executable bit, which is lost on the way; `nil` if there are none.
    package static func ofExecutables(_ manifest: Manifest, _ clients: String) -> ClientObjection? {
        let executables = manifest.entries.lazy.filter(\.isExecutable)
        guard let first = executables.first else { return nil }
        let count = executables.count
        return ClientObjection(
            refuses: false,
            count == 1
                ? "\(clients) drop the executable bit of \(printable(first.path.description))"
                : "\(clients) drop the executable bit of \(count) files, \(printable(first.path.description)) first"
        )
    }
}
