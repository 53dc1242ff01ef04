/// A version that its writer has prepared and the index does not know yet: all that ``Store/settle(_:)``
/// needs of it.
package protocol UnrecordedVersion: AnyObject {
    associatedtype SourceContents: Sequence<(StatKey, ObjectID)>

    /// What to record, as far as it is known before publishing.
    var registration: Registration { get }
    /// Register it even if the store lacks objects of it.
    var allowsMissing: Bool { get }
    /// Whether ``publish()`` may wait for others, because something stands in the tree's place: then the
    /// names are given before the transaction, after a sync of their own.
    var makesRoom: Bool { get }
    /// Source files and what they contain, for the stat cache.
    var sourceContents: SourceContents { get }
    /// What the writer knows about the object at a position of the manifest.
    func knowledge(ofObjectAt position: Int) -> WriterKnowledge?
    /// Gives manifest and tree their names; called once, when their content is durable.
    ///
    /// MUST NOT use the index, nor wait for a process that does, unless it ``makesRoom``.
    /// - Returns: what to record, or `nil` if all work must be repeated.
    func publish() throws(StoreError) -> Registration?
    /// Takes back those of the names that this writer gave.
    ///
    /// Called if the version could not be recorded, while nobody else can record it, and only if nobody
    /// else has recorded it; MUST NOT use the index.
    func takeBack() throws(StoreError)
}

/// What became of a version that a writer wanted to record.
package enum Settlement: Sendable {
    /// The version is registered. It completed these versions.
    case settled(completed: [String])
    /// Its manifest was retired, or objects are gone that it relied on: look and write again.
    case lost
}
