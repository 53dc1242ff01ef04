import HotPush

/// What a client is told, before anything is looked up.
package enum CodePushDecision {
    /// A release, and whether it must be installed at once.
    case update(ClientChannel.Live, isMandatory: Bool)
    /// Nothing to fetch: whether the app is to run what it was shipped with, which range of app versions the newest
    /// release has if the client's is another, and whether a newer app would do.
    case nothing(runsBinary: Bool, range: String, asksForNewerApp: Bool)

    /// Decides as CodePush's server: the newest release for this app, unless the client has that package already.
    ///
    /// A roll-out is asked about only where it would bring something new: so it takes nothing back from who has it. Whom it
    /// does not choose gets the newest release that is for it, or that it has.
    package static func decide(_ check: CodePushCheck, in channel: ClientChannel) -> Self {
        let decision = decide(check, among: channel.live, in: channel)
        guard case .update(let live, _) = decision, !isFor(check, live) else { return decision }
        return decide(
            check, among: channel.live.filter { isFor(check, $0) || has(check, $0) }, in: channel)
    }

    private static func isFor(_ check: CodePushCheck, _ live: ClientChannel.Live) -> Bool {
        CodePushRollout.selects(check.client, live.release.rollout, label: live.offer.label ?? "")
    }

    private static func has(_ check: CodePushCheck, _ live: ClientChannel.Live) -> Bool {
        check.packageHash != nil && check.packageHash == live.offer.packageHash
    }

    /// A release is mandatory also if one is that the client skips: newer than what it runs, and for its app.
    private static func decide(
        _ check: CodePushCheck, among releases: [ClientChannel.Live], in channel: ClientChannel
    ) -> Self {
        let current = check.sequence(in: channel.past)
        var newest: CodePushTerms?
        var fitting: ClientChannel.Live?
        var isMandatory = false
        for live in releases {
            guard let terms = CodePushTerms(live.release.requirements) else { continue }
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
        guard let fitting, !runsBinary, !has(check, fitting) else {
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
