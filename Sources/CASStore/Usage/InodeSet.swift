/// Inodes of one device that have been seen: a million in sixteen megabytes.
///
/// Open addressing with linear probing. No attacker chooses the inodes of a store, so one
/// multiplication spreads them well enough.
final class InodeSet {
    // 0 is an empty place; no file has it as its inode.
    private var places: [UInt64] = Array(repeating: 0, count: 1024)
    private(set) var count = 0

    private func place(of inode: UInt64, in places: [UInt64]) -> Int {
        let mask = places.count - 1
        var place = Int(truncatingIfNeeded: (inode &* 0x9E37_79B9_7F4A_7C15) >> 32) & mask
        while places[place] != 0, places[place] != inode { place = (place + 1) & mask }
        return place
    }

    /// Whether an inode has been seen.
    func contains(_ inode: UInt64) -> Bool {
        inode != 0 && places[place(of: inode, in: places)] == inode
    }

    /// Adds an inode; `false` if it was there.
    func insert(_ inode: UInt64) -> Bool {
        guard inode != 0 else { return true }
        let found = place(of: inode, in: places)
        guard places[found] == 0 else { return false }
        places[found] = inode
        count += 1
        if count * 2 > places.count { grow() }
        return true
    }

    private func grow() {
        var larger = [UInt64](repeating: 0, count: places.count * 2)
        for inode in places where inode != 0 {
            larger[place(of: inode, in: larger)] = inode
        }
        places = larger
    }
}
