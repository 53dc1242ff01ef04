import CASStore

/// What is wanted of a pack, once its opening is known.
struct PackWish {
    let unpacker: FrameUnpacker
    /// For each frame, whether any of its objects is wanted.
    let frames: [Bool]
    /// The bytes of the frames, and of what lies between those that are asked for together.
    let byteCount: Int64
    /// What these bytes cost, with their requests.
    let cost: Int64
    /// What the wanted objects cost one by one.
    let objectsCost: Int64

    /// - Returns: nil if no object of the pack is wanted.
    init?(
        _ opening: PackOpening, _ unpacker: FrameUnpacker, isWanted: (ObjectID) -> Bool
    ) {
        var frames: [Bool] = []
        var objectsCost: Int64 = 0
        for frame in opening.table.frames.indices {
            let wanted = unpacker.objects(of: frame).filter { isWanted($0.address) }
            frames.append(!wanted.isEmpty)
            for object in wanted { objectsCost += object.byteCount + PackSpans.requestByteCount }
        }
        guard objectsCost > 0 else { return nil }
        let runs = PackSpans.runs(of: opening.table) { frames[$0] }
        self.unpacker = unpacker
        self.frames = frames
        self.objectsCost = objectsCost
        cost = PackSpans.cost(of: runs, in: opening.table)
        byteCount = cost - Int64(runs.count) * PackSpans.requestByteCount
    }
}
