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

package enum SwitchPoint: String, Sendable, Hashable, CaseIterable {
    /// The version has become ready, or what it waited for has ended.
    case ready
    case navigation
    case start
    /// The app has been in the background for as long as its policy asks.
    case background
}

package enum SwitchWait: Sendable, Hashable {
    /// The current version must be confirmed first.
    case confirmation
    case nextNavigation
    case nextStart
    /// No page may be visible for so long.
    case background(seconds: Int64)

    package var code: String {
        switch self {
        case .confirmation: "confirmation"
        case .nextNavigation: "nextNavigation"
        case .nextStart: "nextStart"
        case .background: "background"
        }
    }

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
    /// - Parameters:
    ///   - isForced: whether the publisher requires it before the app may continue.
    ///   - isTrusted: whether the start of the current version is confirmed or needs no confirmation. Otherwise a
    ///     switch would leave it unknown whether that version is good.
    package func wait(isForced: Bool, at point: SwitchPoint, isTrusted: Bool) -> SwitchWait? {
        if point == .start || isForced { return nil }
        guard isTrusted else { return .confirmation }
        switch (self, point) {
        case (.now, _), (.nextNavigation, .navigation), (.background, .background): return nil
        case (.nextNavigation, _): return .nextNavigation
        case (.nextStart, _): return .nextStart
        case (.background(let least), _): return .background(seconds: least.components.seconds)
        }
    }
}
