import CASStore
import HotPush
import Storage
import VersionTree

/// A version on its way into a channel, with what all parts of publishing need; belongs to one thread.
struct Publication {
    let manifest: Manifest
    let version: PublishedVersion
    let channel: ChannelName
    let versions: VersionStore
    let seen: SeenFiles
    let watch: UploadWatch
    let options: PublisherOptions

    var storage: any ObjectStorage { seen.storage }
}

/// Looks at the end of the log from time to time during an upload, which may take hours.
///
/// If it is two epochs behind, its files may not be named any more. Belongs to one thread, except ``isDue``.
final class UploadWatch {
    private let log: OriginLog
    private let now: @Sendable () -> Int64
    private var lookedAt: Int64

    static let interval: Int64 = 600

    init(_ log: OriginLog, now: @escaping @Sendable () -> Int64) {
        self.log = log
        self.now = now
        lookedAt = now()
    }

    /// Whether it is time to look; on any thread.
    var isDue: @Sendable () -> Bool {
        let (now, time) = (now, lookedAt + Self.interval)
        return { now() >= time }
    }

    func state(ahead state: OriginState) throws(StoreError) -> OriginState? {
        guard isDue() else { return nil }
        lookedAt = now()
        guard let newest = try log.state(from: state.number),
            newest.entry.epoch >= state.entry.epoch + 2
        else { return nil }
        return newest
    }
}
