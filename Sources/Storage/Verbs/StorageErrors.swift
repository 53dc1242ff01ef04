package import Platform

// The codes that object storages add to the engine's one error type.
extension StoreError.Code {
    /// The bucket's rights do not allow a request, or it knows no such key to sign with.
    package static let accessDenied = Self("accessDenied")
    /// There is no such bucket.
    package static let noBucket = Self("noBucket")
    /// There are no keys to sign with, or they come from where castree does not look.
    package static let credentials = Self("credentials")
    /// The answer is not one of S3, or over a limit.
    package static let bucketAnswer = Self("bucketAnswer")
    /// The store does not refuse to overwrite: several publishers would not be safe.
    package static let unsuitableStore = Self("unsuitableStore")
    /// A file that should be in the bucket is not, or has other bytes than its name says.
    package static let missingFromBucket = Self("missingFromBucket")
    /// No answer came to a commit: it may stand in the log or not.
    package static let outcomeUnknown = Self("outcomeUnknown")

    // Codes of targets above, by their names: codes with equal names are equal.
    static let damagedObject = Self("damagedObject")
}

extension StoreError {
    /// The error if bytes have another address than they should.
    package static func damaged(_ address: ObjectID) -> StoreError {
        StoreError(
            .damagedObject,
            "the bytes of object \(address) do not match its address; "
                + "run castree fsck --repair, then repeat the command",
            object: address)
    }
}
