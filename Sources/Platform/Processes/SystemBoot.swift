#if canImport(Darwin)
    import Darwin
#endif

extension FileSystem {
    /// Identifies the current boot; `nil` if nothing tells it.
    ///
    /// This is the boot id of random(4), or Apple's boot session. Where that is hidden (systemd's `ProcSubset=pid`), it
    /// is the random number that the kernel has given the tmpfs at /run, which a boot makes anew. No clock and no time
    /// of a file is taken for it: without a battery, clocks of two boots show the same.
    package func systemBoot() throws(StoreError) -> String? {
        #if canImport(Darwin)
            var bytes = [UInt8](repeating: 0, count: 64)
            var count = bytes.count
            guard sysctlbyname("kern.bootsessionuuid", &bytes, &count, nil, 0) == 0 else {
                return nil
            }
            return Self.boot(bytes.prefix(count).prefix { $0 != 0 })
        #else
            if let file = try openIfShown("/proc/sys/kernel/random/boot_id", .reading),
                let boot = Self.boot(try read(file.raw, at: 0, count: 64)[...])
            {
                return boot
            }
            // Linux before 5.13 gives a tmpfs no number.
            guard let run = try openIfShown("/run", .directory), let mount = mount(of: run.raw),
                mount.kind == MountStatus.memory, mount.fileSystem != 0
            else { return nil }
            return "run-" + String(mount.fileSystem, radix: 16)
        #endif
    }

    /// `nil` if a sandbox hides it.
    private func openIfShown(
        _ path: String, _ access: Access
    ) throws(StoreError) -> Descriptor? {
        do throws(StoreError) {
            return try openIfPresent(POSIXFileSystem.workingDirectory, path, access)
        } catch {
            guard error.code == .permission else { throw error }
            return nil
        }
    }

    private static func boot(_ bytes: ArraySlice<UInt8>) -> String? {
        String(decoding: bytes, as: UTF8.self).split(separator: "\n").first.map { String($0) }
    }
}
