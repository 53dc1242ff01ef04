import HotPush
import ServeFromCAS
import VersionTree

/// The operator's log of an app that is kept up to date, one line each.
enum UpdateNews {
    /// The meaning of a change of the lifecycle by any process, except rollbacks, which the server reports.
    static func lines(_ before: Lifecycle, _ now: Lifecycle) -> [String] {
        var lines: [String] = []
        if let current = now.current, current != before.current {
            let was = before.current.map { " (was \($0))" } ?? ""
            lines.append("version \(current) is current now\(was)")
        }
        if let boot = now.boot, boot.version == now.current, boot.token != before.boot?.token {
            let rest = now.unconfirmed == nil ? "" : "; one of its pages must confirm that it works"
            lines.append("version \(boot.version) has started\(rest)")
        }
        if let waited = before.pending, now.pending == nil, now.current == before.current {
            lines.append("version \(waited) no longer waits")
        }
        for version in now.knownGood where !before.knownGood.contains(version) {
            lines.append("version \(version) is confirmed")
        }
        return lines
    }
}

extension BridgeEvent {
    static func upToDate(_ reasons: [CheckReason]) -> BridgeEvent {
        .upToDate(reasons: reasons.map(\.sentence), codes: reasons.map(\.code.rawValue))
    }
}

extension SwitchingRule {
    /// The decision to switch, at the moments that pages have.
    init(_ policy: SwitchPolicy, isForced: Bool, isBackground: Bool) {
        func switches(at point: SwitchPoint) -> Bool {
            // The judge of starts itself waits for the confirmation of the current version.
            policy.wait(
                isForced: isForced, at: isBackground ? .background : point, isTrusted: true)
                == nil
        }
        self.init(waitsForStart: !switches(at: .navigation), reloads: switches(at: .ready))
    }
}
