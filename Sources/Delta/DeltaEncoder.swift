package import Platform

/// Encodes frames of codec 3.
package enum DeltaEncoder {
    /// A run of bytes to be corrected ends where so many equal ones follow.
    ///
    /// Long runs are the smallest: a model learns where nothing changes. The other is for contents of which too many
    /// bytes would be modelled.
    private static let gaps = [1024, 128]
    /// A little less than readers may take, who count a round number for weights and windows.
    private static let memoryByteCountMax = DeltaLimits.memoryByteCountMax - (32 << 10)

    /// Encodes content as steps from a base.
    ///
    /// The same bytes give the same frame, on every machine.
    /// - Parameters:
    ///   - steps: lead over the whole content, and never out of the base; the last does not seek.
    ///   - tables: for which content and base already have differences (``DeltaTable/takeDifferences(in:)``).
    ///   - limit: the largest useful frame, in bytes.
    /// - Throws: `.tooLarge` if the frame would be larger, or exceed ``DeltaLimits``; `.interrupted`.
    package static func encode(
        _ content: UnsafeRawBufferPointer, base: UnsafeRawBufferPointer, steps: [DeltaStep],
        tables: [DeltaTable] = [], limit: Int = .max, isInterrupted: () -> Bool = { false }
    ) throws(StoreError) -> [UInt8] {
        try check(steps, contentByteCount: content.count, baseByteCount: base.count)
        precondition(
            tables.fit(baseByteCount: base.count, contentByteCount: content.count),
            "tables must lie within content and base")
        var plan = RunPlan()
        for gap in gaps {
            plan = RunPlan(steps, content, base, gap: gap)
            if plan.modelledByteCount <= DeltaLimits.modelledByteCountMax { break }
        }
        guard plan.modelledByteCount <= DeltaLimits.modelledByteCountMax else {
            throw StoreError(
                .tooLarge,
                "unable to make a delta: \(plan.modelledByteCount) bytes would be modelled")
        }
        let header = try header(plan, tables)
        let memory = ModelMemory()
        defer { withExtendedLifetime(memory) {} }
        var body = EncodedBody(header, content, base, memory)
        var nextRun = 0
        for (index, step) in steps.enumerated() {
            let last = plan.runEnds[index]
            try body.encode(
                step, plan.runs[nextRun..<last], isLast: index == steps.count - 1, isInterrupted)
            nextRun = last
            guard body.byteCount <= limit else { throw tooLarge(limit) }
        }
        let frame = header.bytes + body.finished()
        guard frame.count <= limit else { throw tooLarge(limit) }
        return frame
    }

    private static func tooLarge(_ limit: Int) -> StoreError {
        StoreError(.tooLarge, "unable to make a delta of at most \(limit) bytes")
    }

    private static func check(
        _ steps: [DeltaStep], contentByteCount: Int, baseByteCount: Int
    ) throws(StoreError) {
        guard contentByteCount <= DeltaLimits.contentByteCountMax,
            baseByteCount <= DeltaLimits.baseByteCountMax
        else { throw StoreError(.tooLarge, "unable to make a delta of more than 64 MiB") }
        guard steps.count <= DeltaLimits.stepCountMax else {
            throw StoreError(.tooLarge, "unable to make a delta: it has \(steps.count) steps")
        }
        var position = 0
        var place = 0
        for step in steps {
            precondition(
                step.copyByteCount >= 0 && step.literalByteCount >= 0
                    && step.copyByteCount <= baseByteCount - place, "a step leaves the base")
            position += step.copyByteCount + step.literalByteCount
            place += step.copyByteCount + step.seek
            precondition(place >= 0 && place <= baseByteCount, "a step leaves the base")
        }
        precondition(position == contentByteCount, "the steps give another size")
    }

    /// The head for a plan; with fewer states for literals where tables take the memory.
    private static func header(
        _ plan: RunPlan, _ tables: [DeltaTable]
    ) throws(StoreError) -> DeltaHeader {
        for scale in (0...literalScale(plan.literalByteCount)).reversed() {
            let header = DeltaHeader(
                modelledByteCount: plan.modelledByteCount, literalScale: scale, tables: tables)
            if header.memoryByteCount <= memoryByteCountMax { return header }
        }
        throw StoreError(.tooLarge, "unable to make a delta: its tables are too large")
    }

    /// Enough states for what the literals leave in them.
    private static func literalScale(_ byteCount: Int) -> Int {
        var scale = 0
        while scale < 3, 1 << (12 + 2 * scale) < byteCount * 16 { scale += 1 }
        return scale
    }
}

/// The runs of all copies: so many equal bytes, then so many to be corrected (0 only at a copy's end).
private struct RunPlan {
    private(set) var runs: [(equal: Int, corrected: Int)] = []
    /// Where the runs of each step end.
    private(set) var runEnds: [Int] = []
    private(set) var modelledByteCount = 0
    private(set) var literalByteCount = 0

    init() {}

