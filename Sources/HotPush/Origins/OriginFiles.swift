package import CASStore
import StrictJSON

/// The file that makes a directory an origin: `{"castreeOrigin":1}`.
///
/// The format is 2 for a signed origin, whose id follows, and for one from which other systems' clients update. A
/// castree that does not know these features does not publish there.
package enum OriginMarker {
    package static let byteCountMax: Int64 = 64 * 1024

    /// - Parameters:
    ///   - id: a signed origin's id, copied from its pointers.
    ///   - hasClients: whether clients of other systems update from it.
    package static func serialized(of id: String? = nil, hasClients: Bool = false) -> [UInt8] {
        let format =
            id == nil && !hasClients ? OriginLayout.plainFormatVersion : OriginLayout.formatVersion
        return JSONValue.members(["castreeOrigin": .integer(format), "origin": .text(id)]).fileBytes
    }

    /// The id that a marker names; `nil` for an unsigned origin.
    package static func id(in bytes: [UInt8]) -> String? {
        // The format is checked elsewhere.
        guard let document = try? JSONValue.parse(bytes),
            let id = document["origin"]?.asString, ChannelPointer.isOriginID(id)
        else { return nil }
        return id
    }

    /// Whether the directory is an origin that this castree knows.
    /// - Throws: `.badOrigin` for a file that is not a marker; `.unsupportedFormat`.
    package static func isPresent(
        _ root: Int32, _ path: String, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Bool {
        do throws(StoreError) {
            guard let bytes = try bytes(root, fileSystem) else { return false }
            try check(bytes, of: path)
            return true
        } catch {
            // If pointers prove an origin, the marker is lost rather than another program's file.
            guard error.code == .badOrigin || saysItIsBad(error),
                try remade(root, fileSystem) != nil
            else { throw error }
            return false
        }
    }

    /// The bytes in its place: empty if there are too many, `nil` if there is no file.
    private static func bytes(
        _ root: Int32, _ fileSystem: any FileSystem
    ) throws(StoreError) -> [UInt8]? {
        do throws(StoreError) {
            return try allowing(
                [.notFound],
                try fileSystem.contents(root, OriginLayout.marker, limit: Int(byteCountMax)))
        } catch {
            guard error.code == .tooLarge else { throw error }
            return []
        }
    }

    /// Whether something else is in its place, or the disk fails to return it.
    private static func saysItIsBad(_ error: StoreError) -> Bool {
        error.code != .permission && error.saysFileIsUnreadable
    }

    private static func format(in bytes: [UInt8]) -> Int64? {
        // A file that is not JSON is no marker.
        let format = (try? JSONValue.parse(bytes))?["castreeOrigin"]?.asInt64 ?? 0
        return format > 0 ? format : nil
    }

    package static func isKnown(_ bytes: [UInt8]) -> Bool {
        format(in: bytes).map { $0 <= OriginLayout.formatVersion } ?? false
    }

    /// Refuses a file that is no marker, or has a newer format.
    /// - Parameter origin: the origin's path or place, for the message.
    /// - Throws: `.badOrigin`; `.unsupportedFormat`.
    package static func check(_ bytes: [UInt8], of origin: String) throws(StoreError) {
        guard let format = format(in: bytes) else {
            throw StoreError(
                .badOrigin,
                "\(printable(origin))/\(OriginLayout.marker) is not that of an origin; choose another "
                    + "directory, or put that file back from a copy of the origin")
        }
        guard format <= OriginLayout.formatVersion else {
            throw StoreError(
                .unsupportedFormat,
                "the origin \(printable(origin)) has format \(format); this castree knows up to "
                    + "\(OriginLayout.formatVersion), use a newer one")
        }
    }

    /// The lost or overwritten marker of an origin, as its pointers and files determine it; `nil` if the marker is
    /// there, or nothing is offered.
    package static func remade(
        _ root: Int32, _ fileSystem: any FileSystem
    ) throws(StoreError) -> [UInt8]? {
        let opened = try allowing(
            \.isNotDirectory,
            try fileSystem.openIfPresent(root, OriginLayout.channels, .directory))
        guard let channels = opened else { return nil }
        let isLogged = try fileSystem.status(root, OriginLayout.logMark) != nil
        var pointers: [ChannelPointer] = []
        for channel in try ChannelPointer.channels(channels.raw, fileSystem) {
            let pointer = try allowing(
                { isLogged || $0.code != .unsupportedFormat },
                try ChannelPointer.read(channel, channels.raw, fileSystem))
            if let pointer { pointers.append(pointer) }
        }
        guard !pointers.isEmpty else { return nil }
        // Publishers write the marker first, so whoever has seen a pointer sees the marker afterwards.
        let there = try allowing(saysItIsBad, try bytes(root, fileSystem))
        if let there, format(in: there) != nil { return nil }
        return serialized(
            of: pointers.first { $0.isSigned }?.origin,
            hasClients: try fileSystem.status(root, OriginLayout.clients) != nil)
    }

    /// - Throws: `.noOrigin` for an origin that has lost its marker.
    package static func refuseLost(
        _ root: Int32, _ path: String, _ fileSystem: any FileSystem
    ) throws(StoreError) {
        guard try remade(root, fileSystem) != nil else { return }
        throw StoreError(
            .noOrigin,
            "\(printable(path)) has lost \(OriginLayout.marker), which says that an origin is here, or has other bytes in it; castree fsck "
                + "\(printable(path)) --repair writes it again")
    }
}

extension ChannelPointer {
    /// The channels that have a pointer in `channels/`, sorted.
    package static func channels(
        _ directory: Int32, _ fileSystem: any FileSystem
    ) throws(StoreError) -> [ChannelName] {
        // A file with any other name is not castree's.
        try fileSystem.names(in: directory).compactMap(OriginLayout.channel(ofPointerFile:))
            .sorted()
    }

    package static func read(
        _ channel: ChannelName, _ directory: Int32, _ fileSystem: any FileSystem
    ) throws(StoreError) -> ChannelPointer? {
        let file = OriginLayout.pointerFile(channel)
        let bytes = try allowing(
            [.notFound], try fileSystem.contents(directory, file, limit: byteCountMax))
        do throws(StoreError) {
            return try bytes.map { (bytes) throws(StoreError) in
                try ChannelPointer(parsing: bytes, of: channel)
            }
        } catch {
            guard error.code != .unsupportedFormat else { throw error }
            throw StoreError(
                error.code,
                "\(error.message); castree fsck --repair writes \(OriginLayout.pointer(channel)) again where there is a log; "
                    + "else put it back from a copy of the origin, or delete it and publish again what it offered"
            )
        }
    }
}
