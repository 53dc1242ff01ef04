import Foundation
import Testing

/// A store of one user, and another one who is not root.
///
/// Needs root, to be two users, and setpriv(1).
@Suite("A store of another user") struct OtherUserTests {
    private static let setpriv = "/usr/bin/setpriv"

    /// Why nobody else can be played here; nil if that works.
    private static let reason: String? = {
        if geteuid() != 0 { return "needs root, to run programs as another user" }
        if access(setpriv, X_OK) != 0 { return "needs setpriv(1), of util-linux" }
        // What cannot even say its version stands where nobody else may look.
        let finished = try? stranger(["--version"], in: URL(filePath: "/"))
        return finished?.status == 0 ? nil : "the programs stand where other users may not look"
    }()

    /// Runs castree as nobody.
    private static func stranger(_ arguments: [String], in directory: URL) throws -> Finished {
        let user = ["--reuid", "65534", "--regid", "65534", "--clear-groups"]
        return try Running(
            URL(filePath: setpriv), user + ["--", ProgramUnderTest.castree.url.path] + arguments,
            in: directory
        ).finished()
    }

    private func prepared() throws -> Workplace {
        let place = try Workplace()
        try place.add("1", ["index.html": "one", "shared": "shared"])
        try place.add("2", ["index.html": "two", "shared": "shared"])
        try place.castree("activate", "1")
        chmod(place.directory.path, 0o755)
        return place
    }

    /// Every file of the store with its content, its mode and its owner.
    private func state(_ place: Workplace) throws -> [String: String] {
        var result: [String: String] = [:]
        let store = place.directory.appending(path: ".castree")
        for path in try FileManager.default.subpathsOfDirectory(atPath: store.path) {
            let full = store.appending(path: path).path
            var status = stat()
            #expect(lstat(full, &status) == 0)
            // A directory or link has no content of its own that would not be seen by its names.
            let content = FileManager.default.contents(atPath: full)?.base64EncodedString() ?? ""
            result[path] = "\(status.st_mode) \(status.st_uid) \(content)"
        }
        return result
    }

    private static let reading = [
        ["versions"], ["show", "1"], ["diff", "1", "2"], ["lifecycle"], ["du"], ["missing", "1"],
        ["cat", "1:index.html"],
    ]

    private static let writing = [
        ["add", "release-1", "--version", "3"], ["activate", "2"], ["boot"], ["rollback"],
        ["retire", "2"], ["gc"], ["gc", "--keep", "1"],
    ]

    @Test(
        "is read by everybody, and changed by nobody else",
        .disabled(if: reason != nil, "\(reason ?? "")"))
    func readable() throws {
        let place = try prepared()
        let before = try state(place)
        for words in Self.reading {
            let finished = try Self.stranger(words, in: place.directory)
            #expect(finished.status == 0, "\(words): \(finished)")
        }
        for words in Self.writing {
            let finished = try Self.stranger(words, in: place.directory)
            #expect(finished.status != 0, "\(words): \(finished)")
            #expect(finished.errors.hasPrefix("castree: "), "\(words): \(finished)")
            let reasons = ["permission", "owns", "not allowed"]
            #expect(
                reasons.contains { finished.errors.contains($0) }, "\(words): \(finished)")
        }
        #expect(try state(place) == before)
        #expect(try place.castree("fsck", "--deep").status == 0)
    }

    @Test(
        "made under any umask, can be read",
        .disabled(if: reason != nil, "\(reason ?? "")"), arguments: ["077", "000", "027"])
    func umask(_ mask: String) throws {
        let place = try Workplace()
        try place.write(["index.html": "one"], to: "release")
        chmod(place.directory.path, 0o755)
        let made = try Running(
            URL(filePath: "/bin/sh"),
            [
                "-c", "umask \(mask) && exec \"$0\" add release --version 1 --activate",
                ProgramUnderTest.castree.url.path,
            ], in: place.directory
        ).finished()
        #expect(made.status == 0, "\(made)")
        // What others may read follows the umask; what they may write does not.
        var status = stat()
        for path in try FileManager.default.subpathsOfDirectory(
            atPath: place.directory.appending(path: ".castree").path)
        {
            let full = place.directory.appending(path: ".castree/" + path).path
            #expect(lstat(full, &status) == 0)
            if status.st_mode & S_IFMT == S_IFLNK { continue }
            #expect(status.st_mode & 0o022 == 0, "\(path)")
        }
        #expect(try place.castree("fsck", "--deep").status == 0)
        #expect(try place.castree("cat", "1:index.html").text == "one")
    }
}
