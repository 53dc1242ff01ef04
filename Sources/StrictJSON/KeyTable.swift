// The keys of the open objects, for finding duplicates.

/// The keys of nested objects in two stacks, so that no object costs an allocation.
///
/// ```
///          outer object        inner object      (only the innermost grows)
/// keys    [a b c d e f g h i | x y z]            12 bytes each
/// slots   [. 3 . 8 1 . … … . | ]                 indices into keys; none up to `linearCountMax`
/// ```
///
/// A few keys are compared one by one. More are found through `slots`, an open-addressing table with a hash that is
/// seeded anew in every process, so that nobody can prepare keys that collide.
struct KeyTable: Sendable {
    private struct Key {
        var start: UInt32
        /// The byte count shifted left, with the presence of escapes in the lowest bit.
        var extent: UInt32
        /// Valid only once the object has slots.
        var hash: UInt32 = 0

        init(_ token: StringToken) {
            start = UInt32(token.start)
            extent = UInt32(token.end - token.start) << 1 | (token.hasEscapes ? 1 : 0)
        }

        var token: StringToken {
            StringToken(
                start: Int(start), end: Int(start) + Int(extent >> 1), hasEscapes: extent & 1 == 1)
        }
    }

    private struct Scope {
        var firstKey: Int
        var firstSlot: Int
    }

    static let linearCountMax = 8

    private var keys: [Key] = []
    private var slots: [UInt32] = []
    private var scopes: [Scope] = []
    private var scope = Scope(firstKey: 0, firstSlot: 0)

    mutating func open() {
        scopes.append(scope)
        scope = Scope(firstKey: keys.count, firstSlot: slots.count)
    }

    mutating func close() {
        keys.removeLast(keys.count - scope.firstKey)
        slots.removeLast(slots.count - scope.firstSlot)
        guard let outer = scopes.popLast() else { preconditionFailure("close() without open()") }
        scope = outer
    }

    /// Returns false if the innermost object has the key already.
    mutating func insert(_ token: StringToken, in bytes: [UInt8]) -> Bool {
        var key = Key(token)
        let count = keys.count - scope.firstKey
        if count < Self.linearCountMax {
            for other in keys[scope.firstKey...] where Self.areEqual(key, other, in: bytes) {
                return false
            }
            keys.append(key)
            return true
        }
        if count == Self.linearCountMax { hashAllKeys(in: bytes) }
        // Three quarters full is full.
        if (count + 1) * 4 > (slots.count - scope.firstSlot) * 3 { growSlots() }
        key.hash = Self.hash(of: key, in: bytes)
        return insertHashed(key, in: bytes)
    }

    /// Copies the bytes of all keys out of `bytes` and rebases their offsets to the copy.
    mutating func moveKeys(from bytes: [UInt8]) -> [UInt8] {
        var moved: [UInt8] = []
        for index in keys.indices {
            let token = keys[index].token
            keys[index].start = UInt32(moved.count)
            moved += bytes[token.start..<token.end]
        }
        return moved
    }

    private mutating func insertHashed(_ key: Key, in bytes: [UInt8]) -> Bool {
        let mask = slots.count - scope.firstSlot - 1
        var slot = Int(key.hash) & mask
        // A slot holds the index of a key plus one; zero is free.
        while slots[scope.firstSlot + slot] != 0 {
            let other = keys[Int(slots[scope.firstSlot + slot]) - 1]
            if other.hash == key.hash, Self.areEqual(key, other, in: bytes) { return false }
            slot = (slot + 1) & mask
        }
        keys.append(key)
        slots[scope.firstSlot + slot] = UInt32(keys.count)
        return true
    }

    private mutating func hashAllKeys(in bytes: [UInt8]) {
        for index in scope.firstKey..<keys.count {
            keys[index].hash = Self.hash(of: keys[index], in: bytes)
        }
    }

    private mutating func growSlots() {
        let slotCount = max(32, (slots.count - scope.firstSlot) * 2)
        slots.removeLast(slots.count - scope.firstSlot)
        slots.append(contentsOf: repeatElement(0, count: slotCount))
        for index in scope.firstKey..<keys.count {
            var slot = Int(keys[index].hash) & (slotCount - 1)
            while slots[scope.firstSlot + slot] != 0 { slot = (slot + 1) & (slotCount - 1) }
            slots[scope.firstSlot + slot] = UInt32(index + 1)
        }
    }

    private static func hash(of key: Key, in bytes: [UInt8]) -> UInt32 {
        let token = key.token
        var hasher = Hasher()
        if token.hasEscapes {
            var decoded: [UInt8] = []
            token.append(from: bytes, to: &decoded)
            decoded.withUnsafeBytes { hasher.combine(bytes: $0) }
        } else {
            bytes.withUnsafeBytes {
                hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: $0[token.start..<token.end]))
            }
        }
        return UInt32(truncatingIfNeeded: hasher.finalize())
    }

    /// Compares the decoded keys byte by byte: RFC 8259 §8.3 knows no other equality.
    private static func areEqual(_ left: Key, _ right: Key, in bytes: [UInt8]) -> Bool {
        if (left.extent | right.extent) & 1 == 0 {
            guard left.extent == right.extent else { return false }
            let (first, second) = (Int(left.start), Int(right.start))
            for index in 0..<Int(left.extent >> 1)
            where bytes[first + index] != bytes[second + index] {
                return false
            }
            return true
        }
        var decoded: ([UInt8], [UInt8]) = ([], [])
        left.token.append(from: bytes, to: &decoded.0)
        right.token.append(from: bytes, to: &decoded.1)
        return decoded.0 == decoded.1
    }
}
