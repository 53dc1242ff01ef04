import HotPush
import ServeFromCAS

extension BridgeEvent {
    /// Nothing to do, for these reasons.
    static func upToDate(_ reasons: [CheckReason]) -> BridgeEvent {
        .upToDate(reasons: reasons.map(\.sentence), codes: reasons.map(\.code.rawValue))
    }
}
