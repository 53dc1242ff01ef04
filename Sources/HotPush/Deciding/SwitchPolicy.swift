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

/// What a version that is ready waits for.
package enum SwitchWait: Sendable, Hashable {
    /// The current version must be confirmed first.
    case confirmation
    /// A page must be loaded.
    case nextNavigation
    /// It is left to the next process.
    case nextStart
    /// No page may be visible for so long.
    case background(seconds: Int64)

    /// Its name for programs.
    package var code: String {
        switch self {
        case .confirmation: "confirmation"
        case .nextNavigation: "nextNavigation"
        case .nextStart: "nextStart"
        case .background: "background"
        }
    }

    /// What it is, in words for people.
    package var sentence: String {
        switch self {
        case .confirmation: "the current version to be confirmed"
        case .nextNavigation: "the next navigation"
        case .nextStart: "the next start of the app"
        case .background(let seconds): "\(seconds) s of the app in the background"
        }
    }
}

extension SwitchPolicy {
    /// What a version that is ready waits for; `nil` to switch to it now.
    ///
    /// - Parameters:
    ///   - isForced: whether the publisher says that the app must not go on without it.
    ///   - isTrusted: whether the start of the current version is confirmed or needs no confirmation.
    ///     Otherwise nobody could tell later whether that version was good.
    package func wait(
        isForced: Bool, at moment: SwitchMoment, isTrusted: Bool
    ) -> SwitchWait? {
        if moment == .start || isForced { return nil }
        guard isTrusted else { return .confirmation }
        switch (self, moment) {
        case (.now, _), (.nextNavigation, .navigation), (.background, .background): return nil
        case (.nextNavigation, _): return .nextNavigation
        case (.nextStart, _): return .nextStart
        case (.background(let least), _): return .background(seconds: least.components.seconds)
        }
    }
}
