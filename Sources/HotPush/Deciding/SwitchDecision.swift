/// When an app shows a version that is ready.
public enum SwitchPolicy: Sendable, Hashable {
    /// As soon as it is ready: the app reloads its page.
    case now
    /// When the user goes to another page, which loads anyway.
    case nextNavigation
    /// When the app next starts.
    case nextStart
    /// When the app has been in the background for at least this long.
    case background(Duration)
}

/// When to ask whether to switch.
package enum SwitchMoment: String, Sendable, Hashable, CaseIterable {
    /// The version has become ready, or something that it waited for is over.
    case ready
    /// A page is about to be loaded.
    case navigation
    /// The app starts.
    case start
    /// The app has been in the background for as long as its policy asks.
    case background
}

/// Whether to switch to a version that is ready.
package enum SwitchDecision: Sendable, Hashable {
    /// Now.
    case switchNow
    /// Not yet; what it waits for, in words for people.
    case wait(String)

    /// What a version waits for that is left to the next process.
    package static let nextStart = "the next start of the app"

    /// Decides.
    ///
    /// - Parameters:
    ///   - isForced: whether the publisher says that the app must not go on without it.
    ///   - isTrusted: whether the start of the current version is confirmed or needs no confirmation.
    ///     Otherwise nobody could tell later whether that version was good.
    package static func decide(
        _ policy: SwitchPolicy, isForced: Bool, at moment: SwitchMoment, isTrusted: Bool
    ) -> SwitchDecision {
        if moment == .start || isForced { return .switchNow }
        guard isTrusted else { return .wait("the current version to be confirmed") }
        switch (policy, moment) {
        case (.now, _), (.nextNavigation, .navigation), (.background, .background):
            return .switchNow
        case (.nextNavigation, _): return .wait("the next navigation")
        case (.nextStart, _): return .wait(nextStart)
        case (.background(let least), _):
            return .wait("\(least.components.seconds) s of the app in the background")
        }
    }
}