    init(
        _ steps: [DeltaStep], _ content: UnsafeRawBufferPointer, _ base: UnsafeRawBufferPointer,
        gap: Int
    ) {
        var position = 0
        var place = 0
        for step in steps {
            addRuns(
                UnsafeRawBufferPointer(rebasing: content[position..<position + step.copyByteCount]),
                UnsafeRawBufferPointer(rebasing: base[place..<place + step.copyByteCount]), gap)
            runEnds.append(runs.count)
            literalByteCount += step.literalByteCount
            position += step.copyByteCount + step.literalByteCount
            place += step.copyByteCount + step.seek
        }
        modelledByteCount += literalByteCount
    }

    private mutating func addRuns(
        _ new: UnsafeRawBufferPointer, _ old: UnsafeRawBufferPointer, _ gap: Int
    ) {
        var start = 0
        while start < new.count {
            let equal = new.equalCount(old, from: start)
            start += equal
            var end = start
            while end < new.count {
                // `end` differs: it is the first, or ended less than `gap` equal bytes.
                end += 1
                let following = new.equalCount(old, from: end)
                if following >= gap || end + following == new.count { break }
                end += following
            }
            runs.append((equal, end - start))
            modelledByteCount += end - start
            start = end
        }
    }
}

extension UnsafeRawBufferPointer {
    /// How many bytes are equal in both from a place on, to the nearer end.
    fileprivate func equalCount(_ other: UnsafeRawBufferPointer, from start: Int) -> Int {
        let end = Swift.min(count, other.count)
        var place = start
        while place &+ 8 <= end,
            loadUnaligned(fromByteOffset: place, as: UInt64.self)
                == other.loadUnaligned(fromByteOffset: place, as: UInt64.self)
        { place &+= 8 }
        while place < end, self[place] == other[place] { place &+= 1 }
        return place - start
    }
}

/// The body of a frame while it is encoded.
private struct EncodedBody {
    private var coder = RangeEncoder()
    private let base: BaseView
    private let bytes: UnsafePointer<UInt8>
    private var numbers: NumberModels
    private var corrections: CorrectionModel
    private var literals: LiteralModel
    private var position = 0
    private var place = 0

    init(
        _ header: DeltaHeader, _ content: UnsafeRawBufferPointer, _ base: UnsafeRawBufferPointer,
        _ memory: ModelMemory
    ) {
        // Has the differences already.
        self.base = BaseView(base, [], memory)
        bytes =
            content.baseAddress?.assumingMemoryBound(to: UInt8.self)
            ?? UnsafePointer(memory.nothing)
        numbers = NumberModels(memory)
        corrections = CorrectionModel(modelledByteCount: header.modelledByteCount, memory)
        literals = LiteralModel(scale: header.literalScale, memory)
    }

    /// The size so far.
    var byteCount: Int { coder.bytes.count }

    mutating func finished() -> [UInt8] {
        coder.finish()
        return coder.bytes
    }

    mutating func encode(
        _ step: DeltaStep, _ runs: ArraySlice<(equal: Int, corrected: Int)>, isLast: Bool,
        _ isInterrupted: () -> Bool
    ) throws(StoreError) {
        _ = numbers.copy.code(step.copyByteCount, context: numbers.seek.bitCount, &coder)
        _ = numbers.literal.code(step.literalByteCount, context: numbers.copy.bitCount, &coder)
        for run in runs {
            _ = numbers.equal.code(run.equal, context: numbers.corrected.bitCount, &coder)
            position += run.equal
            place += run.equal
            if run.corrected == 0 { continue }
            _ = numbers.corrected.code(run.corrected - 1, context: numbers.equal.bitCount, &coder)
            try correct(run.corrected, isInterrupted)
        }
        let next = base.byte(at: place) | base.byte(at: place + 1) << 8
        for index in 0..<step.literalByteCount {
            if index % BaseView.windowByteCount == 0 { try stop(isInterrupted) }
            _ = literals.code(
                UInt32(bytes[position]), bytes, position: position, base: next, &coder)
            position += 1
        }
        if isLast { return }
        _ = numbers.codeSign(step.seek < 0 ? 1 : 0, &coder)
        _ = numbers.seek.code(
            step.seek < 0 ? -step.seek - 1 : step.seek, context: numbers.literal.bitCount, &coder)
        place += step.seek
    }

    private mutating func correct(
        _ count: Int, _ isInterrupted: () -> Bool
    ) throws(StoreError) {
        corrections.begin()
        var rest = count
        while rest > 0 {
            try stop(isInterrupted)
            let part = min(rest, BaseView.windowByteCount)
            let window = base.window(at: place, count: part)
            for index in 0..<part {
                _ = corrections.code(
                    UInt32(bytes[position]), base: window + index, bytes, position: position,
                    &coder)
                position += 1
            }
            place += part
            rest -= part
        }
    }

    private func stop(_ isInterrupted: () -> Bool) throws(StoreError) {
        if isInterrupted() {
            throw StoreError(.interrupted, "unable to make a delta: asked to stop")
        }
    }
}
