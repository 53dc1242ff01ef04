import CASStore
import StrictJSON
import VersionTree

/// Fills the tables of a site.
struct SiteBuilder {
    private(set) var table: PathTable
    private(set) var destinations: [Destination] = []
    private(set) var resources: [Resource] = []
    private(set) var variants: [Variants] = []
    private(set) var labels: [String] = []
    private(set) var sourceMaps: [Int32: String] = [:]
    private(set) var names = Site.Names()

    private let options: SiteOptions
    // Keys that are the path of their resource, and not a route in place of a path.
    private var isPath: [Bool] = []
    private var compressed: [(key: Int, coded: Coded)] = []

    init(_ options: SiteOptions, capacity: Int, byteCount: Int) {
        self.options = options
        // Counts a slash for every path.
        table = PathTable(capacity: capacity, byteCount: byteCount + capacity)
        resources.reserveCapacity(capacity)
        destinations.reserveCapacity(capacity)
    }

    mutating func add(_ manifest: VersionTree.Manifest) {
        let first = resources.count
        let extras = manifest.extras
        for position in 0..<manifest.count {
            addResource(manifest, position, extras.isEmpty ? nil : extras[position])
        }
        if !extras.isEmpty {
            for position in 0..<manifest.count {
                guard let extras = extras[position] else { continue }
                for route in extras.routes { addRoute(route, Int32(first + position)) }
            }
        }
        let paths = addPaths(manifest, first)
        for (key, path) in paths { addAliases(path, key) }
        attachVariants()
    }

    /// Adds the shell's files that the version does not have; Meteor serves none of it under `/application`.
    mutating func add(shell: VersionTree.Manifest) {
        for entry in shell.entries {
            let path = Array("/\(entry.path)".utf8)
            if path.starts(with: "/application".utf8) { continue }
            resources.append(Resource(address: entry.address, byteCount: entry.byteCount))
            let resource = Int32(resources.count - 1)
            insert(path, Destination(resource: resource))
            resources[Int(resource)].path = Int32(table.find(path[...]) ?? -1)
        }
    }

    private mutating func addResource(
        _ manifest: VersionTree.Manifest, _ position: Int,
        _ extras: VersionTree.Manifest.Extras?
    ) {
        var resource = Resource(
            address: manifest.address(at: position), byteCount: manifest.byteCount(at: position))
        if let extras {
            if options.entityTags == .label, let label = Self.label(extras) {
                resource.label = Int32(labels.count)
                labels.append(label)
            }
            let foreign = JSONValue.object(extras.foreign)
            resource.isCacheable = foreign["cacheable"]?.asBool ?? false
            if let url = foreign["sourceMapUrl"]?.asString, url.utf8.first == 47 {
                sourceMaps[Int32(resources.count)] = PercentEncoding.path(of: Array(url.utf8))
            }
        }
        resources.append(resource)
    }

    /// The entity tag that the publisher promises; `nil` if it cannot be one.
    private static func label(_ entry: VersionTree.Manifest.Extras) -> String? {
        if let hash = JSONValue.object(entry.foreign)["hash"] {
            guard let label = hash.asString, !label.isEmpty,
                label.utf8.allSatisfy({ $0 == 0x21 || $0 >= 0x23 && $0 <= 0x7E })
            else { return nil }
            return label
        }
        return entry.labels.first { $0.algorithm == .sha1 }.map { Hex.string($0.bytes) }
    }

    /// Adds a route without its query, as written and, if it has escapes, also decoded.
    private mutating func addRoute(_ route: String, _ resource: Int32) {
        let bytes = Array(route.utf8.prefix { $0 != 63 })
        insert(bytes, Destination(resource: resource))
        if bytes.contains(37), case .bytes(let decoded) = DecodedPath(bytes[...]) {
            insert(decoded, Destination(resource: resource))
        }
    }

    private mutating func addPaths(
        _ manifest: VersionTree.Manifest, _ first: Int
    ) -> [(key: Int, path: [UInt8])] {
        var special: [(key: Int, path: [UInt8])] = []
        var resource = Int32(first)
        let index = Array(options.index.utf8)
        var path: [UInt8] = []
        for position in 0..<manifest.count {
            path.removeAll(keepingCapacity: true)
            path.append(47)
            manifest.withPath(position) { path.append(contentsOf: $0) }
            let inserted = insert(path, Destination(resource: resource), isPath: true)
            // A route of another file may have taken the path; its key has the same spelling.
            resources[Int(resource)].path = Int32(inserted ?? table.find(path[...]) ?? -1)
            if let key = inserted {
                if path.hasEnding(index) || (options.hasCleanURLs && path.hasEnding(Self.html)) {
                    special.append((key, path))
                }
                if let coded = Self.coded(path[...]) { compressed.append((key, coded)) }
            }
            resource += 1
        }
        return special
    }

