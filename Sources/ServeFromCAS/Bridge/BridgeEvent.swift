import StrictJSON

/// Something that happened to the app's versions; its pages are told.
public enum BridgeEvent: Sendable, Hashable {
    /// The next navigation gets this version, which is not the page's.
    ///
    /// `reload`: the page reloads itself, because the version is to be shown at once.
    case versionReady(version: String, reload: Bool = false)
    /// An origin is being asked for a new version.
    case checking
    /// The origin offers a version that is not here yet. `isMandatory`: the app must not continue without it.
    case available(version: String, bytes: Int64, isMandatory: Bool)
    /// A version was fetched and waits for its turn.
    ///
    /// `waitsFor` is for people, `waitsForCode` for programs; `nil`: it waits only for the next navigation.
    case ready(
        version: String, waitsFor: String?, isMandatory: Bool, waitsForCode: String? = nil)
    /// There is nothing to do: the reasons as sentences and as codes.
    case upToDate(reasons: [String], codes: [String] = [])
    /// A check or a download has failed; the app continues with what it has.
    case updateFailed(message: String, code: String? = nil)
    /// `done` of the `total` missing bytes of a new version have come.
    case progress(done: Int64, total: Int64, version: String? = nil)
    /// The version did not start well and is no longer served.
    ///
    /// `own`: it is the version of the page that gets this event, which therefore reloads itself. `at`: the time, in
    /// seconds since 1970; it distinguishes one rollback from the next.
    case rolledBack(version: String, reason: String, own: Bool = false, at: Int64? = nil)

    var name: String {
        switch self {
        case .versionReady: "version-ready"
        case .checking: "checking"
        case .available: "available"
        case .ready: "ready"
        case .upToDate: "up-to-date"
        case .updateFailed: "update-failed"
        case .progress: "progress"
        case .rolledBack: "rolled-back"
        }
    }

    var replaces: Bool { if case .progress = self { true } else { false } }

    var payload: [UInt8] {
        JSONWriter.document { writer in
            switch self {
            case .versionReady(let version, let reload):
                writer.member("version", version)
                if reload { writer.member("reload", true) }
            case .checking: break
            case .available(let version, let bytes, let isMandatory):
                writer.member("version", version)
                writer.member("bytes", bytes)
                writer.member("mandatory", isMandatory)
            case .ready(let version, let waitsFor, let isMandatory, let code):
                writer.member("version", version)
                if let waitsFor { writer.member("waitsFor", waitsFor) }
                if let code { writer.member("waitsForCode", code) }
                writer.member("mandatory", isMandatory)
            case .upToDate(let reasons, let codes):
                writer.member("reasons", reasons)
                writer.member("codes", codes)
            case .updateFailed(let message, let code):
                writer.member("message", message)
                if let code { writer.member("code", code) }
            case .progress(let done, let total, let version):
                writer.member("done", done)
                writer.member("total", total)
                if let version { writer.member("version", version) }
            case .rolledBack(let version, let reason, let own, let time):
                writer.member("version", version)
                writer.member("reason", reason)
                if let time { writer.member("at", time) }
                if own { writer.member("own", true) }
            }
        }
    }
}
