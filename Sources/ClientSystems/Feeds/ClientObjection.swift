import HotPush
import Platform
import VersionTree

/// A reason why a system's clients cannot be told of a release, or only of part of it.
package struct ClientObjection: Sendable, Hashable {
    package var refuses: Bool
    /// The reason, and what to do.
    package var message: String
}

extension [ClientObjection] {
    mutating func refuse(_ message: String) {
        append(ClientObjection(refuses: true, message: message))
    }

    mutating func warn(_ message: String) {
        append(ClientObjection(refuses: false, message: message))
    }

    /// Warns if no channel has a deployment.
    mutating func warnUnlessAsked(_ configuration: ClientConfiguration) {
        guard configuration.deployments.isEmpty else { return }
        warn(
            "no client of \(configuration.system.rawValue) asks for any channel: name the deployments, with castree "
                + "origin enable ORIGIN \(configuration.system.rawValue) --deployment NAME=CHANNEL")
    }

    /// Warns if every version of an app gets the release, even one whose native code does not fit.
    /// - Parameter kinds: the requirements of which any one prevents that.
    mutating func warnUnless(
        _ release: ClientRelease, requires kinds: [String], _ clients: String, example: String
    ) {
        let requirements = release.release.requirements
        guard release.content != nil, !requirements.contains(where: { kinds.contains($0.kind) })
        else { return }
        warn(
            "without --require every version of the app gets it from \(clients), also those that were built before "
                + "it, or ship with something newer: name the apps that it runs in, as in --require \(example)"
        )
    }

    /// Refuses a release that requires something clients never report: no device would get it.
    /// - Parameters:
    ///   - kinds: the kinds of requirements that they can meet.
    ///   - clients: what they report, as the beginning of a sentence.
    ///   - remedy: what to require.
    mutating func refuseUnsayable(
        in release: ClientRelease, besides kinds: [String], _ clients: String, _ remedy: String
    ) {
        let unsayable = release.release.requirements.filter { !kinds.contains($0.kind) }
        guard !unsayable.isEmpty else { return }
        refuse(
            "\(clients), so nobody would get what requires \(unsayable.listed): require \(remedy)")
    }

    mutating func warnIfMandatory(
        _ release: ClientRelease, _ clients: String, _ decision: String
    ) {
        guard release.release.isMandatory else { return }
        warn("\(clients) know nothing mandatory: \(decision)")
    }

    mutating func refuseUnlessArchived(
        _ archive: () throws(StoreError) -> Void
    ) throws(StoreError) {
        do throws(StoreError) {
            try archive()
        } catch {
            guard error.code == .unsupported else { throw error }
            refuse(error.message)
        }
    }

    mutating func warn(ofExecutablesIn manifest: Manifest, _ clients: String) {
        let executables = manifest.entries.lazy.filter(\.isExecutable)
        guard let first = executables.first.map({ printable($0.path.description) }) else { return }
        let count = executables.count
        warn(
            "\(clients) drop the executable bit of "
                + (count == 1 ? first : "\(count) files, \(first) first"))
    }

    /// Refuses a release for some clients only, where all get the same answer.
    /// - Parameters:
    ///   - clients: their name at the beginning of a sentence.
    ///   - kinds: the kinds of requirements that clients check themselves.
    mutating func refuseChoice(
        in release: ClientRelease, _ clients: String, besides kinds: [String]
    ) {
        if let rollout = release.release.rollout, rollout.perMille < 1000 {
            refuse(
                "\(clients) say nothing of themselves, so a release is for all or for none: publish it again without "
                    + "--rollout when it is for all")
        }
        refuseUnsayable(
            in: release, besides: kinds, "\(clients) say nothing of themselves",
            "\(kinds.joined(separator: ", ")) alone")
        if release.content == nil {
            refuse(
                "\(clients) cannot be told to go back to the embedded version: publish a version with the same "
                    + "files")
        }
    }
}
