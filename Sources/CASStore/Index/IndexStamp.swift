/// What an index must agree with to be believed; kept in the file `stamp` beside it.
///
/// A SQLite file that is replaced by yesterday's copy is a sound database that lies. So every write
/// transaction counts up `generation` inside the index and here: `pending`, durably, before its first
/// page, `settled` when all is durable. Between the two a power cut or a kill may tear the index, so
/// a process that finds them different while nobody writes does not believe the index, not even one
/// that it already has open. An index whose generation is neither is older than the truth. A newer
/// one is believed: without syncs a power cut may lose the stamp alone. `epoch` names one index file;
/// size and change time (ctime) reveal that another program wrote to it.
///
/// One line of text, then its XXH3-128: a torn stamp is no stamp, and no stamp means a rebuild.
struct IndexStamp: Equatable, Sendable {
    var epoch: String
    var settled: Int64
    var pending: Int64
    /// Size and change time (ctime) of `index.sqlite` after the last settled transaction.
    var byteCount: Int64
    var changedAt: Int64

    /// The file's bytes.
    var encoded: [UInt8] {
        let line = "castree-stamp 1 \(epoch) \(settled) \(pending) \(byteCount) \(changedAt)\n"
        let sum = Array(line.utf8).withUnsafeBytes { bytes in
            Fingerprinter.fingerprint(bytes).withBytes { Hex.string(Array($0)) }
        }
        return Array((line + sum + "\n").utf8)
    }

    /// Whether an index of this epoch and generation is as new as the truth.
    func agrees(epoch: String, generation: Int64) -> Bool {
        epoch == self.epoch
            && (generation == settled || generation == pending || generation > pending)
    }
}

extension IndexStamp {
    /// Reads the file's bytes; `nil` if they are not a whole stamp.
    init?(_ bytes: [UInt8]) {
        let lines = String(decoding: bytes, as: UTF8.self).split(
            separator: "\n", omittingEmptySubsequences: false)
        guard lines.count >= 2 else { return nil }
        let fields = lines[0].split(separator: " ")
        guard fields.count == 7, fields[0] == "castree-stamp", fields[1] == "1",
            let settled = Int64(fields[3]), let pending = Int64(fields[4]),
            let byteCount = Int64(fields[5]), let changedAt = Int64(fields[6])
        else { return nil }
        self.init(
            epoch: String(fields[2]), settled: settled, pending: pending,
            byteCount: byteCount, changedAt: changedAt)
        guard bytes.starts(with: encoded) else { return nil }
    }
}
