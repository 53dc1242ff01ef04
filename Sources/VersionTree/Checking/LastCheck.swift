package import CASStore
import StrictJSON

/// The result of the last check of a store, as the store remembers it.
///
/// For people who look at a store later. Nothing is decided by it: it is derived, not durable, and a
/// check that cannot write it is as good as one that can.
package struct LastCheck: Sendable, Hashable {
    /// When the check ended, in seconds since 1970.
    package var endedAt: Int64
    /// When a check that read every object ended last; `nil` if nobody remembers.
    package var wholeEndedAt: Int64?
    /// The number of the last event in the log when that check began: clocks do not tell what came after it.
    package var wholeEvent: Int64?
    /// Whether SHA-256 was computed anew; otherwise sizes and fingerprints were compared.
    package var isDeep: Bool
    /// Whether it was a repair.
    package var isRepair: Bool
    /// Objects whose bytes were read.
    package var checkedObjects: Int
    /// Bytes that were read.
    package var checkedBytes: Int64
    /// Objects whose bytes were not read: outside the sample, or sound since the requested time.
    package var skippedObjects: Int
    /// How many things were wrong.
    package var findingCount: Int
    /// How many of them were repaired.
    package var repairedCount: Int
    /// How many of the others dead writers have left: the next writer or collection cleans them up.
    package var leftoverCount = 0
    /// The first of them, at most ``findingsMax`` and 64 KiB of text; unrepaired ones first.
    package var findings: [Finding]

    /// How many are left that do not mend themselves.
    package var leftCount: Int {
        // In steps: a file may say any numbers.
        max(0, max(0, findingCount - repairedCount) - leftoverCount)
    }

    /// How many findings are remembered.
    package static let findingsMax = 50
    private static let textByteCountMax = 64 << 10
    static let fileByteCountMax = 1 << 20

    init(_ report: CheckReport, isDeep: Bool, isRepair: Bool, endedAt: Int64) {
        self.endedAt = endedAt
        self.isDeep = isDeep
        self.isRepair = isRepair
        checkedObjects = report.checkedObjects
        checkedBytes = report.checkedBytes
        skippedObjects = report.skippedObjects
        wholeEndedAt = report.skippedObjects == 0 ? endedAt : nil
        let problems = report.problems
        findingCount = problems.count
        let left = problems.filter { !$0.isRepaired }
        repairedCount = findingCount - left.count
        // What a repair could not clean up, nobody else can.
        leftoverCount = isRepair ? 0 : left.count { $0.mendsItself }
        var space = Self.textByteCountMax
        findings = []
        for finding in left + problems.filter(\.isRepaired) {
            space -= finding.message.utf8.count + (finding.path?.utf8.count ?? 0)
            guard space >= 0, findings.count < Self.findingsMax else { break }
            findings.append(finding)
        }
    }

    /// Takes for mended what stood where it did not belong, and is gone by now.
    mutating func mend(where isGone: (Finding) -> Bool) {
        let strays: Set<Finding.Kind> = [.leftover, .strayFile, .strayTree]
        for position in findings.indices {
            let finding = findings[position]
            // What mends itself does not count as left.
            guard !finding.isRepaired, strays.contains(finding.kind),
                isRepair || !finding.mendsItself, isGone(finding)
            else { continue }
            findings[position].isRepaired = true
            repairedCount += 1
        }
    }

    /// Continues remembering what an earlier check has found, and this one has not looked at.
    mutating func keep(_ earlier: [Finding]) {
        findingCount += earlier.count
        findings = Array((earlier + findings).prefix(Self.findingsMax))
    }

    // MARK: The file

    /// The bytes of `last-check.json`.
    var serialized: [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("checkedBytes", checkedBytes)
            writer.member("checkedObjects", checkedObjects)
            writer.member("deep", isDeep)
            writer.member("endedAt", endedAt)
            writer.member("findingCount", findingCount)
            writer.member("findings", findings) { writer, finding in
                writer.member("kind", finding.kind.rawValue)
                writer.member("message", finding.message)
                writer.member("object", finding.object?.description)
                writer.member("path", finding.path)
                writer.member("repaired", finding.isRepaired)
                writer.member("version", finding.version)
            }
            writer.member("leftoverCount", leftoverCount)
            writer.member("repair", isRepair)
            writer.member("repairedCount", repairedCount)
            writer.member("skippedObjects", skippedObjects)
            if let wholeEndedAt { writer.member("wholeEndedAt", wholeEndedAt) }
            if let wholeEvent { writer.member("wholeEvent", wholeEvent) }
        }
        return writer.drain() + [10]
    }

    /// Reads the file; `nil` if no check has written it.
    init?(parsing bytes: [UInt8]) {
        // Whatever is wrong with it, the next check writes it anew.
        let parsed = try? JSONValue.parse(
            bytes, limits: JSONLimits(byteCount: Self.fileByteCountMax))
        func count(_ key: String) -> Int? {
            parsed?[key]?.asInt64.flatMap { $0 < 0 ? nil : Int(exactly: $0) }
        }
        guard let document = parsed, let endedAt = document["endedAt"]?.asTime,
            let isDeep = document["deep"]?.asBool, let isRepair = document["repair"]?.asBool,
            let checkedObjects = count("checkedObjects"), let checkedBytes = count("checkedBytes"),
            let skippedObjects = count("skippedObjects"),
            let findingCount = count("findingCount"), let repairedCount = count("repairedCount"),
            let findings = document["findings"]?.asArray
        else { return nil }
        self.endedAt = endedAt
        self.isDeep = isDeep
        self.isRepair = isRepair
        self.checkedObjects = checkedObjects
        self.checkedBytes = Int64(checkedBytes)
        self.skippedObjects = skippedObjects
        self.findingCount = findingCount
        self.repairedCount = repairedCount
        // An older castree wrote none.
        leftoverCount = count("leftoverCount") ?? 0
        wholeEndedAt =
            skippedObjects == 0 ? endedAt : document["wholeEndedAt"]?.asTime
        wholeEvent = document["wholeEvent"]?.asInt64
        // A kind that only a newer castree knows counts, but is not shown.
        self.findings = findings.prefix(Self.findingsMax).compactMap(Self.finding)
    }

    private static func finding(_ value: JSONValue) -> Finding? {
        guard let kind = value["kind"]?.asString.flatMap(Finding.Kind.init(rawValue:)),
            let message = value["message"]?.asString
        else { return nil }
        return Finding(
            kind, object: value["object"]?.asString.flatMap { ObjectID($0) },
            version: value["version"]?.asString, path: value["path"]?.asString, message,
            isRepaired: value["repaired"]?.asBool ?? false)
    }
}

