import CASStore
import VersionTree

// What every release must fulfil, whatever format it came in. The store asks the same of its
// manifests, but only when everything is here; a release is refused before a byte is fetched.

extension Release {
    /// - Parameter origin: where it came from; what comes over TLS names nothing that does not.
    /// - Throws: `.badRelease`, naming the rule and the path or route.
    func validate(origin: OriginURL?) throws(StoreError) {
        guard files.count <= Manifest.countMax else {
            throw refuse("it has \(files.count) files, more than \(Manifest.countMax)")
        }
        try validatePaths()
        try validateRoutes()
        try validateSizes()
        if origin?.scheme == "https" { try validateSources() }
    }

    private func validateSources() throws(StoreError) {
        for file in files where file.source.prefix(7).lowercased() == "http://" {
            throw refuse("\(shown(file)) would be fetched without TLS, unlike the release itself")
        }
    }

    private func validatePaths() throws(StoreError) {
        var paths = Set<ByteText>(minimumCapacity: files.count)
        for file in files where !paths.insert(ByteText(file.path.description)).inserted {
            throw refuse("it has the path \(shown(file)) twice")
        }
        // Neighbours are mostly in one directory.
        var last: [UInt8] = []
        for file in files {
            let path = Array(file.path.description.utf8)
            let directory = Array(path[..<(path.lastIndex(of: 47) ?? 0)])
            if directory == last { continue }
            last = directory
            for end in path.indices where path[end] == 47 {
                let name = String(decoding: path[..<end], as: UTF8.self)
                if paths.contains(ByteText(name)) {
                    throw refuse(
                        "\(quoted(name)) is a file and the directory of \(shown(file))")
                }
            }
        }
    }

    private func validateRoutes() throws(StoreError) {
        var routes = Set<ByteText>(minimumCapacity: files.count)
        for file in files {
            for route in file.routes {
                if let problem = Self.problem(route: route) {
                    throw refuse(
                        "the route \(quoted(route)) of \(shown(file)) \(problem)")
                }
                if !routes.insert(ByteText(route)).inserted {
                    throw refuse("it has the route \(quoted(route)) twice")
                }
            }
        }
    }

    /// The rule that a route breaks (as in manifests).
    private static func problem(route: String) -> String? {
        let bytes = route.utf8
        if bytes.first != 47 { return "must begin with \"/\"" }
        if bytes.count > 8192 { return "has \(bytes.count) bytes, more than 8192" }
        if bytes.contains(0) { return "contains NUL" }
        return nil
    }

    private func validateSizes() throws(StoreError) {
        var total: Int64 = 0
        var sizes: [ObjectID: Int64] = [:]
        for file in files {
            guard let byteCount = file.byteCount else { continue }
            if byteCount < 0 { throw refuse("the size of \(shown(file)) is negative") }
            let (sum, isTooLarge) = total.addingReportingOverflow(byteCount)
            if isTooLarge { throw refuse("its sizes add up to more than any disk holds") }
            total = sum
            guard let address = file.address else { continue }
            if let other = sizes.updateValue(byteCount, forKey: address), other != byteCount {
                throw refuse("the object of \(shown(file)) has two sizes")
            }
        }
    }

    private func shown(_ file: ReleaseFile) -> String { quoted(file.path.description) }

    private func refuse(_ problem: String) -> StoreError {
        StoreError(
            .badRelease, "release \(shortened(publisherVersion)) is refused: \(problem)")
    }
}
