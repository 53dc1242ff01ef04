import CASStore
import HotPush
import Storage
import VersionTree

extension PointerSigning {
    /// Raises a pointer above all that was signed of its channel, which devices may have seen; sequences are unique.
    /// - Returns: the highest sequence that was signed.
    @discardableResult
    func raise(_ pointer: inout ChannelPointer, in origin: String) throws(StoreError) -> Int64 {
        var used: Int64 = 0
        for memory in signers.compactMap(\.memory) {
            used = max(used, try memory.used(of: pointer.channel, in: origin))
        }
        if pointer.sequence <= used { pointer.raise(to: used + 1) }
        return used
    }

    /// The pointers that an interrupted command has signed, and perhaps not written, at a place; sorted by channel.
    ///
    /// None if the publisher adopts what is there.
    /// - Parameter pointers: what the place offers.
    /// - Throws: what reading the memory throws.
    func unfinished(
        at place: String, upon pointers: [ChannelName: ChannelPointer]
    ) throws(StoreError) -> [ChannelPointer] {
        guard !adopts else { return [] }
        var found: [ChannelName: ChannelPointer] = [:]
        for memory in signers.compactMap(\.memory) {
            for pointer in try memory.unfinished(at: place) {
                let channel = pointer.channel
                guard let origin = pointer.origin,
                    pointer.sequence > found[channel]?.sequence ?? -1
                else { continue }
                let last = try memory.sequence(of: channel, in: origin)
                if let there = pointers[channel] {
                    // A pointer older than its own base is refused as such.
                    guard there.origin ?? origin == origin, there.sequence < pointer.sequence,
                        there.sequence >= last ?? 0
                    else { continue }
                } else if last != nil {
                    continue
                }
                found[channel] = pointer
            }
        }
        return found.values.sorted { $0.channel < $1.channel }
    }

    /// - Parameter rest: what becomes of the pointer.
    static func unfinished(_ pointer: ChannelPointer, at place: String, _ rest: String) -> String {
        "sequence \(pointer.sequence) of channel \(pointer.channel) was signed and is not in \(place): the command that signed "
            + "it was cut short, and \(rest)"
    }

    /// Notes beside the keys what is about to be written; see ``SignedSequences``.
    /// - Parameter before: what it was built upon.
    /// - Throws: why it cannot be noted, in which case nothing may be written. A key in a place that nobody can write
    ///   to has no memory, which is reported.
    func prepare(
        _ pointer: ChannelPointer, upon before: ChannelPointer?, at place: String,
        _ waiting: StoreOptions
    ) throws(StoreError) {
        guard pointer.isSigned else { return }
        // An adopted pointer may have any sequence.
        let known = !adopts && before?.origin == pointer.origin ? before?.sequence : nil
        for memory in signers.compactMap(\.memory) {
            do throws(StoreError) {
                try memory.prepare(pointer, upon: known, at: place, waiting)
            } catch {
                // The disk of the key is full, and freeing space in the origin would not help.
                guard !error.isDiskFull else {
                    throw StoreError(
                        .outOfSpace,
                        "what is to be signed cannot be noted beside the key: \(error.advising("").message); free space "
                            + "there, and repeat the command")
                }
                guard Self.cannotRemember(error) else { throw error }
                waiting.notice(Self.forgetting(error))
            }
        }
    }

    /// The trust files by which the keys have signed, in ascending order.
    func trusts(of origin: String) throws(StoreError) -> [TrustFile] {
        var files: [Int64: TrustFile] = [:]
        for memory in signers.compactMap(\.memory) {
            for file in try memory.trusts(of: origin) { files[file.version] = file }
        }
        return files.values.sorted { $0.version < $1.version }
    }

    /// The trust files up to a pointer's that a key does not remember, unless it remembers that one.
    private func unknownTrusts(
        of pointer: ChannelPointer, to memory: SignedSequences,
        _ read: (Int64) throws(StoreError) -> TrustFile?
    ) throws(StoreError) -> [TrustFile] {
        guard let origin = pointer.origin, let newest = pointer.trustVersion else { return [] }
        let known = Set(try memory.trusts(of: origin).map(\.version))
        guard newest <= TrustFile.followedMax, !known.contains(newest) else { return [] }
        // The next command that signs there notes a file that cannot be read now.
        return (TrustFile.firstVersion...newest).dropFirst().filter { !known.contains($0) }
            .compactMap { try? read($0) }
    }

