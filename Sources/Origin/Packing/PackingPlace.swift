import CASStore
import HotPush
import StrictJSON
import Synchronization

/// Where a publisher makes packs: a directory of its own in the origin's `.publish/`, or in the store's `packing/`.
///
/// Packing holds a shared lock which is not the origin's, so withdrawing a release never waits for its packs. The
/// next publisher that finds nobody packing removes what dead ones have left.
final class PackingPlace: Sendable {
    let fileSystem: any FileSystem
    /// The origin's `.publish/` or, for a bucket, a directory of the store.
    let publishing: Descriptor
    let name: Name
    let work: Descriptor
    private let workName: String
    private let lock: FileLock

    struct Name: Sendable {
        var path: String
        var owner: String
    }

    /// - Parameters:
    ///   - publishing: the directory in which all publishers of the origin make packs.
    ///   - name: what it is called, for people.
    init(
        _ publishing: consuming Descriptor, _ name: Name, _ fileSystem: any FileSystem,
        isInterrupted: () -> Bool
    ) throws(StoreError) {
        let file = try fileSystem.open(
            publishing.raw, OriginLayout.packingLock, .updating, mode: 0o666)
        try fileSystem.closeLock(file.raw)
        let lock = FileLock(file, fileSystem)
        if try lock.take() {
            try Self.dropLeftovers(publishing.raw, fileSystem)
        }
        while try !lock.take(exclusive: false) {
            if isInterrupted() { throw .packingInterrupted }
            // Somebody is cleaning up.
            pause(milliseconds: 5)
        }
        let workName = OriginLayout.packingPrefix + (try randomToken())
        try fileSystem.makeDirectory(publishing.raw, workName, mode: 0o777)
        work = try fileSystem.open(publishing.raw, workName, .directory, mode: 0)
        self.workName = workName
        self.fileSystem = fileSystem
        self.publishing = publishing
        self.name = name
        self.lock = lock
    }

    /// Removes frames that no delivery needs, unless somebody else is packing; the packs have this work's by now.
    func dropUnused(_ record: PackingRecord) throws(StoreError) {
        guard try lock.take() else { return }
        try Self.drop(record, publishing.raw, fileSystem)
    }

    /// Does the same when nothing was packed, and also removes what dead publishers have left.
    static func dropUnused(
        in publishing: Int32, offered: Set<ObjectID>, _ fileSystem: any FileSystem
    ) throws(StoreError) {
        try whenAlone(publishing, fileSystem) { () throws(StoreError) in
            try dropLeftovers(publishing, fileSystem)
            var record = try PackingRecord.read(publishing, fileSystem)
            let before = record
            record.works = record.works.filter { offered.contains($0.key) }
            if record != before { try record.write(publishing, aside: publishing, fileSystem) }
            try drop(record, publishing, fileSystem)
        }
    }

