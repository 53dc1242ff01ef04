// The documents of the command line, as its contract lists them. Every member is required but those
// that the contract allows to be null.

import ProgramTestSupport

struct InitDocument: Decodable {
    let store: String
    let format: Int
}

struct AddDocument: Decodable {
    let version: String
    let files: Int
    let bytes: Int
    let newObjects: Int
    let newBytes: Int
}

struct ListedVersion: Decodable {
    let version: String
    let state: String
    let files: Int
    let bytes: Int
    let uniqueBytes: Int
    let missingObjects: Int
    let createdAt: String
    let current: Bool
    let pending: Bool
    let knownGood: Bool
    let bad: Bool
    let embedded: Bool
}

struct ShownVersion: Decodable {
    struct Entry: Decodable {
        let path: String
        let routes: [String]
        let address: String
        let bytes: Int
    }

    let version: String
    let manifest: String
    let createdAt: String
    let entries: [Entry]
}

struct DiffDocument: Decodable {
    struct Move: Decodable, Equatable {
        let from: String
        let to: String
    }

    let added: [String]
    let removed: [String]
    let changed: [String]
    let moved: [Move]
    let newBytes: Int
}

struct MissingDocument: Decodable {
    struct Object: Decodable {
        let address: String
        let label: String?
        let bytes: Int
        let sizeKnown: Bool
        let paths: [String]
    }

    let version: String
    let objects: [Object]
    let bytes: Int
    let isLowerBound: Bool
}

struct CheckoutDocument: Decodable {
    let version: String
    let target: String
    let mode: String
    let files: Int
    let linked: Int
    let copied: Int
    let reflinked: Int
}

struct ActivateDocument: Decodable {
    let current: String
    let previous: String?
}

struct LifecycleDocument: Decodable {
    struct Ban: Decodable {
        let version: String
        let reason: String
        let count: Int
        let at: String
    }

    struct Boot: Decodable {
        let version: String
        let token: String
        let startedAt: String
    }

    let current: String?
    let pending: String?
    let knownGood: [String]
    let embedded: String?
    let bad: [Ban]
    let boot: Boot?
}

struct BootDocument: Decodable {
    let version: String
    let token: String
    let rolledBackFrom: String?
    let mandatory: Bool
}

struct RollbackDocument: Decodable {
    let current: String
    let rolledBackFrom: String
}

struct RetireDocument: Decodable {
    let version: String
    let references: Int
    let unusedObjects: Int
    let unusedBytes: Int
}

struct CollectDocument: Decodable {
    struct Packing: Decodable, Equatable {
        let places: Int
        let bytes: Int
        let diskBytes: Int
    }
    let objects: Int
    let bytes: Int
    let diskBytes: Int
    let packing: Packing
    let dryRun: Bool
}

struct RetentionDocument: Decodable {
    struct Verdict: Decodable {
        let version: String
        let reason: String
        let bytes: Int?
        let diskBytes: Int?
    }
    let objects: Int
    let bytes: Int
    let diskBytes: Int
    let retired: [Verdict]
    let kept: [Verdict]
    let maxBytes: Int?
    let bytesLeft: Int?
}

struct CheckDocument: Decodable {
    struct Finding: Decodable {
        let kind: String
        let object: String?
        let version: String?
        let path: String?
        let message: String
        let repaired: Bool
    }

    let checkedObjects: Int
    let checkedBytes: Int
    let checkedTrees: Int
    let findings: [Finding]
    let problems: Int
}

struct UsageDocument: Decodable {
    struct Store: Decodable {
        let objects: Int
        let objectBytes: Int
        let diskBytes: Int
        let stagedBytes: Int
        let unreferencedBytes: Int
        let apparentBytes: Int
        let unreferencedDiskBytes: Int
        let plainDiskBytes: Int
        let ratio: Double
        let disk: Disk
    }

    struct Disk: Decodable {
        let files: Int
        let apparentBytes: Int
        let diskBytes: Int
        let parts: [Part]
    }

    struct Part: Decodable {
        let part: String
        let diskBytes: Int
    }

    struct Growth: Decodable {
        let version: String
        let newBytes: Int
        let apparentBytes: Int
        let objectBytes: Int
        let newDiskBytes: Int
        let diskBytes: Int
        let uniqueDiskBytes: Int
        let plainDiskBytes: Int
    }

    struct Sharing: Decodable {
        let versions: [String]
        let bytes: [[Int]]
    }

    struct Retire: Decodable {
        let versions: [String]
        let objects: Int
        let bytes: Int
        let separateBytes: Int
        let diskBytes: Int
        let separateDiskBytes: Int
        let refused: [Refusal]
    }

    struct Refusal: Decodable {
        let version: String
        let reason: String
    }

    struct Group: Decodable {
        struct Usage: Decodable {
            let name: String
            let files: Int
            let apparentBytes: Int
            let uniqueBytes: Int
            let sharedBytes: Int
        }

        let version: String
        let count: Int
        let largest: [Usage]
    }

    struct Version: Decodable {
        let version: String
        let files: Int
        let apparentBytes: Int
        let uniqueBytes: Int
        let sharedBytes: Int
        let plainDiskBytes: Int
        let uniqueDiskBytes: Int
        let sharedDiskBytes: Int
        let plainIsEstimated: Bool
    }

    struct Large: Decodable {
        let address: String
        let bytes: Int
        let diskBytes: Int
        let references: Int
        let paths: [String]
    }

    let store: Store
    let versions: [Version]
    let largest: [Large]
    let growth: [Growth]
    let sharing: Sharing
    let retire: Retire?
    let by: String?
    let groups: [Group]?
}

struct ReportDocument: Decodable {
    struct Event: Decodable {
        let sequence: Int
        let at: String
        let event: String
        let sentence: String
    }

    let events: [Event]
}

extension Workplace {
    /// The address of a file of a version.
    func address(of path: String, in version: String) throws -> String {
        let shown = try castree("show", version, "--json").document(ShownVersion.self)
        return shown.entries.first { $0.path == path }?.address ?? ""
    }
}
