/// An error with a code for programs, a sentence for people, and the underlying cause.
///
/// Every throwing function of castree throws this type. Each library adds codes of its own to ``Code``, so one
/// `catch` sees the whole engine and typed throws compose without wrapping.
public struct StoreError: Error, Sendable, CustomStringConvertible {
    /// The code that programs branch on.
    public var code: Code
    /// A sentence for people: what failed, on what, and what to do.
    public var message: String
    /// The object concerned, if any.
    public var object: ObjectID?
    /// The underlying cause, if any.
    public var cause: Cause?

    /// The underlying cause of an error.
    public enum Cause: Sendable, Hashable {
        /// A system call failed with this errno on this path.
        case systemCall(String, errno: Int32, path: String)
        /// SQLite returned this extended result code (sqlite.org/rescode.html).
        case sqlite(code: Int32, message: String)
        /// A transfer failed in this way: `connect`, `timeout`, `security` …
        case transfer(kind: String)
    }

    /// A code; open to additions, so switch over it with a default.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name, as in the `code` field of JSON errors.
        public let description: String
        /// Makes a code; codes with equal names are equal.
        public init(_ name: String) { description = name }
    }

    /// Makes an error.
    public init(
        _ code: Code, _ message: String, object: ObjectID? = nil, cause: Cause? = nil
    ) {
        self.code = code
        self.message = message
        self.object = object
        self.cause = cause
    }

    /// The message and the code.
    public var description: String { "\(message) [\(code)]" }

    package var errno: Int32 {
        if case .systemCall(_, let errno, _) = cause { errno } else { 0 }
    }
}

extension StoreError.Code {
    /// Something requested by name does not exist.
    public static let notFound = Self("notFound")
    /// Another process is doing the same work, is in the middle of it, or keeps undoing it.
    public static let busy = Self("busy")
    /// Bytes do not match the promised address, label or size.
    public static let mismatch = Self("mismatch")
    /// The disk or a quota is full.
    public static let outOfSpace = Self("outOfSpace")
    /// Permission is missing.
    public static let permission = Self("permission")
    /// The file system is read-only.
    public static let readOnly = Self("readOnly")
    /// A system call failed in a way that has no code of its own.
    public static let io = Self("io")
    /// Something exceeds a stated limit.
    public static let tooLarge = Self("tooLarge")
    /// The system or a library here cannot do this.
    public static let unsupported = Self("unsupported")
    /// Memory ran out.
    public static let outOfMemory = Self("outOfMemory")
    /// The caller asked to stop (SIGINT, cancellation).
    public static let interrupted = Self("interrupted")
    /// An object's bytes on disk do not match its address.
    public static let damagedObject = Self("damagedObject")
    /// An origin is unreachable or stops midway.
    public static let network = Self("network")
    /// A text does not name an origin: an unknown scheme, a URL without a host.
    public static let badOrigin = Self("badOrigin")
    /// A compressed frame is not one that castree reads, or does not give what it promises.
    package static let badFrame = Self("badFrame")
    /// A key cannot be read, or may not be used.
    package static let badKey = Self("badKey")
    /// Too few trusted keys have signed what an origin says.
    package static let untrusted = Self("untrusted")
}

extension StoreError {
    package static func badFrame(_ problem: String) -> StoreError {
        StoreError(.badFrame, "a compressed frame is refused: \(problem)")
    }
}

/// Lets a `catch` or an `if` match by code: `if .outOfSpace ~= error`.
public func ~= (code: StoreError.Code, error: any Error) -> Bool {
    (error as? StoreError)?.code == code
}
