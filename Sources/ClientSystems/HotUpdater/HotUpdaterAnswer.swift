import HotPush
import Platform
import StrictJSON
import VersionTree

/// The answer that names a bundle.
struct HotUpdaterAnswer {
    var id: String
    var isForced: Bool
    var message: String
    var isUpdate: Bool
    var fileURL: String
    var fileHash: String
    var manifestURL: String
    var manifestHash: String
    /// The files to fetch for a client that has its bundle from here, and where each is; `nil` for others, which take
    /// the archive.
    var changes: [(entry: Manifest.Entry, url: String)]?

    /// Its JSON.
    var bytes: [UInt8] {
        JSONWriter.document { writer in
            writer.member("id", id)
            writer.member("shouldForceUpdate", isForced)
            writer.member("message", message)
            writer.member("status", isUpdate ? "UPDATE" : "ROLLBACK")
            writer.member("fileUrl", fileURL)
            writer.member("fileHash", fileHash)
            writer.member("manifestUrl", manifestURL)
            writer.member("manifestFileHash", manifestHash)
            guard let changes else { return }
            writer.member("changedAssets") { writer in
                for change in changes {
                    writer.member(change.entry.path.description) { writer in
                        writer.member("fileHash", change.entry.address.description)
                        writer.member("file") { $0.member("url", change.url) }
                    }
                }
            }
        }
    }

    /// The answer that sends a device back to what its app was shipped with.
    static var builtIn: ClientAnswer {
        .json { writer in
            writer.member("id", HotUpdaterCheck.builtIn)
            writer.member("message", String?.none)
            writer.member("shouldForceUpdate", true)
            writer.member("status", "ROLLBACK")
            writer.member("fileUrl", String?.none)
            writer.member("fileHash", String?.none)
        }
    }

    /// The answer to a device that runs the right bundle: `null` for clients before 0.31.0, which know no other.
    static func upToDate(_ request: ClientRequest) -> ClientAnswer {
        let version = request.field("hot-updater-sdk-version").flatMap {
            SemanticVersion(valid: $0)
        }
        guard let version, version >= SemanticVersion(0, 31, 0) else {
            return .json(Array("null".utf8))
        }
        return .json { $0.member("status", "UP_TO_DATE") }
    }

    /// What is wrong with a request.
    static func malformed(_ sentence: String) -> ClientAnswer {
        .json(status: 400) { $0.member("error", sentence) }
    }

    /// What does not exist.
    static func absent(_ sentence: String) -> ClientAnswer {
        .json(status: 404) { $0.member("error", sentence) }
    }
}
