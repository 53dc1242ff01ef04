package import CASStore
package import VersionTree

/// A version as a site: which resource each URL path names.
///
/// Made once from a manifest and never changed, so all threads read it without a lock. It keeps about 100 bytes per
/// entry besides the paths. ``Responder`` makes what takes time (types, heads) when it is first needed.
///
/// Paths are compared byte by byte after one percent-decoding; nothing is normalized, and no path of the file system
/// is ever made from them. The order is: the manifest's routes, "/" and the paths, indexes of directories, clean
/// URLs. None replaces an earlier one.
package final class Site: Sendable {
    package let version: VersionName
    /// Orders versions: a later one has a larger number.
    let ordinal: Int64
    package let options: SiteOptions

    let table: PathTable
    // Parallel to the table's keys.
    let destinations: [Destination]
    let resources: [Resource]
    let variants: [Variants]
    let labels: [String]
    let sourceMaps: [Int32: String]
    /// The key of the page that navigations fall back to.
    let index: Int?
    let heads: CommonHeads
    /// The version of the files looked up after its own, and their first resource; `nil` if none.
    let shell: (version: VersionName, first: Int)?
    let names: Names

    /// The keys of a site whose names may change with their content.
    struct Names: Sendable {
        /// Below a prefix that the operator has named, by the manifest, or with a digest of the content.
        var said: [Int] = []
        /// Like a bundler's: immutable where a later version does not have the path, so that the name disappeared
        /// with its bytes.
        ///
        /// That an earlier one does not have it proves nothing: the file was new then, and the next version may have
        /// other bytes.
        var likely: [Int] = []

        var isEmpty: Bool { said.isEmpty && likely.isEmpty }
    }

    /// - Parameters:
    ///   - shell: files of the app that shows the site, the same for all versions (`cordova.js`). They are looked up
    ///     after the version's own; not under `/application`.
    ///   - digests: the SHA-1 and MD5 of content, for names that may have one of them.
    package init(
        _ manifest: VersionTree.Manifest, options: SiteOptions = SiteOptions(),
        shell: VersionTree.Manifest? = nil,
        digests: (ObjectID, Int64) -> [Label] = { _, _ in [] }
    ) {
        var builder = SiteBuilder(
            options, capacity: manifest.count + (shell?.count ?? 0),
            byteCount: manifest.pathByteCount + (shell?.pathByteCount ?? 0))
        builder.add(manifest)
        let first = builder.resources.count
        if let shell { builder.add(shell: shell) }
        self.shell = shell.map { ($0.version, first) }
        builder.markImmutable(digests)
        names = builder.names
        version = manifest.version
        ordinal = manifest.ordinal
        self.options = options
        heads = CommonHeads(options)
        table = builder.table
        destinations = builder.destinations
        resources = builder.resources
        variants = builder.variants
        labels = builder.labels
        sourceMaps = builder.sourceMaps
        index = builder.table.find([47])
    }

    /// The same site, with these keys immutable and no others.
    private init(_ other: Site, immutable: Set<Int>) {
        version = other.version
        ordinal = other.ordinal
        options = other.options
        table = other.table
        var destinations = other.destinations
        for key in destinations.indices { destinations[key].isImmutable = immutable.contains(key) }
        self.destinations = destinations
        resources = other.resources
        variants = other.variants
        labels = other.labels
        sourceMaps = other.sourceMaps
        index = other.index
        heads = other.heads
        shell = other.shell
        names = other.names
    }

    /// The site beside these versions: no path is immutable where one has other bytes; `nil` if nothing changes.
    package func beside(_ others: some Sequence<VersionTree.Manifest>) -> Site? {
        guard !names.isEmpty else { return nil }
        var contested: Set<Int> = []
        var borneOut: Set<Int> = []
        for other in others {
            let routes = other.addressesOfRoutes
            for key in names.said + names.likely {
                let path = table.key(key)
                let own = resources[Int(destinations[key].resource)].address
                let theirs = routes[path] ?? other.address(ofPath: path.dropFirst())
                if theirs == nil, other.ordinal > ordinal { borneOut.insert(key) }
                if let theirs, theirs != own { contested.insert(key) }
            }
        }
        let immutable = Set(names.said).union(borneOut.intersection(names.likely))
            .subtracting(contested)
        let before = destinations.indices.filter { destinations[$0].isImmutable }
        return immutable == Set(before) ? nil : Site(self, immutable: immutable)
    }

    var indexResource: Resource? {
        guard let index, destinations[index].resource >= 0 else { return nil }
        return resources[Int(destinations[index].resource)]
    }

    enum Found {
        case resource(key: Int, Int32)
        case directory(key: Int)
        case nothing
        case malformed
    }

    /// Looks up a path as it was sent; decodes it only if it contains a `%`.
    @inline(__always)
    func find(_ path: UnsafeBufferPointer<UInt8>) -> Found {
        if Self.isPlain(path) { return found(table.find(path)) }
        switch DecodedPath(ArraySlice(path)) {
        case .bytes(let bytes): return found(table.find(bytes[...]))
        case .nothing: return .nothing
        case .malformed: return .malformed
        }
    }

    @inline(__always)
    private static func isPlain(_ path: UnsafeBufferPointer<UInt8>) -> Bool {
        let raw = UnsafeRawBufferPointer(path)
        let (ones, high): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
        var position = 0
        while position + 8 <= raw.count {
            let word = raw.loadUnaligned(fromByteOffset: position, as: UInt64.self)
            let other = word ^ 0x2525_2525_2525_2525
            guard ((word &- ones) & ~word | (other &- ones) & ~other) & high == 0 else {
                return false
            }
            position += 8
        }
        while position < raw.count {
            if raw[position] == 37 || raw[position] == 0 { return false }
            position += 1
        }
        return true
    }

    private func found(_ key: Int?) -> Found {
        guard let key else { return .nothing }
        let resource = destinations[key].resource
        return resource < 0 ? .directory(key: key) : .resource(key: key, resource)
    }

    /// The address that a request for a path would get, without content coding; `nil` if there is none.
    package func address(of path: some Collection<UInt8>) -> ObjectID? {
        let path = Array(path)
        guard case .resource(_, let resource) = path.withUnsafeBufferPointer({ find($0) }) else {
            return nil
        }
        return resources[Int(resource)].address
    }

    /// At most `limit` files with an address, each with its version and its path there; rare, because it reads all.
    func files(
        with address: ObjectID, limit: Int
    ) -> [(version: VersionName, path: String)] {
        var found: [(version: VersionName, path: String)] = []
        for (number, resource) in resources.enumerated() where resource.address == address {
            guard found.count < limit else { break }
            guard resource.path >= 0 else { continue }
            let path = table.key(Int(resource.path)).dropFirst()
            let owner = shell.flatMap { number >= $0.first ? $0.version : nil }
            found.append((owner ?? version, String(decoding: path, as: UTF8.self)))
        }
        return found
    }

    package func contains(_ path: some Collection<UInt8>) -> Bool { address(of: path) != nil }
}

