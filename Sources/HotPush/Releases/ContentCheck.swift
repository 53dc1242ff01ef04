public import CASStore

/// What the bytes of a file must fulfil.
public enum ContentCheck: Sendable, Hashable {
    /// A digest of the bytes: `sri`, MD5, SHA-1, or only a checksum.
    case digest(Label)
    /// A digest that castree cannot compute, as its publisher writes it.
    ///
    /// It is kept, and proves nothing.
    case unknownDigest(algorithm: String, text: String)
    /// A name that some publishers' servers use as entity tag, in lower-case hex.
    ///
    /// Compared only when the server's entity tag has its form.
    case entityTag(String)
    /// Meteor's `hash`: one of several digests of the bytes, or of more than the bytes
    /// (its rules changed from release to release). A match is proof; no match proves nothing.
    ///
    /// See `MeteorLabel`.
    case meteorLabel(String)
}
