// swift-tools-version: 6.2
// Top to bottom is bottom to top of the architecture: a target imports only what stands above it.
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

// Quick tests: only the Makefile asks for them, as a package with unsafe flags can be nobody's dependency.
let isQuick = Context.environment["CASTREE_OPTIMIZE_HOT"] == "1"
// What takes a quarter of the tests' time unless it is optimized, and compiles in seconds; others take longer than they
// save. Assertions stay.
let hot: [SwiftSetting] =
    isQuick
    ? settings + [
        .unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))
    ] : settings
// A program of a few milliseconds must not spend them on linking itself: no position independence, no symbols for others, and
// (the first -L) the static libraries of all that each command needs. What only some need is loaded by them: CLibraries.
let prelinked: [String] = [
    "-static-stdlib", "-Xlinker", "-s", "-Xlinker", "--no-export-dynamic", "-Xlinker",
    "--as-needed", "-Xclang-linker", "-no-pie", "-Xclang-linker", "-static-libgcc",
    "-L\(Context.packageDirectory)/Sources/castree/Linking",
]
let tested: [LinkerSetting] =
    isQuick ? [.unsafeFlags(prelinked, .when(platforms: [.linux], configuration: .debug))] : []

// Wholly static: it must work where hardly anything else does. By lld: others warn at each build that looking up names takes
// the C library of the machine, which is so.
let standalone: [LinkerSetting] = [
    .unsafeFlags(
        ["-static-executable", "-use-ld=lld", "-Xlinker", "-s"],
        .when(platforms: [.linux], configuration: .release))
]
let networked: [LinkerSetting] = [
    .unsafeFlags(prelinked, .when(platforms: [.linux], configuration: .release))
]
#if os(Linux)
    // The system's own directories: pkg-config would name them before those in `prelinked`.
    func configured(_ library: String) -> String? { nil }
#else
    func configured(_ library: String) -> String? { library }
#endif

