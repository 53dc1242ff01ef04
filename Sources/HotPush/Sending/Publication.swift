import CASStore
import Storage
import VersionTree

/// A version on its way into a channel: what all need who have a part in that.
///
/// Belongs to one thread.
struct Publication {
    let manifest: Manifest
    let version: PublishedVersion
    let channel: ChannelName
    let versions: VersionStore
    /// The files that were seen in the origin.
    let seen: SeenFiles
    let watch: UploadWatch
    let options: PublisherOptions

    var storage: any ObjectStorage { seen.storage }
}

extension PublisherOptions {
    /// Whether files are looked for that the log says are there: on a disk that costs nothing.
    func looks(in storage: any ObjectStorage) -> Bool { verifiesObjects || storage.looksAreFree }
}

/// Looks at the end of the log now and then while files are sent, which may take hours.
///
/// An upload that is two epochs behind would be for nothing: what it has sent may not be named any more. Belongs to one
/// thread, but for ``isDue``.
final class UploadWatch {
    private let log: OriginLog
    private let now: @Sendable () -> Int64
    private var lookedAt: Int64

    /// Seconds between two looks.
    static let interval: Int64 = 600

    init(_ log: OriginLog, now: @escaping @Sendable () -> Int64) {
        self.log = log
        self.now = now
        lookedAt = now()
    }

    /// Says whether it is time to look; on any thread.
    var isDue: @Sendable () -> Bool {
        let (now, time) = (now, lookedAt + Self.interval)
        return { now() >= time }
    }

    /// The newest state, if it is time to look, and files for `state` are two epochs behind.
    func state(ahead state: OriginState) throws(StoreError) -> OriginState? {
        guard isDue() else { return nil }
        lookedAt = now()
        guard let newest = try log.state(from: state.number),
            newest.entry.epoch >= state.entry.epoch + 2
        else { return nil }
        return newest
    }
}
