import CASStore
import Platform
import Storage

/// Fetches one file into a mirror.
struct MirrorFetch: Sendable {
    let bucket: any ObjectStorage
    let directory: MirrorDirectory
    let shelf: MirrorShelf
    let reach: MirrorReach
    let absences: MirrorAbsences
    let laggards: MirrorLaggards

    /// Fetches a file that no document of the origin names, unless too many such were not in the bucket.
    /// - Returns: why it has not come.
    func fetchStray(_ file: PlacedFile) -> StoreError? {
        if shelf.has(file.name) { return nil }
        if absences.areTooMany {
            return StoreError(
                .tooLarge,
                "files that \(bucket.place) does not have are asked for over and over; those that no release lists are looked for "
                    + "again in a minute")
        }
        let failure = fetch(file, isListed: false)
        if let failure, Self.isAbsence(failure) { absences.countStray() }
        return failure
    }

    /// Whether an error says that a file is not there: those who may not list are refused it.
    static func isAbsence(_ error: StoreError) -> Bool {
        [.missingFromBucket, .accessDenied].contains(error.code)
    }

    /// Fetches a file, unless it is there.
    ///
    /// - Parameter isListed: whether a document of the origin names it.
    /// - Returns: why it has not come.
    func fetch(_ file: PlacedFile, isListed: Bool = true) -> StoreError? {
        if shelf.has(file.name) { return nil }
        if let refusal = reach.refusal { return refusal }
        let began = SystemClock.milliseconds
        do throws(StoreError) {
            do throws(StoreError) {
                try receive(file)
            } catch {
                guard error.code == .outOfSpace else { throw error }
                try shelf.makeRoom()
                try receive(file)
            }
            reach.note(nil)
            return nil
        } catch {
            // Looks wait for documents alone.
            if isListed, ![.object, .twin, .pack].contains(file.name.kind) {
                laggards.note(file.key, error, since: began)
            }
            if reach.isLost(error) { reach.note(error) }
            return error
        }
    }

    private func receive(_ file: PlacedFile) throws(StoreError) {
        let token = try randomToken()
        let byteCount: Int64
        do throws(StoreError) {
            byteCount = try stage(file, token)
            try shelf.settle(token, as: file.name, byteCount: byteCount)
        } catch {
            directory.unstage(token)
            throw error
        }
    }

    /// Writes the bytes of a file aside, and compares them with its name.
    /// - Returns: their number.
    private func stage(_ file: PlacedFile, _ token: String) throws(StoreError) -> Int64 {
        let staged = try directory.stage(token)
        let hashing = Hashing(try Digester(.sha256))
        // What nobody says the size of comes whole or not at all: never more than the cache may have.
        let byteCountMax = file.byteCount ?? min(file.byteCountMax, shelf.limit.byteCount)
        let request = ReadRequest(byteCountMax: byteCountMax)
        let outcome: ReadOutcome
        do throws(StoreError) {
            outcome = try bucket.get(file.key, request) { (bytes) throws(StoreError) in
                hashing.update(bytes)
                try directory.write(staged, bytes)
            }
        } catch {
            guard error.code == .tooLarge else { throw error }
            guard byteCountMax == file.byteCountMax else {
                throw StoreError(
                    .missingFromBucket,
                    "\(file.key) in \(bucket.place) has more bytes than the cache may have (--cache-size)",
                    object: file.name.address)
            }
            throw damaged(file, "has more than \(byteCountMax) bytes")
        }
        guard case .found = outcome else {
            throw StoreError(
                .missingFromBucket, "\(file.key) is not in \(bucket.place)",
                object: file.name.address)
        }
        let (address, byteCount) = hashing.finish()
        guard address == file.name.address, file.byteCount.map({ $0 == byteCount }) ?? true else {
            throw damaged(file, "has other bytes than its name says")
        }
        return byteCount
    }

    private func damaged(_ file: PlacedFile, _ problem: String) -> StoreError {
        StoreError(
            .missingFromBucket,
            "\(file.key) in \(bucket.place) \(problem); castree fsck --repair mends it",
            object: file.name.address)
    }

    /// A digest that a closure adds to.
    ///
    /// Belongs to one thread.
    private final class Hashing {
        private var digester: Digester
        private var byteCount: Int64 = 0

        init(_ digester: consuming Digester) { self.digester = digester }

        func update(_ bytes: UnsafeRawBufferPointer) {
            digester.update(bytes)
            byteCount += Int64(bytes.count)
        }

        func finish() -> (address: ObjectID, byteCount: Int64) {
            (digester.finish { ObjectID(unchecked: $0) }, byteCount)
        }
    }
}
