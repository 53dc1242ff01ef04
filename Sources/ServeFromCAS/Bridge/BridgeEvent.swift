import StrictJSON

/// Something that happened to the app's versions; its pages are told.
public enum BridgeEvent: Sendable, Hashable {
    /// The next navigation gets this version, which is not the page's.
    ///
    /// `reload`: the page loads itself again, because the version is to be shown at once.
    case versionReady(version: String, reload: Bool = false)
    /// An origin is asked for a new version.
    case checking
    /// The origin offers a version that is not here yet; `isMandatory`: the app must not go on without it.
    case available(version: String, bytes: Int64, isMandatory: Bool)
    /// A version has come and waits for its turn: for what, if not for the next navigation.
    ///
    /// `waitsFor` is for people, `waitsForCode` for programs.
    case ready(
        version: String, waitsFor: String?, isMandatory: Bool, waitsForCode: String? = nil)
    /// There is nothing to do: why, in sentences, and each of them as a code.
    case upToDate(reasons: [String], codes: [String] = [])
    /// A check or a download has failed; the app goes on with what it has.
    case updateFailed(message: String, code: String? = nil)
    /// `done` of the `total` bytes that a new version lacked have come.
    case progress(done: Int64, total: Int64, version: String? = nil)
    /// The version did not start well and is no longer served.
    ///
    /// `own`: it is the version of the page that gets this event, which therefore reloads itself.
    /// `at`: the time, in seconds since 1970; it distinguishes one rollback from the next.
    case rolledBack(version: String, reason: String, own: Bool = false, at: Int64? = nil)

    /// The event's name in the page.
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

    /// Whether a newer event of this kind makes one that waits useless.
    var replaces: Bool { if case .progress = self { true } else { false } }

    /// The event's detail as JSON.
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
            case .rolledBack(let version, let reason, let own, let moment):
                writer.member("version", version)
                writer.member("reason", reason)
                if let moment { writer.member("at", moment) }
                if own { writer.member("own", true) }
            }
        }
    }
}
