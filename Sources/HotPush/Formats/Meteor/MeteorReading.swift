import CASStore
import StrictJSON
import VersionTree

/// A Meteor manifest while it is read; its keys may come in any order, so rules for the whole are checked at its end.
struct MeteorReading {
    private let bytes: [UInt8]
    private var format: String?
    private var version: String?
    private var compatibility: [(platform: String, version: String)]?
    private var hasManifest = false
    private var foreign = ForeignFields()
    private var files: MeteorFiles
    private var meter: ReadingMeter
    /// The key `meteorRuntimeConfig`: JSON inside a string.
    private(set) var configuration: String?

    private static let platformCountMax = 64

    init(_ bytes: [UInt8], _ context: ReleaseContext) {
        self.bytes = bytes
        meter = ReadingMeter(byteCount: bytes.count, entryCountMax: context.entryCountMax)
        files = MeteorFiles(
            layout: context.layout, likelyCount: min(bytes.count / 300, context.entryCountMax))
    }

    mutating func read() throws(JSONError) {
        var reader = try JSONReader(bytes)
        try reader.enterObject()
        while let key = try reader.nextKey() {
            switch key {
            case "format":
                format = try reader.readString()
                // The rest of another format is unknown.
                if !isCompatible { return }
            case "version": version = try reader.readString()
            case "cordovaCompatibilityVersions": try readCompatibility(key, &reader)
            case "manifest":
                hasManifest = true
                try reader.enterArray()
                while try reader.nextElement() {
                    let offset = reader.offset
                    let entry = try MeteorEntry(&reader, &meter)
                    guard entry.isForClient else { continue }
                    // A source map is a file too.
                    for _ in 0..<(entry.sourceMap == nil ? 1 : 2) {
                        if let problem = meter.addEntry() {
                            throw reader.failure(problem, at: offset)
                        }
                    }
                    if let problem = files.add(entry) {
                        throw reader.failure(problem, at: offset)
                    }
                }
            case "meteorRuntimeConfig" where try reader.peekKind() == .string:
                let text = try reader.readString()
                configuration = text
                foreign.keep(key, .string(text), byteCount: text.utf8.count)
            default:
                let start = reader.offset
                try reader.skipValue()
                try foreign.keep(key, text: bytes[start..<reader.offset])
            }
        }
        try reader.finish()
    }

    private var isCompatible: Bool { format == nil || format == MeteorFormat.program }

    private mutating func readCompatibility(
        _ key: String, _ reader: inout JSONReader
    ) throws(JSONError) {
        let start = reader.offset
        var versions: [(platform: String, version: String)] = []
        var members: [JSONValue.Member] = []
        try reader.enterObject()
        while let platform = try reader.nextKey() {
            if try reader.peekKind() == .null {
                try reader.readNull()
                continue
            }
            let version = try reader.readString()
            guard versions.count < Self.platformCountMax else {
                throw reader.failure("more than \(Self.platformCountMax) platforms")
            }
            versions.append((platform, version))
            members.append(.init(key: platform, value: .string(version)))
        }
        compatibility = versions
        foreign.keep(key, .object(members), byteCount: reader.offset - start)
    }

    /// Takes the files; checks for required fields in the order of Meteor's plugin.
    mutating func release(family: String, platform: String?) throws(StoreError) -> Release {
        if !isCompatible {
            throw StoreError(
                .badRelease, MeteorMessages.incompatibleFormat(printable(format ?? "")))
        }
        guard let version, !version.isEmpty else {
            throw StoreError(.badRelease, MeteorMessages.noVersion)
        }
        let platforms = compatibility ?? []
        let isForPlatform =
            platform.map { wanted in
                platforms.contains { $0.platform.utf8.elementsEqual(wanted.utf8) }
            } ?? !platforms.isEmpty
        guard isForPlatform else {
            throw StoreError(.badRelease, MeteorMessages.noCompatibilityVersion)
        }
        guard hasManifest else {
            throw StoreError(
                .badRelease,
                "\(MeteorMessages.documentUnreadable): the field \"manifest\" is missing")
        }
        let name = try VersionName.foreign(version, refusal: MeteorMessages.documentUnreadable)
        var release = Release(family: family, version: name, trust: .length, received: bytes)
        release.foreign = foreign.members
        release.keep(publisherVersion: version)
        for (platform, version) in platforms {
            release.requirements.append(
                Requirement(kind: Requirement.compatibility, value: version, platform: platform))
        }
        release.files = files.take()
        return release
    }
}

struct MeteorEntry {
    var path: String?
    var url: String?
    var place: String?
    var type: String?
    var hash: String?
    var sri: String?
    var sourceMap: String?
    var sourceMapURL: String?
    var isCacheable: Bool?
    var isReplaceable: Bool?
    var byteCount: Int64?
    /// Other fields whose values are neither lists nor objects.
    var foreign: [JSONValue.Member] = []

    /// Whether the Cordova program uses it; `internal` entries are pieces of the index page.
    var isForClient: Bool { place == "client" }

    /// Requires the types of all fields, whatever the entry is for.
    init(_ reader: inout JSONReader, _ meter: inout ReadingMeter) throws(JSONError) {
        try reader.enterObject()
        while let key = try reader.nextKey() {
            switch key {
            case "path": path = try Self.text(&reader)
            case "url": url = try Self.text(&reader)
            case "where": place = try Self.text(&reader)
            case "type": type = try Self.text(&reader)
            case "hash": hash = try Self.text(&reader)
            case "sri": sri = try Self.text(&reader)
            case "sourceMap": sourceMap = try Self.text(&reader)
            case "sourceMapUrl": sourceMapURL = try Self.text(&reader)
            case "cacheable": isCacheable = try Self.truth(&reader)
            case "replaceable": isReplaceable = try Self.truth(&reader)
            case "size":
                if try Self.isNull(&reader) { continue }
                let offset = reader.offset
                let count = try reader.readInteger()
                if count < 0 { throw reader.failure("a size is negative", at: offset) }
                byteCount = count
            default:
                switch try reader.peekKind() {
                case .object, .array: try reader.skipValue()
                default: foreign.append(.init(key: key, value: try meter.readValue(&reader)))
                }
            }
        }
    }

    // Null counts as missing.

    private static func text(_ reader: inout JSONReader) throws(JSONError) -> String? {
        try isNull(&reader) ? nil : try reader.readString()
    }

    private static func truth(_ reader: inout JSONReader) throws(JSONError) -> Bool? {
        try isNull(&reader) ? nil : try reader.readBool()
    }

    private static func isNull(_ reader: inout JSONReader) throws(JSONError) -> Bool {
        guard try reader.peekKind() == .null else { return false }
        try reader.readNull()
        return true
    }
}
