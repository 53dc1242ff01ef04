import HotPush
import Platform
import VersionTree

/// A reason why a system's clients cannot be told of a release, or not of all of it.
package struct ClientObjection: Sendable, Hashable {
    /// Whether the release is not offered to this system; otherwise its clients miss something.
    package var refuses: Bool
    /// The reason, and what to do.
    package var message: String
}

// The objections of several systems.

extension [ClientObjection] {
    /// Adds a reason that refuses the release.
    mutating func refuse(_ message: String) {
        append(ClientObjection(refuses: true, message: message))
    }

    /// Adds a reason that the publisher hears of, and that refuses nothing.
    mutating func warn(_ message: String) {
        append(ClientObjection(refuses: false, message: message))
    }

    /// Warns if no client asks for any channel.
    mutating func warnUnlessAsked(_ configuration: ClientConfiguration) {
        guard configuration.deployments.isEmpty else { return }
        warn(
            "no client of \(configuration.system.rawValue) asks for any channel: name the deployments, with castree "
                + "origin enable ORIGIN \(configuration.system.rawValue) --deployment NAME=CHANNEL")
    }

    /// Warns if every version of an app gets the release, even one whose native code does not fit.
    /// - Parameter kinds: the requirements of which one prevents that.
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

    /// Refuses a release that requires what clients never say: nobody would get it.
    ///
    /// - Parameters:
    ///   - kinds: the kinds of requirements that they can meet.
    ///   - clients: what they say, as the beginning of a sentence.
    ///   - remedy: what to require.
    mutating func refuseUnsayable(
        in release: ClientRelease, besides kinds: [String], _ clients: String, _ remedy: String
    ) {
        let unsayable = release.release.requirements.filter { !kinds.contains($0.kind) }
        guard !unsayable.isEmpty else { return }
        refuse(
            "\(clients), so nobody would get what requires \(unsayable.listed): require \(remedy)")
    }

    /// Warns that clients know nothing mandatory, and says who decides.
    mutating func warnIfMandatory(
        _ release: ClientRelease, _ clients: String, _ decision: String
    ) {
        guard release.release.isMandatory else { return }
        warn("\(clients) know nothing mandatory: \(decision)")
    }

    /// Refuses a release whose archive is beyond the limits of zip.
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

    /// Warns if files lose their executable bit on the way.
    mutating func warn(ofExecutablesIn manifest: Manifest, _ clients: String) {
        let executables = manifest.entries.lazy.filter(\.isExecutable)
        guard let first = executables.first.map({ printable($0.path.description) }) else { return }
        let count = executables.count
        warn(
            "\(clients) drop the executable bit of "
                + (count == 1 ? first : "\(count) files, \(first) first"))
    }

    /// Refuses a release that is for some clients only, where all get the same answer.
    ///
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
