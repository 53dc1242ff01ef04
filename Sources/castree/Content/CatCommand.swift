import CASStore
import Console
import StoreCommands
import VersionTree

extension Command {
    static let cat = Command(
        "cat", summary: "prints the bytes of a file or an object",
        discussion: """
            Every byte is verified. If the object is damaged, the command fails and says so, but \
            it has printed the bytes by then. An address may be shortened to its first digits, \
            four or more, if they are unambiguous.

                castree cat 42:index.html
                castree cat 42:img/logo.png > logo.png
                castree cat 3fc9b689
            """,
        arguments: [
            Argument(
                "VERSION:PATH|ADDRESS", "a file of a version, or the address of an object",
                completion: .filesOfVersions)
        ]
    ) { invocation in
        let subject = try Subject(invocation.argument("VERSION:PATH|ADDRESS"))
        let versions = try invocation.openStore()
        let address = try subject.address(in: versions)
        guard let reader = try versions.store.open(address) else { throw subject.missing }
        try invocation.copy(reader)
        return .done
    }
}

private enum Subject {
    case object(ObjectID)
    case beginning(String)
    case file(version: String, path: String)

    /// VERSION:PATH has a colon and an address has none, so the two cannot be confused.
    init(_ text: String) throws(CommandError) {
        if let address = ObjectID(text) {
            self = .object(address)
        } else if let colon = text.unicodeScalars.firstIndex(of: ":") {
            let path = text.unicodeScalars[text.unicodeScalars.index(after: colon)...]
            self = .file(version: String(text[..<colon]), path: String(path))
        } else if AddressBeginning.isOne(text) {
            self = .beginning(text)
        } else {
            throw .usage(
                "'\(text)' is neither VERSION:PATH nor an address (64 lower-case hex digits, or the "
                    + "first \(AddressBeginning.digitCountMin) of them or more)"
                    + Self.hint(for: text))
        }
    }

    /// A hint for a missing colon: `2.0/index.html`.
    private static func hint(for text: String) -> String {
        guard let slash = text.unicodeScalars.firstIndex(of: "/") else { return "" }
        let path = text.unicodeScalars[text.unicodeScalars.index(after: slash)...]
        // A text that cannot be a version's name gets no hint.
        guard !path.isEmpty, let version = try? VersionName(String(text[..<slash])) else {
            return ""
        }
        return "; for a file of version \(version) write \(version):\(String(path))"
    }

    func address(in versions: VersionStore) throws -> ObjectID {
        switch self {
        case .object(let address): return address
        case .beginning(let digits): return try AddressBeginning.address(digits, in: versions)
        case .file(let version, let path):
            let version = try Invocation.version(named: version)
            let manifest: Manifest
            do throws(StoreError) {
                manifest = try versions.manifest(of: version)
            } catch {
                // Other tools write addresses as `sha256:…`.
                guard error.code == .noVersion, version == "sha256" else { throw error }
                throw Self.missing(
                    "there is no version sha256; an address is written without that word: castree cat \(path)"
                )
            }
            guard let entry = try manifest[Self.treePath(path)] else {
                throw Self.missing(
                    "version \(version) has no file \"\(path)\"; "
                        + "castree show \(version) lists its files")
            }
            return entry.address
        }
    }

    private static func treePath(_ text: String) throws(CommandError) -> TreePath {
        do throws(StoreError) {
            return try TreePath(text)
        } catch {
            throw missing("\(error.message); castree show VERSION lists a version's paths")
        }
    }

    var missing: CommandError {
        switch self {
        case .object(let address): Self.missing("there is no object \(address) in the store")
        case .beginning(let digits): Self.missing("the object \(digits)… is no longer in the store")
        case .file(let version, let path):
            Self.missing(
                "the content of \"\(path)\" of version \(version) is not in the store; castree fsck --repair "
                    + "restores it if a copy is left; otherwise add or pull the version again",
                .missingObject)
        }
    }

    private static func missing(
        _ message: String, _ code: StoreError.Code = .notFound
    ) -> CommandError {
        CommandError(StoreError(code, message), .notFound)
    }
}

extension Invocation {
    /// Prints an object in constant memory; stops when the reader of the output has gone.
    fileprivate func copy(_ reader: borrowing ObjectReader) throws {
        let stopped = StoreError.Code("outputStopped")
        var failure: OutputError?
        do throws(StoreError) {
            try reader.forEachPiece { (piece) throws(StoreError) in
                do throws(OutputError) {
                    try output.write(piece.withUnsafeBytes { Array($0) })
                } catch {
                    failure = error
                }
                if failure != nil || output.isClosed { throw StoreError(stopped, "") }
                if Interruption.isRequested { throw StoreError(.interrupted, "interrupted") }
            }
        } catch {
            if let failure { throw failure }
            guard error.code == stopped else { throw error }
        }
        try output.flush()
    }
}
