extension Finding {
    /// Whether something that is not castree's stands among the objects.
    package var isAmongObjects: Bool {
        kind == .strayFile && (path?.hasPrefix(StoreLayout.objects + "/") ?? false)
    }

    /// Whether the next writer or the next collection ends it: a writer that died has left it under its lease.
    package var mendsItself: Bool {
        guard kind == .leftover, let path else { return false }
        let parts = path.split(separator: "/")
        guard parts.count == 2, let name = parts.last else { return false }
        return parts[0] == StoreLayout.leases
            || Store.lease(thatLeft: String(name), in: .versions) != nil
    }
}

extension [Finding] {
    /// The paths, inside the store, at which a check found something in the wrong place.
    package var wrongPlaces: [String] {
        var places: Set<String> = []
        for finding in self {
            switch (finding.kind, finding.object) {
            case (.damagedObject, let object?), (.notAFile, let object?):
                places.insert("\(StoreLayout.objects)/\(StoreLayout.objectPath(object))")
            case (.damagedExecutableCopy, let object?):
                places.insert(
                    "\(StoreLayout.objects)/\(StoreLayout.objectPath(object, executable: true))")
            case (.strayFile, _):
                if let path = finding.path { places.insert(path) }
            default: continue
            }
        }
        return places.sorted()
    }
}
