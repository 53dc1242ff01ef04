import CASStore

/// Cuts the content of a frame into its objects, as it comes.
struct ObjectOutlet: ~Copyable {
    private let objects: [Reference]
    private let intake: any PackIntake
    private var position = 0
    /// How many bytes of the object at ``position`` are still to come.
    private var rest: Int64
    private var arrival: Arrival?
    private var wrong: [Reference] = []

    init(_ objects: [Reference], _ intake: any PackIntake) {
        self.objects = objects
        self.intake = intake
        rest = -1
    }

    /// Takes the next bytes of the content.
    mutating func take(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        var bytes = bytes
        while position < objects.count {
            let object = objects[position]
            if rest < 0 {
                rest = object.byteCount
                arrival = try intake.begin(object)
                // A part that came otherwise is of no use: all of it comes now.
                if (arrival?.offset ?? 0) > 0 { try arrival?.restart() }
            }
            let count = Int(min(rest, Int64(bytes.count)))
            if count > 0 {
                let piece = UnsafeRawBufferPointer(rebasing: bytes[..<count])
                try arrival?.append(piece.bytes)
                bytes = UnsafeRawBufferPointer(rebasing: bytes[count...])
                rest -= Int64(count)
            }
            guard rest == 0 else { return }
            if let arrival = arrival.take(), try !intake.finish(object, arrival) {
                wrong.append(object)
            }
            position += 1
            rest = -1
        }
        guard bytes.isEmpty else { throw .badPack("a frame goes on after its objects") }
    }

    /// - Returns: the objects that came out wrong.
    /// - Throws: `.badPack` if bytes are lacking.
    consuming func finish() throws(StoreError) -> [Reference] {
        guard position == objects.count else { throw .badPack("a frame ends before its objects") }
        return wrong
    }
}
