// What is counted, in this order, as 64-bit numbers at the beginning of the file $CASTREE_COUNTS.
#pragma once

enum counted_kind {
    COUNTED_OPEN,      // files and directories opened or created
    COUNTED_STAT,      // looks at what stands at a name or behind a descriptor
    COUNTED_READ,      // reads from regular files
    COUNTED_WRITE,     // writes to regular files, their lengths set
    COUNTED_LINK,      // hard links, symbolic links, clones
    COUNTED_RENAME,    // names replaced
    COUNTED_REMOVE,    // names removed
    COUNTED_DIRECTORY, // directories made
    COUNTED_LIST,      // reads of a directory's names
    COUNTED_SYNC,      // waits for the disk
    COUNTED_CONNECT,   // connections asked for
    COUNTED_RECEIVE,   // reads from sockets
    COUNTED_SEND,      // writes to sockets
    COUNTED_KINDS
};
