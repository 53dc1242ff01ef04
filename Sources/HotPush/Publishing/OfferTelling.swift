package import CASStore

/// Tells the clients of other systems what a channel is about to offer.
///
/// HotPush knows none of them: ClientSystems conforms to it. All calls may throw what reading and writing throws.
package protocol OfferTelling: Sendable {
    /// Whether anybody is told what a channel offers: then its releases need facts.
    func tells(of channel: ChannelName, in origin: OriginPlace) throws(StoreError) -> Bool
    /// Makes durable all that must stand before a pointer does.
    ///
    /// Called with the origin's lock held, before a pointer is written, and again if that was in vain; also for a pointer that
    /// stands already, when something may be missing. All that the pointer names stands.
    /// - Parameter before: what the pointer is built upon; equal to it if it stands already.
    func tell(
        _ pointer: ChannelPointer, upon before: ChannelPointer?, in origin: OriginPlace
    ) throws(StoreError)
    /// The files that nobody needs any more, by their paths in the origin, sorted.
    ///
    /// Called with the origin's lock held.
    func leftovers(in origin: OriginPlace) throws(StoreError) -> [String]
}

/// An origin's directory, for who writes there beside the publisher.
///
/// Valid as long as the publisher's call lasts.
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

    /// Makes a place.
    package init(
        path: String, root: Int32, fileSystem: any FileSystem, isDurable: Bool,
        notice: @escaping @Sendable (String) -> Void
    ) {
        self.path = path
        self.root = root
        self.fileSystem = fileSystem
        self.isDurable = isDurable
        self.notice = notice
    }

    /// Opens a directory below the origin, and makes it and those above it if need be.
    func directory(_ path: String) throws(StoreError) -> Descriptor {
        var parts = path.split(separator: "/").map(String.init)[...]
        var directory = try OriginWriter.directory(parts.removeFirst(), in: root, fileSystem)
        for part in parts {
            directory = try OriginWriter.directory(part, in: directory.raw, fileSystem)
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
        let directory = try directory(parents.joined(separator: "/"))
        try fileSystem.replaceFile(
            directory.raw, name, with: bytes, mode: OriginWriter.fileMode, token: "new",
            durably: isDurable)
        guard isNew, isDurable else { return }
        for end in parents.indices.dropLast() {
            let above = try self.directory(parents[...end].joined(separator: "/"))
            try fileSystem.sync(above.raw)
        }
        try fileSystem.sync(root)
    }

    /// The bytes of a file below the origin; `nil` if there is none.
    /// - Throws: `.tooLarge` beyond `limit` bytes; what reading throws.
    package func contents(_ path: String, limit: Int) throws(StoreError) -> [UInt8]? {
        try fileSystem.ifPresent { () throws(StoreError) in
            try fileSystem.contents(root, path, limit: limit)
        }
    }

    /// Removes a file below the origin, durably, if it is there.
    package func remove(_ path: String) throws(StoreError) {
        guard try fileSystem.status(root, path) != nil else { return }
        try fileSystem.removeIfPresent(root, path)
        let parent = path.split(separator: "/").dropLast().joined(separator: "/")
        guard isDurable else { return }
        let directory = try fileSystem.open(root, parent, .directory, mode: 0)
        try fileSystem.sync(directory.raw)
    }
}
