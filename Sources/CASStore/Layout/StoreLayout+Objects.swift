// Objects: their directories, their paths, and the way back from a name to an address.

extension StoreLayout {
    /// The directories over which objects are spread, by the first byte of the address; sorted.
    package static let shards = (0...255).map { Hex.string([UInt8($0)]) }

    package static func objectPath(_ address: ObjectID, executable: Bool = false) -> String {
        String(unsafeUninitializedCapacity: 67) { text in
            guard let start = text.baseAddress else { return 0 }
            writePath(of: address, executable, to: start)
            return executable ? 67 : 65
        }
    }

    @inline(__always)
    private static func writePath(
        of address: ObjectID, _ executable: Bool, to text: UnsafeMutablePointer<UInt8>
    ) {
        address.writeDigits(to: text + 1)
        text[0] = text[1]
        text[1] = text[2]
        text[2] = 47
        if executable {
            text[65] = 46
            text[66] = 120
        }
    }

    /// The shard at a path inside the store; `nil` if the path is not a shard's.
    package static func shard(atPath path: String) -> String? {
        let prefix = objects + "/"
        guard path.hasPrefix(prefix) else { return nil }
        let name = String(path.dropFirst(prefix.count))
        return isShardName(name) ? name : nil
    }

    package static func isShardName(_ name: String) -> Bool {
        name.utf8.count == 2 && name.utf8.allSatisfy { Hex.value(of: $0) != nil }
    }

    package static let executableCopySuffix = ".x"

    /// Called for every file of a store.
    static func isExecutableCopyName(_ name: UnsafePointer<CChar>) -> Bool {
        var length = 0
        while name[length] != 0 { length += 1 }
        return length >= 2 && name[length - 2] == 46 && name[length - 1] == 120
    }

    /// Calls `body` with an address's 64 digits as a C string, on the stack.
    @inline(__always)
    package static func withDigits<R: ~Copyable>(
        _ address: ObjectID, _ body: (UnsafePointer<CChar>) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        try withText({ address.writeDigits(to: $0) }, body)
    }

    /// Calls `body` with an object's name inside its shard, on the stack.
    @inline(__always)
    package static func withShardName<R: ~Copyable>(
        _ address: ObjectID, executable: Bool = false,
        _ body: (UnsafePointer<CChar>) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        try withObjectPath(address, executable: executable) { (path) throws(StoreError) -> R in
            try body(path + 3)
        }
    }

    /// The address that a name inside a shard spells as an object or, with `executable`, an executable copy; else
    /// `nil`.
    package static func address(
        _ shard: String, _ name: UnsafePointer<CChar>, executable: Bool = false
    ) -> ObjectID? {
        // Two digits of the shard and 62 of the name, side by side.
        var digits: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) =
            (0, 0, 0, 0, 0, 0, 0, 0)
        return withUnsafeMutableBytes(of: &digits) { (digits) -> ObjectID? in
            var position = 0
            for digit in shard.utf8.prefix(2) {
                digits[position] = digit
                position += 1
            }
            while position < 64, name[position - 2] != 0 {
                digits[position] = UInt8(bitPattern: name[position - 2])
                position += 1
            }
            guard position == 64 else { return nil }
            let end = name + 62
            let isExecutableCopy = end[0] == 46 && end[1] == 120 && end[2] == 0
            guard executable ? isExecutableCopy : end[0] == 0 else { return nil }
            return digits.withMemoryRebound(to: UInt8.self) {
                ObjectID.parse(UnsafeBufferPointer($0))
            }
        }
    }

    @inline(__always)
    package static func withObjectPath<R: ~Copyable>(
        _ address: ObjectID, executable: Bool = false,
        _ body: (UnsafePointer<CChar>) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        try withText({ writePath(of: address, executable, to: $0) }, body)
    }

    /// Calls `body` with a C string that `write` has written: 71 bytes at most, on the stack.
    @inline(__always)
    private static func withText<R: ~Copyable>(
        _ write: (UnsafeMutablePointer<UInt8>) -> Void,
        _ body: (UnsafePointer<CChar>) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        var storage: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) =
            (0, 0, 0, 0, 0, 0, 0, 0, 0)
        return try withUnsafeMutableBytes(of: &storage) { buffer throws(StoreError) -> R in
            guard let start = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self) else {
                preconditionFailure("a tuple has an address")
            }
            write(start)
            return try start.withMemoryRebound(to: CChar.self, capacity: 72) {
                path throws(StoreError) -> R in try body(path)
            }
        }
    }
}