    /// Removes all that packing keeps for the next release, unless somebody is packing.
    /// - Returns: whether there was any.
    static func dropCaches(
        in publishing: Int32, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Bool {
        var hasAny = false
        try whenAlone(publishing, fileSystem) { () throws(StoreError) in
            for name in [OriginLayout.frames, OriginLayout.sketches] {
                if try dropDirectory(publishing, name, fileSystem) { hasAny = true }
            }
        }
        return hasAny
    }

    private static func dropDirectory(
        _ publishing: Int32, _ name: String, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Bool {
        guard try fileSystem.status(publishing, name)?.kind == .directory else { return false }
        try fileSystem.removeTree(publishing, name)
        return true
    }

    /// Removes what dead publishers have left, unless somebody is packing.
    /// - Parameter stays: gets what cannot be removed, and why.
    static func dropLeftovers(
        in publishing: Int32, _ fileSystem: any FileSystem,
        stays: (String, StoreError) -> Void = { _, _ in }
    ) throws(StoreError) {
        try whenAlone(publishing, fileSystem) { () throws(StoreError) in
            try dropLeftovers(publishing, fileSystem, stays)
        }
    }

    /// Calls `body`, unless somebody is packing or nobody ever did.
    private static func whenAlone(
        _ publishing: Int32, _ fileSystem: any FileSystem, _ body: () throws(StoreError) -> Void
    ) throws(StoreError) {
        guard
            let file = try fileSystem.openIfPresent(publishing, OriginLayout.packingLock, .changing)
        else { return }
        let lock = FileLock(file, fileSystem)
        defer { withExtendedLifetime(lock) {} }
        if try lock.take() { try body() }
    }

    private static func dropLeftovers(
        _ publishing: Int32, _ fileSystem: any FileSystem,
        _ stays: (String, StoreError) -> Void = { _, _ in }
    ) throws(StoreError) {
        for left in try fileSystem.names(in: publishing)
        where left.hasPrefix(OriginLayout.packingPrefix) {
            if let reason = try fileSystem.removeLeftover(publishing, left) { stays(left, reason) }
        }
    }

    private static func drop(
        _ record: PackingRecord, _ publishing: Int32, _ fileSystem: any FileSystem
    ) throws(StoreError) {
        _ = try dropDirectory(publishing, OriginLayout.sketches, fileSystem)
        // Anything else in its place is not castree's.
        let opened = try allowing(
            \.isOfCache, try OpenedDirectory.open(publishing, OriginLayout.frames, fileSystem))
        guard let directory = opened else { return }
        let used = record.frames
        for name in try fileSystem.names(in: directory.raw) {
            if let address = ObjectID(name), used.contains(address) { continue }
            try fileSystem.removeTree(directory.raw, name)
        }
    }

    deinit {
        // The next publisher removes what cannot be removed now.
        try? fileSystem.removeTree(publishing.raw, workName)
    }
}

extension FileSystem {
    /// Removes what a dead publisher has left.
    /// - Returns: why it stays, which prevents no work; `nil` if it is gone.
    func removeLeftover(_ directory: Int32, _ name: String) throws(StoreError) -> StoreError? {
        do throws(StoreError) {
            try removeTree(directory, name)
            return nil
        } catch {
            guard error.code == .io || error.code == .permission else { throw error }
            return error
        }
    }
}

extension StoreError {
    /// Whether a cache with this error can be ignored.
    var isOfCache: Bool { ![.outOfSpace, .outOfMemory, .interrupted].contains(code) }
}

/// What the deliveries of an origin were made from: `.publish/packed.json`.
///
/// It is derived, and empty if unreadable. It says which kept frames are still useful, and for which contents a pack
/// was considered, so that a useless one is not tried again.
struct PackingRecord: Sendable, Hashable {
    struct Work: Sendable, Hashable {
        var content: ObjectID
        /// The contents from which packs were to lead.
        var bases: Set<ObjectID>
        var frames: Set<ObjectID>
    }

    var works: [ObjectID: Work] = [:]

    private static let byteCountMax = 64 << 20

    var frames: Set<ObjectID> { works.values.reduce(into: []) { $0.formUnion($1.frames) } }

    static func read(
        _ publishing: Int32, _ fileSystem: any FileSystem
    ) throws(StoreError) -> PackingRecord {
        let bytes = try allowing(
            \.isOfCache,
            try fileSystem.contents(publishing, OriginLayout.packed, limit: byteCountMax))
        // An unreadable record counts as empty.
        guard let bytes, let document = try? JSONValue.parse(bytes) else { return PackingRecord() }
        var record = PackingRecord()
        for member in document["deliveries"]?.asObject ?? [] {
            guard let delivery = ObjectID(member.key),
                let content = member.value["content"]?.asString.flatMap(ObjectID.init)
            else { continue }
            record.works[delivery] = Work(
                content: content, bases: addresses(member.value["bases"]),
                frames: addresses(member.value["frames"]))
        }
        return record
    }

    private static func addresses(_ value: JSONValue?) -> Set<ObjectID> {
        Set((value?.asArray ?? []).compactMap { $0.asString.flatMap(ObjectID.init) })
    }

    /// - Parameters:
    ///   - publishing: the origin's `.publish/`.
    ///   - aside: the directory of the temporary file.
    func write(_ publishing: Int32, aside: Int32, _ fileSystem: any FileSystem) throws(StoreError) {
        func list(_ addresses: Set<ObjectID>) -> JSONValue {
            .array(addresses.sorted().map { .string($0.description) })
        }
        let works = JSONValue.object(
            works.map { delivery, work in
                let document = JSONValue.members([
                    "bases": list(work.bases), "content": .text(work.content),
                    "frames": list(work.frames),
                ])
                return .init(key: delivery.description, value: document)
            })
        let name = ".\(OriginLayout.packed).new"
        try fileSystem.removeIfPresent(aside, name)
        let file = try fileSystem.open(aside, name, .creating, mode: 0o666)
        try fileSystem.write(file.raw, JSONValue.members(["deliveries": works]).fileBytes)
        try fileSystem.rename(aside, name, to: publishing, OriginLayout.packed)
    }
}

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
    init(in place: PackingPlace, notice: @escaping @Sendable (String) -> Void) throws(StoreError) {
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
        let byteCount = try fileSystem.status(file.raw).byteCount - Int64(Self.fingerprintByteCount)
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
