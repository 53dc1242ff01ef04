#!/usr/bin/env python3
"""An independent reader of castree's codec 3, written from docs/codec-3.md alone.

decode_delta.py FRAME BASE SIZE writes the content to standard output.
"""

import sys
from array import array

MIB = 1 << 20
M32 = (1 << 32) - 1
M64 = (1 << 64) - 1
PAD = 32  # zeros around the base, and before the content: what is outside is 0

CURVE = [
    32768, 36843, 40793, 44511, 47911, 50941, 53581, 55834, 57724, 59287, 60565,
    61598, 62428, 63090, 63615, 64030, 64357, 64614, 64816, 64974, 65097, 65194,
    65269, 65328, 65374, 65410, 65438, 65459, 65476, 65489, 65500, 65508, 65514]


def refuse_if(condition, reason):
    if condition:
        raise ValueError(reason)


# Curves

def squash_of(x):
    m = abs(x)
    i = m // 64
    v = CURVE[i] + (CURVE[min(i + 1, 32)] - CURVE[i]) * (m % 64) // 64
    return 65536 - v if x < 0 else v


SQUASH = [squash_of(x) for x in range(-2047, 2048)]


def squash(x):
    return SQUASH[max(-2047, min(2047, x)) + 2047]


def stretches():
    x = -2047
    for q in range(4096):
        while x < 2047 and squash(x) < 16 * q + 8:
            x += 1
        yield x


STRETCH = list(stretches())


# Counted bits: q and c in one number, 16 q + c

def counted_vote(state):
    q, c = state >> 4, state & 15
    if c >= 3:
        return STRETCH[q]
    if c == 0:
        return 0
    product = STRETCH[q] * (c + 1)
    return product // 4 if product >= 0 else -(-product // 4)


