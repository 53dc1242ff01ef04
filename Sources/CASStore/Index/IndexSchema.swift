/// The tables of the index, drawn.
///
/// The index is derived: every row can be made again from `objects/`, `manifests/` and the clock.
///
/// ```
/// object      one row per address that is on disk or that a version names
///   id            small, never used again while the index lives; what edges and caches refer to
///   address       the 32 bytes
///   bytes         the size: promised until present
///   fingerprint   XXH3-128, 16 bytes; NULL until computed
///   state         0 absent, 1 present, 2 marked for deletion (a collector has announced its deletion)
///   refs          how many versions name the object
///   keepers       the sum of their ids: with refs = 1 it is the id of the only one
///
/// version     one row per registered version
///   name, manifest (address of the canonical bytes), content (address of what it contains)
///   files, bytes  what the version shows
///   unique_bytes  what retiring it would free, kept up to date through `keepers`
///   complete      1 when every object it names is present
///   recovered     1 when its manifest was made again from what was left: it is never complete then
///   manifest_status  identity of the manifest file as it was read
///   edges         the ids it names: runs, as variable-length integers
///   tally         the sum of the weights of these ids: edges that rotted are not counted down
///
/// tally       one row per block of 64 ids that a version names: what the counts in it must come to
///   sum           the weights of the ids, added up over the edges of all versions (IndexTransaction+Tally)
///
/// retired     what a retired version left that nothing names: its name, when, and these ids as
///             edges; until they are collected, so that a collection can say whose garbage it is
///
/// stat_cache  what a source file with this identity contained when it was last read
/// mount       the mounts that its rows speak of: a number and a hash (SourceMount)
/// meta        epoch (names this index file), generation (counts write transactions),
///             manifests_changed_at (ctime of manifests/ as last reconciled), last_object (the largest
///             id of the objects that were forgotten), trimmed_to (where trimming stat_cache ended)
/// ```
enum IndexSchema {
    /// The schema version in `PRAGMA user_version`; an index of another version is rebuilt instead of migrated.
    static let version: Int64 = 5

    /// Marks the file as ours (`PRAGMA application_id`): "cast".
    static let applicationID: Int64 = 0x6361_7374

    /// Settings of every connection.
    ///
    /// A rollback journal needs no shared memory, so a full disk cannot kill the process (SIGBUS). It is kept in
    /// memory (sqlite.org/pragma.html#pragma_journal_mode) as long as it stays small, which saves three writes a page
    /// and space on the disk. It undoes the transaction of a process that gives up; after a kill or a power cut it is
    /// not needed, because the stamp says that the index may be torn. SQLite syncs nothing: `Index` makes a
    /// transaction durable, with two syncs where SQLite needs five.
    static let settings = """
        PRAGMA journal_mode = MEMORY;
        PRAGMA synchronous = OFF;
        PRAGMA temp_store = MEMORY;
        \(cache);
        PRAGMA trusted_schema = OFF;
        PRAGMA cell_size_check = ON;
        """

    static let journalMemory: Int64 = 32 << 20

    /// The page cache while an index is made: its pages come in the order of addresses, which is effectively random.
    static let cacheWhileMaking = "PRAGMA cache_size = -24576"
    /// The page cache while a collection runs, which reads the pages of each piece of garbage several times.
    static let cacheWhileCollecting = "PRAGMA cache_size = -2048"
    /// The page cache otherwise; as in `settings`.
    static let cache = "PRAGMA cache_size = -384"

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
          recovered INTEGER NOT NULL,
          created_at INTEGER NOT NULL,
          ordinal INTEGER NOT NULL,
          manifest_status TEXT,
          tally INTEGER NOT NULL,
          edges BLOB NOT NULL
        );
        CREATE TABLE tally (block INTEGER PRIMARY KEY, sum INTEGER NOT NULL);
        CREATE TABLE retired (
          id INTEGER PRIMARY KEY,
          name TEXT NOT NULL,
          retired_at INTEGER NOT NULL,
          edges BLOB NOT NULL
        );
        CREATE TABLE stat_cache (
          inode INTEGER NOT NULL, device INTEGER NOT NULL,
          bytes INTEGER NOT NULL, modified_at INTEGER NOT NULL, changed_at INTEGER NOT NULL,
          object INTEGER NOT NULL, used INTEGER NOT NULL, mount INTEGER NOT NULL,
          PRIMARY KEY (inode, device)
        ) WITHOUT ROWID;
        CREATE TABLE mount (id INTEGER PRIMARY KEY, name INTEGER NOT NULL);
        CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
        """
}
