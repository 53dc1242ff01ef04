import Archives
import CASStore
import ClientSystems
import Console
import HotPush
import ServeFromCAS
import StoreCommands
import StrictJSON
import WebServer

extension Invocation {
    func answerOrigin() throws -> ExitStatus {
        let (head, body) = try givenRequest()
        var scratch: String?
        defer {
            // At worst some files stay among other temporary ones.
            if let scratch {
                try? POSIXFileSystem().removeTree(POSIXFileSystem.workingDirectory, scratch)
            }
        }
        let file = try value("output")
        if let file { try refuseOwnPlace(file) }
        let served = try servedOrigin { bucket in
            let cache: String
            if let given = try value("cache") {
                cache = given
            } else {
                cache = "\(environment("TMPDIR") ?? "/tmp")/castree-origin-\(try randomToken())"
                scratch = cache
            }
            return try mirror(of: bucket, at: cache) { [diagnostics] in
                diagnostics.warn(code: "notice", $0)
            }
        }
        let responder = OriginResponder(answers: served.answers)
        let response = try responder.suppliedResponse(
            to: head, body, from: served.mirror, isWhole: isGiven("output"))
        let printed = PrintedAnswer(response, responder.origin)
        if let file {
            // An error must never replace the file, which somebody may be serving.
            guard 200..<300 ~= response.head.status else {
                throw StoreError(
                    .notOffered,
                    "the answer is \(printed.headLines.first ?? "an error"); nothing is written to \(printable(file))"
                )
            }
            try printed.writeBody(to: file)
            if String(decoding: head.bytes[head.path], as: UTF8.self) == "/for/expo/manifest" {
                note(
                    "apps that get this file fetch whole scripts: patches take castree origin serve"
                )
            }
        }
        return try report { writer in
            try printed.write(to: &writer)
        } text: { output in
            for line in printed.headLines + [""] { output.print("\(line)") }
            for line in try printed.bodyLines() { output.print("\(line)") }
        }
    }

    private func givenRequest() throws -> (RequestHead, [UInt8]) {
        var bytes: [UInt8]
        if let file = try value("request") {
            guard optionalArgument("METHOD") == nil, !isGiven("header"), !isGiven("body") else {
                throw CommandError.usage(
                    "--request has the whole request: leave METHOD, URL, --header and --body out")
            }
            bytes = try contents(of: file)
        } else {
            guard let method = optionalArgument("METHOD"), let url = optionalArgument("URL") else {
                throw CommandError.usage("name a METHOD and a URL, or --request FILE")
            }
            let body = try value("body").map { try contents(of: $0) } ?? []
            var head = "\(method) \(url) HTTP/1.1\r\nHost: localhost\r\n"
            for field in values("header") { head += "\(field)\r\n" }
            if !body.isEmpty { head += "Content-Length: \(body.count)\r\n" }
            bytes = Array((head + "\r\n").utf8) + body
        }
        var limits = RequestParser.Limits()
        limits.takesUTF8 = true
        var parser = RequestParser(limits: limits)
        switch parser.parse(bytes.span) {
        case .needMore:
            throw CommandError.usage(
                "the request is not complete: an empty line ends its fields, each line with CR LF")
        case .failure(let failure):
            throw CommandError.usage(
                "the server would answer \(failure.status): \(failure.sentence)")
        case .head(let consumed, _):
            bytes.removeFirst(consumed)
            guard bytes.count <= OriginResponder.bodyByteCountMax else {
                throw CommandError.usage(
                    "the server would answer 413: the body has more than \(OriginResponder.bodyByteCountMax) bytes"
                )
            }
            return (parser.head, bytes)
        }
    }

    private func contents(of file: String) throws -> [UInt8] {
        try POSIXFileSystem().contents(POSIXFileSystem.workingDirectory, file, limit: 1 << 20)
    }
}

struct PrintedAnswer {
    private let response: PlannedResponse
    private let objects: DirectoryOrigin

    private static let printedMax: Int64 = 1 << 20

    init(_ response: PlannedResponse, _ objects: DirectoryOrigin) {
        self.response = response
        self.objects = objects
    }

