/// A fixed range of memory in which a loop gathers what it sends with one call.
struct SendBuffer: ~Copyable {
    private let memory: UnsafeMutableRawBufferPointer
    private(set) var count = 0

    init(capacity: Int) {
        memory = .allocate(byteCount: capacity, alignment: 64)
    }

    deinit { memory.deallocate() }

    var space: Int { memory.count - count }
    var isEmpty: Bool { count == 0 }
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }

    /// - Precondition: the bytes fit.
    @inline(__always)
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        precondition(bytes.count <= space)
        guard let source = bytes.baseAddress, let target = memory.baseAddress else { return }
        (target + count).copyMemory(from: source, byteCount: bytes.count)
        count += bytes.count
    }

    /// - Precondition: there is space for ``ObjectFields/byteCountMax`` bytes.
    @inline(__always)
    mutating func append(_ fields: ObjectFields) {
        precondition(ObjectFields.byteCountMax <= space)
        guard let target = memory.baseAddress else { return }
        let end = (target + count).assumingMemoryBound(to: UInt8.self)
        count += fields.write(to: end)
    }

    mutating func clear() { count = 0 }
}