extension VersionTree.Manifest {
    fileprivate var addressesOfRoutes: [ArraySlice<UInt8>: ObjectID] {
        let extras = extras
        var routes: [ArraySlice<UInt8>: ObjectID] = [:]
        guard !extras.isEmpty else { return routes }
        for position in 0..<count {
            for route in extras[position]?.routes ?? [] {
                routes[Array(route.utf8.prefix { $0 != 63 })[...]] = address(at: position)
            }
        }
        return routes
    }

    /// The address of the file at a path, which begins without a slash.
    fileprivate func address(ofPath path: ArraySlice<UInt8>) -> ObjectID? {
        path.withUnsafeBufferPointer { position(of: $0) }.map { address(at: $0) }
    }
}

/// An object that a URL path names, and what the manifest says about it.
struct Resource: Sendable {
    var address: ObjectID
    var byteCount: Int64
    /// The key of its path in the site's table; -1 if there is none.
    var path: Int32 = -1
    /// The position of its label in the site's labels; -1 if it has none.
    var label: Int32 = -1
    /// The position of its precompressed variants in the site's; -1 if it has none.
    var variants: Int32 = -1
    /// The coding of its bytes, if the name before the ending describes their content: `game.wasm.gz`.
    var coding = ContentCoding.identity
    var isCacheable = false
}

/// The resources that hold another one's content, precompressed; -1 if there is none.
struct Variants: Sendable {
    private var resources = SIMD4<Int32>(repeating: -1)

    subscript(coding: ContentCoding) -> Int32 {
        get { resources[Int(coding.rawValue)] }
        set { resources[Int(coding.rawValue)] = newValue }
    }
}

struct Destination: Sendable {
    /// -1 for the same path with a trailing slash, because the directory has an index.
    var resource: Int32
    var isImmutable = false

    static let directory = Destination(resource: -1)
}

/// A hash table from the bytes of a URL path to a number.
///
/// Compact: the keys are in one array, and each costs its bytes and 20 more. Each table seeds its hashing, so nobody
/// can write a manifest whose paths collide.
struct PathTable: Sendable {
    private struct Key: Sendable {
        var start: UInt32
        var length: UInt32
        var hash: UInt32
    }

    private var bytes: [UInt8] = []
    private var keys: [Key] = []
    // Positions in `keys` plus one; 0 is free. The count is a power of two, at least twice that of keys.
    private var slots: [UInt32]
    private let seed = UInt64.random(in: 0...UInt64.max)
    private let factor = UInt64.random(in: 0...UInt64.max) | 1

