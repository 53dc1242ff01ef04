package import CASStore
internal import Storage
internal import VersionTree

/// What the event log keeps of an error besides its sentence: whose it was, and whether it resolves in time.
package struct EventLogFailure: Sendable, Hashable {
    package var code: String
    /// Whether this store failed, not an origin: a full disk, a missing permission, an unreadable index.
    package var isOfStore: Bool

    /// The code for an answer that is older than one obeyed before.
    package static let olderCopy = "olderCopy"

    /// - Parameters:
    ///   - code: an error's code, or one of a program's own.
    ///   - isOfStore: `nil` to derive it from the code.
    package init(code: String, isOfStore: Bool? = nil) {
        self.code = code
        self.isOfStore = isOfStore ?? Self.codesOfStores.contains(StoreError.Code(code))
    }

    package init(_ error: StoreError) {
        code = error.code.description
        // A failure on the way to an origin, or in its directory, has the network's code and no such cause.
        isOfStore =
            switch error.cause {
            case .systemCall, .sqlite: true
            case .transfer, nil: Self.codesOfStores.contains(error.code)
            }
    }

    /// Whether updates fail for this reason until somebody acts; excludes what a publisher may be changing just now,
    /// and a bad network.
    package var isLasting: Bool { Self.lastingCodes.contains(code) }

    private static let codesOfStores: Set<StoreError.Code> = [
        .outOfSpace, .readOnly, .notOwner, .noStore, .unsupportedFormat, .writesRefused, .index,
        .locked, .outOfMemory, .badTrust, .badLifecycle, StoreError.Code(noFetchingProgram),
    ]

    /// In logs of earlier servers, which let another program fetch: it could not be run, so no origin was asked.
    private static let noFetchingProgram = "noFetchingProgram"

    private static let lastingCodes: Set<String> = Set(
        [
            // The store, and the system below it.
            StoreError.Code.outOfSpace, .permission, .readOnly, .notOwner, .noStore,
            .unsupportedFormat, .badTrust, .transport,
            // The offer: it has no place here, or its name is another content's.
            .pathCollision, .versionExists,
            // Trust and credentials.
            .untrusted, .badOrigin, .credentials, .accessDenied, .noBucket,
        ].map(\.description)
            // Servers that update: a pull refuses its command line.
            + [noFetchingProgram, "usage"])
}
