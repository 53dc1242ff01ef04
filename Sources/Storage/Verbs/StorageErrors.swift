package import Platform

extension StoreError.Code {
    /// The bucket's rights do not allow a request, or it does not know the signing key.
    package static let accessDenied = Self("accessDenied")
    package static let noBucket = Self("noBucket")
    /// There are no keys to sign with, or they come from a source that castree does not support.
    package static let credentials = Self("credentials")
    /// The answer is not one of S3, or over a limit.
    package static let bucketAnswer = Self("bucketAnswer")
    /// The store does not refuse to overwrite, so several publishers would not be safe.
    package static let unsuitableStore = Self("unsuitableStore")
    /// A file that should be in the bucket is missing, or does not match its name.
    package static let missingFromBucket = Self("missingFromBucket")
    /// No answer came to a commit, which may or may not be in the log.
    package static let outcomeUnknown = Self("outcomeUnknown")
}

extension StoreError {
    package static func damaged(_ address: ObjectID) -> StoreError {
        StoreError(
            .damagedObject,
            "the bytes of object \(address) do not match its address; "
                + "run castree fsck --repair, then repeat the command",
            object: address)
    }
}
