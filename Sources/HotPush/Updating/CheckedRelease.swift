package import CASStore
package import StrictJSON
package import VersionTree

/// What another process has found at an origin and fetched, without a change of the lifecycle: the
/// result of `castree pull --keep --json`.
package struct CheckedRelease: Sendable, Hashable {
    /// The version in the store, which is complete; `nil` if nothing is for this device.
    package var version: String?
    /// Whether its publisher says that the app must not go on without it.
    package var isMandatory = false
    /// Why nothing is for this device.
    package var reasons: [String] = []
    /// Whether something waited, was taken back, and now waits no longer.
    package var hasTakenBack = false

    /// Whether the origin's answer was an older one than has been seen: it says nothing of what is offered now.
    package var isOlderCopy = false
    /// Whether what is offered is banned here.
    package var isBanned = false

    package init(version: String?, isMandatory: Bool = false, reasons: [String] = []) {
        self.version = version
        self.isMandatory = isMandatory
        self.reasons = reasons
    }

    /// Reads the result of a pull; `nil` for another document.
    package init?(_ document: JSONValue) {
        guard let members = document.asObject, members.contains(where: { $0.key == "version" })
        else { return nil }
        self.init(
            version: document["version"]?.asString,
            isMandatory: document["mandatory"]?.asBool ?? false,
            reasons: (document["reasons"]?.asArray ?? []).compactMap(\.asString))
    }
}

/// Why nothing followed from a check.
package struct CheckReason: Sendable, Hashable {
    /// What it is, for programs.
    package enum Code: String, Sendable, Hashable {
        /// What is offered is shown already.
        case current
        /// The origin offers nothing.
        case nothingNew
        /// The origin has taken back what waited.
        case takenBack
        /// What is offered is banned here.
        case banned
        /// What is offered is for other devices or apps.
        case passedOver
        /// The origin's answer is older than one that was obeyed.
        case olderCopy
    }

    /// What it is, for programs.
    package var code: Code
    /// The same for people.
    package var sentence: String

    static let takenBack = CheckReason(
        code: .takenBack, sentence: "the origin has taken back what waited")

    package static func current(_ version: String) -> CheckReason {
        CheckReason(code: .current, sentence: "version \(version) is current already")
    }
}

extension CheckedRelease {
    /// What it means that a check has found no version.
    package var withoutVersion: ObeyedRelease {
        guard !reasons.isEmpty else {
            if hasTakenBack { return .upToDate(.takenBack) }
            let code: CheckReason.Code = isOlderCopy ? .olderCopy : .nothingNew
            return .upToDate(CheckReason(code: code, sentence: "the origin has nothing new"))
        }
        let code: CheckReason.Code =
            isBanned ? .banned : isOlderCopy ? .olderCopy : .passedOver
        let refusals = reasons.map { CheckReason(code: code, sentence: $0) }
        return .refused(refusals + (hasTakenBack ? [.takenBack] : []))
    }
}

/// What followed from a check.
package enum ObeyedRelease: Sendable, Hashable {
    /// There was nothing to do, and why.
    case upToDate(CheckReason)
    /// What is offered is not for this device, for these reasons.
    case refused([CheckReason])
    /// A version is complete and waits for its turn.
    case ready(version: String, isForced: Bool)
}

extension VersionStore {
    /// Makes what a check has brought the next version to be shown.
    ///
    /// What an ``UpdateManager`` does with what it has fetched itself. A mandatory release does not wait until
    /// the start of the current version is confirmed: it becomes current at once, and the next page starts it.
    package func obey(_ checked: CheckedRelease) throws(StoreError) -> ObeyedRelease {
        guard let version = checked.version else {
            if !checked.isOlderCopy, !checked.isBanned {
                try settleOwed(lifecycle(), offersNothing: true)
            }
            return checked.withoutVersion
        }
        do throws(StoreError) {
            return try obey(version, isMandatory: checked.isMandatory)
        } catch {
            guard error.code == .bannedVersion else { throw error }
            // It is here and banned: the origin goes on offering it.
            var refused = checked
            (refused.version, refused.reasons) = (nil, [error.message])
            refused.isBanned = true
            return refused.withoutVersion
        }
    }

    private func obey(
        _ version: String, isMandatory: Bool
    ) throws(StoreError) -> ObeyedRelease {
        let before = try lifecycle()
        // An earlier release had to be shown and was not: its replacement must be, too.
        let isOwed = try owedVersion != nil
        let isForced = isMandatory || isOwed
        if before.current == version || before.pending == version {
            guard before.pending == version else {
                // What waits was offered before and is no longer offered.
                if before.pending != nil { _ = try putNext(version) }
                try settleOwed(lifecycle(), offersNothing: true)
                return .upToDate(.current(version))
            }
            if isForced { try owe(version) }
        } else {
            // First what is owed: whoever sees the pending version knows at once that it must be shown.
            if isForced { try owe(version) }
            guard try putNext(version) else {
                try owe(nil)
                return .upToDate(.current(version))
            }
        }
        if isForced, before.unconfirmed != nil, !before.isResting(version) {
            // Left before it could prove itself: neither good nor bad.
            try activate(version)
        }
        return .ready(version: version, isForced: isForced)
    }

    /// Whether the version that waits, or a current one that has not been started yet, must be shown at once.
    package func isForced(_ lifecycle: Lifecycle) throws(StoreError) -> Bool {
        guard let owed = try owedVersion else { return false }
        return owed == lifecycle.pending || lifecycle.isUnshown(owed)
    }

    /// Notes that a version which now waits must be shown before the app goes on, if so.
    ///
    /// - Returns: whether it must: it is mandatory, or replaces one that was and was never shown.
    package func noteForced(
        _ version: String, isMandatory: Bool
    ) throws(StoreError) -> Bool {
        let isOwed = try owedVersion != nil
        guard isMandatory || isOwed else { return false }
        try owe(version)
        return true
    }

    /// The app starts: it does not go on with a version that nobody has confirmed where a mandatory one waits.
    ///
    /// - Returns: the version that must be shown, if there is one.
    package func prepareForced() throws(StoreError) -> String? {
        let lifecycle = try lifecycle()
        guard try isForced(lifecycle), let owed = try owedVersion else {
            return nil
        }
        if owed == lifecycle.pending, lifecycle.unconfirmed != nil, !lifecycle.isResting(owed) {
            // Left before it could prove itself: neither good nor bad.
            try activate(owed)
        }
        return owed
    }

    /// Owes a version no longer that has been shown.
    ///
    /// - Parameter offersNothing: whether the origin has nothing but what is current: then nothing takes the place of a version
    ///   that waits no longer.
    package func settleOwed(
        _ lifecycle: Lifecycle, offersNothing: Bool = false
    ) throws(StoreError) {
        guard let version = try owedVersion, !lifecycle.isUnshown(version) else { return }
        if version == lifecycle.current || offersNothing && version != lifecycle.pending {
            try owe(nil)
        }
    }
}

extension Lifecycle {
    /// Whether a version is current that no page or app has started yet.
    fileprivate func isUnshown(_ version: String) -> Bool {
        version == current && boot?.version != version && !knownGood.contains(version)
    }
}
