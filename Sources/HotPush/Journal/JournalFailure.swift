package import CASStore
internal import Storage
internal import VersionTree

/// What the event log remembers of an error besides its sentence: who failed, and whether time mends it.
package struct JournalFailure: Sendable, Hashable {
    /// The error's code.
    package var code: String
    /// Whether the store here failed, and no origin: a full disk, a missing right, an index that cannot be read.
    package var isOfStore: Bool

    /// The code of an answer that is older than one that was obeyed before.
    package static let olderCopy = "olderCopy"

    /// - Parameters:
    ///   - code: an error's code, or one of a program's own.
    ///   - isOfStore: `nil` for what the code alone says.
    package init(code: String, isOfStore: Bool? = nil) {
        self.code = code
        self.isOfStore = isOfStore ?? Self.codesOfStores.contains(StoreError.Code(code))
    }

    /// What the log remembers of an error.
    package init(_ error: StoreError) {
        code = error.code.description
        // What fails on the way to an origin, or in its directory, has the code of the network and no such cause.
        isOfStore =
            switch error.cause {
            case .systemCall, .sqlite: true
            case .transfer, nil: Self.codesOfStores.contains(error.code)
            }
    }

    /// Whether updates fail for this reason until somebody acts: asking again changes nothing.
    ///
    /// What a publisher may be doing just now, and what comes of a bad network, is not among them.
    package var isLasting: Bool { Self.lastingCodes.contains(code) }

    private static let codesOfStores: Set<StoreError.Code> = [
        .outOfSpace, .readOnly, .notOwner, .noStore, .unsupportedFormat, .writesRefused, .index,
        .locked, .outOfMemory, .badTrust, .badLifecycle,
    ]

    private static let lastingCodes: Set<String> = Set(
        [
            // Of the store, and of the system below it.
            StoreError.Code.outOfSpace, .permission, .readOnly, .notOwner, .noStore,
            .unsupportedFormat, .badTrust, .transport,
            // Of what is offered: here it has no place, or its name is another content's.
            .pathCollision, .versionExists,
            // Of whom it trusts, and who lets it in.
            .untrusted, .badOrigin, .credentials, .accessDenied, .noBucket,
        ].map(\.description)
            // Of the program that lets another fetch: there is none, or it refuses its command line.
            + ["noFetchingProgram", "usage"])
}
