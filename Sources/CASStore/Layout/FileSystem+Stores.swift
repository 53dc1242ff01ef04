package import Platform

extension FileSystem {
    /// Whether a directory is a store, or stands in one.
    package func isInsideStore(_ directory: Int32) throws(StoreError) -> Bool {
        try anyAncestor(of: directory) { (directory, _) throws(StoreError) in
            guard try status(directory, StoreLayout.format)?.kind == .regular else { return false }
            let manifests = try status(directory, StoreLayout.manifests)
            let leases = try status(directory, StoreLayout.leases)
            return manifests?.kind == .directory && leases?.kind == .directory
        }
    }
}
