import CASStore
import HotPush
import Platform
import Storage

struct ChangingFile: Sendable {
    let path: String
    let limit: Int
    /// Its position in the sequence of contents published at its path.
    /// - Throws: why it cannot be understood.
    let order: @Sendable ([UInt8]) throws(StoreError) -> Int64

    static let channelList = ChangingFile(
        path: OriginLayout.channelList, limit: Int(ChannelList.byteCountMax)
    ) { (bytes) throws(StoreError) in
        _ = try ChannelList.names(parsing: bytes)
        return 0
    }

    static func marker(of place: String) -> ChangingFile {
        ChangingFile(path: OriginLayout.marker, limit: Int(OriginMarker.byteCountMax)) {
            (bytes) throws(StoreError) in
            try OriginMarker.check(bytes, of: place)
            return 0
        }
    }

    /// A version of the trust, which readers verify themselves.
    static func trust(_ version: Int64) -> ChangingFile {
        ChangingFile(path: OriginLayout.trust(version), limit: TrustFile.byteCountMax) { _ in 0 }
    }

    static func configuration(of system: ClientSystem) -> ChangingFile {
        ChangingFile(
            path: OriginLayout.clientConfiguration(of: system.rawValue),
            limit: ClientConfiguration.byteCountMax
        ) { (bytes) throws(StoreError) in
            try ClientConfiguration(parsing: bytes, of: system).log ?? 0
        }
    }

    static func history(of channel: ChannelName, _ system: ClientSystem) -> ChangingFile {
        ChangingFile(
            path: OriginLayout.clientHistory(of: channel, system.rawValue),
            limit: ClientHistory.byteCountMax
        ) { (bytes) throws(StoreError) in
            try ClientHistory(parsing: bytes, of: channel, system).log ?? 0
        }
    }

    static func pointer(of channel: ChannelName) -> ChangingFile {
        ChangingFile(
            path: OriginLayout.pointer(channel), limit: ChannelPointer.byteCountMax
        ) { (bytes) throws(StoreError) in
            let sequence = try ChannelPointer(parsing: bytes, of: channel).sequence
            // A number that cannot have been reached by counting sorts before all others, since the next one is
            // smaller.
            return sequence > secondsNow() + 365 * 86_400 ? 0 : sequence
        }
    }
}

typealias FileChange = (file: ChangingFile, news: DocumentNews)
