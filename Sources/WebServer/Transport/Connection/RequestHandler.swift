package import Platform

/// Answers requests; several loops' threads may call it at once, so it must not block.
package protocol RequestHandler: Sendable {
    /// Answers a request, whose body has not been read.
    ///
    /// Keep `exchange` only for ``Answer/later(within:otherwise:gone:)``.
    func answer(_ head: RequestHead, _ exchange: Exchange) -> Answer
    /// A connection that has brought requests has ended, whichever handler had it last.
    func ended(_ connection: ConnectionID)
}

extension RequestHandler {
    package func ended(_ connection: ConnectionID) {}
}

/// Distinguishes a connection from all others of the server, including those that are gone.
package struct ConnectionID: Sendable, Hashable {
    package let raw: UInt64

    /// Eight bits of the loop, 24 of the generation and 32 of the slot: a slot must be used sixteen million times
    /// before a number repeats.
    package init(_ stream: Stream.Token, on loop: EventLoop) {
        raw = UInt64(loop.number & 0xff) << 56 | stream.raw & 0x00ff_ffff_ffff_ffff
    }
}

package enum Answer {
    /// Sends the response now. A body of the request is read and dropped.
    case response(Response)
    /// The same to a client that may not ask, and the last: while all places are taken, it gives way, read or not.
    case refusal(Response)
    /// Reads the whole body first: above `limit` bytes, it is refused with 413.
    case readBody(limit: Int, then: (RequestHead, [UInt8], Exchange) -> Answer)
    /// Some thread calls ``Exchange/answer(_:)`` within so many milliseconds.
    ///
    /// If none does, the result of `otherwise` is sent. `gone` runs on the loop's thread if the client leaves before
    /// the answer; a client that has closed its sending side counts as gone.
    case later(within: Int64, otherwise: () -> Response, gone: (@Sendable () -> Void)?)
    /// Like `later`, for an answer that is being made: a client that has closed its sending side still gets it, like
    /// any other answer.
    case soon(within: Int64, otherwise: () -> Response)
    /// A 101: the response's head is sent, then the bytes belong to the stream's new handler, beginning with those
    /// received after the head.
    case upgrade(ResponseHead, (Stream) -> any StreamHandler)
    /// Request body and response body flow piece by piece, with back-pressure both ways.
    case streaming((ExchangeStream) -> any ExchangeStreamHandler)
}

/// One request waiting for its answer, in a form that other threads may hold.
package struct Exchange: Sendable {
    package let loop: EventLoop
    package let stream: Stream.Token
    let number: UInt32

    package var connection: ConnectionID { ConnectionID(stream, on: loop) }

    /// Identifies the client of a request: its address, or the prefix that all IPv6 addresses of one client share.
    ///
    /// On the loop's thread only; costs a system call once for a connection.
    package func client(of head: RequestHead) -> [UInt8] {
        guard let connection = loop.stream(stream)?.handler as? HTTPConnection,
            let address = connection.client(of: head)?.address
        else { return [] }
        // A host has at least 64 bits to itself (RFC 7421).
        return address.count == 16 ? Array(address[..<8]) : address
    }

    /// The server's budget for what connections hold; `nil` if the client is gone.
    ///
    /// On the loop's thread only.
    package var bodies: BodyBudget? {
        (loop.stream(stream)?.handler as? HTTPConnection)?.context.bodies
    }

    /// Answers, from any thread; does nothing if the client is gone or already has an answer.
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

    package func answer(_ response: Response) { answer { .response(response) } }
}

/// One request for a log: answered, or cut short by the end of its connection.
public struct AccessRecord: Sendable {
    /// As it was sent.
    public var method: String
    /// As it was sent.
    public var target: String
    /// The status code; 499 if the connection ended before there was an answer.
    public var status: Int
    /// Bytes of the response with its head; if it broke off, those sent until then.
    ///
    /// For an upgraded connection (101), only the head.
    public var byteCount: Int64
    /// From the end of the head until the answer's last byte was handed over.
    public var nanoseconds: Int64
    /// The client's address, without a port; `-` if the connection ended before it could be read.
    public var client: String
}

/// Limits and durations of connections; durations in milliseconds.
package struct ConnectionOptions: Sendable {
    /// The whole head of a request, from its first byte; for the first, from the connection's start.
    package var headDeadline: Int64 = 10_000
    package var idle: Int64 = 65_000
    /// How often the progress of bodies and of slow readers is checked.
    package var progressWindow: Int64 = 10_000
    /// The bytes that must have moved in a window.
    package var minimumProgress: Int64 = 4096
    /// Reading a large object for the first time.
    package var verifyingDeadline: Int64 = 600_000
    /// The largest unwanted body, in bytes, that is still read to keep the connection.
    package var droppedBodyLimit = 64 << 10
    /// Bytes in memory that may wait for a client; above it, no more are made.
    package var outputLimit = 256 << 10
    package var parser = RequestParser.Limits()
    /// Bytes of bodies and messages that all connections together may hold for their handlers; above it 503.
    package var heldBodiesLimit = 64 << 20

    package init() {}
}

/// What all connections of a loop share.
final class ConnectionContext {
    let handler: any RequestHandler
    let objects: any ObjectSource
    let options: ConnectionOptions
    let log: (@Sendable (AccessRecord) -> Void)?
    let forwarded: ForwardedClients
    let bodies: BodyBudget
    /// Reads heads that come in one piece, which nearly all do.
    ///
    /// Only the loop's thread uses it, and no call made from within it leads back to it.
    @exclusivity(unchecked) var parser: RequestParser

    init(
        handler: any RequestHandler, objects: any ObjectSource, options: ConnectionOptions,
        bodies: BodyBudget, log: (@Sendable (AccessRecord) -> Void)?,
        forwarded: ForwardedClients = ForwardedClients()
    ) {
        self.handler = handler
        self.objects = objects
        self.options = options
        self.bodies = bodies
        self.log = log
        self.forwarded = forwarded
        parser = RequestParser(limits: options.parser)
    }
}

/// Where the bytes of objects come from; several loops' threads may call it at once.
package protocol ObjectSource: Sendable {
    /// The content of an object that has `size` bytes.
    /// - Throws: `.missingObject`, `.notFound` where files may be removed, `.damagedObject`, `.io`. Then nothing of the
    ///   object may be sent.
    func content(of object: ObjectID, size: Int64) throws(StoreError) -> ObjectContent
}

package enum ObjectContent: Sendable {
    /// Reads a file on another thread, and calls `then` there.
    package typealias Verification = @Sendable (_ then: @escaping @Sendable () -> Void) -> Void

    /// All of it, verified against its address.
    case memory([UInt8])
    /// Its file, unchanged since it was verified.
    case file(any ContentFile)
    /// Its file, which nobody has verified in its present state, and which is too large to verify on the calling
    /// thread. Afterwards, ask the source for the object again.
    case unverified(Verification)
}

/// An open file, shared by all responses that send from it.
package protocol ContentFile: AnyObject, Sendable {
    /// Its descriptor, valid as long as the file is held.
    var raw: Int32 { get }
    func shortened() -> StoreError
}
