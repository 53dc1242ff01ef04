/// The inodes of the objects that a check has found sound, by address.
///
/// A file of a tree that is one of these inodes needs no look of its own: its bytes and mode are the
/// object's. Sixteen bytes an object: the first eight of the address stand for all of it, and whoever
/// could make two SHA-256 agree in those would only make a check look closer, since the inodes differ.
package struct SoundInodes: Sendable {
    package struct Entry: Sendable {
        var prefix: UInt64
        var inode: UInt64
    }

    private var objects: [Entry] = []
    private var twins: [Entry] = []
    /// When each of `objects` was found sound, as in ``VerifiedTimes``; 0 for never.
    private var times: [UInt32] = []

    mutating func append(_ address: ObjectID, inode: UInt64, time: UInt32) {
        objects.append(Entry(prefix: address.w0, inode: inode))
        times.append(time)
    }

    mutating func appendTwin(_ address: ObjectID, inode: UInt64) {
        twins.append(Entry(prefix: address.w0, inode: inode))
    }

    /// Forgets when the object that came last was found sound, if it is this one.
    mutating func forgetTime(of address: ObjectID) {
        guard let last = objects.last, last.prefix == address.w0 else { return }
        times[times.count - 1] = 0
    }

    /// Adds when each object up to a place was found sound.
    func appendTimes(through last: UInt64, to verified: inout VerifiedTimes) {
        for position in objects.indices
        where times[position] > 0 && objects[position].prefix <= last {
            verified.entries.append(
                .init(prefix: objects[position].prefix, time: times[position]))
        }
    }

    /// Whether an inode is that of a sound object.
    package func contains(_ address: ObjectID, executable: Bool, inode: UInt64) -> Bool {
        let entries = executable ? twins : objects
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].prefix < address.w0 { low = middle + 1 } else { high = middle }
        }
        return low < entries.count && entries[low].prefix == address.w0
            && entries[low].inode == inode
    }

    package init() {}

    /// Joins what was found in parts of the address space, each sorted, in their order.
    init(sorted parts: [SoundInodes]) {
        objects.reserveCapacity(parts.reduce(0) { $0 + $1.objects.count })
        for part in parts {
            objects += part.objects
            twins += part.twins
        }
    }
}
