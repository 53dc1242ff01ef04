import StrictJSON

/// Something that happened to the app's versions; its pages are told.
public enum BridgeEvent: Sendable, Hashable {
    /// The next navigation gets this version, which is not the page's.
    case versionReady(version: String)
    /// `done` of the `total` bytes of a new version are here.
    case progress(done: Int64, total: Int64)
    /// The version did not start well and is no longer served.
    ///
    /// `own`: it is the version of the page that gets this event, which therefore reloads itself.
    /// `at`: the time, in seconds since 1970; it distinguishes one rollback from the next.
    case rolledBack(version: String, reason: String, own: Bool = false, at: Int64? = nil)

    /// The event's name in the page.
    var name: String {
        switch self {
        case .versionReady: "version-ready"
        case .progress: "progress"
        case .rolledBack: "rolled-back"
        }
    }

    /// Whether a newer event of this kind makes one that waits useless.
    var replaces: Bool { if case .progress = self { true } else { false } }

    /// The event's detail as JSON.
    var payload: [UInt8] {
        JSONWriter.document { writer in
            switch self {
            case .versionReady(let version): writer.member("version", version)
            case .progress(let done, let total):
                writer.member("done", done)
                writer.member("total", total)
            case .rolledBack(let version, let reason, let own, let moment):
                writer.member("version", version)
                writer.member("reason", reason)
                if let moment { writer.member("at", moment) }
                if own { writer.member("own", true) }
            }
        }
    }
}