def counted_after(state, bit):
    q, c = state >> 4, state & 15
    q += (4095 * bit - q) * (131072 // (2 * c + 3)) >> 16
    return q << 4 | min(c + 1, 15)


COUNTED_VOTE = [counted_vote(state) for state in range(1 << 16)]
COUNTED_AFTER = [[counted_after(state, bit) for state in range(1 << 16)]
                 for bit in (0, 1)]


def hash_of(a, b):
    g = (a * 0x9E3779B1 ^ (b + 0x7F4A7C15) * 0x85EBCA6B) & M32
    h = (g ^ g >> 15) * 0x2C1B3C6D & M32
    return h ^ h >> 13


class RangeCoder:
    def __init__(self, body):
        self.body = body
        self.low, self.high, self.value = 0, M32, 0
        self.next = 0
        for _ in range(4):
            self.value = self.value << 8 | self.byte()

    def byte(self):
        i = self.next
        self.next += 1
        refuse_if(self.next > len(self.body) + 4, "read past the end")
        return self.body[i] if i < len(self.body) else 0

    def bit(self, p):
        p = max(32, min(65504, p))
        middle = self.low + ((self.high - self.low) * p >> 16)
        bit = int(self.value <= middle)
        if bit:
            self.high = middle
        else:
            self.low = middle + 1
        while not (self.low ^ self.high) >> 24:
            self.low = self.low << 8 & M32
            self.high = self.high << 8 & M32 | 255
            self.value = self.value << 8 & M32 | self.byte()
        return bit

    def end(self):
        v = count = 0
        while v < self.low or v > self.high:
            count += 1
            unit = 1 << 32 - 8 * count
            v = (self.low + unit - 1) // unit * unit
        refuse_if(self.value != v or self.next - 4 + count != len(self.body),
                  "the body ends otherwise")


class AdaptiveBits:
    def __init__(self, count, rate):
        self.rate = rate
        self.p = [32768] * count
        self.c = [0] * count

    def vote(self, i):
        return STRETCH[self.p[i] >> 4]

    def learn(self, i, bit):
        p, c = self.p[i], self.c[i]
        s = min(c + 1, self.rate)
        p = p + (65535 - p >> s) if bit else p - (p >> s)
        self.p[i] = max(64, min(65472, p))
        self.c[i] = min(c + 1, 7)


class Model:
    """A set of contexts and its mixer; `first`: weights of votes of other bits."""

    def __init__(self, coder, count, b, sets, weight, first=()):
        self.coder = coder
        self.tables = [array("H", [2048 << 4]) * (1 << b) for _ in range(count)]
        self.mask = (1 << b) - 1
        self.weights = [[*first] + [weight] * count for _ in range(sets)]

    def set(self, *contexts):
        self.hashes = [hash_of(a, b + i * 0x51ED270B)
                       for i, (a, b) in enumerate(contexts)]

    def bit(self, node, number, *first):
        node *= 0x9E3779B1
        mask = self.mask
        votes = list(first)
        cells = []
        for h, table in zip(self.hashes, self.tables):
            h = h + node & M32
            cell = (h ^ h >> 16) & mask
            cells.append(cell)
            votes.append(COUNTED_VOTE[table[cell]])
        weights = self.weights[number]
        p = squash(sum([w * v for w, v in zip(weights, votes)]) >> 16)
        bit = self.coder.bit(p)
        e = (65536 * bit - p) * 9
        self.weights[number] = [w + (v * e + 131072 >> 18)
                                for w, v in zip(weights, votes)]
        after = COUNTED_AFTER[bit]
        for cell, table in zip(cells, self.tables):
            table[cell] = after[table[cell]]
        return bit


class Numbers:
    BEFORE = {"copy": "seek", "literal": "copy", "seek": "literal",
              "equal": "corrected", "corrected": "equal"}

    def __init__(self, coder):
        self.coder = coder
        self.models = {kind: Model(coder, 3, 11, 2, 26000) for kind in self.BEFORE}
        self.bits = dict.fromkeys(self.BEFORE, 0)
        self.back = AdaptiveBits(1, 6)

    def read(self, kind):
        model = self.models[kind]
        model.set((0, 0), (self.bits[kind], 0), (self.bits[self.BEFORE[kind]], 0))
        node = 1
        for _ in range(5):
            node = 2 * node + model.bit(node, 0)
        k = self.bits[kind] = node - 32
        z = 1
        for i in range(k):
            bit = model.bit(32 + 8 * k + z, 1) if i < 3 else self.coder.bit(32768)
            z = 2 * z + bit
        return z - 1

    def read_seek(self):
        back = self.coder.bit(self.back.p[0])
        self.back.learn(0, back)
        d = self.read("seek")
        return -d - 1 if back else d


class Literals:
    def __init__(self, coder, base, content, scale):
        self.base, self.content = base, content
        self.model = Model(coder, 5, 12 + 2 * scale, 48, 16000, (20000,))
        self.guessed = AdaptiveBits(32, 6)
        self.match, self.length = None, 0
        self.table = {}

    def read(self, p):
        content = self.content
        y = int.from_bytes(content[:-5:-1], "little")
        b0, b1 = self.base[p + PAD], self.base[p + 1 + PAD]
        self.model.set((y & 0xFF, 0), (y & 0xFFFF, 0), (y & 0xFFFFFF, 0), (y, 0),
                       (y & 0xFF | b0 << 8 | b1 << 16, 0))
        guess = None if self.match is None else content[self.match]
        g = int(guess is not None)
        s = 1 + min(self.length // 4, 6) if g else 0
        cell = min(self.length, 31)
        node = 1
        for i in range(7, -1, -1):
            vote = 0
            if g:
                guessed = guess >> i & 1
                vote = self.guessed.vote(cell) * (1 if guessed else -1)
            bit = self.model.bit(node, 2 * (3 * s + g) + (i == 7), vote)
            if g:
                self.guessed.learn(cell, bit == guessed)
                g = int(bit == guessed)
            node = 2 * node + bit
        byte = node & 0xFF
        if guess == byte:
            self.match += 1
            self.length += 1
        else:
            self.match, self.length = None, 0
        j = hash_of(byte | (y & 0xFFFFFF) << 8, y >> 24) & 0xFFFF
        if self.match is None and j in self.table:
            self.match, self.length = self.table[j], 1
        self.table[j] = len(content) + 1
        content.append(byte)


def correction_bits(modelled):
    """B of the first, second and difference contexts."""
    return 12 if modelled < 4096 else 14 if modelled < 32768 else 16


def ring_of(modelled):
    r = 4096
    while r < min(modelled, 1 << 20):
        r *= 2
    return r


class Corrections:
    def __init__(self, coder, base, content, modelled):
        self.base, self.content = base, content
        b = correction_bits(modelled)
        self.ring = ring_of(modelled)
        self.first = Model(coder, 7, b, 36, 9500, (26000,))
        self.second = Model(coder, 3, b, 6, 12000, (30000,))
        self.difference = Model(coder, 8, b, 8, 14000, (20000, 20000))
        self.records = AdaptiveBits(6 * 256, 6)
        self.second_bits = AdaptiveBits(6 * 256, 6)
        self.by_byte = AdaptiveBits(256 * 256, 5)
        self.by_change = AdaptiveBits(256 * 256, 5)
        self.tables = [bytearray(1 << 16), bytearray(1 << 16)]
        self.sureness = [bytearray(1 << 16), bytearray(1 << 16)]
        self.history = {3: 0, 4: 0}  # R
        self.d = bytearray(PAD)  # D, from place PAD on
        self.place, self.length = None, 0
        self.likely = [0] * (1 << 15)  # T
        self.c = 0

    def begin_run(self):
        self.c = 0

    def word_guess(self, guess, n, p, phase, byte0):
        t = 4 if guess == 3 else 16
        a = n - phase
        if a < t:
            return None, 0

        def word(object_, place):
            return int.from_bytes(object_[place + PAD:place + PAD + 4], "little")

        delta = word(self.content, a - t) - word(self.base, p - phase - t) & M32
        w = (word(self.base, p - phase) + delta & M32).to_bytes(4, "little")
        right = w[:phase] == self.content[a + PAD:]
        return w[phase], (4 * self.history[guess] + (delta != 0) + 2 * right
                          + 64 * (w[phase] == byte0))

    def read(self, p):
        content, d, records = self.content, self.d, self.records
        n = len(content) - PAD
        y1 = content[-1]
        before = y1 | content[-2] << 8 | content[-3] << 16
        minus3, minus2, minus1, b0, b1, b2, b3 = self.base[p + PAD - 3:p + PAD + 4]
        ahead = b0 | b1 << 8 | b2 << 16 | b3 << 24
        behind = b0 | minus1 << 8 | minus2 << 16 | minus3 << 24
        sides = b0 | b1 << 8 | minus1 << 16
        change = y1 - minus1 & 0xFF if n else 0
        phase = n & 3
        d1, d2, d3, d4 = d[:-5:-1]

        # Guesses, and the context of each
        entries = [hash_of(sides | change << 24, 99) & 0xFFFF,
                   hash_of(b0 | b1 << 8 | change << 16 | phase << 24, 98) & 0xFFFF]
        guesses = [(b0, self.c)]
        for table, sureness, entry in zip(self.tables, self.sureness, entries):
            s, byte = sureness[entry], table[entry]
            guesses.append((byte, 2 * s + (byte == b0)) if s else (None, 0))
        guesses += [self.word_guess(guess, n, p, phase, b0) for guess in (3, 4)]
        if self.place is None:
            guesses.append((None, 0))
        else:
            likely = d[self.place + PAD]
            guesses.append((b0 + likely & 0xFF,
                            2 * min(self.length, 31) + (likely != 0)))

        def best(other_than=None):
            """The guess with the highest record, of equals the last; or none."""
            return max(((records.p[guess << 8 | c], guess)
                        for guess, (byte, c) in enumerate(guesses)
                        if byte not in (None, other_than)), default=(0, None))[1]

        # First
        guess = best()
        byte, c = guesses[guess]
        agreeing = sum([other == byte for other, _ in guesses])
        u = int(byte == b0)
        self.first.set(
            (sides, 2 * u + (change != 0)),
            (self.c | guess << 8 | agreeing << 12 | b0 << 16 | u << 24 | phase << 25,
             0),
            (byte | (before & 0xFFFF) << 8 | u << 24, 0),
            (d1 | d2 << 8 | d3 << 16, guess),
            (self.c | c << 8 | guess << 16 | agreeing << 20, 0),
            (ahead, u),
            (behind, u))
        v = None
        vote = records.vote(guess << 8 | c)
        if self.first.bit(1, 6 * guess + min(agreeing, 5), vote):
            v = byte

        # Second
        if v is None:
            guess = best(byte)
            if guess is not None:
                other, c = guesses[guess]
                self.second.set(
                    (other | byte << 8 | b0 << 16, 0),
                    (guess | byte << 8 | b0 << 16, c),
                    (d1 | d2 << 8 | guess << 16, 0))
                cell = guess << 8 | c
                bit = self.second.bit(1, guess, self.second_bits.vote(cell))
                self.second_bits.learn(cell, bit)
                if bit:
                    v = other

        # Difference
        if v is None:
            self.difference.set(
                (b0 | y1 << 8, 0),
                (b0 | (before & 0xFFFF) << 8, 0),
                (b0 | before << 8, 0),
                (b0 | b1 << 8 | change << 16, 0),
                (d1 | d2 << 8, 0),
                (d4, phase),
                (d1 | d2 << 8 | b0 << 16, 0),
                (ahead & 0xFFFFFF, 0))
            changed = hash_of(change, phase + 1) & 0xFF
            node = 1
            for i in range(7, -1, -1):
                cells = b0 << 8 | node, changed << 8 | node
                bit = self.difference.bit(node, i, self.by_byte.vote(cells[0]),
                                          self.by_change.vote(cells[1]))
                self.by_byte.learn(cells[0], bit)
                self.by_change.learn(cells[1], bit)
                node = 2 * node + bit
            v = b0 + node & 0xFF

        self.learn(v, b0, phase, guesses, entries)
        content.append(v)

    def learn(self, v, b0, phase, guesses, entries):
        for guess, (byte, c) in enumerate(guesses):
            if byte is not None:
                self.records.learn(guess << 8 | c, byte == v)
        for guess in (3, 4):
            byte = guesses[guess][0]
            if not (byte == v == b0 and phase):
                self.history[guess] = 2 * self.history[guess] + (byte == v) & 15
        for table, sureness, entry in zip(self.tables, self.sureness, entries):
            s = sureness[entry]
            if s and table[entry] == v:
                sureness[entry] = min(s + 1, 100)
            else:
                table[entry] = v
                sureness[entry] = 2 if s > 3 else 1

        d = self.d
        i = len(d) - PAD
        d.append(v - b0 & 0xFF)
        if self.place is not None and d[self.place + PAD] == d[-1]:
            self.place += 1
            self.length += 1
        else:
            self.place, self.length = None, 0
        last8 = int.from_bytes(d[-8:], "big")
        before4 = int.from_bytes(d[-12:-8], "big")
        j = (last8 * 0x9E3779B97F4A7C15 ^ before4 * 0xC2B2AE3D27D4EB4F) & M64
        j >>= 49
        e = self.likely[j]
        if self.place is None and e and i - e < self.ring - 17:
            self.place, self.length = e, 1
        self.likely[j] = i + 1
        self.c = (2 * self.c + (v != b0)) & 0xFF


class Table:
    """A table in the base and in the content: where it begins, and how many records."""

    def __init__(self, number, ends):
        self.stride = number()
        refuse_if(not 1 <= self.stride <= 64, "stride")
        count = number()
        refuse_if(not 1 <= count <= 4, "count of fields")
        self.fields = []
        past = 0
        for _ in range(count):
            byte, bit, bits = number(), number(), number()
            refuse_if(bit > 7 or not 1 <= bits <= 32 or bit + bits > 32, "field")
            refuse_if(8 * byte + bit < past, "a field is not past the one before")
            past = 8 * byte + bit + bits
            refuse_if(past > 8 * self.stride, "a field is not within the stride")
            self.fields.append((byte, bit, (1 << bits) - 1))
        self.base, self.content = [self.range(number, end) for end in ends]

    def range(self, number, end):
        begin = end + number()
        return begin, begin + number() * self.stride

    def change(self, object_, place, sign):
        """Makes differences of numbers (sign −1), or numbers of differences (1)."""
        for byte, bit, mask in self.fields:
            before = 0
            for record in range(place[0], place[1], self.stride):
                at = slice(record + byte, record + byte + 4)
                length = len(object_[at])
                word = int.from_bytes(object_[at], "little")
                number = word >> bit & mask
                changed = number + sign * before & mask
                before = changed if sign > 0 else number
                word += changed - number << bit
                object_[at] = word.to_bytes(length, "little")


class Head:
    def __init__(self, frame, base_size, size):
        self.frame = frame
        self.at = 2
        refuse_if(len(frame) < 2 or frame[0] != 1 or frame[1] > 7, "version or flags")
        refuse_if(base_size > 64 * MIB or size > 64 * MIB, "content or base too large")
        self.scale = frame[1] >> 1
        self.modelled = self.number()
        refuse_if(self.modelled > 8 * MIB, "too many modelled bytes")
        self.tables = []
        if frame[1] & 1:
            count = self.number()
            refuse_if(not 1 <= count <= 16, "count of tables")
            ends = 0, 0
            for _ in range(count):
                table = Table(self.number, ends)
                ends = table.base[1], table.content[1]
                refuse_if(ends[0] > base_size or ends[1] > size,
                          "a table is not within its object")
                self.tables.append(table)
        refuse_if(self.memory() > 8 * MIB, "too much memory")
        self.body = frame[self.at:]

    def number(self):
        value = 0
        for i in range(4):
            refuse_if(self.at == len(self.frame), "the head ends early")
            byte = self.frame[self.at]
            self.at += 1
            value |= (byte & 127) << 7 * i
            if byte < 128:
                refuse_if(i and not byte or value > 1 << 27, "number")
                return value
        raise ValueError("number")

    def memory(self):
        """Without weights and windows."""
        return (12 * 65536 + 4 * 32768 + ring_of(self.modelled)
                + (2 * 18 << correction_bits(self.modelled))
                + (10 << 12 + 2 * self.scale) + 262144 + 61440
                + sum(table.base[1] - table.base[0] for table in self.tables))


def decode(frame: bytes, base: bytes, size: int) -> bytes:
    """The content of `size` bytes that the frame makes from the base."""
    head = Head(frame, len(base), size)
    changed = bytearray(base)
    for table in head.tables:
        table.change(changed, table.base, -1)
    content = decode_body(head, bytes(changed), size)
    for table in head.tables:
        table.change(content, table.content, 1)
    return bytes(content)


def decode_body(head, base, size):
    padded = bytes(PAD) + base + bytes(PAD)
    content = bytearray(PAD)
    coder = RangeCoder(head.body)
    numbers = Numbers(coder)
    literals = Literals(coder, padded, content, head.scale)
    corrections = Corrections(coder, padded, content, head.modelled)
    left = head.modelled
    p = steps = 0
    empty = False
    complete = PAD + size
    while len(content) < complete:
        steps += 1
        refuse_if(steps > 1 << 18, "too many steps")
        copy_length = numbers.read("copy")
        literal_length = numbers.read("literal")
        refuse_if(len(content) + copy_length + literal_length > complete,
                  "beyond the content's end")
        refuse_if(p + copy_length > len(base), "a copy beyond the base's end")
        refuse_if(empty and not copy_length + literal_length, "two empty steps")
        empty = not copy_length + literal_length

        end = p + copy_length
        while p < end:
            equal = numbers.read("equal")
            refuse_if(equal > end - p, "a run beyond the copy")
            content += base[p:p + equal]
            p += equal
            if p == end:
                break
            corrected = numbers.read("corrected") + 1
            refuse_if(corrected > end - p, "a run beyond the copy")
            left -= corrected
            refuse_if(left < 0, "more modelled bytes than the head says")
            corrections.begin_run()
            for _ in range(corrected):
                corrections.read(p)
                p += 1

        left -= literal_length
        refuse_if(left < 0, "more modelled bytes than the head says")
        for _ in range(literal_length):
            literals.read(p)

        if len(content) < complete:
            p += numbers.read_seek()
            refuse_if(not 0 <= p <= len(base), "outside the base")
    refuse_if(left, "fewer modelled bytes than the head says")
    coder.end()
    return content[PAD:]


def main():
    with open(sys.argv[1], "rb") as frame, open(sys.argv[2], "rb") as base:
        content = decode(frame.read(), base.read(), int(sys.argv[3]))
    sys.stdout.buffer.write(content)


if __name__ == "__main__":
    main()
