import ArchiveReading
import CASStore
import Foundation
import VersionTree

// Archives of every format: which one it is, the bytes tell.

extension FuzzTarget {
    private final class Intake: ArchiveIntake {
        private var paths: Set<TreePath> = []
        private var rest: Int64?
        private(set) var byteCount: Int64 = 0
        private(set) var complaint: String?

        func begin(_ path: TreePath, byteCount: Int64, isExecutable: Bool) throws(StoreError) {
            if rest != nil { complaint = "two files at once" }
            if !paths.insert(path).inserted { complaint = "\(path) comes twice" }
            rest = byteCount
        }

        func append(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
            rest? -= Int64(bytes.count)
            byteCount += Int64(bytes.count)
        }

        func finish() throws(StoreError) {
            if rest != 0 { complaint = "a file has another size than was said" }
            rest = nil
        }

        func link(_ path: TreePath, to earlier: TreePath) throws(StoreError) -> Int64? {
            if !paths.contains(earlier) { complaint = "\(path) is a link to what did not come" }
            if !paths.insert(path).inserted { complaint = "\(path) comes twice" }
            return 0
        }

        var isBetweenFiles: Bool { rest == nil }
    }

    static let archives = FuzzTarget(
        name: "archives",
        words: [
            "PK\u{1}\u{2}", "PK\u{3}\u{4}", "PK\u{5}\u{6}", "PK\u{6}\u{6}", "PK\u{6}\u{7}",
            "PK\u{7}\u{8}", "up\u{6}\u{0}\u{1}", "\u{1}\u{0}\u{10}\u{0}",
            "ustar\u{0}00",
            "././@LongLink", "../", "a/", "14 path=../a\n", "GNU.sparse.map=0,1\n",
            "\u{0}\u{0}\u{0}\u{0}",
        ]
    ) { input in
        // By its name alone a file is taken for brotli.
        for suffix in ["", ".tar.br"] {
            // Files are opened by their names.
            let path = directory + "/castree-fuzz-\(UUID().uuidString)\(suffix)"
            try Data(input).write(to: URL(filePath: path))
            defer { unlink(path) }
            let intake = Intake()
            var isUnknown = false
            var options = ArchiveOptions()
            options.byteCountMax = 1 << 20
            do throws(StoreError) {
                let source = try ArchiveSource(path: path) { (_) throws(StoreError) in }
                try ArchiveReader(source, options).read(into: intake)
                try holdWhole(intake)
            } catch {
                try hold(
                    [.badArchive, .badPath, .tooLarge, .outOfMemory].contains(error.code),
                    "\(error)")
                isUnknown = error.message.contains("no archive that castree knows")
            }
            try hold(intake.complaint == nil, intake.complaint ?? "")
            try hold(intake.byteCount <= 1 << 20, "\(intake.byteCount) bytes came out")
            guard isUnknown else { break }
        }
    }

    /// In memory where there is a place for that: there are thousands of files, one after the other.
    private static let directory =
        access("/dev/shm", W_OK) == 0 ? "/dev/shm" : NSTemporaryDirectory()

    private static func holdWhole(_ intake: Intake) throws(StoreError) {
        guard intake.isBetweenFiles else {
            throw StoreError(.io, "the last file was not ended")
        }
    }
}
