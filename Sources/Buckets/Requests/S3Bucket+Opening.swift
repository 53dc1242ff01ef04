package import Platform

extension S3Bucket {
    /// Makes the bucket that a user names, with endpoint, region and keys as their settings say.
    ///
    /// Nothing is asked of the store. Certificates to trust instead of the system's (`AWS_CA_BUNDLE`) are the
    /// carrier's.
    /// - Throws: `.badOrigin`, `.credentials`; see ``BucketSettings``.
    package convenience init(
        _ location: BucketLocation, _ settings: BucketSettings, carrier: any BucketCarrier,
        _ options: BucketOptions = BucketOptions()
    ) throws(StoreError) {
        self.init(
            location, at: try settings.endpoint(of: location),
            keys: try settings.keySource(carrier), carrier: carrier, options)
    }

    /// A GET of a file, for those who carry requests themselves: a pull, say.
    ///
    /// Range and conditions may be added, since they are not signed. A server takes it for some fifteen
    /// minutes; each try needs a new one. What a bucket has learned of region and clock counts, so a verb that is called
    /// before learns it.
    /// - Returns: the URL, and the fields that must go nowhere else.
    /// - Throws: `.credentials`.
    package func signedGet(
        _ key: String
    ) throws(StoreError) -> (url: String, fields: [(name: String, value: String)]) {
        try runner.signed(S3Call("GET", location.key(key), action: "s3:GetObject"))
    }
}
