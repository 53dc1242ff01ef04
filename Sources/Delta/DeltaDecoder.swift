package import Platform

/// Decodes frames of codec 3 from untrusted sources.
package enum DeltaDecoder {
    /// Decodes a complete frame into a buffer of exactly its content's size.
    ///
    /// A frame cannot prove that it is undamaged: what comes out must be compared with its address.
    /// - Parameter base: the bytes that were given to the encoder.
    /// - Throws: `.badFrame` for anything but one whole frame with content of that size.
    package static func decode(
        _ frame: UnsafeRawBufferPointer, base: UnsafeRawBufferPointer,
        into target: UnsafeMutableRawBufferPointer
    ) throws(StoreError) {
        let header = try DeltaHeader(of: frame)
        guard target.count <= DeltaLimits.contentByteCountMax,
            base.count <= DeltaLimits.baseByteCountMax
        else { throw .badFrame("its content or its base is too large") }
        guard header.tables.fit(baseByteCount: base.count, contentByteCount: target.count) else {
            throw .badFrame("a table is not within the content")
        }
        let memory = ModelMemory()
        defer { withExtendedLifetime(memory) {} }
        var body = DeltaBody(
            of: UnsafeRawBufferPointer(rebasing: frame[header.byteCount...]), header, base, target,
            memory)
        assert(
            memory.byteCount + header.tableByteCount == header.memoryByteCount,
            "the memory is not what the head says")
        try body.decode()
        for table in header.tables {
            let end = table.content.start + table.contentByteCount
            table.sumUp(in: .init(rebasing: target[table.content.start..<end]))
        }
    }

    /// Decodes a complete frame.
    /// - Parameter byteCount: the size that its content must have.
    /// - Throws: `.badFrame`.
    package static func decode(
        _ frame: [UInt8], base: [UInt8], byteCount: Int
    ) throws(StoreError) -> [UInt8] {
        var failure: StoreError?
        let content = [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
            let target = UnsafeMutableRawBufferPointer(
                rebasing: UnsafeMutableRawBufferPointer(buffer)[..<byteCount])
            do throws(StoreError) {
                try frame.span.bytes.withUnsafeBytes { (frame) throws(StoreError) in
                    try base.span.bytes.withUnsafeBytes { (base) throws(StoreError) in
                        try decode(frame, base: base, into: target)
                    }
                }
                count = byteCount
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return content
    }
}

/// The body of a frame while it is decoded.
private struct DeltaBody {
    private var coder: RangeDecoder
    private let base: BaseView
    private let baseByteCount: Int
    private let target: UnsafeMutableRawBufferPointer
    /// The target's bytes; never read if it has none.
    private let bytes: UnsafeMutablePointer<UInt8>
    private var numbers: NumberModels
    private var corrections: CorrectionModel
    private var literals: LiteralModel
    /// How much of the content is there, and the place in the base.
    private var position = 0
    private var place = 0
    private var modelledRest: Int

    init(
        of body: UnsafeRawBufferPointer, _ header: DeltaHeader, _ base: UnsafeRawBufferPointer,
        _ target: UnsafeMutableRawBufferPointer, _ memory: ModelMemory
    ) {
        coder = RangeDecoder(body)
        self.base = BaseView(base, header.tables, memory)
        baseByteCount = base.count
        self.target = target
        bytes =
            target.baseAddress?.assumingMemoryBound(to: UInt8.self)
            ?? memory.nothing
        numbers = NumberModels(memory)
        corrections = CorrectionModel(modelledByteCount: header.modelledByteCount, memory)
        literals = LiteralModel(scale: header.literalScale, memory)
        modelledRest = header.modelledByteCount
    }

    mutating func decode() throws(StoreError) {
        var wasEmpty = false
        var stepCount = 0
        while position < target.count {
            stepCount += 1
            guard stepCount <= DeltaLimits.stepCountMax else {
                throw .badFrame("it has too many steps")
            }
            let copyByteCount = numbers.copy.code(0, context: numbers.seek.bitCount, &coder)
            let literalByteCount = numbers.literal.code(0, context: numbers.copy.bitCount, &coder)
            guard copyByteCount <= target.count - position,
                literalByteCount <= target.count - position - copyByteCount
            else { throw .badFrame("a step exceeds the content") }
            guard copyByteCount <= baseByteCount - place else {
                throw .badFrame("a step copies from outside of the base")
            }
            let isEmpty = copyByteCount == 0 && literalByteCount == 0
            guard !isEmpty || !wasEmpty else { throw .badFrame("it has steps without effect") }
            wasEmpty = isEmpty
            try copy(copyByteCount)
            try addLiterals(literalByteCount)
            try checkInput()
            if position < target.count { try seek() }
        }
        guard modelledRest == 0 else { throw .badFrame("it models less than it says") }
        try checkInput()
        guard coder.isAtEnd else { throw .badFrame("it does not end where its content does") }
    }

    private func checkInput() throws(StoreError) {
        guard coder.overread <= 4 else { throw .badFrame("it is cut off") }
    }

    private mutating func seek() throws(StoreError) {
        let isBack = numbers.codeSign(0, &coder) != 0
        let distance = numbers.seek.code(0, context: numbers.literal.bitCount, &coder)
        // Neither can overflow: numbers have 32 bits.
        place += isBack ? -distance - 1 : distance
        guard place >= 0, place <= baseByteCount else {
            throw .badFrame("a step seeks outside of the base")
        }
    }

    /// Copies, alternately what is equal and what may differ.
    private mutating func copy(_ count: Int) throws(StoreError) {
        let end = position + count
        while position < end {
            let equal = numbers.equal.code(0, context: numbers.corrected.bitCount, &coder)
            guard equal <= end - position else { throw .badFrame("a run exceeds its step") }
            base.copy(
                from: place, to: .init(rebasing: target[position..<position + equal]))
            position += equal
            place += equal
            if position == end { return }
            let corrected = numbers.corrected.code(0, context: numbers.equal.bitCount, &coder) + 1
            guard corrected <= end - position else { throw .badFrame("a run exceeds its step") }
            try takeModelled(corrected)
            try correct(corrected)
        }
    }

    private mutating func takeModelled(_ count: Int) throws(StoreError) {
        guard count <= modelledRest else { throw .badFrame("it models more than it says") }
        modelledRest -= count
    }

    private mutating func correct(_ count: Int) throws(StoreError) {
        corrections.begin()
        var rest = count
        while rest > 0 {
            let window = base.window(at: place, count: min(rest, BaseView.windowByteCount))
            for index in 0..<min(rest, BaseView.windowByteCount) {
                bytes[position] = corrections.code(
                    0, base: window + index, bytes, position: position, &coder)
                position &+= 1
            }
            let done = min(rest, BaseView.windowByteCount)
            place += done
            rest -= done
            try checkInput()
        }
    }

    private mutating func addLiterals(_ count: Int) throws(StoreError) {
        if count == 0 { return }
        try takeModelled(count)
        let next = base.byte(at: place) | base.byte(at: place + 1) << 8
        for index in 0..<count {
            bytes[position] = literals.code(0, bytes, position: position, base: next, &coder)
            position &+= 1
            if index % BaseView.windowByteCount == 0 { try checkInput() }
        }
    }
}
