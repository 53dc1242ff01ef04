import ArchiveReading
import StorageTestSupport

/// Reads archives as castree add does, into memory.
struct ReadArchive {
    let directory = TemporaryDirectory(inMemory: true)

    /// The files that came, by their paths: `x` before the content of an executable one.
    final class Intake: ArchiveIntake {
        var files: [String: String] = [:]
        /// The bytes of their paths: two spellings of a text are one key above.
        var paths: [[UInt8]] = []
        var byteCount = 0
        private var open: (path: String, content: [UInt8], byteCount: Int64)?

        func begin(_ path: TreePath, byteCount: Int64, isExecutable: Bool) throws(StoreError) {
            precondition(open == nil)
            paths.append(Array(path.description.utf8))
            open = (path.description, isExecutable ? [120] : [], byteCount)
            self.byteCount = isExecutable ? -1 : 0
        }

        func append(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
            byteCount += bytes.count
            // Of a trap only the size matters.
            if byteCount < 1 << 20 { open?.content += bytes }
        }

        func finish() throws(StoreError) {
            guard let open else { preconditionFailure("nothing was begun") }
            files[open.path] = String(decoding: open.content, as: UTF8.self)
            self.open = nil
        }

        func link(_ path: TreePath, to earlier: TreePath) throws(StoreError) -> Int64? {
            guard let content = files[earlier.description] else { return nil }
            files[path.description] = content
            paths.append(Array(path.description.utf8))
            return Int64(content.utf8.count)
        }
    }

    func files(
        _ bytes: [UInt8], _ name: String, change: (inout ArchiveOptions) -> Void = { _ in }
    ) throws -> [String: String] { try intake(bytes, name, change: change).files }

    func intake(
        _ bytes: [UInt8], _ name: String, change: (inout ArchiveOptions) -> Void = { _ in }
    ) throws -> Intake {
        let path = directory.appending(name)
        try Data(bytes).write(to: URL(filePath: path))
        var options = ArchiveOptions()
        change(&options)
        let source = try ArchiveSource(path: path) { (_) throws(StoreError) in }
        let reader = try ArchiveReader(source, options)
        let intake = Intake()
        try reader.read(into: intake)
        return intake
    }

    /// The error with which an archive is refused; `nil` if it is not.
    func refusal(
        _ bytes: [UInt8], _ name: String, change: (inout ArchiveOptions) -> Void = { _ in }
    ) throws -> StoreError? {
        do {
            _ = try files(bytes, name, change: change)
            return nil
        } catch let error as StoreError {
            return error
        }
    }
}
