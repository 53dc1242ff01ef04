public import CASStore

// The codes that origins add to the engine's one error type.
extension StoreError.Code {
    /// A text does not name an origin: an unknown scheme, a URL without a host.
    public static let badOrigin = Self("badOrigin")
    /// There is no origin in the directory.
    public static let noOrigin = Self("noOrigin")
    /// A name cannot be a channel's.
    package static let badChannelName = Self("badChannelName")
    /// A channel's pointer is not a pointer, or breaks its rules.
    package static let badPointer = Self("badPointer")
    /// The origin has no such channel, or the channel offers no such version.
    public static let notOffered = Self("notOffered")
    /// The directory is a copy of an origin in a bucket: what is written to it reaches nobody.
    package static let offeredElsewhere = Self("offeredElsewhere")
    /// Something that a channel names is not in the origin, or not what its name says.
    package static let damagedOrigin = Self("damagedOrigin")
    /// What should sign a pointer has not done so.
    package static let signingFailed = Self("signingFailed")
}

/// What an expression gives; `nil` if it throws an error of one of these codes.
@discardableResult
func allowing<R: ~Copyable>(
    _ codes: [StoreError.Code], _ value: @autoclosure () throws(StoreError) -> R?
) throws(StoreError) -> R? {
    try allowing({ codes.contains($0.code) }, try value())
}

extension StoreError {
    static func untrusted(_ problem: String) -> StoreError { StoreError(.untrusted, problem) }

    static func badKey(_ problem: String) -> StoreError { StoreError(.badKey, problem) }

    static func damagedOrigin(_ problem: String, object: ObjectID? = nil) -> StoreError {
        StoreError(.damagedOrigin, problem, object: object)
    }

    /// There is no such channel in an origin.
    static func noChannel(_ channel: ChannelName, in place: String) -> StoreError {
        StoreError(
            .notOffered,
            "the origin \(printable(place)) has no channel \(channel); castree channels \(printable(place)) lists its channels"
        )
    }

    /// Whether something else stands in a place, or it is closed: other places are as they were.
    var isOfPlace: Bool {
        code == .permission || isNotDirectory || isDirectory || isUnopenable
            || code == .io && cause == nil
    }

    /// Whether one file cannot be read: something else stands there, it is closed, or the disk does not give it back.
    var saysFileIsUnreadable: Bool { isOfPlace || isOfOneName }
}
