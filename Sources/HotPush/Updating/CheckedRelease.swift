package import CASStore
package import VersionTree

/// What a pull found at an origin and fetched without changing the lifecycle.
package struct CheckedRelease: Sendable, Hashable {
    /// The complete version in the store; `nil` if nothing is for this device.
    package var version: String?
    /// Whether the publisher requires the release before the app may continue.
    package var isMandatory = false
    /// Why nothing is for this device.
    package var reasons: [String] = []
    /// Whether the pending version was withdrawn, so that nothing is pending now.
    package var hasTakenBack = false

    /// Whether the origin's answer is older than one seen before, and so says nothing about its current offer.
    package var isOlderCopy = false
    package var isBanned = false

    package init(version: String?, isMandatory: Bool = false, reasons: [String] = []) {
        self.version = version
        self.isMandatory = isMandatory
        self.reasons = reasons
    }
}

/// Why a check brought no version.
package struct CheckReason: Sendable, Hashable {
    package enum Code: String, Sendable, Hashable {
        /// The offer is shown already.
        case current
        /// The origin offers nothing.
        case nothingNew
        /// The origin has withdrawn the pending version.
        case takenBack
        /// The offer is banned here.
        case banned
        /// The offer is for other devices or apps.
        case passedOver
        /// The origin's answer is older than one that was obeyed.
        case olderCopy
    }

    package var code: Code
    package var sentence: String

    static let takenBack = CheckReason(
        code: .takenBack, sentence: "the origin has taken back what waited")

    package static func current(_ version: String) -> CheckReason {
        CheckReason(code: .current, sentence: "version \(version) is current already")
    }
}

extension CheckedRelease {
    package var withoutVersion: ObeyedRelease {
        guard !reasons.isEmpty else {
            if hasTakenBack { return .upToDate(.takenBack) }
            let code: CheckReason.Code = isOlderCopy ? .olderCopy : .nothingNew
            return .upToDate(CheckReason(code: code, sentence: "the origin has nothing new"))
        }
        let code: CheckReason.Code = isBanned ? .banned : isOlderCopy ? .olderCopy : .passedOver
        let refusals = reasons.map { CheckReason(code: code, sentence: $0) }
        return .refused(refusals + (hasTakenBack ? [.takenBack] : []))
    }
}

package enum ObeyedRelease: Sendable, Hashable {
    case upToDate(CheckReason)
    /// The offer is not for this device.
    case refused([CheckReason])
    /// A version is complete and waits to be shown.
    case ready(version: String, isForced: Bool)
}

extension VersionStore {
    /// Makes the result of a check the next version to show, as an ``UpdateManager`` does with its own downloads.
    ///
    /// A mandatory release does not wait until the current version is confirmed: it becomes current at once, and the
    /// next page starts it.
    package func obey(_ checked: CheckedRelease) throws(StoreError) -> ObeyedRelease {
        guard let version = checked.version else {
            if !checked.isOlderCopy, !checked.isBanned {
                try clearPendingForced(lifecycle(), offersNothing: true)
            }
            return checked.withoutVersion
        }
        do throws(StoreError) {
            return try obey(version, isMandatory: checked.isMandatory)
        } catch {
            guard error.code == .bannedVersion else { throw error }
            // It is here and banned, and the origin still offers it.
            var refused = checked
            (refused.version, refused.reasons) = (nil, [error.message])
            refused.isBanned = true
            return refused.withoutVersion
        }
    }

    private func obey(_ version: String, isMandatory: Bool) throws(StoreError) -> ObeyedRelease {
        let before = try lifecycle()
        // An earlier mandatory release was never shown: its replacement must be.
        let isForcedPending = try pendingForcedVersion != nil
        let isForced = isMandatory || isForcedPending
        if before.current == version || before.pending == version {
            guard before.pending == version else {
                // The pending version is no longer offered.
                if before.pending != nil { _ = try putNext(version) }
                try clearPendingForced(lifecycle(), offersNothing: true)
                return .upToDate(.current(version))
            }
            if isForced { try notePendingForced(version) }
        } else {
            // Note it first: a reader of the pending version must know at once that it is mandatory.
            if isForced { try notePendingForced(version) }
            guard try putNext(version) else {
                try notePendingForced(nil)
                return .upToDate(.current(version))
            }
        }
        if isForced, before.unconfirmed != nil, !before.isResting(version) {
            // The current version is left unconfirmed, neither good nor bad.
            try activate(version)
        }
        return .ready(version: version, isForced: isForced)
    }

    /// Whether the pending version, or a current one that was never started, must be shown at once.
    package func isForced(_ lifecycle: Lifecycle) throws(StoreError) -> Bool {
        guard let pendingForced = try pendingForcedVersion else { return false }
        return pendingForced == lifecycle.pending || lifecycle.isUnshown(pendingForced)
    }

    /// Notes whether a version that is now pending must be shown before the app continues: because it is mandatory, or
    /// replaces a mandatory one that was never shown.
    package func noteForced(_ version: String, isMandatory: Bool) throws(StoreError) -> Bool {
        let isForcedPending = try pendingForcedVersion != nil
        guard isMandatory || isForcedPending else { return false }
        try notePendingForced(version)
        return true
    }

    /// At the app's start, replaces an unconfirmed version by a pending mandatory one.
    /// - Returns: the version that must be shown, if there is one.
    package func prepareForced() throws(StoreError) -> String? {
        let lifecycle = try lifecycle()
        guard try isForced(lifecycle), let pendingForced = try pendingForcedVersion else {
            return nil
        }
        if pendingForced == lifecycle.pending, lifecycle.unconfirmed != nil,
            !lifecycle.isResting(pendingForced)
        {
            // The current version is left unconfirmed, neither good nor bad.
            try activate(pendingForced)
        }
        return pendingForced
    }

    /// Clears the forced version once it was shown.
    /// - Parameter offersNothing: whether the origin has nothing but the current version, so that nothing replaces an
    ///   forced version that is no longer pending.
    package func clearPendingForced(
        _ lifecycle: Lifecycle, offersNothing: Bool = false
    ) throws(StoreError) {
        guard let version = try pendingForcedVersion, !lifecycle.isUnshown(version) else { return }
        if version == lifecycle.current || offersNothing && version != lifecycle.pending {
            try notePendingForced(nil)
        }
    }
}

extension Lifecycle {
    /// Whether a current version was not yet started by any page or app.
    fileprivate func isUnshown(_ version: String) -> Bool {
        version == current && boot?.version != version && !knownGood.contains(version)
    }
}
