import CASStore
import Storage
import VersionTree

// What a publisher that signs was kept from finishing.

extension OriginPublisher {
    /// Commits what a command has signed that was cut short: see ``SignedSequences``.
    ///
    /// Devices may have seen it, whatever the log says now: who can write to the origin can delete an entry. All that
    /// it names was stored before it was signed, and no prune has deleted any of it if none came since. If one came, it
    /// stands in the log where the commit would be, or after another one that does: then the commit never was, and a release
    /// that only it offers is left to whoever wants it.
    /// - Parameter only: the channel; `nil` for all of them.
    /// - Returns: the state after that.
    /// - Throws: `.untrusted` if not all who have signed it sign now; what committing throws.
    func finishing(
        _ only: ChannelName?, upon state: OriginState, _ log: OriginLog
    ) throws(StoreError) -> OriginState {
        let (sealing, place) = (options.sealing, storage.identity)
        guard sealing.isSigning else { return state }
        var state = state
        for channel in try sealing.unfinished(at: place, upon: state.pointers).map(\.channel)
        where only == nil || only == channel {
            state = try committing(
                to: channel, upon: state, log, isSealed: true, isFinished: true
            ) {
                (state: inout OriginState) throws(StoreError) -> (ChannelPointer, LogEntry.Kind)? in
                // Somebody else may have done it meanwhile, or have gone on.
                let unfinished = try sealing.unfinished(at: place, upon: state.pointers)
                guard let pointer = unfinished.first(where: { $0.channel == channel }) else {
                    return nil
                }
                return try finished(pointer, upon: state).map { ($0, .resign) }
            }.state
        }
        return state
    }

    /// What such a pointer becomes in the next entry: its signatures are of the entry that it was to stand in.
    private func finished(
        _ pointer: ChannelPointer, upon state: OriginState
    ) throws(StoreError) -> ChannelPointer? {
        // By the keys that have signed it: in a rotation others sign, too.
        var sealing = options.sealing
        func said(_ rest: String) -> String {
            PointerSealing.unfinished(pointer, at: storage.identity, rest)
        }
        let ids = Set(pointer.signatures.map(\.key))
        sealing.signers = sealing.signers.filter { ids.contains($0.key.id) }
        if state.entry.prunedAt >= pointer.log ?? 0 {
            let offered = Set(state.pointers.values.flatMap(\.liveReleases))
            guard pointer.liveReleases.allSatisfy(offered.contains) else {
                options.notice(
                    said(
                        "somebody has pruned since, so the release is not offered; if it is wanted, publish it again"
                    ))
                return nil
            }
        }
        guard sealing.signers.count == ids.count, let origin = pointer.origin else {
            throw .untrusted(
                said(
                    "it cannot be finished, since not all of "
                        + "\(pointer.signatures.map(\.key).joined(separator: ", ")) sign now; look at what is offered (castree "
                        + "channels), build upon that with castree resign --adopt, and repeat the command that was cut short"
                ))
        }
        options.notice(said("devices may have seen it, so it is written first"))
        var next = pointer.renewed(now: now())
        try sealing.raise(&next, in: origin)
        next.log = state.number + 1
        return try sealing.sign(next, now: now())
    }
}

extension OriginState {
    /// Whether what an earlier command had left was this very withdrawal: no other command is needed.
    /// - Parameter before: what stood before that was finished.
    func hasFinished(
        withdrawing version: VersionName, from channel: ChannelName, _ toEmbedded: Bool,
        upon before: OriginState
    ) -> Bool {
        func offers(_ pointer: ChannelPointer) -> Bool {
            pointer.releases.contains { $0.version?.name == version }
        }
        guard number > before.number, let old = before.pointers[channel],
            let new = pointers[channel]
        else { return false }
        return offers(old) && !offers(new)
            && (!toEmbedded || new.releases.first?.target == .embedded)
    }
}
