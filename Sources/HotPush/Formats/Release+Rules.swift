import CASStore
import VersionTree

// Rules for every release, whatever its format. The store checks the same in manifests, but only when everything is
// here; a release is refused before a byte is fetched.

extension Release {
    static let sourceCountMax = 64

    /// - Parameter origin: where the release came from; over TLS, it may name only sources with TLS.
    /// - Throws: `.badRelease`, naming the rule and the path or route.
    func validate(origin: OriginURL?) throws(StoreError) {
        guard files.count <= Manifest.countMax else {
            throw refuse("it has \(files.count) files, more than \(Manifest.countMax)")
        }
        try validatePaths()
        try validateRoutes()
        try validateSizes()
        try validateSources(isSecure: origin?.scheme == "https")
        try validateTrust()
    }

    /// Throws `.tooLarge` for more files and directories than a device accepts.
    func refuseBeyond(_ limits: DeviceLimits) throws(StoreError) {
        if let objection = limits.objection(toFiles: files.count, directories: directoryCount) {
            throw StoreError(
                .tooLarge, "release \(printable(publisherVersion)) is refused: \(objection)")
        }
    }

    /// Excludes the root.
    var directoryCount: Int {
        let paths = files.map { Array($0.path.description.utf8) }
            .sorted { $0.lexicographicallyPrecedes($1) }
        var (last, count) = ([UInt8](), 0)
        for path in paths {
            var shared = 0
            for index in 0..<min(last.count, path.count) {
                if last[index] != path[index] { break }
                if path[index] == 47 { shared = index }
            }
            count += path.indices.dropFirst(shared + 1).count { path[$0] == 47 }
            last = path
        }
        return count
    }

    private func validateTrust() throws(StoreError) {
        guard trust != .length else { return }
        for file in files where !file.isProvable {
            throw refuse(
                "nothing proves the content of \(shown(file)), though it is said to be proved")
        }
        if trust == .signed, signatures.isEmpty, !files.contains(where: { $0.signature != nil }) {
            throw refuse("it is said to be signed and has no signature")
        }
    }

    private func validateSources(isSecure: Bool) throws(StoreError) {
        for file in files {
            guard (1...Self.sourceCountMax).contains(file.sources.count) else {
                throw refuse(
                    "\(shown(file)) has \(file.sources.count) sources; 1 to "
                        + "\(Self.sourceCountMax) can be asked")
            }
            for source in file.sources {
                if isSecure, source.reference.prefix(7).lowercased() == "http://" {
                    throw refuse(
                        "\(shown(file)) would be fetched without TLS, unlike the release itself")
                }
                if source.isPlain, source.byteCount != nil || !source.checks.isEmpty {
                    throw refuse(
                        "a source of \(shown(file)) is the content itself and has a size or checks of "
                            + "its own; they belong to the file")
                }
                for field in source.fields {
                    guard let problem = Self.problem(field: field) else { continue }
                    throw refuse(
                        "the request for \(shown(file)) would have the field "
                            + "\(quoted(field.name)), which \(problem)")
                }
            }
        }
    }

    private static func problem(field: ContentSource.Field) -> String? {
        let name = field.name.lowercased()
        if !name.utf8.allSatisfy({ $0 > 32 && $0 < 127 && !separators.contains($0) })
            || name.isEmpty
        {
            return "is no name (RFC 9110, section 5.1)"
        }
        if field.value.utf8.contains(where: { $0 == 10 || $0 == 13 || $0 == 0 }) {
            return "has a line end or NUL in its value"
        }
        return ownFields.contains(name) ? "castree sets itself" : nil
    }

    /// The separators of tokens (RFC 9110, section 5.6.2).
    private static let separators = Set("\"(),/:;<=>?@[\\]{}".utf8)
    /// The fields that castree sets itself.
    private static let ownFields: Set<String> = [
        "accept-encoding", "connection", "content-length", "expect", "host", "if-match",
        "http2-settings", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since",
        "keep-alive", "proxy-authorization", "proxy-connection", "range", "te", "trailer",
        "transfer-encoding", "upgrade",
    ]

    private func validatePaths() throws(StoreError) {
        var paths = Set<ByteText>(minimumCapacity: files.count)
        for file in files where !paths.insert(ByteText(file.path.description)).inserted {
            throw refuse("it has the path \(shown(file)) twice")
        }
        // Consecutive files are mostly in one directory.
        var last: [UInt8] = []
        for file in files {
            let path = Array(file.path.description.utf8)
            let directory = Array(path[..<(path.lastIndex(of: 47) ?? 0)])
            if directory == last { continue }
            last = directory
            for end in path.indices where path[end] == 47 {
                let name = String(decoding: path[..<end], as: UTF8.self)
                if paths.contains(ByteText(name)) {
                    throw refuse("\(quoted(name)) is a file and the directory of \(shown(file))")
                }
            }
        }
    }

    private func validateRoutes() throws(StoreError) {
        var routes = Set<ByteText>(minimumCapacity: files.count)
        for file in files {
            for route in file.routes {
                if let problem = Self.problem(route: route) {
                    throw refuse("the route \(quoted(route)) of \(shown(file)) \(problem)")
                }
                if !routes.insert(ByteText(route)).inserted {
                    throw refuse("it has the route \(quoted(route)) twice")
                }
            }
        }
    }

    /// Applies the rules of manifests.
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

    /// Refuses two digests of one content by one algorithm, also in castree's own manifests.
    func validateLabels() throws(StoreError) {
        var digests: [ObjectID: [Label]] = [:]
        for file in files where !file.checks.isEmpty {
            // The SHA-256 is the address.
            var known =
                file.address.flatMap {
                    digests[$0] ?? [Label(.sha256, bytes: $0.bytes)].compactMap(\.self)
                } ?? []
            for label in file.labels {
                if label.isContradicted(by: known) {
                    throw refuse(
                        "the content of \(shown(file)) would have two digests by "
                            + label.algorithm.rawValue)
                }
                if !known.contains(label) { known.append(label) }
            }
            if let address = file.address { digests[address] = known }
        }
    }

    private func shown(_ file: ReleaseFile) -> String { quoted(file.path.description) }

    private func refuse(_ problem: String) -> StoreError {
        StoreError(.badRelease, "release \(printable(publisherVersion)) is refused: \(problem)")
    }
}
