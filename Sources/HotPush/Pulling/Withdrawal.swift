package import CASStore
package import StrictJSON
package import VersionTree

/// A pending version that its channel no longer lists, because its publisher has withdrawn it.
///
/// A replaced release is still listed and may be shown: its replacement may be banned here, or not for this device.
package struct Withdrawal: Sendable, Hashable {
    let version: String
    /// The channel, as sequences are noted, and the sequence that withdraws the version.
    let key: String
    let sequence: Int64

    fileprivate init(_ version: String, by sighting: SeenSequences.Sighting) {
        self.version = version
        key = sighting.key
        sequence = sighting.sequence
    }

    package func write(to writer: inout JSONWriter) {
        writer.member("version", version)
        writer.member("key", key)
        writer.member("sequence", sequence)
    }
}

extension VersionStore {
    /// The withdrawal of the pending version by its own channel; `nil` if there is none.
    func withdrawal(by sighting: SeenSequences.Sighting) throws(StoreError) -> Withdrawal? {
        let lifecycle = try lifecycle()
        // While nothing is current, the pending version is all that there is to show.
        guard lifecycle.current != nil, let pending = lifecycle.pending,
            let content = try content(of: pending), !sighting.listed.contains(content),
            let manifest = try readableManifest(of: pending)
        else { return nil }
        guard ReleaseTerms(of: manifest).isOf(sighting.channel) else { return nil }
        return Withdrawal(pending, by: sighting)
    }

    /// Unsets a withdrawn pending version, unless another one is pending by now; returns whether it did.
    ///
    /// Notes the sequence, so that an older copy of the pointer does not bring it back.
    package func obey(
        _ withdrawal: Withdrawal, now: @escaping @Sendable () -> Int64 = { secondsNow() }
    ) throws(StoreError) -> Bool {
        // If the current version is unfit to return to, the pending one is still better.
        let hasWaited = try allowing(
            [.bannedVersion, .incompleteVersion],
            // Also on a full disk, where this may make room for the new offer.
            try store.withReserve { () throws(StoreError) in
                try takeBack(pending: withdrawal.version)
            })
        guard hasWaited == true else { return false }
        do throws(StoreError) {
            let bound = SequenceBound(self, now: now)
            try SeenSequences(self, bound: bound).note(
                withdrawal.key, withdrawal.sequence, isLowering: false)
        } catch {
            // At worst one old copy of the pointer is accepted.
            Journal(self).record(error, during: "check")
        }
        return true
    }
}
