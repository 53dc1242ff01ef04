/// A version that its writer has prepared and the index does not know yet: all that
/// ``Store/settle(_:)`` asks of it.
package protocol UnrecordedVersion: AnyObject {
    associatedtype SourceContents: Sequence<(StatKey, ObjectID)>

    /// What to record, as far as it is known before the names are given.
    var registration: Registration { get }
    /// Register it although the store lacks objects of it.
    var allowsMissing: Bool { get }
    /// Whether ``publish()`` may wait for others, since something stands in the tree's place: the names are
    /// given before the transaction then, after a sync of their own.
    var makesRoom: Bool { get }
    /// Source files and what they contain, for the stat cache.
    var sourceContents: SourceContents { get }
    /// What the writer knows of the object at a position of the manifest.
    func knowledge(ofObjectAt position: Int) -> WriterKnowledge?
    /// Gives manifest and tree their names; called once, when what stands under them is durable.
    ///
    /// MUST NOT use the index, nor wait for anybody who does, unless it ``makesRoom``.
    /// - Returns: what to record, or `nil` if all must be repeated.
    func publish() throws(StoreError) -> Registration?
    /// Takes those names away again, as far as this writer gave them.
    ///
    /// Called if the version could not be recorded, while nobody else can record it, and only if nobody
    /// else has; MUST NOT use the index.
    func takeBack() throws(StoreError)
}

/// What became of a version that a writer wanted to record.
package enum Settlement: Sendable {
    /// The version is registered. These versions have become complete by it.
    case settled(completed: [String])
    /// Its manifest was retired, or objects are gone that it relied on: look and write again.
    case lost
}
