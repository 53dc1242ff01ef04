package import CASStore
import Storage

/// An origin's directory, for who writes there beside the publisher.
///
/// Keeps the directory open.
package struct OriginPlace: Sendable {
    /// The directory, as the caller named it.
    package let path: String
    /// The same, open.
    package let root: Int32
    /// How it is reached.
    package let fileSystem: any FileSystem
    /// Whether what is written survives a power cut.
    package let isDurable: Bool
    /// Gets notices about what happens unasked.
    package let notice: @Sendable (String) -> Void

    /// Who has it open, and closes it at last.
    private let owner: any AnyObject & Sendable

    /// Who may read and write files of the origin in any case.
    private let rights: UInt32

    /// Makes a place.
    /// - Parameters:
    ///   - owner: who has `root` open.
    ///   - rights: who may read and write its files whatever the umask.
    init(
        path: String, root: Int32, of owner: any AnyObject & Sendable,
        fileSystem: any FileSystem, isDurable: Bool, rights: UInt32 = 0,
        notice: @escaping @Sendable (String) -> Void
    ) {
        self.path = path
        self.root = root
        self.owner = owner
        self.fileSystem = fileSystem
        self.isDurable = isDurable
        self.rights = rights
        self.notice = notice
    }

    // As of all files of an origin: the umask decides whether the group may write.
    private static let fileMode: UInt32 = 0o666
    private static let directoryMode: UInt32 = 0o777

    /// Opens a directory below the origin, and makes it and those above it if need be.
    ///
    /// A link on the way would lead out of the origin, and is refused.
    private func directory(_ parts: some Collection<String>) throws(StoreError) -> Descriptor {
        var directory = try fileSystem.open(root, ".", .directory, mode: 0)
        for part in parts {
            let isNew = try fileSystem.makeDirectoryIfAbsent(
                directory.raw, part, mode: Self.directoryMode)
            if isNew { try fileSystem.share(directory.raw, part, rights) }
            directory = try fileSystem.open(directory.raw, part, .directory, mode: 0)
        }
        return directory
    }

    /// Replaces a file below the origin as a whole; makes its directories if need be.
    ///
    /// Durable with its name and the names of the directories above it, if this place is.
    package func replace(_ path: String, with bytes: [UInt8]) throws(StoreError) {
        let parts = path.split(separator: "/").map(String.init)
        guard let name = parts.last, parts.count > 1 else { return }
        let parents = parts.dropLast()
        let isNew = try fileSystem.status(root, parents.joined(separator: "/")) == nil
        let directory = try directory(parents)
        try replaceFile(directory.raw, name) { (file) throws(StoreError) in
            try fileSystem.share(file, rights)
            try fileSystem.write(file, bytes)
        }
        guard isNew, isDurable else { return }
        for count in 0..<parents.count {
            let above = try self.directory(parents.prefix(count))
            try fileSystem.sync(above.raw)
        }
    }

    /// Replaces a file as a whole: a directory that stands there is set aside, and on a full disk what can be made again
    /// gives way.
    func replaceFile(
        _ directory: Int32, _ name: String, _ writeBytes: (Int32) throws(StoreError) -> Void
    ) throws(StoreError) {
        while true {
            do throws(StoreError) {
                return try fileSystem.replaceFile(
                    directory, name, mode: Self.fileMode, token: "new", durably: isDurable,
                    writeBytes)
            } catch {
                let isMended = try error.isDiskFull ? makeRoom() : setAside(directory, name)
                guard isMended else { throw error }
            }
        }
    }

    /// The bytes of a file below the origin; `nil` if there is none.
    /// - Throws: `.tooLarge` beyond `limit` bytes; what reading throws, also for a link on the way.
    package func contents(_ path: String, limit: Int) throws(StoreError) -> [UInt8]? {
        let (parent, name) = Self.split(path)
        guard let directory = try open(parent) else { return nil }
        return try fileSystem.ifPresent { () throws(StoreError) in
            try fileSystem.contents(directory.raw, name, limit: limit)
        }
    }

    /// Removes a file below the origin, durably, if it is there.
    ///
    /// A link on the way would lead to somebody else's file, and is refused.
    package func remove(_ path: String) throws(StoreError) {
        let (parent, name) = Self.split(path)
        guard let directory = try open(parent),
            try fileSystem.status(directory.raw, name) != nil
        else { return }
        try fileSystem.removeIfPresent(directory.raw, name)
        if isDurable { try fileSystem.sync(directory.raw) }
    }

    /// The names in a directory below the origin, but for those of directories; none if it is not there.
    /// - Throws: what opening it throws, also for a link on the way.
    package func files(in path: String) throws(StoreError) -> [String] {
        guard let directory = try open(path) else { return [] }
        return try fileSystem.names(in: directory.raw) { _, kind in kind != .directory }
    }

    private func open(_ path: String) throws(StoreError) -> Descriptor? {
        try fileSystem.ifPresent { () throws(StoreError) in
            try fileSystem.openBeneath(root, path, .directory)
        }
    }

    private static func split(_ path: String) -> (parent: String, name: String) {
        guard let slash = path.lastIndex(of: "/") else { return (".", path) }
        return (String(path[..<slash]), String(path[path.index(after: slash)...]))
    }
}
