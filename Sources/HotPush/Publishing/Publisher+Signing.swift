package import CASStore
import VersionTree

// Signing what is offered already: for longer, by others, or by another version of the trust.

extension OriginWriter: SigningPlace {
    var place: String { Self.place(of: root.raw, path) }

    func markedID() throws(StoreError) -> String? { try OriginMarker.id(of: root.raw, fileSystem) }

    static func place(of root: Int32, _ path: String) -> String {
        let known = POSIXFileSystem().path(of: root)
        return printable(known.hasPrefix("/") ? known : path)
    }

    /// The pointers that one of a channel is built upon: its own, and where it is to be signed those of all channels.
    func pointers(for channel: ChannelName) throws(StoreError) -> [ChannelName: ChannelPointer] {
        if options.sealing.isSigning { return try soundPointers(for: channel) }
        let pointer = try ChannelPointer.read(channel, channels.raw, fileSystem)
        return pointer.map { [channel: $0] } ?? [:]
    }

    /// Those that can be read, for what concerns one channel alone; what is wrong with others is said.
    func soundPointers(
        for channel: ChannelName?
    ) throws(StoreError) -> [ChannelName: ChannelPointer] {
        try ChannelPointer.readSound(
            channels.raw, fileSystem, needing: channel, notice: options.notice)
    }

    func trust(_ version: Int64) throws(StoreError) -> TrustFile? {
        try Self.trust(version, in: root.raw, fileSystem)
    }

    fileprivate static func trust(
        _ version: Int64, in root: Int32, _ fileSystem: any FileSystem
    ) throws(StoreError) -> TrustFile? {
        let path = OriginLayout.trust(version)
        let bytes = try fileSystem.ifPresent { () throws(StoreError) in
            try fileSystem.contents(root, path, limit: TrustFile.byteCountMax)
        }
        return try bytes.map { (bytes) throws(StoreError) in
            try TrustFile(parsing: bytes, version: version)
        }
    }

    /// Writes a version of the trust, durably: before any pointer names it.
    func write(_ trust: TrustFile) throws(StoreError) {
        let directory = try makeDirectory(OriginLayout.trust, in: root.raw)
        try replaceFile(
            directory.raw, OriginLayout.trustFile(trust.version), with: trust.serialized())
        try sync(root.raw)
    }
}

extension Publisher {
    /// Refuses what must not be built upon.
    /// - Throws: `.untrusted`.
    func checkSigning(
        _ channel: ChannelName, upon pointers: [ChannelName: ChannelPointer]
    ) throws(StoreError) {
        try options.sealing.check(channel, upon: pointers, in: UnlockedPlace(self))
    }

    /// Does something with pointers that are read without the origin's lock.
    ///
    /// Another publisher may write one after it was read here, and what its key remembers is newer then than what was read.
    /// So a refusal counts only if the pointers are still the same.
    func withoutLock<R>(
        _ read: () throws(StoreError) -> [ChannelName: ChannelPointer],
        upon body: ([ChannelName: ChannelPointer]) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        var pointers = try read()
        while true {
            do throws(StoreError) {
                return try body(pointers)
            } catch {
                guard error.code == .untrusted else { throw error }
                let now = try read()
                guard now != pointers else { throw error }
                pointers = now
            }
        }
    }

    /// A plan with the pointer as it would be written: whoever only looks learns also whether the keys sign.
    func sealed(
        _ plan: PublishPlan, upon pointers: [ChannelName: ChannelPointer]
    ) throws(StoreError) -> PublishPlan {
        guard plan.writesPointer else { return plan }
        var plan = plan
        plan.pointer = try options.sealing.seal(
            plan.pointer, upon: pointers, in: UnlockedPlace(self), now: now(),
            notice: options.notice)
        return plan
    }

    /// The origin for whoever has not opened it to write; it may not be there yet.
    private struct UnlockedPlace: SigningPlace {
        let place: String
        private let path: String
        private let fileSystem: any FileSystem

        init(_ publisher: Publisher) throws(StoreError) {
            (path, fileSystem) = (publisher.path, publisher.fileSystem)
            // Nothing is remembered for those who do not sign.
            guard publisher.options.sealing.isSigning,
                let root = try fileSystem.openIfPresent(
                    POSIXFileSystem.workingDirectory, path, .directoryFollowingLinks)
            else {
                place = printable(path)
                return
            }
            place = OriginWriter.place(of: root.raw, path)
        }

        private func reading<R>(
            _ body: (Int32) throws(StoreError) -> R?
        ) throws(StoreError) -> R? {
            guard
                let root = try fileSystem.openIfPresent(
                    POSIXFileSystem.workingDirectory, path, .directoryFollowingLinks)
            else { return nil }
            return try body(root.raw)
        }

        func markedID() throws(StoreError) -> String? {
            try reading { (root) throws(StoreError) in try OriginMarker.id(of: root, fileSystem) }
        }

        func trust(_ version: Int64) throws(StoreError) -> TrustFile? {
            try reading { (root) throws(StoreError) in
                try OriginWriter.trust(version, in: root, fileSystem)
            }
        }
    }

    /// Signs the pointers of channels anew, as they are: for longer, or by other keys.
    ///
    /// - Parameter only: the channel; `nil` for all of them.
    /// - Returns: the pointers, sorted by channel.
    /// - Throws: `.noOrigin`; `.notOffered` if there is no such channel; `.untrusted`; `.badKey` if nobody signs.
    @discardableResult
    package func resign(_ only: ChannelName? = nil) throws(StoreError) -> [ChannelPointer] {
        try options.sealing.requireSigner()
        let origin = try OriginWriter(path, isCreating: false, options, fileSystem)
        defer { withExtendedLifetime(origin) {} }
        var pointers = try origin.soundPointers(for: only)
        if let only, pointers[only] == nil {
            throw .noChannel(only, in: path)
        }
        let channels = only.map { [$0] } ?? pointers.keys.sorted()
        // All or none, as far as that can be told before.
        for channel in channels {
            try checkSigning(channel, upon: pointers)
            _ = try pointers[channel].map { (pointer) throws(StoreError) in
                try options.sealing.end(of: pointer, now: now())
            }
        }
        return try withAdvice(roomByPruning) { () throws(StoreError) in
            var signed: [ChannelPointer] = []
            for channel in channels {
                guard let before = pointers[channel] else { continue }
                let pointer = try origin.write(before.renewed(now: now()), upon: pointers)
                pointers[channel] = pointer
                signed.append(pointer)
            }
            return signed
        }
    }

    /// Says whose signatures count from now on, and signs every channel by them.
    ///
    /// The version of the trust is durable before any pointer names it. If it is killed between two channels, repeating
    /// the call signs the others.
    /// - Throws: `.noOrigin`; `.untrusted`; `.badKey` for a rotation that changes nothing, or that the keys cannot make.
    @discardableResult
    package func rotate(_ rotation: TrustRotation) throws(StoreError) -> TrustRotation.Step {
        try options.sealing.requireSigner()
        let origin = try OriginWriter(path, isCreating: false, options, fileSystem)
        defer { withExtendedLifetime(origin) {} }
        let pointers = try origin.pointers()
        let step = try rotation.step(
            upon: pointers, by: options.sealing, in: origin.place, now: now()
        ) { (version) throws(StoreError) in try origin.trust(version) }
        try withAdvice(roomByPruning) { () throws(StoreError) in
            if !step.isThere { try origin.write(step.file) }
            for pointer in step.pointers {
                try origin.write(sealed: pointer, upon: pointers[pointer.channel])
            }
        }
        return step
    }
}
