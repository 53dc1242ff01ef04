package import CASStore

/// A delta in `manifests/`: which manifest it leads to, and from which.
package struct PublishedDelta: Sendable, Hashable {
    /// The address of the manifest that it leads to.
    package var manifest: ObjectID
    /// The address of the manifest that the client has.
    package var base: ObjectID
}
