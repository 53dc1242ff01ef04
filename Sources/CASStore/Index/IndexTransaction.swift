/// One transaction of the index: its queries and changes see one state.
struct IndexTransaction {
    let index: Index
    let connection: Connection

    var fileSystem: any FileSystem { index.fileSystem }
    var directories: StoreDirectories { index.directories }

    func sync() throws(StoreError) { try index.sync(connection) }

    func statement(_ sql: String) throws(StoreError) -> Statement { try connection.statement(sql) }

    /// A number kept beside the tables.
    func meta(_ key: String) throws(StoreError) -> Int64? {
        try statement("SELECT value FROM meta WHERE key = ?").bind(1, key).firstInteger()
    }

    func setMeta(_ key: String, _ value: Int64) throws(StoreError) {
        try statement(
            "INSERT INTO meta VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2"
        ).bind(1, key).bind(2, value).run()
    }

    func currentVersion() throws(StoreError) -> IndexVersion {
        IndexVersion(epoch: index.epoch, generation: try meta("generation") ?? 0)
    }
}

/// The index version at the time of a writer's look-up.
package struct IndexVersion: Sendable, Hashable {
    var epoch: String
    var generation: Int64
}
