import HotPush

/// What a client is told, before anything is looked up.
package enum CodePushDecision {
    /// A release, and whether it must be installed at once.
    case update(ClientChannel.Live, isMandatory: Bool)
    /// Nothing to fetch: whether the app is to run what it was shipped with, which range of app versions the newest
    /// release has if the client's is another, and whether a newer app would do.
    case nothing(runsBinary: Bool, range: String, asksForNewerApp: Bool)

    /// Decides: the newest release that is for this client, unless it has that package already.
    ///
    /// A release is mandatory also if one is that the client skips: newer than what it runs, and for it.
    package static func decide(_ check: CodePushCheck, in channel: ClientChannel) -> Self {
        let current = check.sequence(in: channel.past)
        var newest: CodePushTerms?
        var fitting: ClientChannel.Live?
        var isMandatory = false
        for live in channel.live {
            guard let terms = CodePushTerms(live.release.requirements),
                CodePushRollout.selects(
                    check.client, live.release.rollout, label: live.offer.label ?? "")
            else { continue }
            newest = newest ?? terms
            guard check.isCompanion || terms.admit(check.version) else { continue }
            fitting = fitting ?? live
            // What is older than the client's own was not skipped.
            if let current, live.offer.sequence <= current { break }
            if live.release.isMandatory {
                isMandatory = true
                break
            }
        }
        let runsBinary = fitting?.offer.version == nil
        guard let fitting, !runsBinary, fitting.offer.packageHash != check.packageHash else {
            let advice =
                fitting?.release.target == .embedded ? nil : newest?.advice(to: check.version)
            return .nothing(
                runsBinary: runsBinary, range: advice?.range ?? "",
                asksForNewerApp: advice?.asksForNewerApp ?? false)
        }
        return .update(fitting, isMandatory: isMandatory || fitting.release.isMandatory)
    }
}

extension CodePushCheck {
    /// The place of what the client runs among all offers: by its label, else by its hash, which may have been offered
    /// more than once; `nil` if it runs none of them.
    fileprivate func sequence(in past: [ClientOffer]) -> Int64? {
        let own = past.filter { offer in
            if let label { return offer.label == label }
            if let packageHash { return offer.packageHash == packageHash }
            return false
        }
        return own.map(\.sequence).max()
    }
}
