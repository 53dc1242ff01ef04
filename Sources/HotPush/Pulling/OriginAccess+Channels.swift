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
    /// - Throws: `.badOrigin`, `.noOrigin`, `.badPointer`, `.tooLarge`, `.network`; `.notFound` if there is no channel.
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
            let names = try names(at: reference).prefix(countMax)
            // All at once: together they may take no longer than one.
            let answers = try documents(
                names.map { (OriginLayout.pointer($0), Int64(ChannelPointer.byteCountMax)) },
                at: reference.location)
            for (name, answer) in zip(names, answers) {
                status = answer.head.status
                let place = reference.location.appending(OriginLayout.pointer(name))
                guard let bytes = try bytes(of: answer, from: place) else { continue }
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
        let answer = try document(
            OriginLayout.channelList, at: location, byteCountMax: ChannelList.byteCountMax)
        let list = try bytes(of: answer, from: location.appending(OriginLayout.channelList))
        return try list.map { (list) throws(StoreError) in try ChannelList.names(parsing: list) }
    }

    /// - Returns: nil if it does not exist, or a page is in its place.
    private func bytes(
        of answer: DocumentFetch.Answer, from place: String
    ) throws(StoreError) -> [UInt8]? {
        if answer.isDocument { return answer.bytes }
        guard answer.isAbsence else {
            throw ReleaseProblem.noAnswer(
                "\(place) answered \(answer.head.status)", answer.head.status)
        }
        return nil
    }
}