    /// - Parameter byteCount: of all keys together; may be a guess.
    init(capacity: Int, byteCount: Int = 0) {
        var count = 16
        while count < capacity * 2 { count *= 2 }
        slots = [UInt32](repeating: 0, count: count)
        keys.reserveCapacity(capacity)
        bytes.reserveCapacity(byteCount)
    }

    /// The number of keys; they are numbered from 0 in the order of insertion.
    var count: Int { keys.count }

    func key(_ number: Int) -> ArraySlice<UInt8> {
        let key = keys[number]
        return bytes[Int(key.start)..<Int(key.start) + Int(key.length)]
    }

    @inline(__always)
    func find(_ path: UnsafeBufferPointer<UInt8>) -> Int? {
        find(path, hash(path))
    }

    @inline(__always)
    private func find(_ path: UnsafeBufferPointer<UInt8>, _ hash: UInt32) -> Int? {
        var slot = Int(hash) & (slots.count - 1)
        while slots[slot] != 0 {
            let number = Int(slots[slot]) - 1
            if keys[number].hash == hash, isKey(number, path) { return number }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    func find(_ path: ArraySlice<UInt8>) -> Int? {
        path.withUnsafeBufferPointer { find($0) }
    }

    /// Adds a key and returns its number; `nil` if the key is already there or the table is full.
    mutating func insert(_ path: UnsafeBufferPointer<UInt8>) -> Int? {
        let hash = hash(path)
        if find(path, hash) != nil { return nil }
        guard bytes.count + path.count <= Int(UInt32.max), keys.count < Int(UInt32.max) - 1 else {
            return nil
        }
        if (keys.count + 1) * 2 > slots.count { grow() }
        let number = keys.count
        keys.append(Key(start: UInt32(bytes.count), length: UInt32(path.count), hash: hash))
        bytes.append(contentsOf: path)
        place(number, hash)
        return number
    }

    private mutating func place(_ number: Int, _ hash: UInt32) {
        var slot = Int(hash) & (slots.count - 1)
        while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
        slots[slot] = UInt32(number + 1)
    }

    private mutating func grow() {
        slots = [UInt32](repeating: 0, count: slots.count * 2)
        for number in keys.indices { place(number, keys[number].hash) }
    }

    @inline(__always)
    private func isKey(_ number: Int, _ path: UnsafeBufferPointer<UInt8>) -> Bool {
        let key = keys[number]
        guard Int(key.length) == path.count else { return false }
        let start = Int(key.start)
        return bytes.withUnsafeBufferPointer { bytes in
            areEqual(path, UnsafeBufferPointer(rebasing: bytes[start..<start + path.count]))
        }
    }

    @inline(__always)
    private func hash(_ path: UnsafeBufferPointer<UInt8>) -> UInt32 {
        // Folded multiplication of eight bytes at a time (like wyhash), with secret random numbers. It happens for
        // each request and costs a third of SipHash.
        let raw = UnsafeRawBufferPointer(path)
        var state = seed ^ UInt64(path.count)
        var position = 0
        while position + 8 <= raw.count {
            state = mix(state ^ raw.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            position += 8
        }
        var rest: UInt64 = 0
        while position < raw.count {
            rest = rest << 8 | UInt64(raw[position])
            position += 1
        }
        return UInt32(truncatingIfNeeded: mix(mix(state ^ rest)))
    }

    @inline(__always)
    private func mix(_ word: UInt64) -> UInt64 {
        let product = word.multipliedFullWidth(by: factor)
        return product.high ^ product.low
    }
}

/// A page's own report of its version.
///
/// Every HTML document, script and style comes with `Server-Timing: castree;desc="VERSION"` (Server Timing, section
/// 2). A copy keeps the field wherever it is stored, even in a service worker's cache. The bridge's script reads the
/// field of its own navigation (`PerformanceNavigationTiming.serverTiming`, in secure contexts, which workers
/// require) and reports it to the server, because the browser may not show the version with which the server answered
/// the navigation. The fields of its scripts and styles are compared as well (``MixedPage``).
package enum PageWord: Sendable, Hashable {
    case version(VersionName)
    /// A service worker made the document without the field.
    case unknown

    static let field = "Server-Timing"

    /// The value of the field for documents of a version; the characters of a name need no escapes.
    static func value(for version: VersionName) -> String { "castree;desc=\"\(version)\"" }

    /// The parameter of a query; the value is a version, or empty.
    static let parameter = "version="

    init(_ text: String) {
        // The reason does not matter: a text that cannot be a version is none.
        self = (try? VersionName(text)).map { .version($0) } ?? .unknown
    }

    var version: VersionName? { if case .version(let own) = self { own } else { nil } }
}