    private mutating func addAliases(_ path: [UInt8], _ key: Int) {
        let index = Array(("/" + options.index).utf8)
        if path.hasEnding(index) {
            let directory = Array(path.dropLast(index.count - 1))
            if directory.count == 1 || options.hasDirectoryIndexes {
                insert(directory, destinations[key])
            }
            if directory.count > 1, options.hasDirectoryIndexes {
                insert(Array(directory.dropLast()), .directory)
            }
        }
        if options.hasCleanURLs, path.hasEnding(Self.html) {
            insert(Array(path.dropLast(Self.html.count)), destinations[key])
        }
    }

    /// How a file is compressed, by the ending of its name.
    struct Coded {
        let coding: ContentCoding
        /// How many bytes of the name say that and nothing else.
        let ending: Int
    }

    /// Returns `nil` if the file is not compressed, or is a document of its own (`.zip`).
    static func coded(_ path: ArraySlice<UInt8>) -> Coded? {
        for coding in [ContentCoding.brotli, .zstandard, .gzip] {
            let ending = Array(coding.ending.utf8)
            if path.suffix(ending.count).elementsEqual(ending) {
                return Coded(coding: coding, ending: ending.count)
            }
        }
        // SVG 2, section 1.3 (conformance): always gzip.
        guard path.suffix(5).map({ FieldText.lowercased($0) }) == Array(".svgz".utf8) else {
            return nil
        }
        return Coded(coding: .gzip, ending: 1)
    }

    /// Connects each file with its compressed variants.
    ///
    /// A compressed file without its plain one is sent with its content coding, if its name tells: pages request
    /// `game.wasm.gz` by this very name.
    private mutating func attachVariants() {
        for (key, coded) in compressed {
            let (path, coding) = (table.key(key), coded.coding)
            guard let base = table.find(path.dropLast(coded.ending)) else {
                if isWebContent(path.dropLast(coded.ending)) {
                    resources[Int(destinations[key].resource)].coding = coding
                }
                continue
            }
            guard isPath[base] else { continue }
            let (resource, compressed) = (destinations[base].resource, destinations[key].resource)
            var position = Int(resources[Int(resource)].variants)
            if position < 0 {
                position = variants.count
                variants.append(Variants())
                resources[Int(resource)].variants = Int32(position)
            }
            variants[position][coding] = compressed
        }
    }

    /// Whether a path's ending names something that a page loads, not an archive, which is sent as it is.
    private func isWebContent(_ path: ArraySlice<UInt8>) -> Bool {
        options.contentType(of: path) != nil && MediaType.known(path)?.isArchive != true
    }

    /// Marks the URLs that are immutable by their names; pages never are.
    /// - Parameter digests: further digests of content; empty where they are not to be computed.
    mutating func markImmutable(_ digests: (ObjectID, Int64) -> [Label]) {
        let prefixes = options.immutablePrefixes.map { Array($0.utf8) }
        for key in destinations.indices where destinations[key].resource >= 0 {
            let path = table.key(key)
            let resource = resources[Int(destinations[key].resource)]
            if resource.path >= 0,
                MediaType.known(table.key(Int(resource.path)))?.use == .page
            {
                continue
            }
            if prefixes.contains(where: { path.starts(with: $0) }) {
                names.said.append(key)
                continue
            }
            switch options.immutableURLs {
            case .prefixes: break
            case .meteor: if HashedName.hasMeteorLabel(path) { names.said.append(key) }
            case .hashedNames:
                if NamedDigest.stands(in: path, of: resource.address, resource.byteCount, digests) {
                    names.said.append(key)
                } else if HashedName.isOfBuild(path) {
                    names.likely.append(key)
                }
            }
        }
        for key in names.said { destinations[key].isImmutable = true }
    }

    @discardableResult
    private mutating func insert(
        _ path: [UInt8], _ destination: Destination, isPath: Bool = false
    ) -> Int? {
        guard let key = path.withUnsafeBufferPointer({ table.insert($0) }) else { return nil }
        destinations.append(destination)
        self.isPath.append(isPath)
        return key
    }

    private static let html = Array(".html".utf8)
}

extension [UInt8] {
    func hasEnding(_ ending: some BidirectionalCollection<UInt8>) -> Bool {
        suffix(ending.count).elementsEqual(ending)
    }
}
