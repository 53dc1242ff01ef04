package import CASStore
import Storage
import VersionTree

/// A problem with an answer or a release, for ``ReleaseFormat/message(_:)``.
public enum ReleaseProblem: Sendable {
    /// The document came with an error status.
    case documentStatus(Int)
    /// The document did not come, for this reason in the transport's words.
    case documentUnreachable(String)
    /// Something other than the document came; with its type and its first bytes.
    case documentType(String?, beginning: [UInt8])
    /// A file came with an error status.
    case fileStatus(ReleaseFile, Int)
    /// The bytes of a file, or its entity tag, differ from the release.
    case fileMismatch(ReleaseFile)
    /// The same, with the difference.
    case fileDiffers(ReleaseFile, String)
    /// The release requires something that the app does not have.
    case unmet(Requirement)
    /// The version is banned on this device.
    case banned(String)

    package var code: StoreError.Code {
        switch self {
        case .documentStatus(let status), .fileStatus(_, let status):
            if Self.isServerFailure(status) {
                .network
            } else {
                Self.question(status) == nil ? .notFound : .credentials
            }
        case .documentUnreachable: .network
        case .documentType: .badRelease
        case .fileMismatch, .fileDiffers: .mismatch
        case .unmet: .unsuitableRelease
        case .banned: .bannedVersion
        }
    }

    /// Whether a status says only that the server cannot answer now (RFC 9110, section 15.6).
    static func isServerFailure(_ status: Int) -> Bool {
        status >= 500 || RetryPolicy.isWorthRetrying(status: status)
    }

    /// Advice on a status that asks for credentials (RFC 9110, sections 15.5.2 and 15.5.8); `nil` for others.
    static func question(_ status: Int) -> String? {
        switch status {
        case 401:
            "it requires valid credentials: give a token in CASTREE_ORIGIN_TOKEN, a user in "
                + "CASTREE_ORIGIN_USER and CASTREE_ORIGIN_PASSWORD, or a netrc file"
        case 407:
            "the proxy requires a user and a password: give them in the URL of http_proxy and https_proxy"
        default: nil
        }
    }

    /// The error for an answer that does not address the request.
    /// - Parameter answer: who answered what.
    static func noAnswer(_ answer: String, _ status: Int) -> StoreError {
        if let question = question(status) {
            return StoreError(.credentials, "\(answer); \(question)")
        }
        return StoreError(.network, "\(answer); try again later")
    }

    var message: String {
        switch self {
        case .documentStatus(let status):
            "the origin answered \(status) when asked for its release; "
                + (Self.question(status) ?? "check the URL")
        case .documentUnreachable(let cause): "the origin cannot be asked for its release: \(cause)"
        case .documentType(let type, let beginning):
            "the origin answered with \(Self.shown(type)), not with a release; it begins \"\(Self.shown(beginning))\"; check the URL and the server's routes"
        case .fileStatus(let file, 404), .fileStatus(let file, 410):
            "the origin does not have \"\(printable(file.path.description))\""
        case .fileStatus(let file, let status):
            "the origin answered \(status) when asked for \"\(printable(file.path.description))\""
                + (Self.question(status).map { "; \($0)" } ?? "")
        case .fileMismatch(let file):
            "\"\(printable(file.path.description))\" is not what the release says; the server may "
                + "have another version by now: try again"
        case .fileDiffers(let file, let reason):
            Self.fileMismatch(file).message + " (\(reason))"
        case .unmet(let requirement):
            "the release requires \(printable(requirement.kind)) \"\(printable(requirement.value))\", which this app does not have"
        case .banned(let version):
            "version \(printable(version)) is banned here; unban it to try it again"
        }
    }

    private static func shown(_ type: String?) -> String {
        type.map { "the type \"\(printable($0))\"" } ?? "no type"
    }

    static func shown(_ beginning: [UInt8]) -> String {
        printable(String(decoding: beginning.prefix(60), as: UTF8.self))
    }
}
