import CASStore
import Storage

extension OriginState {
    /// What an origin is whose publishers write no log: what its pointers say.
    ///
    /// - Parameter damaged: gets a channel whose pointer cannot be read.
    init(
        standingIn storage: any ObjectStorage, damaged: (ChannelName) -> Void = { _ in }
    ) throws(StoreError) {
        var pointers: [ChannelName: ChannelPointer] = [:]
        for channel in try OriginTraces(of: storage).channels {
            let seen = try PointerCopy(channel, in: storage).read()
            if let pointer = seen.pointer {
                pointers[channel] = pointer
            } else if seen.tag != nil {
                damaged(channel)
            }
        }
        let entry = LogEntry(
            kind: .create, createdAt: 0, author: try LogEntry.drawAuthor(), keptFrom: 0)
        self.init(number: 0, entry: entry, pointers: pointers)
    }
}
