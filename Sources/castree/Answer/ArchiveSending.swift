import Archives
import CASStore
import ClientSystems
import ServeFromCAS
import Storage
import WebServer

/// Sends a range of a body that is read from files, piece by piece, as fast as the client takes it.
///
/// A few pieces at a time: an archive may consist of 65,535 files, and none is open longer than it is sent. An error
/// on the way cuts the connection, which the client notices by the length.
final class ArchiveSending: ExchangeStreamHandler {
    private let exchange: ExchangeStream
    private let head: ResponseHead
    private let body: AnswerBody
    private let contents: ContentCache
    /// Keeps the files in a mirror, which removes those that nobody needs.
    private let hold: CacheHold?
    private var rest: Range<Int64>
    private var pieces: ArraySlice<ZipArchive.Piece> = []
    private var isOver = false
    /// Another thread is reading a file, or the others have their turn.
    private var isWaiting = false

    /// How much is planned at a time, and sent before others have their turn.
    private static let stretch: Int64 = 2 << 20

    init(
        _ exchange: ExchangeStream, _ head: ResponseHead, _ range: Range<Int64>,
        of body: AnswerBody, from contents: ContentCache, holding hold: CacheHold?
    ) {
        self.exchange = exchange
        self.head = head
        self.body = body
        self.contents = contents
        self.hold = hold
        rest = range
    }

    func received(_ bytes: Span<UInt8>) {}

    func receivedEnd() {
        exchange.put(head, .length(rest.upperBound - rest.lowerBound))
        goOn()
    }

    func drained() { goOn() }

    func gone() { isOver = true }

    private func goOn() {
        guard !isOver, !isWaiting else { return }
        // What was gathered goes out before another connection gathers.
        defer { exchange.flush() }
        if pieces.isEmpty { planNext() }
        while let piece = pieces.first {
            guard send(piece), !exchange.hasEnded else { return }
            pieces.removeFirst()
            if exchange.hasQueued { return }
        }
        guard rest.isEmpty else {
            exchange.flush()
            // If something is queued, `drained` is called.
            if !exchange.hasQueued { later { then in then() } }
            return
        }
        isOver = true
        exchange.finish()
    }

    private func planNext() {
        let end = min(rest.lowerBound + Self.stretch, rest.upperBound)
        pieces = body.pieces(in: rest.lowerBound..<end)[...]
        rest = end..<rest.upperBound
    }

    /// - Returns: whether it was sent; otherwise it is tried again, or all is over.
    private func send(_ piece: ZipArchive.Piece) -> Bool {
        switch piece {
        case .bytes(let bytes):
            exchange.put(bytes.span)
            return true
        case .object(let address, let range, let size),
            .deflatedCopy(let address, let range, let size):
            do throws(StoreError) {
                switch try contents.content(of: address, size: size) {
                case .memory(let bytes):
                    exchange.put(
                        bytes.span.extracting(Int(range.lowerBound)..<Int(range.upperBound)))
                case .file(let file): exchange.put(file, range)
                case .unverified(let verify):
                    later { then in verify { then() } }
                    return false
                }
                return true
            } catch {
                isOver = true
                exchange.cut(error)
                return false
            }
        }
    }

    /// Continues in a later turn of the loop, when `work` reports that it is done, on whatever thread.
    private func later(_ work: (@escaping @Sendable () -> Void) -> Void) {
        isWaiting = true
        // Only the loop's thread touches its contents: other threads only pass it on.
        nonisolated(unsafe) let sending = self
        let loop = exchange.loop
        work {
            _ = loop.submit { _ in
                sending.isWaiting = false
                sending.goOn()
            }
        }
    }
}

extension Response.Piece {
    init(_ piece: ZipArchive.Piece) {
        switch piece {
        case .bytes(let bytes): self = .bytes(bytes)
        case .object(let address, let range, let size),
            .deflatedCopy(let address, let range, let size):
            self = .object(address, range: range, size: size)
        }
    }
}