    /// Remembers beside the keys what was signed and written.
    /// - Parameter read: reads a version of the origin's trust.
    func remember(
        _ pointer: ChannelPointer, at place: String, _ waiting: StoreOptions,
        _ read: (Int64) throws(StoreError) -> TrustFile?
    ) {
        guard pointer.isSigned else { return }
        for memory in signers.compactMap(\.memory) {
            do throws(StoreError) {
                let trusts = try unknownTrusts(of: pointer, to: memory, read)
                try memory.note(
                    pointer, at: place, trusts: trusts, isLowering: allowsFewer, waiting)
            } catch {
                // The pointer is written. If nobody can write beside the key, `prepare` has reported it.
                if !Self.cannotRemember(error) { waiting.notice(Self.forgetting(error)) }
            }
        }
    }

    private static func cannotRemember(_ error: StoreError) -> Bool {
        error.code == .readOnly || error.code == .permission
    }

    private static func forgetting(_ error: StoreError) -> String {
        "what was signed last could not be noted beside the key (\(error.message)): an old pointer that "
            + "somebody puts back would not be noticed by the next publisher"
    }

    /// - Throws: `.untrusted` for a pointer that is older than what a key has signed.
    func checkSequence(of before: ChannelPointer, _ place: String) throws(StoreError) {
        guard let origin = before.origin else { return }
        for signer in signers {
            guard let last = try signer.memory?.sequence(of: before.channel, in: origin),
                before.sequence < last
            else { continue }
            let elsewhere = try signer.memory?.place(of: before.channel, in: origin)
            let there = elsewhere.flatMap { $0 == place ? nil : $0 }
            throw .untrusted(
                "channel \(before.channel) of \(place) offers sequence \(before.sequence), and key \(signer.key.id) has "
                    + "signed \(last)"
                    + (there.map {
                        " in \($0), which says that it is the same origin: if one is a copy of the other to try things "
                            + "with, look at what \(place) offers, build upon it with --adopt, and give the copy a key of "
                            + "its own"
                    }
                        ?? ": somebody has put an old pointer back; look at what it offers, then build upon it "
                        + "with --adopt"))
        }
    }

    // Whether devices would accept a signature, as the keys of an origin may have changed.

    /// What a pointer takes over, if the origin's keys that count now include enough of the signers.
    ///
    /// A publisher that adopts a pointer takes nothing from it that a stranger may have written. The version of the
    /// trust is then the newest that the origin proves, or by which one of the keys has signed, if that is newer.
    /// - Throws: `.untrusted` if too few of the keys that count sign, or the pointer names an older version than one
    ///   of them has signed by, unless fewer are allowed.
    func counted(_ base: Base, in origin: any ObjectStorage) throws(StoreError) -> Base {
        var base = base
        var file: TrustFile?
        let known = allowsFewer ? nil : try trusts(of: base.origin).last
        let read = { (version: Int64) throws(StoreError) -> TrustFile? in try origin.trust(version)
        }
        if let named = base.trustVersion, !adopts || !allowsFewer {
            try checkProved(named, of: base.origin, in: origin.identity, read)
        }
        if adopts {
            file = try adopted(base.trustVersion, of: base.origin, read)
            base.trustVersion = file?.version
        } else if let known, known.version > base.trustVersion ?? TrustFile.firstVersion {
            if let refusal = try unreached(base.trustVersion, of: base.origin, in: origin) {
                throw refusal
            }
            throw .untrusted(
                "what \(origin.identity) offers is older than version \(known.version) of the trust, by which a key that signs "
                    + "now has signed, and devices would refuse it: somebody has put an old state of the origin back, "
                    + "or it is a copy; look at what it offers, then build upon it with --adopt, which puts "
                    + "\(OriginLayout.trust(known.version)) back; if that was a stranger's, say --unsigned, too"
            )
        } else if let version = base.trustVersion {
            file = known?.version == version ? known : try origin.trust(version)
            base.lacksTrust = file == nil
        }
        // Devices that know the version need no file; without it, only those that are behind cannot follow.
        // Fewer may sign than devices require, but what is adopted is signed by one of the keys at least.
        guard let file, !allowsFewer || adopts else { return base }
        let count = signerCount(in: file)
        let enough = allowsFewer ? 1 : file.trusted.threshold
        guard file.origin != base.origin || count < enough else { return base }
        let path = OriginLayout.trust(file.version)
        let ids = file.trusted.keys.map(\.id).joined(separator: ", ")
        throw .untrusted(
            file.origin == base.origin
                ? "\(path) of \(origin.identity) says that \(file.trusted.threshold) of \(ids) must sign, and \(count) of them "
                    + "would: devices would refuse it; sign by these keys"
                    + (try haveSigned(file)
                        ? ", or if a rotation to them was cut short, \(TrustFile.repetition)\(TrustFile.theft)"
                        : ", or change them (castree trust rotate); if none of them was ever yours, a stranger has put "
                            + "the file there: delete it")
                : "\(path) of \(origin.identity) belongs to another origin (\(file.origin)): somebody has copied it there; put "
                    + "the right one back")
    }

