package import CASStore
import StrictJSON
package import VersionTree

// Places ↔ bytes: JSON without white space, keys sorted (RFC 8785), one line.

extension Places {
    /// The bytes of the file.
    ///
    /// A reader refuses more than ``byteCountMax``. Where there are so many runs, the publisher writes objects again in
    /// the newest epoch.
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

    /// Reads what a release names.
    ///
    /// - Parameters:
    ///   - published: the release's version.
    ///   - count: the number of distinct addresses in its manifest.
    /// - Throws: `.damagedOrigin` with what is wrong; also for other bytes than the address says, and for a newer
    ///   format.
    package init(
        _ bytes: [UInt8], of published: PublishedVersion, count: Int
    ) throws(StoreError) {
        try self.init(
            bytes, named: published.places, of: "the objects of version \(published.name)",
            upTo: published.epoch, count: count)
    }

    /// Reads where the twins stand that the facts of a release name.
    ///
    /// - Parameter count: the number of distinct addresses of these twins.
    /// - Throws: as ``init(_:of:count:)``.
    package init(
        _ bytes: [UInt8], ofTwinsOf version: VersionName, _ place: OfferedRelease.FactsPlace,
        count: Int
    ) throws(StoreError) {
        try self.init(
            bytes, named: place.places, of: "the twins of version \(version)", upTo: place.epoch,
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
        return StoreError(
            .damagedOrigin,
            "the places of \(what) are refused: \(end); publish the version again")
    }

    /// Reads places, which may come from anywhere: takes as much memory as they have runs.
    ///
    /// - Parameters:
    ///   - count: how many objects there are.
    ///   - epochMax: the epoch of the release.
    static func parse(
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
}
