import CASStore
import HotPush
import Platform
import Storage

/// A file of an origin that changes.
struct ChangingFile: Sendable {
    let path: String
    /// The most bytes that it may have.
    let limit: Int
    /// Its place among those that stand at its path one after the other.
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

    /// A version of the trust: it proves itself to those who read it.
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
            // One that cannot have been reached by counting is before all others: the next one is smaller.
            return sequence > secondsNow() + 365 * 86_400 ? 0 : sequence
        }
    }
}

/// What is to be taken of a file that changes.
typealias FileChange = (file: ChangingFile, news: DocumentNews)
