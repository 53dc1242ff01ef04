import CASStore
import StrictJSON

// The rules that a set of entries must obey to be a version.

extension Manifest {
    /// - Throws: `.badManifest`, naming the rule and the path.
    func validate() throws(StoreError) {
        if count > Self.countMax {
            throw refuse("it has \(count) entries, more than \(Self.countMax)")
        }
        if createdAt < 0 || ordinal < 0 { throw refuse("it has a negative number or time") }
        var total: Int64 = 0
        for position in 0..<count {
            if records[position].address == .zero {
                throw refuse("the address of \(shown(position)) is zeros only, which no object has")
            }
            let bytes = records[position].byteCount
            if bytes < 0 { throw refuse("the size of \(shown(position)) is negative") }
            let (sum, isTooLarge) = total.addingReportingOverflow(bytes)
            if isTooLarge { throw refuse("its sizes add up to more than any disk holds") }
            total = sum
            if position > 0 { try validatePair(position - 1, position) }
        }
        try validateSizes()
        try validateRoutes()
        try validateForeign()
    }

    /// Refuses foreign fields that would make the file unreadable: a duplicate, too deep nesting, or a NUL.
    func validateForeign() throws(StoreError) {
        let own = [
            "castree", "createdAt", "entries", "order", "received", "recovered", "version",
        ]
        try validate(foreign, beside: own, of: "it", depth: 1)
        let entryOwn = ["address", "bytes", "executable", "labels", "path", "routes"]
        for (position, extras) in extras where !extras.foreign.isEmpty {
            try validate(extras.foreign, beside: entryOwn, of: shown(position), depth: 3)
        }
    }

    private func validate(
        _ fields: [JSONValue.Member], beside own: [String], of owner: String, depth: Int
    ) throws(StoreError) {
        if fields.isEmpty { return }
        // Compared as bytes: strings that only look alike are different keys.
        var seen = Set(own.map { Array($0.utf8) })
        for field in fields where !seen.insert(Array(field.key.utf8)).inserted {
            throw refuse("\(owner) has the field \"\(printable(field.key))\" twice")
        }
        for field in fields {
            guard let problem = Self.problem(.object([field]), depth: depth) else { continue }
            throw refuse("the field \"\(printable(field.key))\" of \(owner) \(problem)")
        }
    }

    /// Why a value inside `depth` containers cannot be in a manifest.
    private static func problem(_ value: JSONValue, depth: Int) -> String? {
        switch value {
        case .null, .bool, .number: return nil
        case .string(let text):
            return text.utf8.contains(0) ? "holds a NUL" : nil
        case .array(let elements):
            if depth > depthMax { return "nests too deep" }
            for element in elements {
                if let problem = problem(element, depth: depth + 1) { return problem }
            }
        case .object(let members):
            if depth > depthMax { return "nests too deep" }
            for member in members {
                if member.key.utf8.contains(0) { return "has a NUL in a key" }
                if let problem = problem(member.value, depth: depth + 1) { return problem }
            }
        }
        return nil
    }

    // "a/b" need not follow "a" directly ("a!" is between them), so bisection finds a file that is also a directory.
    private func validatePair(_ left: Int, _ right: Int) throws(StoreError) {
        let isSame = withPath(left) { first in withPath(right) { first.equals($0) } }
        if isSame { throw refuse("it has the path \(shown(left)) twice") }
        // Only directories that the previous entry does not share can be new conflicts.
        let shared = sharedDirectory(left, right)
        let conflict: Int? = withPath(right) { path in
            path.indices.dropFirst(shared + 1).first { end in
                path[end] == 47
                    && position(of: UnsafeBufferPointer(rebasing: path[..<end])) != nil
            }
        }
        if let conflict {
            throw refuse(
                "\"\(printable(self.path(right, prefix: conflict)))\" is a file and the directory "
                    + "of " + shown(right))
        }
    }

    private func validateSizes() throws(StoreError) {
        // Numbers sort several times faster than entries: 42 bits of the address, and 22 that hold any position.
        var keys: [UInt64] = []
        keys.reserveCapacity(count)
        for position in 0..<count {
            keys.append(records[position].address.w0 & ~0x3F_FFFF | UInt64(position))
        }
        keys.sort()
        for (left, right) in zip(keys, keys.dropFirst()) where left >> 22 == right >> 22 {
            let (first, second) = (Int(left & 0x3F_FFFF), Int(right & 0x3F_FFFF))
            // Two addresses begin alike: compare them all.
            guard records[first].address == records[second].address else {
                return try validateAllSizes()
            }
            if records[first].byteCount != records[second].byteCount {
                throw twoSizes(first, second)
            }
        }
    }

    private func validateAllSizes() throws(StoreError) {
        var order = (0..<UInt32(count)).map { $0 }
        Self.sortByAddress(&order, records)
        for (left, right) in zip(order, order.dropFirst()) {
            let (first, second) = (records[Int(left)], records[Int(right)])
            if first.address == second.address, first.byteCount != second.byteCount {
                throw twoSizes(Int(left), Int(right))
            }
        }
    }

    private func twoSizes(_ left: Int, _ right: Int) -> StoreError {
        refuse("\(shown(left)) and \(shown(right)) have one address and two sizes")
    }

    private func validateRoutes() throws(StoreError) {
        var seen: Set<[UInt8]> = []
        for (position, extras) in extras {
            for route in extras.routes {
                guard route.utf8.first == 47, !route.utf8.contains(0), route.utf8.count <= 8192
                else {
                    throw refuse(
                        "the route \"\(printable(route))\" of \(shown(position)) must begin with "
                            + "\"/\", have no NUL and at most 8192 bytes")
                }
                if !seen.insert(Array(route.utf8)).inserted {
                    throw refuse("it has the route \"\(printable(route))\" twice")
                }
            }
            let algorithms = extras.labels.map(\.algorithm)
            if Set(algorithms).count != algorithms.count {
                throw refuse("\(shown(position)) has two labels of one algorithm")
            }
            if let checksum = algorithms.first(where: { !$0.identifiesContent }) {
                throw refuse(
                    "\(shown(position)) is labelled by \(checksum.rawValue), which names no content"
                )
            }
        }
    }

    private func shown(_ position: Int) -> String { "\"\(printable(path(position)))\"" }

    private func refuse(_ problem: String) -> StoreError {
        StoreError(.badManifest, "the manifest of version \(version) is refused: \(problem)")
    }
}
