package import Platform

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
