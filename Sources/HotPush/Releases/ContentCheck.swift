public import CASStore

/// What the bytes of a file must satisfy.
public enum ContentCheck: Sendable, Hashable {
    /// A digest of the bytes: `sri`, MD5, SHA-1, or only a checksum.
    case digest(Label)
    /// A digest that castree cannot compute, as its publisher writes it.
    ///
    /// It is kept, and proves nothing.
    case unknownDigest(algorithm: String, text: String)
    /// A name in lower-case hex that some publishers' servers use as the entity tag.
    ///
    /// Compared only if the server's entity tag has that form.
    case entityTag(String)
    /// Meteor's `hash`: one of several digests of the bytes, or of more than the bytes (its rules
    /// changed from release to release). A match is proof; a mismatch proves nothing.
    ///
    /// See `MeteorLabel`.
    case meteorLabel(String)
}
