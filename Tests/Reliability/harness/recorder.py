"""A disk that writes down everything it is told, in one order: each write and each flush.

It is one file of a file system in user space (the kernel's FUSE protocol, include/uapi/linux/fuse.h), and a loop
device stands on the file. From the record every state can be made that a disk with a volatile cache may be in after a
power cut. It also lets a write fail for real, as a broken disk does.

  python3 recorder.py IMAGE DIRECTORY RECORD [FIRST COUNT]    the FIRST-th write and COUNT-1 after it fail with EIO
"""

import ctypes
import errno
import mmap
import os
import stat
import struct
import sys

WRITE, FLUSH = 1, 2
RECORD = struct.Struct("<IIQQ")  # kind, 0, offset, length; then the bytes

(LOOKUP, FORGET, GETATTR, SETATTR, OPEN, READ, WRITE_REQUEST, STATFS, RELEASE, FSYNC, FLUSH_REQUEST, INIT, OPENDIR,
 READDIR, RELEASEDIR, INTERRUPT, DESTROY, BATCH_FORGET) = (
     1, 2, 3, 4, 14, 15, 16, 17, 18, 20, 25, 26, 27, 28, 29, 36, 38, 42)
HEAD_IN = struct.Struct("<IIQQIIIHH")
HEAD_OUT = struct.Struct("<IiQ")
ATTRIBUTES = struct.Struct("<QQQQQQIIIIIIIIII")
DIRECT_IO = 1  # each request of the loop device arrives as one write; the page cache would cut it in pieces
LARGEST = 1 << 20
ROOT, DISK = 1, 2


def attributes(node, size):
    mode = stat.S_IFDIR | 0o755 if node == ROOT else stat.S_IFREG | 0o600
    return ATTRIBUTES.pack(node, size, size // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


class Recorder:
    """Answers the kernel until the directory is unmounted."""

    def __init__(self, image, directory, record, first=0, count=0):
        self.file = os.open(image, os.O_RDWR)
        self.size = os.fstat(self.file).st_size
        self.disk = mmap.mmap(self.file, self.size)
        # Written through at once: the length of the record tells at any moment what has come so far.
        self.record = os.open(record, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        self.first, self.count, self.writes = first, count, 0
        self.kernel = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={self.kernel},rootmode=40000,user_id=0,group_id=0,max_read={LARGEST}".encode()
        if ctypes.CDLL(None, use_errno=True).mount(b"castree-recorder", directory.encode(), b"fuse", 6, options):
            raise OSError(ctypes.get_errno(), "cannot mount the recorder")

    def note(self, kind, offset, content):
        octets = RECORD.pack(kind, 0, offset, len(content)) + content
        while octets:
            octets = octets[os.write(self.record, octets):]

    def serve(self):
        while True:
            try:
                request = os.read(self.kernel, LARGEST + 65536)
            except OSError as error:
                if error.errno in (errno.EINTR, errno.ENOENT):
                    continue
                if error.errno == errno.ENODEV:  # unmounted
                    return
                raise
            _, code, unique, node, *_ = HEAD_IN.unpack_from(request)
            if code in (FORGET, BATCH_FORGET, INTERRUPT):
                continue
            try:
                answer, failure = self.answer(code, node, memoryview(request)[HEAD_IN.size:]), 0
            except OSError as error:
                answer, failure = b"", error.errno
            try:
                os.write(self.kernel, HEAD_OUT.pack(HEAD_OUT.size + len(answer), -failure, unique) + answer)
            except OSError as error:
                if error.errno != errno.ENOENT:  # nobody waits for it any more
                    raise
            if code == DESTROY:
                return

    def answer(self, code, node, words):
        if code == INIT:
            _, minor, ahead, *_ = struct.unpack_from("<IIII", words)
            big_writes, max_pages = 1 << 5, 1 << 22
            return struct.pack("<IIIIHHIIHH32x", 7, min(minor, 31), ahead, big_writes | max_pages, 16, 12, LARGEST, 1,
                               LARGEST // 4096, 0)
        if code == LOOKUP:
            if bytes(words).rstrip(b"\0") != b"disk":
                raise OSError(errno.ENOENT, "")
            return struct.pack("<QQQQII", DISK, 0, 60, 60, 0, 0) + attributes(DISK, self.size)
        if code in (GETATTR, SETATTR):
            return struct.pack("<QII", 60, 0, 0) + attributes(node, self.size)
        if code in (OPEN, OPENDIR):
            return struct.pack("<QII", 0, DIRECT_IO if code == OPEN else 0, 0)
        if code == READ:
            _, offset, count = struct.unpack_from("<QQI", words)
            return self.disk[offset:offset + count]
        if code == WRITE_REQUEST:
            return self.write(words)
        if code == FSYNC:
            self.note(FLUSH, 0, b"")
            return b""
        if code == STATFS:
            return struct.pack("<QQQQQIIII24x", self.size // 4096, 0, 0, 1, 0, 4096, 255, 4096, 0)
        if code in (RELEASE, RELEASEDIR, FLUSH_REQUEST, READDIR, DESTROY):
            return b""
        raise OSError(errno.ENOSYS, "")

    def write(self, words):
        _, offset, count = struct.unpack_from("<QQI", words)
        content = bytes(words[40:40 + count])
        if offset + count > self.size:
            raise OSError(errno.ENOSPC, "")
        self.writes += 1
        if self.first and self.first <= self.writes < self.first + self.count:
            raise OSError(errno.EIO, "")
        self.disk[offset:offset + count] = content
        self.note(WRITE, offset, content)
        return struct.pack("<II", count, 0)


if __name__ == "__main__":
    Recorder(*sys.argv[1:4], *map(int, sys.argv[4:6])).serve()
