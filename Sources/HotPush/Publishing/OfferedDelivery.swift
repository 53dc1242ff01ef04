import CASStore

/// A delivery that a pointer names, and what the origin has of it.
struct OfferedDelivery {
    private let delivery: PublishedDelivery
    private let version: PublishedVersion
    private let path: String
    private let fileSystem: any FileSystem

    /// What is there of it.
    struct State: Sendable {
        /// The packs that are there, in the order of the delivery.
        var packs: [Delivery.Pack] = []
        /// Those that it names and that are missing, or have other bytes.
        var damaged: [Delivery.Pack] = []
        /// From what it was made; `nil` if that is not known here.
        var work: PackingRecord.Work?
    }

    init(
        _ delivery: PublishedDelivery, of version: PublishedVersion, in path: String,
        _ fileSystem: any FileSystem
    ) {
        self.delivery = delivery
        self.version = version
        self.path = path
        self.fileSystem = fileSystem
    }

    /// What is there; `nil` if the delivery itself is missing, or is not what its name promises.
    ///
    /// What another libzstd has made is as good: nothing is made again for that, nor for another level.
    /// - Parameter options: read the packs, if they say so; without, one of the right size is trusted.
    func state(_ options: PublisherOptions? = nil) throws(StoreError) -> State? {
        let root = try fileSystem.open(
            POSIXFileSystem.workingDirectory, path, .directoryFollowingLinks, mode: 0)
        guard let document = try DeliveryFile.read(delivery, of: version, root.raw, fileSystem)
        else {
            return nil
        }
        var state = State()
        let progress = options.flatMap { options in
            options.verifiesObjects
                ? CheckingProgress(
                    options, total: document.packs.reduce(0) { $0.addingClamped($1.byteCount) })
                : nil
        }
        for pack in document.packs {
            if try stands(pack, root.raw, progress) {
                state.packs.append(pack)
            } else {
                state.damaged.append(pack)
            }
        }
        let publishing = try fileSystem.openIfPresent(root.raw, OriginLayout.work, .directory)
        if let publishing {
            let record = try PackingRecord.read(publishing.raw, fileSystem)
            state.work = record.works[delivery.address]
        }
        return state
    }

    private func stands(
        _ pack: Delivery.Pack, _ root: Int32, _ progress: CheckingProgress?
    ) throws(StoreError) -> Bool {
        let place = OriginLayout.pack(pack.address)
        guard let status = try fileSystem.status(root, place), status.kind == .regular,
            status.byteCount == pack.byteCount
        else {
            progress?.skip(pack.byteCount)
            return false
        }
        guard let progress else { return true }
        let file = try fileSystem.open(root, place, .reading, mode: 0)
        var checker = try ObjectChecker()
        return try progress.address(of: file.raw, &checker, fileSystem) == pack.address
    }
}
