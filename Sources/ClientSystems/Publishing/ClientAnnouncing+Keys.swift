import CASStore
import HotPush
import Origin

// Apps know one key, so what was signed for them once must be signed by it again.

extension ClientAnnouncing {
    /// Why an offer may not follow a history: it would not be signed, or by another key than that of the clients' last
    /// offer, the only one they know; `nil` if it may.
    func keyObjection(
        _ rules: any ClientFeed.Type, _ history: ClientHistory, _ clients: ClientLog
    ) throws(StoreError) -> StoreError? {
        let system = rules.system.rawValue
        guard let signer = signers[rules.system] else {
            // Content that was shipped with the app is not signed.
            let last = history.offers.last { $0.isSigned || $0.version != nil }
            guard last?.isSigned == true else { return nil }
            return StoreError(
                .signingFailed,
                "what the clients of \(system) were offered last was signed: sign this, too, with --client-key "
                    + "\(system)=FILE or --client-sign-command \(system)=COMMAND; if nobody here has ever signed for them, "
                    + "a stranger wrote that: say --adopt")
        }
        guard !adoptsKeys, let last = history.offers.last(where: \.isSigned) else { return nil }
        let isSame = try rules.isSigned(last, by: signer) { (document) throws(StoreError) in
            try clients.bytes(of: document, rules.system)
        }
        guard isSame == false else { return nil }
        return StoreError(
            .signingFailed,
            "what the clients of \(system) were offered last was signed by another key, and apps that know that one "
                + "refuse this: name that key, or say --adopt if all apps know the new one")
    }

    /// A history without the newest offers, if those alone forbid continuing and a stranger may have made them up;
    /// `nil` if it stands as it is.
    ///
    /// No entry with them has a pointer that a trusted key has signed.
    func unforged(
        _ history: ClientHistory, _ rules: any ClientFeed.Type, _ clients: ClientLog
    ) throws(StoreError) -> ClientHistory? {
        guard var proved = try clients.provedHistory(of: history.channel, rules.system),
            try keyObjection(rules, history, clients) != nil,
            try keyObjection(rules, proved, clients) == nil
        else { return nil }
        // Labels of theirs may be known.
        proved.labelCount = max(proved.labelCount, history.labelCount)
        clients.notice(
            "somebody without a key trusted here has added signed offers to what the clients of \(rules.system.rawValue) were "
                + "told of channel \(history.channel): they are passed over, and what the keys have signed before is built upon"
        )
        return proved
    }
}
