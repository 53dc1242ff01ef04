public import CASStore
import StrictJSON
import VersionTree

/// What servers remember in their store between starts: `server.json`.
///
/// `{"pageKey":"…","ports":{"com.example.kiosk":23456},"token":"…"}`, mode 0600, because key and token are secrets.
/// Losing it is allowed: then ports are computed again, pages need a new token, and their cookies become invalid.
struct ServerMemory: Sendable, Hashable {
    struct Taken: Sendable, Hashable {
        var app: String
        var port: UInt16
    }

    private(set) var ports: [Taken] = []
    var token: String?
    /// Seals the cookies of pages (``PageSeal``): 32 hexadecimal digits.
    var pageKey: String?
    /// Whether other users may read the file: by a recursive chmod, or in a copy.
    private(set) var isOpenToOthers = false

    /// More apps than any store has; keeps the file small if a program makes up an identifier at each start.
    static let appsMax = 64
    private static let byteCountMax = 1 << 20

    private init() {}

    /// Remembers nothing if there is no file.
    /// - Throws: `.badServerFile` if it is damaged; what reading throws.
    init(_ versions: VersionStore) throws(StoreError) {
        let root = versions.directories.root.raw
        guard let status = try versions.fileSystem.status(root, StoreLayout.server) else {
            self.init()
            return
        }
        guard status.kind == .regular else { throw Self.damaged("it is not a regular file") }
        let bytes: [UInt8]
        do throws(StoreError) {
            bytes = try versions.fileSystem.contents(
                root, StoreLayout.server, limit: Self.byteCountMax)
        } catch {
            throw error.ifUnreadable(Self.damaged)
        }
        try self.init(parsing: bytes)
        isOpenToOthers = status.mode & 0o077 != 0
    }

    /// - Throws: `.badServerFile`.
    init(parsing bytes: [UInt8]) throws(StoreError) {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue.parse(bytes)
        } catch {
            throw Self.damaged(error.message)
        }
        guard value.asObject != nil else { throw Self.damaged("it is not an object") }
        if let ports = value["ports"] { self.ports = try Self.ports(ports) }
        token = try Self.digits(value["token"], "token")
        pageKey = try Self.digits(value["pageKey"], "pageKey")
    }

    private static func digits(_ value: JSONValue?, _ name: String) throws(StoreError) -> String? {
        guard let value else { return nil }
        guard let text = value.asString, text.utf8.count == 32,
            text.utf8.allSatisfy({ Hex.value(of: $0) != nil })
        else { throw damaged("its \(name) is not 32 hexadecimal digits") }
        return text
    }

    private static func ports(_ value: JSONValue) throws(StoreError) -> [Taken] {
        guard let members = value.asObject else { throw damaged("its ports are not an object") }
        var ports: [Taken] = []
        for member in members {
            // A guessed port would be another web origin, without the app's local storage.
            guard let number = member.value.asInt64, number > 0, let port = UInt16(exactly: number)
            else { throw damaged("one of its ports is not a port number") }
            ports.append(Taken(app: member.key, port: port))
        }
        return ports
    }

    func port(for choice: PortChoice) -> UInt16? {
        guard let app = choice.app else { return nil }
        return ports.last { $0.app.utf8.elementsEqual(app.utf8) }?.port
    }

    /// Records the port of an app that has none yet, unless the port was only borrowed.
    mutating func note(_ choice: PortChoice, _ taken: UInt16) {
        guard let app = choice.app, port(for: choice) == nil else { return }
        ports.append(Taken(app: app, port: taken))
        if ports.count > Self.appsMax { ports.removeFirst() }
    }

    /// Changes the file atomically, under a lock between processes, based on what the others have written.
    /// - Throws: `.badServerFile`; `.readOnly`, `.permission`, `.outOfSpace` if it cannot be kept.
    static func update<R>(
        _ versions: VersionStore, _ body: (inout ServerMemory) -> R
    ) throws(StoreError) -> R {
        let file = try versions.store.openLock(StoreLayout.serverLock)
        try versions.store.waitForLock(file.raw, exclusive: true)
        let before = try ServerMemory(versions)
        var memory = before
        let result = body(&memory)
        guard memory != before else { return result }
        try versions.fileSystem.replaceFile(
            versions.directories.root.raw, StoreLayout.server, with: memory.serialized, mode: 0o600,
            token: "new", durably: versions.store.options.isDurable)
        return result
    }

    /// Changes what is remembered, or reports that it cannot; a read-only store is served all the same.
    @discardableResult
    static func remember<R>(
        _ versions: VersionStore, _ problem: FailureNotice, _ body: (inout ServerMemory) -> R
    ) -> R? {
        do throws(StoreError) {
            return try update(versions, body)
        } catch {
            problem.tell("the port and the token are not remembered: \(error.message)")
            return nil
        }
    }

    /// Takes the file from other users, where the file system has modes.
    /// - Parameter notice: told that they could read it.
    func keepPrivate(
        _ versions: VersionStore, _ notice: (String) -> Void
    ) {
        guard isOpenToOthers else { return }
        do throws(StoreError) {
            try Self.update(versions) { $0.isOpenToOthers = false }
            // A file system may have one mode for all files.
            guard try !ServerMemory(versions).isOpenToOthers else { return }
        } catch {
            return notice(
                "other users can read \(StoreLayout.server), which holds the server's token: \(error.message)"
            )
        }
        notice(
            "other users could read \(StoreLayout.server), which holds the server's token; it is private again, and "
                + "--new-token makes another token")
    }

    private static func damaged(_ why: String) -> StoreError {
        StoreError(
            .badServerFile,
            "\(StoreLayout.server) in the store cannot be read (\(why)); delete it to get new ports "
                + "and a new token")
    }

    var serialized: [UInt8] {
        JSONWriter.document { writer in
            if let pageKey { writer.member("pageKey", pageKey) }
            if !ports.isEmpty {
                writer.member("ports") { writer in
                    for taken in ports { writer.member(taken.app, taken.port) }
                }
            }
            if let token { writer.member("token", token) }
        }
    }
}

extension StoreError.Code {
    /// `server.json` cannot be read.
    public static let badServerFile = Self("badServerFile")
}
