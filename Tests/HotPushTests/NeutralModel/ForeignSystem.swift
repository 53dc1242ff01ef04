import HotPush
import StorageTestSupport

/// The documents of a publishing system that castree has no format for, read into the neutral model and
/// written from it alone.
protocol ForeignSystem: Sendable {
    static var documents: [String] { get }
    static func read(_ document: JSONValue) throws -> Release
    /// The document again; what the release has come from is not looked at.
    static func write(_ release: Release) throws -> JSONValue
}

extension ForeignSystem {
    static var samples: [JSONValue] {
        get throws { try documents.map { try JSONValue.parse(Array($0.utf8)) } }
    }

    static var releases: [Release] { get throws { try samples.map { try read($0) } } }

    static func empty(_ version: String, trust: Release.Trust = .digest) throws -> Release {
        Release(
            family: "\(Self.self)/1", version: try VersionName(version), trust: trust, received: [])
    }
}

extension JSONValue {
    static func list(_ texts: [String]) -> JSONValue { .array(texts.map { .string($0) }) }

    /// The text of a member that must be there.
    func text(_ key: String) throws -> String { try require(self[key]?.asString, "\(key)") }

    func elements(_ key: String) -> [JSONValue] { self[key]?.asArray ?? [] }

    func maybe(_ key: String) -> String? { self[key]?.asString }

    /// Members that the neutral model has no place for.
    func kept(_ keys: String...) -> [Member] { (asObject ?? []).filter { keys.contains($0.key) } }
}

extension Release {
    func foreign(_ key: String) -> JSONValue? { foreign.first { $0.key == key }?.value }

    func requirement(_ kind: String) -> String? { requirements.first { $0.kind == kind }?.value }

    mutating func require(_ kind: String, _ value: String?) {
        if let value { requirements.append(Requirement(kind: kind, value: value)) }
    }
}

extension ReleaseFile {
    func foreign(_ key: String) -> JSONValue? { foreign.first { $0.key == key }?.value }

    func digest(_ algorithm: DigestAlgorithm) -> [UInt8]? {
        for case .digest(let label) in checks where label.algorithm == algorithm {
            return label.bytes
        }
        return nil
    }

    /// The text of a digest that castree cannot compute.
    func unknown(_ name: String) -> String? {
        for case .unknownDigest(name, let text) in checks { return text }
        return nil
    }

    func hex(_ algorithm: DigestAlgorithm) -> String? { digest(algorithm).map(hexadecimal) }

    mutating func check(_ algorithm: DigestAlgorithm, hex: String?) throws {
        guard let hex else { return }
        checks.append(.digest(try require(Label(algorithm, hex: hex))))
    }

    mutating func check(_ algorithm: DigestAlgorithm, base64: String) throws {
        let bytes = try require(Base64.bytes(base64))
        checks.append(.digest(try require(Label(algorithm, bytes: bytes))))
    }
}

func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
}
