/// How far to look, and how fast.
public struct CheckOptions: Sendable {
    /// Hash every object with SHA-256; otherwise compare sizes and XXH3 fingerprints.
    public var isDeep: Bool
    /// Read only this part of the objects; `nil` for all.
    public var sample: Sample?
    /// Read only objects that no check has found sound since this time, in seconds since 1970.
    ///
    /// With ``isDeep``, since a check found them sound by their SHA-256.
    public var since: Int64?
    /// Bytes of objects a second, over all threads; `nil` for full speed.
    public var byteRateMax: Int64?
    /// Read only these objects; `nil` for no such limit.
    package var revisits: Set<ObjectID>?
    /// Called with each finding as soon as it is certain, from any thread, one call at a time.
    ///
    /// This is before any repair, and without the versions that show an object: the report has
    /// those.
    public var found: @Sendable (Finding) -> Void
    /// Called now and then, from any thread, with what is done so far.
    public var progress: @Sendable (CheckProgress) -> Void

    /// Fingerprints of all objects, silent.
    public init(
        isDeep: Bool = false, sample: Sample? = nil, since: Int64? = nil,
        byteRateMax: Int64? = nil, found: @escaping @Sendable (Finding) -> Void = { _ in },
        progress: @escaping @Sendable (CheckProgress) -> Void = { _ in }
    ) {
        self.isDeep = isDeep
        self.sample = sample
        self.since = since
        self.byteRateMax = byteRateMax
        self.found = found
        self.progress = progress
    }

    /// Whether objects may be left out: then what was found of them earlier counts.
    var isPartial: Bool { sample != nil || since != nil || revisits != nil }

    /// Which part of the objects to read: the same one for the same seed, whatever else is there.
    public struct Sample: Sendable, Hashable {
        /// The share, above 0, at most 1.
        public var share: Double
        /// Chooses the part.
        public var seed: UInt64

        /// Makes a choice; a different one each time unless a seed is given.
        public init(share: Double, seed: UInt64 = .random(in: 0...UInt64(UInt32.max))) {
            self.share = share
            self.seed = seed
        }

        /// Whether an object is in the part.
        package func contains(_ address: ObjectID) -> Bool {
            // Addresses are as good as random, but a maker of content can choose how they begin: so
            // address and seed go through the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
            var mixed = address.w1 &+ (seed &+ 1) &* 0x9e37_79b9_7f4a_7c15
            mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
            mixed ^= mixed >> 31
            // 53 bits: a Double holds them exactly.
            return Double(mixed >> 11) < share * 9_007_199_254_740_992
        }
    }
}

/// How far a check has come.
public struct CheckProgress: Sendable, Hashable {
    /// Objects that were read.
    public var objects = 0
    /// Their bytes.
    public var bytes: Int64 = 0
    /// Objects that were left out.
    public var skippedObjects = 0
    /// Their bytes.
    public var skippedBytes: Int64 = 0

    static func + (left: CheckProgress, right: CheckProgress) -> CheckProgress {
        CheckProgress(
            objects: left.objects + right.objects, bytes: left.bytes + right.bytes,
            skippedObjects: left.skippedObjects + right.skippedObjects,
            skippedBytes: left.skippedBytes + right.skippedBytes)
    }
}

/// What a check has looked at and found.
public struct CheckReport: Sendable {
    /// Objects whose bytes were read.
    public var checkedObjects = 0
    /// Bytes that were read.
    public var checkedBytes: Int64 = 0
    /// Objects whose name, size and mode were looked at but whose bytes were not read, because of
    /// ``CheckOptions/sample`` or ``CheckOptions/since``.
    public var skippedObjects = 0
    /// Their bytes.
    public var skippedBytes: Int64 = 0
    /// Trees that were compared with their manifests.
    public var checkedTrees = 0
    /// What is wrong.
    public var findings: [Finding] = []

    /// An empty report.
    package init() {}
}