let package = Package(
    name: "castree",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .library(name: "CASStore", targets: ["CASStore"]),
        .library(name: "VersionTree", targets: ["VersionTree"]),
        .library(name: "HotPush", targets: ["HotPush", "Origin", "CurlTransport"]),
        .library(name: "ServeFromCAS", targets: ["ServeFromCAS"]),
        .library(name: "ArchiveReading", targets: ["ArchiveReading"]),
        .library(name: "LocalizedErrors", targets: ["LocalizedErrors"]),
        .executable(name: "castree", targets: ["castree"]),
        .executable(name: "castree-fsck", targets: ["fsck"]),
        // For tests only: loaded into the programs, it counts their system calls.
        .library(name: "CallCounter", type: .dynamic, targets: ["CallCounter"]),
    ],
    targets: [
        .systemLibrary(
            name: "CSQLite", pkgConfig: configured("sqlite3"),
            providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
        .systemLibrary(
            name: "CXXHash", pkgConfig: configured("libxxhash"),
            providers: [.apt(["libxxhash-dev"]), .brew(["xxhash"])]),
        .systemLibrary(
            name: "CCrypto", pkgConfig: configured("libcrypto"),
            providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]),
        .systemLibrary(
            name: "CTLS", pkgConfig: configured("libssl"),
            providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]),
        .systemLibrary(
            name: "CCurl", pkgConfig: configured("libcurl"),
            providers: [.apt(["libcurl4-openssl-dev"]), .brew(["curl"])]),
        .systemLibrary(
            name: "CZstd", pkgConfig: configured("libzstd"),
            providers: [.apt(["libzstd-dev"]), .brew(["zstd"])]),
        .systemLibrary(
            name: "CZlib", pkgConfig: configured("zlib"),
            providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
        .systemLibrary(
            name: "CArchive", pkgConfig: configured("libarchive"),
            providers: [.apt(["libarchive-dev"]), .brew(["libarchive"])]),
        .systemLibrary(
            name: "CBrotli", pkgConfig: configured("libbrotlidec"),
            providers: [.apt(["libbrotli-dev"]), .brew(["brotli"])]),
        .systemLibrary(
            name: "CDivsufsort", pkgConfig: configured("libdivsufsort"),
            providers: [.apt(["libdivsufsort-dev"]), .brew(["libdivsufsort"])]),
        .systemLibrary(
            name: "CBzip2", pkgConfig: configured("bzip2"),
            providers: [.apt(["libbz2-dev"]), .brew(["bzip2"])]),
        .systemLibrary(name: "CSystem"),
        .target(name: "CStartup"),
        .target(name: "CLibraries", dependencies: ["CCurl", "CArchive", "CDivsufsort", "CBzip2"]),
        .target(name: "StrictJSON", swiftSettings: hot),
        .target(
            name: "Platform", dependencies: ["CXXHash", "CCrypto", "CZlib", "CSystem"],
            swiftSettings: hot),
        .target(
            name: "Zstandard", dependencies: ["Platform", "CZstd"], swiftSettings: settings),
        .target(name: "Delta", dependencies: ["Platform"], swiftSettings: hot),
        .target(
            name: "DeltaSearch", dependencies: ["Delta", "Platform", "CLibraries", "CDivsufsort"],
            swiftSettings: hot),
        .target(
            name: "Archives", dependencies: ["Platform", "CZlib"], swiftSettings: settings),
        .target(name: "LocalizedErrors", dependencies: ["Platform"], swiftSettings: settings),
        .target(
            name: "CASStore", dependencies: ["Platform", "CSQLite"], swiftSettings: settings),
        .target(name: "Storage", dependencies: ["Platform"], swiftSettings: settings),
        .target(
            name: "S3", dependencies: ["Storage", "Platform", "StrictJSON"], swiftSettings: settings
        ),
        .target(
            name: "VersionTree", dependencies: ["CASStore", "StrictJSON"], swiftSettings: settings),
        .target(
            name: "ArchiveReading",
            dependencies: [
                "VersionTree", "CASStore", "Platform", "CArchive", "CBrotli", "CZlib",
                "CZstd", "CLibraries",
            ],
            swiftSettings: settings),
        .target(
            name: "HotPush",
            dependencies: [
                "VersionTree", "CASStore", "Archives", "S3", "Storage", "StrictJSON", "Zstandard",
                "Delta",
            ], swiftSettings: settings),
        .target(
            name: "Origin",
            dependencies: [
                "HotPush", "VersionTree", "CASStore", "Storage", "StrictJSON", "Zstandard", "Delta",
                "DeltaSearch",
            ], swiftSettings: settings),
        .target(
            name: "Bsdiff",
            dependencies: ["DeltaSearch", "Delta", "Platform", "CLibraries", "CBzip2"],
            swiftSettings: hot),
        .target(
            name: "ClientSystems",
            dependencies: [
                "Origin", "HotPush", "VersionTree", "CASStore", "Archives", "S3", "Storage",
                "StrictJSON", "Platform", "Bsdiff",
            ], swiftSettings: settings),
        .target(
            name: "CurlTransport",
            dependencies: ["HotPush", "CASStore", "S3", "Storage", "CCurl", "CLibraries"],
            swiftSettings: settings),
        .target(
            name: "WebServer", dependencies: ["Platform", "CSystem", "CTLS"],
            swiftSettings: settings),
        .target(
            name: "ServeFromCAS",
            dependencies: [
                "WebServer", "VersionTree", "CASStore", "Platform", "StrictJSON",
            ],
            swiftSettings: settings),
        .target(
            name: "UsagePage", dependencies: ["VersionTree", "CASStore", "StrictJSON"],
            resources: [.embedInCode("Page")], swiftSettings: settings),
        .target(
            name: "Console", dependencies: ["CStartup", "Platform", "StrictJSON"],
            swiftSettings: settings),
        .target(
            name: "StoreCommands",
            dependencies: ["Console", "VersionTree", "CASStore", "Platform", "StrictJSON"],
            swiftSettings: settings),
        .executableTarget(
            name: "castree",
            dependencies: [
                "StoreCommands", "Console", "ClientSystems", "CurlTransport",
                "Origin", "HotPush", "ArchiveReading", "Archives", "ServeFromCAS", "WebServer",
                "UsagePage", "S3", "Storage", "VersionTree", "CASStore", "StrictJSON", "Platform",
            ], exclude: ["Linking"], swiftSettings: settings, linkerSettings: networked + tested),
        .executableTarget(
            name: "fsck", dependencies: ["StoreCommands", "Console"], path: "tools",
            sources: ["fsck.swift"], swiftSettings: settings, linkerSettings: standalone + tested),

        .target(
            name: "Expectations", dependencies: ["StrictJSON"], path: "Tests/Expectations",
            swiftSettings: settings),
        .target(
            name: "StorageTestSupport",
            dependencies: ["Expectations", "VersionTree", "CASStore", "Platform", "CZlib"],
            path: "Tests/StorageTestSupport", swiftSettings: settings),
        .target(
            name: "BucketTestSupport",
            dependencies: [
                "StorageTestSupport", "S3", "Storage", "CurlTransport", "HotPush", "Platform",
            ],
            path: "Tests/BucketTestSupport", swiftSettings: settings),
        .target(
            name: "OriginTestSupport",
            dependencies: [
                "StorageTestSupport", "BucketTestSupport", "S3", "Origin", "HotPush", "Zstandard",
                "Delta", "StrictJSON",
            ], path: "Tests/OriginTestSupport", swiftSettings: settings),
        .target(
            name: "SocketTestSupport", dependencies: ["Platform"],
            path: "Tests/SocketTestSupport", swiftSettings: settings),
        .target(
            name: "WebTestSupport",
            dependencies: ["StorageTestSupport", "SocketTestSupport", "WebServer", "Platform"],
            path: "Tests/WebTestSupport", swiftSettings: settings),
        .target(
            name: "ProgramTestSupport",
            dependencies: ["Expectations", "StorageTestSupport", "SocketTestSupport"],
            path: "Tests/ProgramTestSupport", swiftSettings: settings),
        .target(name: "CallCounter", path: "Tests/CallCounter"),
        // Lets a program's system calls fail, one by one; the suites in Tests/Reliability use it.
        .executableTarget(name: "callfault", path: "Tests/Reliability/CallFault"),
        .executableTarget(
            name: "BridgeEcho", dependencies: ["ServeFromCAS", "VersionTree", "CASStore"],
            path: "Tests/Browser/BridgeEcho", swiftSettings: settings, linkerSettings: standalone),
        .executableTarget(
            name: "WebSocketEcho", dependencies: ["WebServer", "Platform"],
            path: "Tests/Autobahn/Echo", swiftSettings: settings, linkerSettings: standalone),
        .testTarget(
            name: "StrictJSONTests", dependencies: ["StorageTestSupport", "StrictJSON"],
            swiftSettings: settings),
        .testTarget(
            name: "PlatformTests",
            dependencies: ["Platform", "LocalizedErrors", "StorageTestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "ConsoleTests",
            dependencies: [
                "StorageTestSupport", "StoreCommands", "Console", "CASStore", "StrictJSON",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "DeltaTests", dependencies: ["StorageTestSupport", "Delta", "Platform"],
            swiftSettings: settings),
        .testTarget(
            name: "DeltaSearchTests",
            dependencies: ["StorageTestSupport", "DeltaSearch", "Delta", "Platform"],
            exclude: ["decode_delta.py"], swiftSettings: settings),
        .testTarget(name: "TidyTests", swiftSettings: settings),
        .testTarget(
            name: "CommandTests",
            dependencies: ["ProgramTestSupport", "SocketTestSupport", "StorageTestSupport"],
            swiftSettings: settings),
        // A server whose time goes by in steps.
        .executableTarget(
            name: "SteppedServer",
            dependencies: ["ServeFromCAS", "VersionTree", "CASStore", "Platform"],
            path: "Tests/StartTests/SteppedServer", swiftSettings: settings),
        .testTarget(
            name: "StartTests",
            dependencies: [
                "StorageTestSupport", "ProgramTestSupport", "ServeFromCAS", "VersionTree",
                "CASStore",
            ], exclude: ["SteppedServer"], swiftSettings: settings),
        .testTarget(
            name: "StressTests",
            dependencies: ["StorageTestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "CASStoreTests",
            dependencies: ["StorageTestSupport", "CASStore", "CSQLite", "Platform"],
            swiftSettings: settings),
        .testTarget(
            name: "StorageTests",
            dependencies: [
                "StorageTestSupport", "BucketTestSupport", "S3", "Storage", "Platform",
            ], swiftSettings: settings),
        .testTarget(
            name: "S3Tests",
            dependencies: [
                "StorageTestSupport", "SocketTestSupport", "BucketTestSupport", "S3", "Storage",
                "CurlTransport", "HotPush", "Platform",
            ], swiftSettings: settings),
        .testTarget(
            name: "VersionTreeTests",
            dependencies: [
                "StorageTestSupport", "SocketTestSupport", "VersionTree", "CASStore", "StrictJSON",
            ], swiftSettings: settings),
        .testTarget(
            name: "UsagePageTests",
            dependencies: [
                "StorageTestSupport", "UsagePage", "VersionTree", "CASStore", "StrictJSON",
            ], swiftSettings: settings),
        .testTarget(
            name: "HotPushTests",
            dependencies: [
                "StorageTestSupport", "SocketTestSupport", "BucketTestSupport",
                "OriginTestSupport", "S3", "Storage", "Origin", "HotPush", "CurlTransport",
                "Zstandard", "Delta", "VersionTree", "CASStore", "StrictJSON",
            ], swiftSettings: settings),
        .testTarget(
            name: "OriginTests",
            dependencies: [
                "StorageTestSupport", "BucketTestSupport", "OriginTestSupport", "S3", "Storage",
                "Origin", "HotPush", "CurlTransport", "Zstandard", "StrictJSON",
            ], swiftSettings: settings),
        .testTarget(
            name: "ArchivesTests",
            dependencies: [
                "StorageTestSupport", "ProgramTestSupport", "Archives", "ArchiveReading",
                "VersionTree", "CASStore", "Platform",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "BsdiffTests",
            dependencies: ["StorageTestSupport", "Bsdiff", "Delta", "Platform"],
            swiftSettings: settings),
        .testTarget(
            name: "ClientSystemsTests",
            dependencies: [
                "StorageTestSupport", "BucketTestSupport", "ClientSystems", "Archives", "Bsdiff",
                "Origin", "HotPush", "S3", "Storage", "VersionTree", "CASStore", "StrictJSON",
                "Platform",
            ], swiftSettings: settings),
        .testTarget(
            name: "FuzzTests",
            dependencies: [
                "StorageTestSupport", "WebTestSupport", "WebServer", "ServeFromCAS", "Origin",
                "HotPush", "ClientSystems", "Bsdiff", "Delta", "Zstandard", "S3", "Storage",
                "ArchiveReading", "CurlTransport", "VersionTree", "CASStore", "StrictJSON",
            ], exclude: ["Corpora", "LibFuzzer", "run"], swiftSettings: settings),
        .testTarget(
            name: "ReliabilityTests",
            dependencies: [
                "StorageTestSupport", "SocketTestSupport", "ServeFromCAS", "Origin",
                "HotPush", "ClientSystems", "VersionTree", "CASStore", "StrictJSON",
            ], swiftSettings: settings),
        .testTarget(
            name: "WebServerTests",
            dependencies: [
                "StorageTestSupport", "SocketTestSupport", "WebTestSupport", "WebServer",
                "Platform",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "ServeFromCASTests",
            dependencies: [
                "StorageTestSupport", "SocketTestSupport", "WebTestSupport", "WebServer",
                "ServeFromCAS", "VersionTree", "CASStore", "StrictJSON",
            ], swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)

for target in package.targets where target.type == .test {
    target.dependencies.append("Expectations")
}
