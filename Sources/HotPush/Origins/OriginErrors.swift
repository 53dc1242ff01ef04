public import CASStore

extension StoreError.Code {
    /// The directory contains no origin.
    public static let noOrigin = Self("noOrigin")
    /// A name breaks the rules for channels.
    package static let badChannelName = Self("badChannelName")
    /// A channel's pointer cannot be parsed, or breaks its rules.
    package static let badPointer = Self("badPointer")
    /// The origin has no such channel, or the channel offers no such version.
    public static let notOffered = Self("notOffered")
    /// The directory is a copy of an origin in a bucket, so writing to it reaches nobody.
    package static let offeredElsewhere = Self("offeredElsewhere")
    /// Something that a channel names is missing in the origin, or does not match its name.
    package static let damagedOrigin = Self("damagedOrigin")
    /// The signer of a pointer failed.
    package static let signingFailed = Self("signingFailed")
}

/// The value of an expression; `nil` if it throws an error with one of these codes.
@discardableResult
package func allowing<R: ~Copyable>(
    _ codes: [StoreError.Code], _ value: @autoclosure () throws(StoreError) -> R?
) throws(StoreError) -> R? {
    try allowing({ codes.contains($0.code) }, try value())
}

/// Returns `nil` if the body fails for any reason but an interruption.
func unlessInterrupted<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R? {
    do throws(StoreError) { return try body() } catch {
        guard error.code != .interrupted else { throw error }
        return nil
    }
}

extension StoreError {
    package static func untrusted(_ problem: String) -> StoreError {
        StoreError(.untrusted, problem)
    }

    static var interruptedPull: StoreError {
        StoreError(
            .interrupted, "interrupted; what has come is kept, and the next pull continues from it")
    }

    package static func badKey(_ problem: String) -> StoreError { StoreError(.badKey, problem) }

    package static func damagedOrigin(_ problem: String, object: ObjectID? = nil) -> StoreError {
        StoreError(.damagedOrigin, problem, object: object)
    }

    package static func noChannel(_ channel: ChannelName, in place: String) -> StoreError {
        StoreError(
            .notOffered,
            "the origin \(printable(place)) has no channel \(channel); castree channels \(printable(place)) lists its channels"
        )
    }

    /// Whether the error concerns one place, which is closed or taken by something else; other places are unaffected.
    package var isOfPlace: Bool {
        code == .permission || isNotDirectory || isDirectory || isUnopenable
            || code == .io && cause == nil
    }

    /// Whether one file cannot be read: it is closed, replaced by something else, or on a bad part of the disk.
    package var saysFileIsUnreadable: Bool { isOfPlace || isOfOneName }
}
