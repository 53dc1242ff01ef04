package import CASStore
package import StrictJSON
package import VersionTree

/// The epochs of a manifest's objects, if many machines publish to one origin.
///
/// An object's number is the rank of its address among the manifest's distinct addresses. As a file, the places are
/// immutable and named by the SHA-256 of their bytes: `e/<epoch>/places/<address>.json`. A release without them has
/// all objects in its own epoch.
package struct Places: Sendable, Hashable {
    package static let formatVersion: Int64 = 1
    package static let byteCountMax: Int64 = 4 << 20
    package static let depthMax = 8

    /// The epoch of each run of neighbours; adjacent runs differ.
    package private(set) var epochs: [Int64] = []
    /// The number after the last object of each run.
    private(set) var ends: [Int] = []

    /// - Parameter epochs: each object's epoch, in the order of numbers.
    package init(_ epochs: some Sequence<Int64>) {
        for epoch in epochs { append(1, in: epoch) }
    }

    package init() {}

    package mutating func append(_ count: Int, in epoch: Int64) {
        let end = self.count + count
        if epochs.last == epoch {
            ends[ends.count - 1] = end
        } else {
            epochs.append(epoch)
            ends.append(end)
        }
    }

    package var count: Int { ends.last ?? 0 }

    /// The epoch of an object.
    /// - Parameter number: less than ``count``.
    package func epoch(of number: Int) -> Int64 {
        epochs[ends.firstPosition { $0 <= number }]
    }

    /// Whether a release of that epoch needs them, as some object is in another one.
    package func areNeeded(in epoch: Int64) -> Bool { epochs.contains { $0 != epoch } }

    /// The bytes of the file; the publisher keeps within ``byteCountMax`` by writing objects again in the newest epoch.
    package func serialized() -> [UInt8] {
        JSONWriter.document { writer in
            writer.member("castreePlaces", Self.formatVersion)
            writer.key("runs")
            writer.array(epochs.indices) { writer, run in
                writer.array([epochs[run], Int64(ends[run] - (run == 0 ? 0 : ends[run - 1]))]) {
                    $0.integer($1)
                }
            }
        } + [10]
    }

    /// Reads the places that a release names.
    /// - Parameters:
    ///   - published: the release's version.
    ///   - count: the number of distinct addresses in its manifest.
    /// - Throws: `.damagedOrigin` with what is wrong; also for bytes that do not match the address, and a newer format.
    package init(_ bytes: [UInt8], of published: PublishedVersion, count: Int) throws(StoreError) {
        try self.init(
            bytes, named: published.places, of: "the objects of version \(published.name)",
            upTo: published.epoch, count: count)
    }

    /// Reads the places of a release's deflated copies.
    /// - Parameter count: the number of distinct addresses of these copies.
    /// - Throws: as ``init(_:of:count:)``.
    package init(
        _ bytes: [UInt8], ofDeflatedCopiesOf version: VersionName, _ facts: PublishedFacts,
        count: Int
    ) throws(StoreError) {
        try self.init(
            bytes, named: facts.places, of: "the deflated copies of version \(version)",
            upTo: facts.epoch,
            count: count)
    }

    private init(
        _ bytes: [UInt8], named address: ObjectID?, of what: String, upTo epochMax: Int64,
        count: Int
    ) throws(StoreError) {
        guard try ObjectID(of: bytes) == address else {
            throw Self.refuse("they are not what their address says", what)
        }
        do throws(JSONError) {
            self = try Self.parse(bytes, count: count, epochMax: epochMax)
        } catch {
            throw Self.refuse(error.message, what)
        }
    }

    private static func refuse(_ problem: String, _ what: String) -> StoreError {
        let end = problem.hasSuffix(".") ? String(problem.dropLast()) : problem
        return .damagedOrigin(
            "the places of \(what) are refused: \(end); publish the version again")
    }

    /// Reads untrusted places, in memory proportional to the number of runs.
    /// - Parameters:
    ///   - count: how many objects there are.
    ///   - epochMax: the epoch of the release.
    package static func parse(
        _ bytes: [UInt8], count: Int, epochMax: Int64
    ) throws(JSONError) -> Places {
        let limits = JSONLimits(depth: depthMax, byteCount: Int(byteCountMax))
        var reader = try JSONReader(bytes, limits: limits)
        var format: Int64?
        var places: Places?
        try reader.enterObject()
        while let key = try reader.nextKey() {
            switch key {
            case "castreePlaces":
                format = try reader.readInteger()
                guard format == formatVersion else {
                    throw reader.failure("They have another format than \(formatVersion)")
                }
            case "runs": places = try runs(&reader, count, epochMax)
            default: try reader.skipValue()
            }
        }
        try reader.finish()
        guard format != nil, let places else {
            throw reader.failure("They have no \"castreePlaces\" or no \"runs\"")
        }
        guard places.count == count else {
            throw reader.failure(
                "They are of \(places.count) objects, and the version has \(count)")
        }
        return places
    }

    private static func runs(
        _ reader: inout JSONReader, _ count: Int, _ epochMax: Int64
    ) throws(JSONError) -> Places {
        var places = Places()
        try reader.enterArray()
        while try reader.nextElement() {
            var run: [Int64] = []
            try reader.enterArray()
            while try reader.nextElement() {
                guard run.count < 2 else { throw reader.failure("A run has two numbers") }
                run.append(try reader.readInteger())
            }
            guard run.count == 2 else { throw reader.failure("A run has two numbers") }
            guard 0...epochMax ~= run[0] else {
                throw reader.failure("A run has an epoch that is not from 0 to \(epochMax)")
            }
            guard run[1] > 0, run[1] <= Int64(count - places.count) else {
                throw reader.failure("The runs have not as many objects as the version")
            }
            places.append(Int(run[1]), in: run[0])
        }
        return places
    }

    /// Places within a size, with nearly as few objects moved to the newest epoch as possible.
    /// - Parameter newest: not less than any epoch of these.
    package func bounded(by byteCountMax: Int64, newest: Int64) -> Places {
        if serialized().count <= byteCountMax { return self }
        var best = Places()
        best.append(count, in: newest)
        // Searches for the price of a run, in objects: a higher price leaves fewer runs, and the highest leaves one.
        var (low, high) = (0.0, Double(count) + 1)
        for _ in 0..<40 {
            let price = (low + high) / 2
            let candidate = cheapest(newest: newest, price: price)
            if candidate.serialized().count <= byteCountMax {
                best = candidate
                high = price
            } else {
                low = price
            }
        }
        return best
    }

    /// The places with the least total cost of moved objects and runs.
    private func cheapest(newest: Int64, price: Double) -> Places {
        // The cost so far if the last run stays, or is moved; and whether the run before it was moved in that case.
        var (stays, moves) = (0.0, 0.0)
        var wasMoved: [(ifStays: Bool, ifMoves: Bool)] = []
        wasMoved.reserveCapacity(ends.count)
        for run in ends.indices {
            let length = Double(ends[run] - (run == 0 ? 0 : ends[run - 1]))
            let isNewest = epochs[run] == newest
            let (staysFirst, movesFirst) = (stays + price, run == 0 ? price : moves)
            wasMoved.append((ifStays: moves < stays, ifMoves: movesFirst <= staysFirst))
            let least = run == 0 ? 0 : min(stays, moves)
            moves = min(movesFirst, staysFirst) + (isNewest ? 0 : length)
            stays = isNewest ? .infinity : least + price
        }
        var isMoved = moves <= stays
        var moved = Array(repeating: false, count: ends.count)
        for run in ends.indices.reversed() {
            moved[run] = isMoved
            isMoved = isMoved ? wasMoved[run].ifMoves : wasMoved[run].ifStays
        }
        var places = Places()
        for run in ends.indices {
            let length = ends[run] - (run == 0 ? 0 : ends[run - 1])
            places.append(length, in: moved[run] ? newest : epochs[run])
        }
        return places
    }
}
