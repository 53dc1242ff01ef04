package import CASStore
package import StrictJSON
package import VersionTree

/// A version that waits although its channel no longer lists it: its publisher has taken it back.
///
/// A release that another one has replaced is still listed, so it is not taken back: where the other one is banned on
/// this device, or not for it, what waits may be shown.
package struct Withdrawal: Sendable, Hashable {
    /// What waits.
    let version: String
    /// The channel, as sequences are noted, and the sequence at which it says so.
    let key: String
    let sequence: Int64

    fileprivate init(_ version: String, by sighting: SeenSequences.Sighting) {
        self.version = version
        key = sighting.key
        sequence = sighting.sequence
    }

    /// Reads what ``write(to:)`` has written; `nil` for anything else.
    package init?(_ document: JSONValue) {
        guard let version = document["version"]?.asString, let key = document["key"]?.asString,
            let sequence = document["sequence"]?.asInt64
        else { return nil }
        self.version = version
        self.key = key
        self.sequence = sequence
    }

    /// Writes it for the process that decides.
    package func write(to writer: inout JSONWriter) {
        writer.member("version", version)
        writer.member("key", key)
        writer.member("sequence", sequence)
    }
}

extension VersionStore {
    /// What waits here and is no longer listed by the channel that it came from; `nil` if there is nothing of the kind.
    func withdrawal(by sighting: SeenSequences.Sighting) throws(StoreError) -> Withdrawal? {
        let lifecycle = try lifecycle()
        // While nothing is current, what waits is all that there is to show.
        guard lifecycle.current != nil, let pending = lifecycle.pending,
            let content = try content(of: pending), !sighting.listed.contains(content),
            let manifest = try readableManifest(of: pending)
        else { return nil }
        guard ReleaseTerms(of: manifest).isOf(sighting.channel) else { return nil }
        return Withdrawal(pending, by: sighting)
    }

    /// Lets a version that was taken back wait no longer, unless another one waits by now.
    ///
    /// An older copy of the pointer does not bring it back: the sequence is noted.
    /// - Returns: whether it waited, and now does not.
    package func obey(
        _ withdrawal: Withdrawal, now: @escaping @Sendable () -> Int64 = { secondsNow() }
    ) throws(StoreError) -> Bool {
        // If nobody would go back to what is current, what waits is still better.
        let hasWaited = try allowing(.bannedVersion, .incompleteVersion) { () throws(StoreError) in
            // Also on a full disk, where what is offered instead may make room.
            try store.withReserve { () throws(StoreError) in
                try takeBack(pending: withdrawal.version)
            }
        }
        guard hasWaited == true else { return false }
        do throws(StoreError) {
            let bound = SequenceBound(self, now: now)
            try SeenSequences(self, bound: bound).note(
                withdrawal.key, withdrawal.sequence, isLowering: false)
        } catch {
            // At worst an old copy of the pointer gets through once.
            Journal(self).record(error, during: "check")
        }
        return true
    }
}
