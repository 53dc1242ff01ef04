#if canImport(Darwin)
    import Darwin
#endif

extension FileSystem {
    /// Identifies the current boot: the boot id of random(4), or Apple's boot session; `nil` if the system has none.
    package func systemBoot() throws(StoreError) -> String? {
        #if canImport(Darwin)
            var bytes = [UInt8](repeating: 0, count: 64)
            var count = bytes.count
            guard sysctlbyname("kern.bootsessionuuid", &bytes, &count, nil, 0) == 0 else {
                return nil
            }
            return Self.boot(bytes.prefix(count).prefix { $0 != 0 })
        #else
            do throws(StoreError) {
                let here = POSIXFileSystem.workingDirectory
                guard
                    let file = try openIfPresent(
                        here, "/proc/sys/kernel/random/boot_id", .reading)
                else { return nil }
                return Self.boot(try read(file.raw, at: 0, count: 64)[...])
            } catch {
                // A sandbox hides it.
                guard error.code == .permission else { throw error }
                return nil
            }
        #endif
    }

    private static func boot(_ bytes: ArraySlice<UInt8>) -> String? {
        String(decoding: bytes, as: UTF8.self).split(separator: "\n").first.map { String($0) }
    }
}
