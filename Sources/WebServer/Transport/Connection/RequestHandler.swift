/// Who answers requests; called on loops' threads, several at once, and must not block.
package protocol RequestHandler: Sendable {
    /// Answers a request, whose body has not been read.
    ///
    /// `exchange` is only worth keeping for ``Answer/later(within:otherwise:gone:)``.
    func answer(_ head: RequestHead, _ exchange: Exchange) -> Answer
    /// A connection that has brought requests has ended, whoever had it last.
    func ended(_ connection: ConnectionID)
}

extension RequestHandler {
    package func ended(_ connection: ConnectionID) {}
}

/// Tells a connection from every other one of the server, also from those that are gone.
package struct ConnectionID: Sendable, Hashable {
    package let raw: UInt64

    /// Eight bits of the loop, 24 of the generation and 32 of the slot: a slot must be used sixteen
    /// million times before a number comes again.
    package init(_ stream: Stream.Token, on loop: EventLoop) {
        raw = UInt64(loop.number & 0xff) << 56 | stream.raw & 0x00ff_ffff_ffff_ffff
    }
}

/// What becomes of a request.
package enum Answer {
    /// The response, now. A body that the request has is read and dropped.
    case response(Response)
    /// Reads the whole body first: over `limit` bytes it is refused with 413.
    case collectBody(limit: Int, then: (RequestHead, [UInt8], Exchange) -> Answer)
    /// Somebody calls ``Exchange/answer(_:)`` within so many milliseconds.
    ///
    /// If nobody does, what `otherwise` gives is sent. `gone` is called on the loop's thread when the client
    /// leaves before the answer; a client that has closed its sending side counts as gone.
    case later(within: Int64, otherwise: () -> Response, gone: (@Sendable () -> Void)?)
    /// As `later`, for what is being worked at: a client that has closed its sending side is served,
    /// as any other answer would be.
    case soon(within: Int64, otherwise: () -> Response)
    /// A 101: the response's head is sent, then the bytes belong to the stream's new handler, those
    /// that have come after the head first.
    case upgrade(ResponseHead, (Stream) -> any StreamHandler)
    /// Request body and response body flow piece by piece, with back-pressure both ways.
    case streaming((ExchangeStream) -> any ExchangeStreamHandler)
}

/// One request that waits for its answer, as other threads may hold it.
package struct Exchange: Sendable {
    package let loop: EventLoop
    package let stream: Stream.Token
    /// The request's number on its connection.
    let number: UInt32

    /// The connection that it came on.
    package var connection: ConnectionID { ConnectionID(stream, on: loop) }

    /// Answers, from any thread; does nothing if the client is gone or an answer was given.
    ///
    /// `make` runs on the loop's thread.
    package func answer(_ make: @escaping @Sendable () -> Answer) {
        let (token, number) = (stream, number)
        loop.submit { loop in
            guard let stream = loop.stream(token),
                let connection = stream.handler as? HTTPConnection
            else { return }
            connection.answerLate(number, make())
        }
    }

    /// Answers with a response, from any thread.
    package func answer(_ response: Response) { answer { .response(response) } }
}

/// One request that was answered, or whose connection ended before, for a log.
public struct AccessRecord: Sendable {
    /// As it was sent.
    public var method: String
    /// As it was sent.
    public var target: String
    /// The status code; 499 if the connection ended before there was an answer.
    public var status: Int
    /// Bytes of the response with its head; of a large body, those queued.
    ///
    /// Of an answer that was broken off, those until then; of an upgraded connection (101) the head alone.
    public var byteCount: Int64
    /// From the head's end to the answer's last byte being handed over.
    public var nanoseconds: Int64
}

/// Limits and durations of connections; durations in milliseconds.
package struct ConnectionOptions: Sendable {
    /// The whole head of a request, from its first byte; of the first, from the connection's begin.
    package var headDeadline: Int64 = 10_000
    /// Between requests.
    package var idle: Int64 = 65_000
    /// How often the progress of bodies and of slow readers is looked at.
    package var progressWindow: Int64 = 10_000
    /// What must have moved in a window.
    package var minimumProgress: Int64 = 4096
    /// Reading a large object for the first time.
    package var verifyingDeadline: Int64 = 600_000
    /// Bytes of a body that nobody wants and that is still read, to keep the connection.
    package var droppedBodyLimit = 64 << 10
    /// Bytes in memory that may wait for a client before no more are made.
    package var outputLimit = 256 << 10
    package var parser = RequestParser.Limits()

    package init() {}
}

/// What all connections of a loop share.
final class ConnectionContext {
    let handler: any RequestHandler
    let objects: any ObjectSource
    let options: ConnectionOptions
    let log: (@Sendable (AccessRecord) -> Void)?
    /// Reads heads that come in one piece, which is nearly all.
    ///
    /// Of the loop's thread alone, and no call within one on it comes back to it.
    @exclusivity(unchecked) var parser: RequestParser

    init(
        handler: any RequestHandler, objects: any ObjectSource, options: ConnectionOptions,
        log: (@Sendable (AccessRecord) -> Void)?
    ) {
        self.handler = handler
        self.objects = objects
        self.options = options
        self.log = log
        parser = RequestParser(limits: options.parser)
    }
}
