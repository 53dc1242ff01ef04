internal import CZstd
package import Platform

/// Encodes zstd frames (RFC 8878), one after the other.
///
/// Every frame declares its content's size and has neither checksum nor dictionary number: addresses prove contents
/// better. Not for use by two threads at once.
package final class ZstdEncoder {
    private let context: OpaquePointer

    package static let levels = 1...19
    /// The version of libzstd, upon which the encoded bytes may depend.
    package static var version: Int { Int(ZSTD_versionNumber()) }

    /// - Throws: `.outOfMemory`.
    package init() throws(StoreError) {
        guard let context = ZSTD_createCCtx() else {
            throw StoreError(.outOfMemory, "unable to prepare an encoder: out of memory")
        }
        self.context = context
    }

    deinit { ZSTD_freeCCtx(context) }

    package struct Settings: Sendable, Hashable {
        /// From 1 (fast) to 19 (small).
        package var level: Int
        /// The binary logarithm of how far a decoder must be able to refer back, in bytes.
        package var windowLog: Int
        /// Whether to look for repetitions across the whole window, which large contents need.
        package var isLongDistance: Bool

        package init(level: Int, windowLog: Int, isLongDistance: Bool = false) {
            self.level = level
            self.windowLog = windowLog
            self.isLongDistance = isLongDistance
        }
    }

    /// Encodes content in memory.
    /// - Parameters:
    ///   - prefix: earlier bytes to which the content may refer, and which the decoder has; empty for none.
    ///   - limit: the largest useful frame.
    /// - Returns: the frame; `nil` if it would have more than `limit` bytes.
    /// - Throws: `.outOfMemory`; `.unsupported` if libzstd refuses the settings.
    package func encode(
        _ content: UnsafeRawBufferPointer, prefix: UnsafeRawBufferPointer, _ settings: Settings,
        limit: Int
    ) throws(StoreError) -> [UInt8]? {
        try check(ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters))
        try set(ZSTD_c_compressionLevel, settings.level)
        try set(ZSTD_c_windowLog, settings.windowLog)
        if settings.isLongDistance { try set(ZSTD_c_enableLongDistanceMatching, 1) }
        if let chainLog = Self.chainLog(settings, content.count, prefix.count) {
            try set(ZSTD_c_chainLog, chainLog)
        }
        try check(ZSTD_CCtx_setPledgedSrcSize(context, UInt64(content.count)))
        if !prefix.isEmpty {
            try check(ZSTD_CCtx_refPrefix(context, prefix.baseAddress, prefix.count))
        }
        // With space for the worst case, libzstd writes straight into it.
        let capacity = min(ZSTD_compressBound(content.count), max(limit, 0))
        guard capacity > 0 else { return nil }
        var result = 0
        let frame = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
            result = ZSTD_compress2(
                context, buffer.baseAddress, capacity, content.baseAddress, content.count)
            count = ZSTD_isError(result) == 0 ? result : 0
        }
        if ZSTD_getErrorCode(result) == ZSTD_error_dstSize_tooSmall { return nil }
        try check(result)
        return frame
    }

    package func encode(
        _ content: [UInt8], prefix: [UInt8], _ settings: Settings, limit: Int
    ) throws(StoreError) -> [UInt8]? {
        try content.span.bytes.withUnsafeBytes { (content) throws(StoreError) in
            try prefix.span.bytes.withUnsafeBytes { (prefix) throws(StoreError) in
                try encode(content, prefix: prefix, settings, limit: limit)
            }
        }
    }

    /// Begins a frame of content that is too large for the memory.
    ///
    /// ``add(_:buffer:_:)`` takes the pieces in order, and ``finish(buffer:_:)`` ends the frame.
    /// - Parameter byteCount: the size of the content.
    package func begin(byteCount: Int64, _ settings: Settings) throws(StoreError) {
        try check(ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters))
        try set(ZSTD_c_compressionLevel, settings.level)
        try set(ZSTD_c_windowLog, settings.windowLog)
        try check(ZSTD_CCtx_setPledgedSrcSize(context, UInt64(byteCount)))
    }

    /// Adds a piece of the content.
    /// - Parameters:
    ///   - buffer: holds each piece of the frame.
    ///   - body: gets the pieces of the frame, in order.
    package func add(
        _ piece: UnsafeRawBufferPointer, buffer: UnsafeMutableRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) {
        try advance(piece, ZSTD_e_continue, buffer, body)
    }

    /// Ends the frame.
    /// - Throws: `.unsupported` if the content had another size than announced.
    package func finish(
        buffer: UnsafeMutableRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) {
        try advance(UnsafeRawBufferPointer(start: nil, count: 0), ZSTD_e_end, buffer, body)
    }

    private func advance(
        _ piece: UnsafeRawBufferPointer, _ directive: ZSTD_EndDirective,
        _ buffer: UnsafeMutableRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) {
        var input = ZSTD_inBuffer(src: piece.baseAddress, size: piece.count, pos: 0)
        while true {
            var output = ZSTD_outBuffer(dst: buffer.baseAddress, size: buffer.count, pos: 0)
            let left = ZSTD_compressStream2(context, &output, &input, directive)
            try check(left)
            if output.pos > 0 { try body(UnsafeRawBufferPointer(rebasing: buffer[..<output.pos])) }
            if directive == ZSTD_e_end ? left == 0 : input.pos == input.size { return }
        }
    }

    /// The memory for encoding besides content, prefix and frame, in bytes.
    package static func memory(
        _ settings: Settings, contentByteCount: Int, prefixByteCount: Int
    ) -> Int {
        var parameters = ZSTD_getCParams(
            Int32(settings.level), UInt64(contentByteCount), prefixByteCount)
        parameters.windowLog = max(
            parameters.windowLog, UInt32(min(settings.windowLog, 31)))
        if let chainLog = chainLog(settings, contentByteCount, prefixByteCount) {
            parameters.chainLog = UInt32(chainLog)
        }
        let longDistance = settings.isLongDistance ? 1 << max(settings.windowLog - 4, 10) : 0
        return ZSTD_estimateCCtxSize_usingCParams(parameters) + longDistance
    }

    /// The binary logarithm of the search tree's slots, if libzstd's own choice does not reach back over the prefix.
    ///
    /// Level 19 takes 2^24 slots, two for each position, which reach 8 MiB.
    /// - Returns: `nil` for libzstd's own choice.
    private static func chainLog(
        _ settings: Settings, _ contentByteCount: Int, _ prefixByteCount: Int
    ) -> Int? {
        let parameters = ZSTD_getCParams(
            Int32(settings.level), UInt64(contentByteCount), prefixByteCount)
        // Matches in a prefix are about as far back as the prefix is long.
        let reach = Int.bitWidth - max(prefixByteCount - 1, 0).leadingZeroBitCount
        let wanted = min(reach + 1, chainLogMax, settings.windowLog + 1)
        guard parameters.strategy.rawValue >= ZSTD_btlazy2.rawValue,
            wanted > Int(parameters.chainLog),
            contentByteCount + prefixByteCount <= largeTreeByteCountMax
        else { return nil }
        return wanted
    }

    /// A tree of 128 MiB; twice that would be more memory than a publisher may take.
    private static let chainLogMax = 25
    /// With more content and prefix, there is no memory for such a tree.
    private static let largeTreeByteCountMax = 64 << 20

    private func set(_ parameter: ZSTD_cParameter, _ value: Int) throws(StoreError) {
        try check(ZSTD_CCtx_setParameter(context, parameter, Int32(value)))
    }

    private func check(_ result: Int) throws(StoreError) {
        guard ZSTD_isError(result) != 0 else { return }
        let isMemory = ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation
        throw StoreError(
            isMemory ? .outOfMemory : .unsupported,
            "unable to compress: \(String(cString: ZSTD_getErrorName(result)))")
    }
}
