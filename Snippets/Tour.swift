// A whole program: two releases of a web app in one store.
import CASStore
import VersionTree

let versions = try VersionStore.create(at: "store").versions  // a directory of yours

try versions.add(directory: "releases/1.0", version: "1.0")  // a real directory of hard links
let report = try versions.add(directory: "releases/2.0", version: "2.0")
print("\(report.newObjects) of \(report.files) files were new, \(report.newBytes) bytes")

try versions.activate("1.0")  // store/current shows it, in one step
try versions.activate("2.0")

for move in try versions.diff(from: "1.0", to: "2.0").moved {
    print("\(move.from) is \(move.to) now")
}

try versions.retire("1.0")  // forgets the version…
let freed = try versions.store.collect()  // …and deletes what nothing else uses
print("\(freed.objectCount) objects collected, \(freed.byteCount) bytes")

let check = try versions.check()  // every byte, every tree, the index
print("\(check.checkedObjects) objects checked, \(check.findings.count) findings")
