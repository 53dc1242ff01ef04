import CASStore
package import StrictJSON
import VersionTree

/// A channel that offers nothing any more, and the sequence at which it says so.
package struct EmptiedChannel: Sendable, Hashable {
    let sighting: SeenSequences.Sighting

    /// `nil` if the pointer offers something.
    init?(_ sighting: SeenSequences.Sighting?) {
        guard let sighting, sighting.emptyChannel != nil else { return nil }
        self.sighting = sighting
    }

    /// Reads what ``write(to:)`` has written; `nil` for anything else.
    init?(_ document: JSONValue) {
        guard let name = document["channel"]?.asString, let key = document["key"]?.asString,
            let sequence = document["sequence"]?.asInt64,
            // What is no channel was not written by a pull.
            let channel = try? ChannelName(name)
        else { return nil }
        sighting = SeenSequences.Sighting(key: key, sequence: sequence, emptyChannel: channel)
    }

    /// Writes it for the process that decides.
    package func write(to writer: inout JSONWriter) {
        writer.member("channel", sighting.emptyChannel?.description)
        writer.member("key", sighting.key)
        writer.member("sequence", sighting.sequence)
    }
}

extension VersionStore {
    /// Takes back what waits if its channel offers nothing any more.
    ///
    /// - Returns: whether a version of the channel waited, and now does not.
    func takeBackWaiting(_ sighting: SeenSequences.Sighting) throws(StoreError) -> Bool {
        guard let channel = sighting.emptyChannel else { return false }
        let lifecycle = try lifecycle()
        // While nothing is current, what waits is all that there is to show.
        guard let current = lifecycle.current, let pending = lifecycle.pending else { return false }
        guard let manifest = try readableManifest(of: pending) else { return false }
        let terms = ReleaseTerms(of: manifest)
        guard terms.family == nil, terms.scope == channel.description else { return false }
        do throws(StoreError) {
            try activateAtNextBoot(current)
        } catch {
            // Nobody would go back to that one: what waits is still better.
            guard error.code == .bannedVersion || error.code == .incompleteVersion else {
                throw error
            }
            return false
        }
        return true
    }
}
