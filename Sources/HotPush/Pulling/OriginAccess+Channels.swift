package import CASStore

// What the channels of an origin offer; fetches only their pointers.
extension OriginAccess {
    package typealias LostTeller = (
        DirectoryOrigin, _ there: Set<ChannelName>, _ only: ChannelName?
    ) throws(StoreError) -> Bool

    /// The pointers of an origin's channels, sorted by name.
    ///
    /// A web server does not list its directories, so the origin names its channels in `channels.json`. An origin
    /// without that file, written by an older castree, has at most the channel `stable`.
    /// - Parameters:
    ///   - text: a directory, the URL of an origin, or that of one pointer.
    ///   - tellsLost: tells what channels a directory has lost, given those that it has, and whether there is any.
    /// - Throws: `.badOrigin`, `.noOrigin`, `.badPointer`, `.tooLarge`, `.network`; `.notFound` if there is no channel.
    package func pointers(
        of text: String, countMax: Int = .max, tellsLost: LostTeller = { (_, _, _) in false }
    ) throws(StoreError) -> [ChannelPointer] {
        try discreetly { () throws(StoreError) in
            let reference = try OriginReference(parsing: text)
            var pointers: [ChannelPointer] = []
            var hasLost = false
            var status = 0
            switch reference.location {
            case .directory(let path):
                let origin = try DirectoryOrigin(path)
                var names = try origin.channels()
                if let named = reference.channel { names = [named] }
                for name in names.prefix(countMax) {
                    // A channel withdrawn between the two looks has no pointer.
                    if let pointer = try origin.pointer(name) { pointers.append(pointer) }
                }
                hasLost = try tellsLost(origin, Set(pointers.map(\.channel)), reference.channel)
            case .web, .bucket:
                let names = try names(at: reference).prefix(countMax)
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
                        : "\(reference.location.description) has no channel"
                            + (hasLost ? " that can be shown" : "; castree publish creates one")
                )
            }
            return pointers
        }
    }

    private func names(at reference: OriginReference) throws(StoreError) -> [ChannelName] {
        if let named = reference.channel { return [named] }
        return try listedNames(at: reference.location) ?? [.stable]
    }

    func channelNames(at location: OriginLocation) throws(StoreError) -> [ChannelName] {
        guard case .directory(let path) = location else {
            return try listedNames(at: location) ?? []
        }
        return try DirectoryOrigin(path).channels()
    }

    private func listedNames(at location: OriginLocation) throws(StoreError) -> [ChannelName]? {
        let answer = try document(
            OriginLayout.channelList, at: location, byteCountMax: ChannelList.byteCountMax)
        let list = try bytes(of: answer, from: location.appending(OriginLayout.channelList))
        return try list.map { (list) throws(StoreError) in try ChannelList.names(parsing: list) }
    }

    /// Returns nil if it does not exist, or a page is in its place.
    private func bytes(
        of answer: DocumentFetch.Answer, from place: String
    ) throws(StoreError) -> [UInt8]? {
        if answer.isDocument { return answer.bytes }
        guard answer.isMissing else {
            throw ReleaseProblem.noAnswer(
                "\(place) answered \(answer.head.status)", answer.head.status)
        }
        return nil
    }

    /// The deliveries of what channels offer, by address, within ten minutes; omits those that cannot be fetched.
    /// - Throws: `.badOrigin`, `.interrupted`.
    package func deliveries(
        of pointers: [ChannelPointer], at text: String
    ) throws(StoreError) -> [ObjectID: Delivery] {
        let location = try OriginReference(parsing: text).location
        let end = ContinuousClock.now + DocumentFetch.timeout
        var deliveries: [ObjectID: Delivery] = [:]
        for release in pointers.flatMap(\.releases) {
            guard let published = release.delivery, deliveries[published.address] == nil,
                ContinuousClock.now < end
            else { continue }
            deliveries[published.address] = try allowing(
                [.badPack, .tooLarge, .network], try delivery(of: release, at: location))
        }
        return deliveries
    }
}
