/// The tables of the index, drawn.
///
/// The index is derived: every row can be made again from `objects/`, `manifests/` and the clock.
///
/// ```
/// object      one row per address that is on disk or that a version names
///   id            small and stable while the index lives; what edges and caches refer to
///   address       the 32 bytes
///   bytes         the size: promised until present
///   fingerprint   XXH3-128, 16 bytes; NULL until computed
///   state         0 absent, 1 present, 2 dying (a collector has announced its deletion)
///   refs          how many versions name the object
///   keepers       the sum of their ids: with refs = 1 it is the id of the only one
///
/// version     one row per registered version
///   name, manifest (address of the canonical bytes), content (address of what it contains)
///   files, bytes  what the version shows
///   unique_bytes  what retiring it would free, kept up to date through `keepers`
///   complete      1 when every object it names is present
///   manifest_status  identity of the manifest file as it was read
///   edges         the ids it names: runs, as variable-length integers
///
/// stat_cache  what a source file with this identity contained when it was last read
/// meta        epoch (names this index file), generation (counts write transactions),
///             manifests_changed_at (ctime of manifests/ as last reconciled)
/// ```
enum IndexSchema {
    /// Kept in `PRAGMA user_version`.
    ///
    /// An index of another version is rebuilt: it is derived, so a migration that computes anything
    /// would only be a slower way to the same rows.
    static let version: Int64 = 1

    /// Marks the file as ours (`PRAGMA application_id`): "cast".
    static let applicationID: Int64 = 0x6361_7374

    /// Settings of every connection.
    ///
    /// A rollback journal needs no shared memory, so a full disk can not kill the process (SIGBUS), and
    /// it undoes the transaction of a process that is killed: sqlite.org/pragma.html#pragma_journal_mode.
    /// SQLite syncs nothing: `Index` makes a transaction durable, with two syncs where SQLite needs
    /// five, since the stamp says which index a power cut may have torn.
    static let settings = """
        PRAGMA journal_mode = TRUNCATE;
        PRAGMA synchronous = OFF;
        PRAGMA temp_store = MEMORY;
        PRAGMA cache_size = -512;
        PRAGMA trusted_schema = OFF;
        PRAGMA cell_size_check = ON;
        """

    static let creation = """
        PRAGMA application_id = \(applicationID);
        PRAGMA user_version = \(version);
        CREATE TABLE object (
          id INTEGER PRIMARY KEY,
          address BLOB NOT NULL UNIQUE CHECK (length(address) = 32),
          bytes INTEGER NOT NULL CHECK (bytes >= 0),
          fingerprint BLOB,
          state INTEGER NOT NULL,
          refs INTEGER NOT NULL CHECK (refs >= 0),
          keepers INTEGER NOT NULL
        );
        CREATE INDEX garbage ON object (id) WHERE refs = 0;
        CREATE TABLE version (
          id INTEGER PRIMARY KEY,
          name TEXT NOT NULL UNIQUE,
          manifest BLOB NOT NULL,
          content BLOB NOT NULL,
          files INTEGER NOT NULL,
          bytes INTEGER NOT NULL,
          unique_bytes INTEGER NOT NULL,
          complete INTEGER NOT NULL,
          created_at INTEGER NOT NULL,
          ordinal INTEGER NOT NULL,
          manifest_status TEXT,
          edges BLOB NOT NULL
        );
        CREATE TABLE stat_cache (
          inode INTEGER NOT NULL, device INTEGER NOT NULL,
          bytes INTEGER NOT NULL, modified_at INTEGER NOT NULL, changed_at INTEGER NOT NULL,
          address BLOB NOT NULL, used INTEGER NOT NULL,
          PRIMARY KEY (inode, device)
        ) WITHOUT ROWID;
        CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
        """
}
