/// A hash table from the bytes of a URL path to a number.
///
/// Compact: the keys are in one array, and each costs its bytes and 20 more. Each table seeds its hashing, so nobody
/// can write a manifest whose paths collide.
struct PathTable: Sendable {
    private struct Key: Sendable {
        var start: UInt32
        var length: UInt32
        var hash: UInt32
    }

    private var bytes: [UInt8] = []
    private var keys: [Key] = []
    // Positions in `keys` plus one; 0 is free. The count is a power of two, at least twice that of keys.
    private var slots: [UInt32]
    private let seed = UInt64.random(in: 0...UInt64.max)
    private let factor = UInt64.random(in: 0...UInt64.max) | 1

    /// - Parameter byteCount: of all keys together; may be a guess.
    init(capacity: Int, byteCount: Int = 0) {
        var count = 16
        while count < capacity * 2 { count *= 2 }
        slots = [UInt32](repeating: 0, count: count)
        keys.reserveCapacity(capacity)
        bytes.reserveCapacity(byteCount)
    }

    /// The number of keys; they are numbered from 0 in the order of insertion.
    var count: Int { keys.count }

    func key(_ number: Int) -> ArraySlice<UInt8> {
        let key = keys[number]
        return bytes[Int(key.start)..<Int(key.start) + Int(key.length)]
    }

    @inline(__always)
    func find(_ path: UnsafeBufferPointer<UInt8>) -> Int? {
        find(path, hash(path))
    }

    @inline(__always)
    private func find(_ path: UnsafeBufferPointer<UInt8>, _ hash: UInt32) -> Int? {
        var slot = Int(hash) & (slots.count - 1)
        while slots[slot] != 0 {
            let number = Int(slots[slot]) - 1
            if keys[number].hash == hash, isKey(number, path) { return number }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    func find(_ path: ArraySlice<UInt8>) -> Int? {
        path.withUnsafeBufferPointer { find($0) }
    }

    /// Adds a key and returns its number; `nil` if the key is already there or the table is full.
    mutating func insert(_ path: UnsafeBufferPointer<UInt8>) -> Int? {
        let hash = hash(path)
        if find(path, hash) != nil { return nil }
        guard bytes.count + path.count <= Int(UInt32.max), keys.count < Int(UInt32.max) - 1 else {
            return nil
        }
        if (keys.count + 1) * 2 > slots.count { grow() }
        let number = keys.count
        keys.append(Key(start: UInt32(bytes.count), length: UInt32(path.count), hash: hash))
        bytes.append(contentsOf: path)
        place(number, hash)
        return number
    }

    private mutating func place(_ number: Int, _ hash: UInt32) {
        var slot = Int(hash) & (slots.count - 1)
        while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
        slots[slot] = UInt32(number + 1)
    }

    private mutating func grow() {
        slots = [UInt32](repeating: 0, count: slots.count * 2)
        for number in keys.indices { place(number, keys[number].hash) }
    }

    @inline(__always)
    private func isKey(_ number: Int, _ path: UnsafeBufferPointer<UInt8>) -> Bool {
        let key = keys[number]
        guard Int(key.length) == path.count else { return false }
        let start = Int(key.start)
        return bytes.withUnsafeBufferPointer { bytes in
            areEqual(path, UnsafeBufferPointer(rebasing: bytes[start..<start + path.count]))
        }
    }

    @inline(__always)
    private func hash(_ path: UnsafeBufferPointer<UInt8>) -> UInt32 {
        // Folded multiplication of eight bytes at a time (like wyhash), with secret random numbers. It happens for
        // each request and costs a third of SipHash.
        let raw = UnsafeRawBufferPointer(path)
        var state = seed ^ UInt64(path.count)
        var position = 0
        while position + 8 <= raw.count {
            state = mix(state ^ raw.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            position += 8
        }
        var rest: UInt64 = 0
        while position < raw.count {
            rest = rest << 8 | UInt64(raw[position])
            position += 1
        }
        return UInt32(truncatingIfNeeded: mix(mix(state ^ rest)))
    }

    @inline(__always)
    private func mix(_ word: UInt64) -> UInt64 {
        let product = word.multipliedFullWidth(by: factor)
        return product.high ^ product.low
    }
}
