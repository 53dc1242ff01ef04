import Expectations
import HotPush
import Platform

@testable import ClientSystems

extension ModelOrigin {
    func bytes(
        of document: ClientDocument, for system: ClientSystem
    ) throws(StoreError) -> [UInt8]? {
        objects[document.address]
    }

    /// The bytes of an answer, however it says them.
    func bytes(of answer: ClientAnswer) throws -> [UInt8] {
        switch answer.body {
        case .none: []
        case .bytes(let bytes): bytes
        case .object(let address, _): try require(objects[address])
        case .document(let document, _): try require(objects[document.address])
        case .archive(let archive): try bytes(of: archive)
        case .gzip: try require(nil as [UInt8]?)
        }
    }

    /// Whether a URL that an answer names leads to something: an object, or what the system's feed answers.
    func serves<Feed: ClientFeed>(
        _ url: String, _ feed: Feed.Type, _ configuration: ClientConfiguration
    ) throws -> Bool {
        guard url.hasPrefix(configuration.baseURL + "/") else { return false }
        let path = String(url.dropFirst(configuration.baseURL.count))
        if path.hasPrefix("/objects/") {
            return objects.keys.contains { "/" + OriginLayout.path(.object, $0) == path }
        }
        return try Feed.answer(ClientRequest("GET", path), configuration, self)?.status == 200
    }
}

extension ClientFeed {
    static func answer(
        _ request: ClientRequest, _ configuration: ClientConfiguration, _ origin: some ClientOrigin
    ) throws(StoreError) -> ClientAnswer? {
        try answer(ClientInquiry(request: request, configuration: configuration, origin: origin))
    }
}

/// An origin that keeps nothing for the next request, unless it says so.
extension ClientOrigin {
    func willFetch(composing: Bool) throws(StoreError) {}

    func patches(of channel: ChannelName) throws(StoreError) -> PatchTable { PatchTable(nil) }

    func bytes(
        of patch: ClientPatch, making byteCount: Int64?
    ) throws(StoreError) -> [UInt8]? { nil }

    func archiveByteCount(
        named name: String, _ find: () throws(StoreError) -> Int64?
    ) throws(StoreError) -> Int64? { try find() }

    func encoded(
        named name: String, _ write: () throws(StoreError) -> [UInt8]
    ) throws(StoreError) -> [UInt8] { try write() }
}

/// An origin that asks a model, but for what it does itself.
protocol ModelledOrigin: ClientOrigin {
    var model: ModelOrigin { get }
}

extension ModelledOrigin {
    func channel(
        _ name: ChannelName, for system: ClientSystem
    ) throws(StoreError) -> ClientChannel? { try model.channel(name, for: system) }

    func content(of offer: ClientOffer) throws(StoreError) -> ClientContent? {
        try model.content(of: offer)
    }

    func bytes(
        of document: ClientDocument, for system: ClientSystem
    ) throws(StoreError) -> [UInt8]? { try model.bytes(of: document, for: system) }
}

extension ClientAnswer {
    func field(_ name: String) -> String? {
        let found = fields.filter { $0.name == name }
        return found.count == 1 ? found[0].value : nil
    }
}
