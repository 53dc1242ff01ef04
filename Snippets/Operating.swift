// A whole program: what an operator's own tool does with a store and an origin.
import CASStore
import CurlTransport
import HotPush
import Origin
import VersionTree

let versions = try VersionStore.open("builds")

// What is there, and what it takes.
for version in try versions.versions() {
    print(version.version, version.state, "\(version.files) files, \(version.uniqueBytes) alone")
}
let usage = try versions.store.usage()
print("\(usage.objects) objects, \(usage.objectBytes) bytes, shared \(usage.ratio) times")

// Every byte is read; what can be made right is. Content that somebody needs is never deleted.
let report = try versions.check(CheckOptions(isDeep: true), repairing: true)
for finding in report.findings {
    print(finding.kind, finding.isRepaired ? "repaired" : "not repaired", finding.message)
}

// Old versions go, by a policy that says why; then what only they had.
var policy = RetentionPolicy.generations(2)
policy.newestCount = 3
let plan = try versions.planRetention(policy)
for verdict in plan.retired { print("retiring \(verdict.version): \(verdict.reason)") }
_ = try versions.retire(plan)
print("\(try versions.planCollection().byteCount) bytes can be freed")
print("\(try versions.collect().byteCount) bytes freed")

// A release is signed, its packs are made afterwards, and its writing is shown.
var publishing = PublisherOptions()
publishing.signing = try PointerSigning(keyFiles: ["release.pem"])
publishing.signing.expiry = .after(30 * 86_400)
publishing.packs.timing = .after
publishing.progress = { print("\($0.step): \($0.bytes) of \($0.bytesTotal) bytes") }
let offer = ReleaseOffer(channel: .stable, isMandatory: true)
let offered = try Publisher("origin", options: publishing).publish("2.1", of: versions, as: offer)
print("\(offered.objects.count) objects written")

// The same in a bucket, with the keys that AWS's own tools would take.
let bucket = try OriginBucket("s3://updates/app")
try Publisher(bucket, options: publishing).publish("2.1", of: versions, as: offer)

// A release that was a mistake is withdrawn; devices go to the one before.
let publisher = Publisher("origin")
let pointer = try publisher.withdraw(try VersionName("2.0"))
print("\(pointer.channel) offers \(pointer.releases.compactMap(\.version?.name))")
let freed = try publisher.collect(OriginRetention(releaseCount: 5))
print("\(freed.fileCount) files of the origin deleted")

// What happened lately, as sentences.
for entry in try EventLog(versions).entries() { print(entry.at, entry.sentence) }
