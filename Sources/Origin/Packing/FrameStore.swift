import CASStore
import HotPush
import Synchronization

/// The frames kept in `.publish/frames/`, so that a release compresses only what is new.
///
/// They are derived and never synced: a damaged, missing or unreadable frame is made again. A file has a frame and
/// its fingerprint; an empty frame says that compression is not worth it. Frames that cannot be kept stay in the
/// directory of the work until it ends.
final class FrameStore: Sendable {
    let fileSystem: any FileSystem
    /// `nil` if something else is in its place, or it is inaccessible.
    private let frames: OpenedDirectory?
    let work: Int32
    private let place: PackingPlace.Name
    private let notice: @Sendable (String) -> Void
    private let hasTold = Mutex(false)
    private let unkept = Mutex<Set<ObjectID>>([])

    private static let fingerprintByteCount = 16

    /// - Parameter notice: told once that nothing can be kept.
    init(
        in place: PackingPlace, notice: @escaping @Sendable (String) -> Void
    ) throws(StoreError) {
        fileSystem = place.fileSystem
        work = place.work.raw
        self.place = place.name
        self.notice = notice
        do throws(StoreError) {
            frames = try Self.open(place.publishing.raw, place.fileSystem)
        } catch {
            guard error.isOfCache else { throw error }
            frames = nil
            tell(error)
        }
    }

    private static func open(
        _ publishing: Int32, _ fileSystem: any FileSystem
    ) throws(StoreError) -> OpenedDirectory? {
        try fileSystem.makeDirectoryIfAbsent(publishing, OriginLayout.frames, mode: 0o777)
        return try OpenedDirectory.open(publishing, OriginLayout.frames, fileSystem)
    }

    private func tell(_ error: StoreError) {
        let isNews = hasTold.withLock { hasTold in
            defer { hasTold = true }
            return !hasTold
        }
        guard isNews else { return }
        notice(
            "\(place.path)/\(OriginLayout.frames) of \(place.owner) cannot be used (\(error.message)): packs are "
                + "made without it, and the next ones take longer; delete it, it is only a cache")
    }

    /// The size of a frame that is kept and whole; 0 if it is not worth it; `nil` if it is missing.
    func byteCount(
        of name: ObjectID, buffer: UnsafeMutableRawBufferPointer
    ) throws(StoreError) -> Int64? {
        try allowing(\.isOfCache, try wholeByteCount(of: name, buffer))
    }

    private func wholeByteCount(
        of name: ObjectID, _ buffer: UnsafeMutableRawBufferPointer
    ) throws(StoreError) -> Int64? {
        guard let frames,
            let file = try fileSystem.openIfPresent(frames.raw, name.description, .reading),
            try fileSystem.status(file.raw).kind == .regular
        else { return nil }
        let byteCount =
            try fileSystem.status(file.raw).byteCount - Int64(Self.fingerprintByteCount)
        guard byteCount >= 0 else { return nil }
        let expected = try fileSystem.read(
            file.raw, at: byteCount, count: Self.fingerprintByteCount)
        var fingerprinter = try Fingerprinter()
        try forEachPiece(of: file.raw, byteCount, buffer) { fingerprinter.update($0) }
        let found = fingerprinter.finish().withBytes { Array($0) }
        return found == expected ? byteCount : nil
    }

    func keep(_ frame: [UInt8], as name: ObjectID) throws(StoreError) {
        try write(name) { (file) throws(StoreError) in
            try fileSystem.write(file, frame)
            return frame.withUnsafeBytes { Fingerprinter.fingerprint($0) }
        }
    }

    /// Keeps a streamed frame, or an empty one if it exceeds the limit.
    /// - Parameter makeFrame: calls its argument with the pieces.
    /// - Returns: the size of the kept frame.
    func keep(
        as name: ObjectID, limit: Int64,
        _ makeFrame: (
            (UnsafeRawBufferPointer) throws(StoreError) -> Void
        ) throws(StoreError) -> Void
    ) throws(StoreError) -> Int64 {
        var byteCount: Int64 = 0
        try write(name) { (file) throws(StoreError) -> Fingerprint? in
            var fingerprinter = try Fingerprinter()
            try makeFrame { (piece) throws(StoreError) in
                byteCount += Int64(piece.count)
                guard byteCount <= limit else { return }
                fingerprinter.update(piece)
                try fileSystem.write(file, piece)
            }
            return byteCount > limit ? nil : fingerprinter.finish()
        }
        guard byteCount > limit else { return byteCount }
        try keep([], as: name)
        return 0
    }

    func forEachPiece(
        of name: ObjectID, _ byteCount: Int64, buffer: UnsafeMutableRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) {
        let place: (directory: Int32, name: String) =
            if let frames, !unkept.withLock({ $0.contains(name) }) {
                (frames.raw, name.description)
            } else { (work, Self.unkept(name)) }
        let file = try fileSystem.open(place.directory, place.name, .reading, mode: 0)
        try forEachPiece(of: file.raw, byteCount, buffer, body)
    }

    private static func unkept(_ name: ObjectID) -> String { "unkept-\(name)" }

    /// - Parameter body: writes the frame; nothing is kept if it returns `nil`.
    private func write(
        _ name: ObjectID, _ body: (Int32) throws(StoreError) -> Fingerprint?
    ) throws(StoreError) {
        let aside = "frame-\(try randomToken())"
        let file = try fileSystem.open(work, aside, .creating, mode: 0o666)
        guard let fingerprint = try body(file.raw) else {
            return try fileSystem.remove(work, aside, directory: false)
        }
        // The fingerprint follows the frame, because it is known only at the end.
        try fileSystem.write(file.raw, fingerprint.withBytes { Array($0) })
        if let frames {
            do throws(StoreError) {
                return try fileSystem.rename(work, aside, to: frames.raw, name.description)
            } catch {
                guard error.isOfCache else { throw error }
                tell(error)
            }
        }
        try fileSystem.rename(work, aside, to: work, Self.unkept(name))
        _ = unkept.withLock { $0.insert(name) }
    }

    private func forEachPiece(
        of file: Int32, _ byteCount: Int64, _ buffer: UnsafeMutableRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) {
        var offset: Int64 = 0
        while offset < byteCount {
            let space = min(Int64(buffer.count), byteCount - offset)
            let count = try fileSystem.read(
                file, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<Int(space)]),
                at: offset)
            guard count > 0 else { return }
            try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += Int64(count)
        }
    }
}
