import CASStore

/// The expected content of each directory of a tree, found by names, which are compared as bytes.
struct ExpectedTree: Sendable {
    let plan: TreePlan
    // Directories grouped by their parent, and where each group begins.
    private let children: [UInt32]
    private let starts: [UInt32]

    init(_ plan: TreePlan) {
        self.plan = plan
        var starts = [UInt32](repeating: 0, count: plan.directories.count + 1)
        for directory in plan.directories.dropFirst() { starts[directory.parent + 1] += 1 }
        for index in 1..<starts.count { starts[index] += starts[index - 1] }
        self.starts = starts
        var children = [UInt32](repeating: 0, count: plan.directories.count - 1)
        for (index, directory) in plan.directories.enumerated().dropFirst() {
            children[Int(starts[directory.parent])] = UInt32(index)
            starts[directory.parent] += 1
        }
        self.children = children
    }

    func file(_ name: UnsafeBufferPointer<UInt8>, in directory: Int) -> Int? {
        let skipped = plan.skipped(in: directory)
        return plan.directories[directory].files.bisected { position in
            plan.manifest.withPath(Int(plan.order[position])) { path in
                name.compare(UnsafeBufferPointer(rebasing: path[skipped...]))
            }
        }
    }

    func hasDirectory(_ name: UnsafeBufferPointer<UInt8>, in directory: Int) -> Bool {
        let group = Int(starts[directory])..<Int(starts[directory + 1])
        let found = group.bisected { position in
            plan.withName(of: Int(children[position])) { Self.compareAsDirectories(name, $0) }
        }
        return found != nil
    }

    /// Directories are sorted by whole paths, in which a slash follows the name.
    private static func compareAsDirectories(
        _ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>
    ) -> Int {
        let shared = min(left.count, right.count)
        let order = UnsafeBufferPointer(rebasing: left[..<shared]).compare(
            UnsafeBufferPointer(rebasing: right[..<shared]))
        if order != 0 || left.count == right.count { return order }
        return left.count < right.count
            ? 47 - Int(right[shared]) : Int(left[shared]) - 47
    }
}
