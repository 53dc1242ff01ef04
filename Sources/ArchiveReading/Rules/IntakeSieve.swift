internal import Platform
internal import VersionTree

/// Filters files before an intake by their first bytes, for which it holds them back.
///
/// macOS' tar writes an AppleDouble file `._NAME` beside each file with attributes; only its first bytes distinguish
/// it from a file of the app. The same is true for files that mark a store or an origin, which no version holds.
final class IntakeSieve: ArchiveIntake {
    private let intake: any ArchiveIntake
    private let archive: ArchiveName
    private let leavesOut: Bool
    private(set) var found: [String] = []
    private var left: Set<TreePath> = []
    /// A file whose first bytes are still incomplete.
    private var waiting: Waiting?
    private var isDropping = false

    private struct Waiting {
        var path: TreePath
        var byteCount: Int64
        var isExecutable: Bool
        /// What it is if it begins so; `nil` for an AppleDouble file.
        var mark: OwnMark?
        var head: [UInt8] = []

        var start: [UInt8] { mark?.start ?? UnwantedName.appleDouble }
    }

    init(_ intake: any ArchiveIntake, _ archive: ArchiveName, leavesOut: Bool) {
        self.intake = intake
        self.archive = archive
        self.leavesOut = leavesOut
    }

    private static func mayBeAppleDouble(_ path: TreePath) -> Bool {
        path.name.utf8.starts(with: "._".utf8)
    }

    func begin(_ path: TreePath, byteCount: Int64, isExecutable: Bool) throws(StoreError) {
        let mark = OwnMark(of: path.name.utf8)
        guard mark != nil || Self.mayBeAppleDouble(path) else {
            return try intake.begin(path, byteCount: byteCount, isExecutable: isExecutable)
        }
        waiting = Waiting(
            path: path, byteCount: byteCount, isExecutable: isExecutable, mark: mark)
    }

    func append(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        if isDropping { return }
        guard let file = waiting else { return try intake.append(bytes) }
        let lacking = file.start.count - file.head.count
        waiting?.head += bytes.prefix(lacking)
        guard bytes.count >= lacking else { return }
        try decide()
        let rest = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(lacking))
        if !isDropping, !rest.isEmpty { try intake.append(rest) }
    }

    func finish() throws(StoreError) {
        try decide()
        if !isDropping { try intake.finish() }
        isDropping = false
    }

    func link(_ path: TreePath, to earlier: TreePath) throws(StoreError) -> Int64? {
        guard left.contains(earlier), Self.mayBeAppleDouble(path) else {
            return try intake.link(path, to: earlier)
        }
        left.insert(path)
        found.append(path.description)
        return 0
    }

    private func decide() throws(StoreError) {
        guard let file = waiting else { return }
        waiting = nil
        if file.head == file.start {
            if let mark = file.mark {
                let directory = file.path.description.utf8.dropLast(file.path.name.utf8.count + 1)
                throw archive.refusal(
                    mark.objection,
                    entry: directory.isEmpty ? "." : String(Substring(directory)),
                    .unsupportedFile)
            }
            found.append(file.path.description)
            if leavesOut {
                left.insert(file.path)
                isDropping = true
                return
            }
        }
        try intake.begin(file.path, byteCount: file.byteCount, isExecutable: file.isExecutable)
        if file.head.isEmpty { return }
        let failure: StoreError? = file.head.withUnsafeBytes { head in
            do throws(StoreError) {
                try intake.append(head)
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
    }
}