extension VersionStore {
    /// The result of the last check, by any process; `nil` if there was none, or its result is lost.
    package func lastCheck() -> LastCheck? {
        var check = store.remembered(
            as: StoreLayout.lastCheck, limit: LastCheck.fileByteCountMax
        ).flatMap { LastCheck(parsing: $0) }
        check?.mend { finding in
            // What is printed otherwise than it is cannot be looked for.
            guard let path = finding.path, !path.contains("\\"), !path.contains("\u{FFFD}") else {
                return false
            }
            return !isSomething(at: path)
        }
        return check
    }

    /// The number of the last event in the log (HotPush writes it); `nil` if nobody can tell.
    func lastEvent() -> Int64? {
        for name in [StoreLayout.events, StoreLayout.olderEvents] {
            let bytes = store.remembered(as: name, limit: LastCheck.fileByteCountMax)
            for line in (bytes ?? []).split(separator: 10).reversed() {
                // A line that a power cut has torn is none.
                if let number = (try? JSONValue.parse(Array(line)))?["sequence"]?.asInt64 {
                    return number
                }
            }
        }
        return nil
    }

    /// Remembers a check, and tells the store's observer what it found.
    /// - Parameter event: the number of the log's last event when it began.
    func conclude(
        _ report: CheckReport, _ options: CheckOptions, repairing: Bool, after event: Int64?
    ) {
        var memory = LastCheck(
            report, isDeep: options.isDeep, isRepair: repairing, endedAt: secondsNow())
        if memory.wholeEndedAt != nil {
            memory.wholeEvent = event
        } else if let before = lastCheck() {
            (memory.wholeEndedAt, memory.wholeEvent) = (before.wholeEndedAt, before.wholeEvent)
            memory.keep(stillWrong(before.findings, besides: report.findings))
        }
        store.remember(memory.serialized, as: StoreLayout.lastCheck)
        guard !report.findings.isEmpty else { return }
        let problems = report.problems
        note(
            .found(
                kinds: Dictionary(
                    problems.map { ($0.kind.rawValue, 1) }, uniquingKeysWith: +),
                repaired: problems.count { $0.isRepaired }))
    }

    /// Which findings about objects still hold, of those that are not among others: a look at some objects says nothing of
    /// the rest.
    private func stillWrong(_ findings: [Finding], besides others: [Finding]) -> [Finding] {
        let known = Set(others.compactMap(\.object))
        let open = findings.filter { finding in
            guard !finding.isRepaired, let object = finding.object else { return false }
            return !known.contains(object)
        }
        // What cannot be looked at is no better than it was.
        guard var checker = try? ObjectChecker() else { return open }
        return open.filter { finding in
            guard let object = finding.object else { return false }
            // As above.
            if (try? store.naming([object]).isEmpty) == true { return false }
            // As above.
            return (try? store.objects.verified(object, checker: &checker)) ?? nil == nil
        }
    }
}
