import Synchronization

/// A stream of a program: standard output, standard error, or memory in tests; any thread may call.
///
/// Writing is complete or an error; it is buffered until `flush`, except on terminals. If the reader of a pipe has
/// gone, the rest is dropped silently and the command ends normally: its exit status tells what it did.
package final class Output: Sendable {
    package let isTerminal: Bool
    package let usesColour: Bool
    private let descriptor: Int32?
    private let statusLine: StatusLine?
    private let state = Mutex(State())

    private struct State {
        var buffer: [UInt8] = []
        var isClosed = false
        var failure: OutputError?
    }

    private static let bufferByteCountMax = 65_536

    /// - Parameter descriptor: `nil` keeps what is written in memory.
    init(
        descriptor: Int32?, isTerminal: Bool, usesColour: Bool, statusLine: StatusLine? = nil
    ) {
        self.descriptor = descriptor
        self.isTerminal = isTerminal
        self.usesColour = usesColour
        self.statusLine = statusLine
    }

    package convenience init() {
        self.init(descriptor: nil, isTerminal: false, usesColour: false)
    }

    /// What has been written and not flushed; for a stream in memory, all of it.
    package var pending: [UInt8] { state.withLock { $0.buffer } }

    /// Whether the reader has gone, so that a long stream can stop.
    package var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Prints a line; a failure is thrown by the next `write` or `flush`, at the latest at the program's end.
    package func print(_ text: DisplayText) {
        append(Array((text.rendered(inColour: usesColour) + "\n").utf8))
    }

    /// Writes bytes as they are.
    /// - Throws: `output` if they, or bytes before them, cannot be written.
    package func write(_ bytes: [UInt8]) throws(OutputError) {
        append(bytes)
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }

    /// Writes text unescaped; only for text that the program has made itself.
    /// - Throws: `output` if it, or bytes before it, cannot be written.
    package func write(trusted text: String) throws(OutputError) {
        try write(Array(text.utf8))
    }

    /// Writes a JSON document and a newline, escaping what JSON does not: U+009B and bidirectional overrides.
    package func write(json document: [UInt8]) throws(OutputError) {
        try write(Self.line(json: document))
    }

    static func line(json document: [UInt8]) -> [UInt8] {
        let isPlain = document.allSatisfy { $0 < 0x7F }
        let text = isPlain ? [] : Array(String(decoding: document, as: UTF8.self).jsonEscaped.utf8)
        return (isPlain ? document : text) + [UInt8(ascii: "\n")]
    }

    /// - Throws: `output` if something could not be written, now or before.
    package func flush() throws(OutputError) {
        let failure = state.withLock { state in
            drain(&state)
            return state.failure
        }
        if let failure { throw failure }
    }

    /// Throws if the reader has gone, for commands whose work is then pointless.
    /// - Throws: `output`.
    package func requireReader() throws(OutputError) {
        guard state.withLock({ $0.isClosed }) else { return }
        throw OutputError(reason: SystemError.closedPipe.text)
    }

    /// Closes the stream at the end of the program; some file systems report only then that they are full.
    /// - Throws: `output` if the system reports an error and no earlier call has thrown one.
    func close() throws(OutputError) {
        let isOpen = state.withLock { state in
            defer { state.isClosed = true }
            return !state.isClosed && state.failure == nil
        }
        guard let descriptor, isOpen else { return }
        do {
            try System.close(descriptor)
        } catch {
            throw OutputError(reason: error.text)
        }
    }

    private func append(_ bytes: [UInt8]) {
        state.withLock { state in
            guard !state.isClosed, state.failure == nil else { return }
            state.buffer += bytes
            if isTerminal || state.buffer.count >= Self.bufferByteCountMax { drain(&state) }
        }
    }

    private func drain(_ state: inout State) {
        guard let descriptor, !state.buffer.isEmpty else { return }
        defer { state.buffer.removeAll(keepingCapacity: true) }
        if isTerminal { statusLine?.clear() }
        do throws(SystemError) {
            try System.write(state.buffer[...], to: descriptor)
        } catch {
            if error.isClosedPipe {
                state.isClosed = true
            } else {
                state.failure = OutputError(reason: error.text)
            }
        }
    }
}

/// Standard output cannot be written: a full disk, a closed descriptor.
package struct OutputError: ProgramError, Hashable {
    package let reason: String
    package let consequence: String

    package init(
        reason: String, consequence: String = "whatever the command has changed stays"
    ) {
        self.reason = reason
        self.consequence = consequence
    }

    package var code: String { "output" }
    package var status: ExitStatus { .failed }
    package var message: String {
        "unable to write to standard output: \(reason); \(consequence)"
    }
}
