import HotPush

/// The decision about a check, made before anything is looked up.
enum CodePushDecision {
    case update(ClientChannel.Live, isMandatory: Bool)
    /// Nothing to fetch. `range` is the newest release's range of app versions, if the client's is outside it.
    case nothing(runsBinary: Bool, range: String, asksForNewerApp: Bool)

    /// Decides as CodePush's server does: the newest release for this app, unless the client already has that
    /// package.
    ///
    /// Roll-outs only withhold new releases; they never take one back. A client that the newest roll-out does not
    /// select gets the newest release that selects it, or that it already has.
    static func decide(_ check: CodePushCheck, in channel: ClientChannel) -> Self {
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

    /// A release is also mandatory if the client skips a mandatory one that is newer than its own and for its app.
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
            // Releases older than the client's own were not skipped.
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
    /// The sequence of the client's release among all offers, found by its label, else by its hash, which may have
    /// been offered more than once; `nil` if none matches.
    fileprivate func sequence(in past: [ClientOffer]) -> Int64? {
        let own = past.filter { offer in
            if let label { return offer.label == label }
            if let packageHash { return offer.packageHash == packageHash }
            return false
        }
        return own.map(\.sequence).max()
    }
}
