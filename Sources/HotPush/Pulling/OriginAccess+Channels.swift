package import CASStore

// What the channels of an origin offer; only their pointers are fetched.
extension OriginAccess {
    /// The pointers of an origin's channels, sorted by name.
    ///
    /// A web server does not list its directories: the origin gives the names in `channels.json`. If the
    /// castree that last published to it wrote no such file, it has at most the channel `stable`.
    /// - Parameters:
    ///   - text: a directory, the URL of an origin, or that of one pointer.
    ///   - countMax: the most channels that are asked for.
    /// - Throws: `.badOrigin`, `.noOrigin`, `.badPointer`, `.network`; `.notFound` if there is no channel.
    package func pointers(
        of text: String, countMax: Int = .max
    ) throws(StoreError) -> [ChannelPointer] {
        try discreetly { () throws(StoreError) in try allPointers(of: text, countMax) }
    }

    private func allPointers(
        of text: String, _ countMax: Int
    ) throws(StoreError) -> [ChannelPointer] {
        let reference = try OriginReference(parsing: text)
        var pointers: [ChannelPointer] = []
        var status = 0
        switch reference.location {
        case .directory(let path):
            let origin = try DirectoryOrigin(path)
            var names = try origin.channels()
            if let named = reference.channel { names = [named] }
            for name in names.prefix(countMax) {
                // If it was withdrawn between the two looks, it is no channel.
                if let pointer = try origin.pointer(name) { pointers.append(pointer) }
            }
        case .web, .bucket:
            for name in try names(at: reference).prefix(countMax) {
                let bytes = try document(
                    OriginLayout.pointer(name), at: reference.location,
                    Int64(ChannelPointer.byteCountMax), &status)
                guard let bytes else { continue }
                pointers.append(try ChannelPointer(parsing: bytes, of: name))
            }
        }
        guard !pointers.isEmpty else {
            if let refusal, status == 403 { throw refusal }
            throw StoreError(
                .notFound,
                status == 403
                    ? "\(reference.location.description) does not let its channels be read (it answered "
                        + "403): it is private, or has none"
                    : "\(reference.location.description) has no channel; castree publish makes one")
        }
        return pointers
    }

    private func names(at reference: OriginReference) throws(StoreError) -> [ChannelName] {
        if let named = reference.channel { return [named] }
        return try listedNames(at: reference.location) ?? [.stable]
    }

    /// The channels that an origin says it has; none if it does not say.
    func channelNames(at location: OriginLocation) throws(StoreError) -> [ChannelName] {
        guard case .directory(let path) = location else {
            return try listedNames(at: location) ?? []
        }
        return try DirectoryOrigin(path).channels()
    }

    /// - Returns: nil if there is no list.
    private func listedNames(at location: OriginLocation) throws(StoreError) -> [ChannelName]? {
        var status = 0
        let list = try document(
            OriginLayout.channelList, at: location, ChannelList.byteCountMax, &status)
        guard let list else { return nil }
        return try ChannelList.names(parsing: list)
    }

    /// - Parameter status: becomes what the origin answered.
    /// - Returns: nil if it does not exist, or a page is in its place.
    private func document(
        _ path: String, at location: OriginLocation, _ byteCountMax: Int64, _ status: inout Int
    ) throws(StoreError) -> [UInt8]? {
        let answer = try document(path, at: location, byteCountMax: byteCountMax)
        status = answer.head.status
        if answer.isDocument { return answer.bytes }
        guard answer.isAbsence else {
            throw ReleaseProblem.noAnswer(
                "\(location.appending(path)) answered \(answer.head.status)", answer.head.status)
        }
        return nil
    }
}