    private func signerCount(in file: TrustFile) -> Int {
        signers.count { file.trusted.keys.contains($0.key) }
    }

    /// The version by which to sign an adopted pointer; `nil` for the first.
    ///
    /// What a key remembers counts, whatever chain a thief has put there. If fewer may sign, a pointer of an older
    /// version makes it forgotten: somebody has looked, and the newer was a stranger's.
    private func adopted(
        _ named: Int64?, of origin: String,
        _ read: (Int64) throws(StoreError) -> TrustFile?
    ) throws(StoreError) -> TrustFile? {
        let known = try trusts(of: origin)
        var file = try newest(of: origin, known, read)
        guard let last = known.last else { return file }
        if last.version > file?.version ?? 1, !allowsFewer || signerCount(in: last) > 0 {
            file = last
        }
        guard allowsFewer, last.version > named ?? TrustFile.firstVersion else { return file }
        let older = try newest(of: origin, [], read)
        return older.map(signerCount) == 0 ? file : older
    }

    /// The refusal of a pointer that a change of the keys may not have reached, as one of its signers made it.
    func unreached(
        _ pointer: ChannelPointer, in there: any ObjectStorage
    ) throws(StoreError) -> StoreError? {
        guard let origin = pointer.origin else { return nil }
        return try unreached(
            pointer.trustVersion, of: origin, by: Set(pointer.signatures.map(\.key)), in: there)
    }

    /// - Parameters:
    ///   - version: the one that is named.
    ///   - makers: ids of keys, one of which must have signed the next one; `nil` for any.
    /// - Returns: `nil` if no key that signs now has signed the next version.
    private func unreached(
        _ version: Int64?, of origin: String, by makers: Set<String>? = nil,
        in there: any ObjectStorage
    ) throws(StoreError) -> StoreError? {
        let next = (version ?? TrustFile.firstVersion) + 1
        guard let file = try TrustFile.ifSound(try there.trust(next)), file.origin == origin,
            makers?.isDisjoint(with: file.signatures.map(\.key)) != true, try haveSigned(file)
        else { return nil }
        return .untrusted(
            "\(OriginLayout.trust(next)) in \(there.identity) was made by a key that signs now, and what the channel offers "
                + "is not signed by the keys in it: if a rotation was cut short, \(TrustFile.repetition); else somebody has "
                + "put an old pointer back: look at what it offers (castree channels), then build upon it with --adopt"
        )
    }

    /// Refuses a version of an origin's trust, named by a pointer, that no known key has signed by and no file proves.
    ///
    /// Either the origin has lost it, and devices obey nothing older, or a thief of a key has named it, and devices
    /// obey nothing that does. Keys that remember nothing of the origin sign by what is named, unless they adopt.
    /// - Parameter read: reads a version of the trust from the origin.
    /// - Throws: `.untrusted`.
    func checkProved(
        _ named: Int64, of origin: String, in place: String,
        _ read: (Int64) throws(StoreError) -> TrustFile?
    ) throws(StoreError) {
        var known = adopts ? TrustFile.firstVersion : nil
        for memory in signers.compactMap(\.memory) {
            if let version = try memory.trustVersion(of: origin) {
                known = max(known ?? version, version)
            }
        }
        guard let known, known < named else { return }
        let trusts = allowsFewer ? [] : try trusts(of: origin)
        guard try newest(of: origin, trusts, read)?.version ?? 1 < named else { return }
        throw .untrusted(
            "what \(place) offers names version \(named) of the trust, by which no key that signs now has signed, and "
                + "\(OriginLayout.trust(named)), or one before it, is not there: nothing is signed, since devices may obey "
                + "nothing older; \(TrustFile.remedy), or signs there once more by a key that has signed by it"
                + TrustFile.otherwise)
    }

    /// The newest version of an origin's trust that follows from those before it; `nil` for none.
    ///
    /// - Parameter known: those that a key remembers, which count, whatever is in their place.
    private func newest(
        of origin: String, _ known: [TrustFile],
        _ read: (Int64) throws(StoreError) -> TrustFile?
    ) throws(StoreError) -> TrustFile? {
        var newest: TrustFile?
        while true {
            let next = (newest?.version ?? TrustFile.firstVersion) + 1
            let remembered = known.first { $0.version == next }
            let read = remembered == nil ? try TrustFile.ifSound(try read(next)) : remembered
            guard let file = read, next <= TrustFile.followedMax else { return newest }
            do throws(StoreError) {
                // The keys before the first change are recorded nowhere.
                let previous = newest?.trusted ?? file.trusted
                try file.check(follows: previous, file.version - 1, of: origin)
            } catch {
                // No device follows it either.
                guard error.code == .untrusted else { throw error }
                return newest
            }
            newest = file
        }
        return newest
    }
}