    var headLines: [String] {
        String(decoding: response.head.bytes, as: UTF8.self).split(separator: "\r\n")
            .map(String.init)
    }

    var isEmpty: Bool { if case .none = response.body { true } else { false } }

    private var byteCount: Int64 {
        switch response.body {
        case .none: 0
        case .bytes(let bytes): Int64(bytes.count)
        case .range(let range, _): range.upperBound - range.lowerBound
        }
    }

    private var archive: ZipArchive? {
        guard case .range(_, let body) = response.body, case .archive(let archive) = body.source
        else { return nil }
        return archive
    }

    /// The body as people read it: text as it is, of an archive its list of files.
    func bodyLines() throws(StoreError) -> [String] {
        if isEmpty { return [] }
        if let text = try text() {
            // Parts of a body end their lines with CR LF, which is one character.
            let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
            return (lines.last?.isEmpty == true ? lines.dropLast() : lines).map(String.init)
        }
        guard let archive else { return ["(\(counted(byteCount, "byte")), not printed)"] }
        let all = archive.byteCount
        let part = byteCount == all ? "" : "\(groupedCount(byteCount)) of the "
        return [
            "(\(part)\(counted(all, "byte")) of a zip archive with "
                + "\(counted(archive.members.count, "file")))"
        ] + archive.members.map { "  \($0.path)  \(groupedCount($0.byteCount))" }
    }

    func text() throws(StoreError) -> String? {
        guard archive == nil, !isEmpty, byteCount <= Self.printedMax else { return nil }
        var bytes: [UInt8] = []
        try forEachPiece { (piece) throws(StoreError) in bytes += piece }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Calls `work` with the body, piece by piece; each file is compared with its address first.
    private func forEachPiece(_ work: ([UInt8]) throws(StoreError) -> Void) throws(StoreError) {
        switch response.body {
        case .none: return
        case .bytes(let bytes): try work(bytes)
        case .range(let range, let body):
            var position = range.lowerBound
            while position < range.upperBound {
                let end = min(position + 1 << 20, range.upperBound)
                for piece in body.pieces(in: position..<end) { try work(bytes(of: piece)) }
                position = end
            }
        }
    }

    private func bytes(of piece: ZipArchive.Piece) throws(StoreError) -> [UInt8] {
        switch piece {
        case .bytes(let bytes): return bytes
        case .object(let address, let range, let size),
            .deflatedCopy(let address, let range, let size):
            guard let reader = try objects.open(address) else { throw objects.missing(address) }
            guard reader.byteCount == size else {
                throw StoreError(
                    .damagedObject, "object \(address) has \(reader.byteCount) bytes, not \(size)",
                    object: address)
            }
            if range.lowerBound == 0 { try reader.forEachPiece { _ throws(StoreError) in } }
            return try reader.read(
                at: range.lowerBound, count: Int(range.upperBound - range.lowerBound))
        }
    }

    /// Writes the body into a file, replacing it atomically: a web server may be reading it.
    func writeBody(to file: String) throws(StoreError) {
        let system = POSIXFileSystem()
        _ = try replaceFile(file, asking: fileSystem(forWritingIn:_:)) {
            (target) throws(StoreError) in
            try forEachPiece { (piece) throws(StoreError) in try system.write(target, piece) }
            return byteCount
        }
    }

    func write(to writer: inout JSONWriter) throws(StoreError) {
        let text = try text()
        writer.member("status", response.head.status)
        writer.member("fields", Array(headLines.dropFirst())) { writer, line in
            let name = line.prefix { $0 != ":" }
            writer.member("name", name.lowercased())
            writer.member("value", String(line.dropFirst(name.count + 2)))
        }
        writer.member("bytes", byteCount)
        writer.member("body", text)
        guard let archive else { return }
        writer.member("archive") { writer in
            writer.member("bytes", archive.byteCount)
            writer.member("files", archive.members) { writer, member in
                writer.member("path", member.path)
                writer.member("bytes", member.byteCount)
                writer.member("executable", member.isExecutable)
            }
        }
    }
}
