public import CASStore
import StrictJSON
import VersionTree

/// What a server remembers in its store between starts: `server.json`.
///
/// `{"appID":"…","port":23456,"token":"…"}`, mode 0600, since the token is a secret. It is no part of
/// what the store promises: without it the port is computed again and pages need a new token.
struct ServerMemory: Sendable, Hashable {
    /// For which app the port was chosen.
    var appID: String?
    var port: UInt16?
    /// 32 hexadecimal digits.
    var token: String?

    /// Reads the file; nothing is remembered if there is none.
    /// - Throws: `.badServerFile` if it is damaged; what reading throws.
    init(_ versions: VersionStore) throws(StoreError) {
        let root = versions.directories.root.raw
        guard let status = try versions.fileSystem.status(root, StoreLayout.server) else { return }
        guard status.kind == .regular else { throw Self.damaged("it is no regular file") }
        let bytes = try versions.fileSystem.contents(root, StoreLayout.server, limit: 64 << 10)
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue.parse(bytes)
        } catch {
            throw Self.damaged(error.message)
        }
        guard value.asObject != nil else { throw Self.damaged("it is no object") }
        // A port that is guessed at would be another web origin, without the app's local storage.
        if let port = value["port"] {
            guard let number = port.asInt64, number > 0, let port = UInt16(exactly: number) else {
                throw Self.damaged("its port is none")
            }
            self.port = port
        }
        if let app = value["appID"] {
            guard let app = app.asString else { throw Self.damaged("its appID is no text") }
            appID = app
        }
        if let token = value["token"] {
            guard let token = token.asString, token.utf8.count == 32,
                token.utf8.allSatisfy({ Hex.value(of: $0) != nil })
            else { throw Self.damaged("its token is not 32 hexadecimal digits") }
            self.token = token
        }
    }

    /// The port that was taken before for this choice.
    func port(for choice: PortChoice) -> UInt16? {
        switch choice {
        case .exactly: nil
        case .app(let app), .appOrNext(let app): app == appID ? port : nil
        }
    }

    /// Notes the port of an app; one that was only lent is not noted.
    mutating func note(_ choice: PortChoice, _ taken: UInt16) {
        switch choice {
        case .exactly: return
        case .app(let app), .appOrNext(let app):
            guard appID != app || port == nil else { return }
            appID = app
            port = taken
        }
    }

    private static func damaged(_ why: String) -> StoreError {
        StoreError(
            .badServerFile,
            "\(StoreLayout.server) in the store cannot be read (\(why)); delete it to have the port and the "
                + "token chosen anew")
    }

    /// Writes the file, as a whole.
    func write(_ versions: VersionStore) throws(StoreError) {
        var writer = JSONWriter()
        writer.beginObject()
        if let appID {
            writer.key("appID")
            writer.string(appID)
        }
        if let port {
            writer.key("port")
            writer.integer(Int64(port))
        }
        if let token {
            writer.key("token")
            writer.string(token)
        }
        writer.endObject()
        try versions.fileSystem.replaceFile(
            versions.directories.root.raw, StoreLayout.server, with: writer.bytes, mode: 0o600,
            token: "new",
            durably: versions.store.options.isDurable)
    }
}

extension StoreError.Code {
    /// `server.json` cannot be read.
    public static let badServerFile = Self("badServerFile")
}
