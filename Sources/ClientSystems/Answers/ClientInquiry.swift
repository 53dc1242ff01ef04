import Archives
import HotPush
import Platform

/// A request to a system, with everything its answer may depend on.
struct ClientInquiry {
    let request: ClientRequest
    let configuration: ClientConfiguration
    let origin: any ClientOrigin

    func channel(of deployment: String) throws(StoreError) -> ClientChannel? {
        guard let name = configuration.deployments[deployment] else { return nil }
        return try origin.channel(name, for: configuration.system)
    }

    func first<Value>(
        _ find: (ClientChannel) throws(StoreError) -> Value?
    ) throws(StoreError) -> Value? {
        for name in Set(configuration.deployments.values).sorted() {
            guard let channel = try origin.channel(name, for: configuration.system),
                let found = try find(channel)
            else { continue }
            return found
        }
        return nil
    }

    /// Answers with the archive that the path names below a prefix; `nil` if no channel has it.
    /// - Parameter compose: returns `nil` if the channel does not have the archive.
    func archive(
        below prefix: String,
        _ compose: (ArchiveName, ClientChannel) throws(StoreError) -> ZipArchive?
    ) throws(StoreError) -> ClientAnswer? {
        guard let name = request.archiveName(below: prefix) else { return nil }
        let archive = try first { (channel) throws(StoreError) in try compose(name, channel) }
        return archive.map { .immutable("application/zip", .archive($0)) }
    }

    /// Answers with a JSON document; a long one is written once and shared by all requests.
    /// - Parameter name: a text that differs whenever the document does.
    func json(
        isLong: Bool, named name: @autoclosure () -> String,
        _ write: () throws(StoreError) -> [UInt8]
    ) throws(StoreError) -> ClientAnswer {
        .json(isLong ? try origin.encoded(named: name(), write) : try write())
    }

    func url(of address: ObjectID) -> String {
        "\(configuration.baseURL)/\(OriginLayout.path(.object, address))"
    }
}

/// A malformed request; the answer is the sentence.
struct ClientRefusal: Error {
    var status = 400
    var sentence: String
}

extension ClientChannel {
    /// The newest offer of a content.
    /// - Parameter isLive: whether the pointer must still list it. Otherwise a client may finish what it began before
    ///   the pointer changed, as long as the origin holds the content.
    func offer(of content: ObjectID?, isLive: Bool) -> ClientOffer? {
        isLive
            ? live.first { $0.offer.content == content }?.offer
            : past.last { $0.content == content }
    }

    /// The newest release that fits a device, and whether the device already has it.
    ///
    /// A device that a roll-out does not select keeps the newer release it has.
    func newest(
        for device: String?, where fits: (Live) -> Bool, has: (Live) -> Bool
    ) throws(StoreError) -> (live: Live, isHeld: Bool)? {
        for live in live where fits(live) {
            if has(live) { return (live, true) }
            if try live.release.rollout?.includes(device) ?? true { return (live, false) }
        }
        return nil
    }

    /// The newest release that is for everybody.
    /// - Parameter kinds: the kinds of requirements that clients check themselves.
    func newest(besides kinds: [String]) -> Live? {
        live.first { live in
            (live.release.rollout?.perMille ?? 1000) >= 1000 && live.offer.version != nil
                && live.release.requirements.allSatisfy { kinds.contains($0.kind) }
        }
    }
}
