package import CASStore
import StrictJSON
package import VersionTree

/// 8fit's frontends: a commit, the date of its deployment, and files with their routes.
///
/// The format was described but never published; this is its plainest reading:
/// `{"commit":"9f1c0de","deployed_at":"2015-05-25T10:00:00Z","files":[{"path":"js/app.js",`
/// `"route":"/a/js/app.js"}]}`. A file may also have `routes`, a list, and `size`. Without digests, its content is
/// trusted only as far as its length and the connection.
package struct EightFitFormat: ReleaseFormat {
    package init() {}

    package var name: String { "8fit" }
    package var number: Int { 1 }

    package func documents(_ layout: DocumentLayout, version: VersionName?) -> [ReleaseDocument] {
        [ReleaseDocument(path: "manifest.json")]
    }

    package func recognizes(_ bytes: [UInt8]) -> Bool {
        var hasCommit = false
        var hasFiles = false
        return scanMembers(of: bytes) { key, kind, _ in
            if key == "commit", kind == .string { hasCommit = true }
            if key == "files", kind == .array { hasFiles = true }
            return hasCommit && hasFiles
        }
    }

    /// Throws `.badRelease` with the error and its place.
    package func read(_ bytes: [UInt8], _ context: ReleaseContext) throws(StoreError) -> Release {
        var reading = EightFitReading(
            ReadingMeter(byteCount: bytes.count, entryCountMax: context.entryCountMax))
        do throws(JSONError) {
            try reading.read(bytes)
        } catch {
            throw StoreError(.badRelease, "\(Self.refusal): \(error.message)")
        }
        var release = Release(
            family: family, version: try .foreign(reading.commit, refusal: Self.refusal),
            trust: .length,
            received: bytes)
        release.order = reading.deployedAt
        release.files = reading.files
        release.foreign = reading.foreign.members
        release.keep(publisherVersion: reading.commit)
        try release.validate(origin: context.origin)
        return release
    }

    private static let refusal = "the frontend's description is refused"
}

/// A frontend's description while it is read.
private struct EightFitReading {
    var commit = ""
    var deployedAt: Int64?
    var files: [ReleaseFile] = []
    var foreign = ForeignFields()
    private var meter: ReadingMeter

    init(_ meter: ReadingMeter) { self.meter = meter }

    mutating func read(_ bytes: [UInt8]) throws(JSONError) {
        var hasFiles = false
        var reader = try JSONReader(bytes)
        try reader.enterObject()
        while let key = try reader.nextKey() {
            let start = reader.offset
            switch key {
            case "commit": commit = try reader.readString()
            case "deployed_at": deployedAt = try readTime(&reader)
            case "files":
                hasFiles = true
                try reader.enterArray()
                while try reader.nextElement() { try readFile(&reader) }
                continue
            default: try reader.skipValue()
            }
            try foreign.keep(key, text: bytes[start..<reader.offset])
        }
        try reader.finish()
        if commit.isEmpty { throw reader.failure("the field \"commit\" is missing or empty") }
        if !hasFiles { throw reader.failure("the field \"files\" is missing") }
    }

    private func readTime(_ reader: inout JSONReader) throws(JSONError) -> Int64 {
        let offset = reader.offset
        if try reader.peekKind() == .number { return try reader.readInteger() }
        guard let seconds = CalendarTime.seconds(try reader.readString()) else {
            throw reader.failure("\"deployed_at\" is no time like 2015-05-25T10:00:00Z", at: offset)
        }
        return seconds
    }

    private mutating func readRoute(_ reader: inout JSONReader) throws(JSONError) -> String {
        let route = try reader.readString()
        if let problem = meter.addText(route.utf8.count) { throw reader.failure(problem) }
        return route
    }

    private mutating func readFile(_ reader: inout JSONReader) throws(JSONError) {
        let offset = reader.offset
        if let problem = meter.addEntry() { throw reader.failure(problem) }
        var path: String?
        var routes: [String] = []
        var byteCount: Int64?
        var more: [JSONValue.Member] = []
        try reader.enterObject()
        while let key = try reader.nextKey() {
            switch key {
            case "path": path = try reader.readString()
            case "route": try routes.append(readRoute(&reader))
            case "routes":
                try reader.enterArray()
                while try reader.nextElement() { try routes.append(readRoute(&reader)) }
            case "size": byteCount = try reader.readInteger()
            default:
                switch try reader.peekKind() {
                case .object, .array: try reader.skipValue()
                default: more.append(.init(key: key, value: try meter.readValue(&reader)))
                }
            }
        }
        guard let path else { throw reader.failure("a file has no \"path\"", at: offset) }
        do throws(StoreError) {
            var file = ReleaseFile(path: try TreePath.foreign(path), byteCount: byteCount)
            for route in routes where !route.utf8.dropFirst().elementsEqual(path.utf8) {
                file.routes.append(route)
            }
            file.isLaunchFile = file.path.name.utf8.elementsEqual("index.html".utf8)
            file.foreign = more
            files.append(file)
        } catch {
            throw reader.failure(error.message, at: offset)
        }
    }
}
