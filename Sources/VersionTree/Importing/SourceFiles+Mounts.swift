import CASStore

// What the times of source files prove depends on the file system that they are on.

extension SourceFiles {
    /// Looks once at each device, not at each file.
    mutating func learnMounts(_ store: Store, root: Int32, followingLinks: Bool) {
        // If one cannot be examined, reading it will tell what is wrong.
        let rootDevice = try? store.fileSystem.outside.status(root).device
        mounts = Array(repeating: nil, count: devices.count)
        for (number, device) in devices.enumerated() {
            if device == rootDevice {
                mounts[number] = store.sourceMount(of: root)
            } else if let position = marks.firstIndex(where: { $0.device == number }),
                // As above.
                let file = try? SourceReading.open(
                    path(position), root, followingLinks: followingLinks, store.fileSystem.outside),
                // As above.
                let status = try? store.fileSystem.status(file.raw), status.device == device
            {
                mounts[number] = store.sourceMount(of: file.raw)
            }
        }
    }

    /// The files whose states can be believed next time, with their content.
    var cacheable: some Sequence<(StatKey, ObjectID)> {
        (0..<count).lazy.compactMap { position in
            guard marks[position].isCacheable, let key = key(position) else { return nil }
            return (key, records[position].address)
        }
    }
}
