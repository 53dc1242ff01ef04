import ProgramTestSupport

/// The documents of the command line, as its contract lists them.
extension JSON {
    static let initialized: JSON = ["store": "text", "format": "number"]
    static let added: JSON = ["version": "text", "files bytes newObjects newBytes": "number"]
    private static let version: JSON = [
        "version state createdAt": "text", "files bytes uniqueBytes missingObjects": "number",
        "current pending knownGood bad embedded protected": "flag",
    ]
    static let listed: JSON = [version]
    private static let entry: JSON = [
        "path address": "text", "routes": ["text"], "bytes": "number",
    ]
    static let shown: JSON = ["version manifest createdAt": "text", "entries": [entry]]
    static let difference: JSON = [
        "added removed changed": ["text"], "moved": [["from to": "text"]], "newBytes": "number",
    ]
    private static let missingObject: JSON = [
        "address label?": "text", "bytes": "number", "sizeKnown": "flag", "paths": ["text"],
    ]
    static let missing: JSON = [
        "version": "text", "bytes": "number", "isLowerBound": "flag", "objects": [missingObject],
    ]
    static let checkedOut: JSON = [
        "version target mode": "text", "files linked copied reflinked": "number",
    ]
    static let activated: JSON = ["current previous?": "text"]
    static let lifecycle: JSON = [
        "current? pending? embedded?": "text", "knownGood protected": ["text"],
        "bad": [["version reason at": "text", "count": "number"]],
        "boot?": ["version token startedAt": "text"],
    ]
    static let boot: JSON = ["version token rolledBackFrom?": "text", "mandatory": "flag"]
    static let rolledBack: JSON = ["current rolledBackFrom": "text"]
    static let retired: JSON = [
        "version": "text", "references unusedObjects unusedBytes": "number",
    ]
    static let adopted: JSON = ["version reason": "text", "isNew becameCurrent": "flag"]
    static let leftOut: JSON = ["leftOut unwanted": ["text"]]
    static let collected: JSON = [
        "objects bytes diskBytes": "number", "dryRun": "flag",
        "packing": ["places bytes diskBytes": "number"],
    ]
    private static let verdict: JSON = ["version reason": "text", "bytes? diskBytes?": "number"]
    static let retention: JSON = [
        "objects bytes diskBytes maxBytes? bytesLeft?": "number", "retired kept": [verdict],
    ]
    private static let finding: JSON = [
        "kind object? version? path? message": "text", "repaired": "flag",
    ]
    static let checked: JSON = [
        "checkedObjects checkedBytes checkedTrees problems": "number", "findings": [finding],
    ]
    private static let originFinding: JSON = ["kind path?": "text", "repaired": "flag"]
    static let checkedOrigin: JSON = [
        "channels releases files": "number", "findings": [originFinding],
    ]
    private static let steps: JSON = [["action object? version? path?": "text"]]
    static let repaired: JSON = [
        "checkedObjects skippedObjects skippedBytes": "number", "since?": "text", "plan?": steps,
        "sample?": ["percent seed": "number"], "dryRun": "flag", "findings": [finding],
    ]
    static let repairLine: JSON = ["finding?": finding, "plan?": steps, "report?": repaired]
    private static let use: JSON = [
        "use version?": "text", "process?": "number", "stopped": "flag",
    ]
    private static let download: JSON = [
        "version at?": "text", "stagedBytes": "number", "fetched": "flag",
    ]
    static let status: JSON = [
        "store current? pending? wayBack?": "text", "well": "flag",
        "versions availableBytes?": "number", "problems": [["code version? message": "text"]],
        "uses": [use], "lastCheck?": ["findings repaired leftovers": "number"],
        "downloads": [download],
    ]
    static let events: JSON = [["sequence": "number", "at event sentence": "text", "fields": [:]]]
    static let report: JSON = ["events": events]
    private static let diskUsage: JSON = [
        "files apparentBytes diskBytes": "number",
        "parts": [["part": "text", "diskBytes": "number"]],
    ]
    private static let storeUsage: JSON = [
        "objects objectBytes diskBytes stagedBytes unreferencedBytes apparentBytes": "number",
        "unreferencedDiskBytes plainDiskBytes ratio": "number", "disk": diskUsage,
    ]
    private static let versionUsage: JSON = [
        "version": "text", "files apparentBytes uniqueBytes sharedBytes": "number",
        "plainDiskBytes uniqueDiskBytes sharedDiskBytes": "number", "plainIsEstimated": "flag",
    ]
    private static let large: JSON = [
        "address": "text", "bytes diskBytes references": "number", "paths": ["text"],
    ]
    private static let growth: JSON = [
        "version": "text", "newBytes apparentBytes objectBytes newDiskBytes": "number",
        "diskBytes uniqueDiskBytes plainDiskBytes": "number",
    ]
    private static let retirement: JSON = [
        "versions": ["text"], "objects bytes separateBytes diskBytes separateDiskBytes": "number",
        "refused": [["version reason": "text"]],
    ]
    private static let group: JSON = [
        "name": "text", "files apparentBytes uniqueBytes sharedBytes": "number",
    ]
    static let usage: JSON = [
        "store": storeUsage, "versions": [versionUsage], "largest": [large], "growth": [growth],
        "sharing": ["versions": ["text"], "bytes": [["number"]]], "retire?": retirement,
        "by?": "text", "groups?": [["version": "text", "count": "number", "largest": [group]]],
    ]
    private static let packEntry: JSON = [
        "from? fromVersion?": "text", "packBytes bytes requests rawBytes rawRequests": "number",
    ]
    static let originUsage: JSON = [
        "offered objects packs deliveries trust publisher": ["files bytes": "number"],
        "channels": [
            ["channel": "text", "releases": [["version": "text", "packs": [packEntry]]]]
        ],
        "releases": [["version": "text"]],
    ]
    static let published: JSON = [
        "version origin channel manifest": "text", "changed dryRun": "flag",
        "objects bytes reusedObjects reusedBytes sequence patches patchBytes": "number",
    ]
    static let packed: JSON = [
        "version": "text", "changed dryRun": "flag",
        "packs": [["from? fromVersion?": "text", "objects content bytes?": "number"]],
        "packBytes framesReused framesCompressed manifestBytes?": "number",
    ]
    static let withdrawn: JSON = [
        "version origin channel offered?": "text", "sequence": "number", "embedded": "flag",
    ]
    static let pruned: JSON = [
        "origin": "text", "entry epoch releases files bytes waiting waitingBytes": "number",
        "refused unknown uploads requests": "number", "dryRun": "flag",
        "stuck": [["path reason": "text"]],
    ]
    static let copied: JSON = ["files found channels": "number"]
    static let pulled: JSON = [
        "version": "text", "files objects bytes reusedObjects reusedBytes": "number",
        "resumedBytes requests": "number", "current pending": "flag",
    ]
    static let pullPlan: JSON = [
        "version": "text", "files objects bytes": "number", "dryRun": "flag",
    ]
    static let nothingPulled: JSON = ["version?": "text", "reasons": ["text"]]
    static let signatures: JSON = [
        "signedBy": ["text"], "expiresAt?": "text", "trustVersion?": "number",
    ]
    static let key: JSON = ["key publicKey": "text"]
    static let resigned: JSON = ["originId": "text", "channels": [signatures]]
    static let rotated: JSON = [
        "version threshold": "number", "keys": ["text"], "channels": [signatures],
    ]
    private static let trust: JSON = [
        "places keys": ["text"], "origin?": "text", "threshold trustVersion?": "number",
        "sequences": [:],
    ]
    static let trusted: JSON = ["origins": [trust]]
    private static let offered: JSON = [
        "version?": "text", "embedded mandatory reachesDevice?": "flag", "perMille": "number",
    ]
    static let channels: JSON = [
        ["channel": "text", "releases": [offered], "withdrawn": [["version content": "text"]]]
    ]
    static let served: JSON = ["url version? dashboard?": "text", "port": "number"]
    static let servedOrigin: JSON = ["url": "text", "port": "number", "systems": ["text"]]
    static let answer: JSON = [
        "status bytes": "number", "fields": [["name value": "text"]], "body?": "text",
    ]
}

extension Workplace {
    func boot() throws -> JSON { try castree("boot", "--json").document(.boot) }
    func lifecycle() throws -> JSON { try castree("lifecycle", "--json").document(.lifecycle) }
    func listed() throws -> JSON { try castree("versions", "--json").document(.listed) }

    func address(of path: String, in version: String) throws -> String {
        let shown = try castree("show", version, "--json").document(.shown)
        return shown.entries.first { $0.path == path }?.address.text ?? ""
    }
}
