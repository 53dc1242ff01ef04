/// What the parts of a frame are estimated to cost, in 256ths of a bit.
package struct AlignmentCosts: Sendable, Hashable {
    /// A copied byte that is equal; among those that differ, and otherwise.
    var equalNearby: Int
    var equal: Int
    /// A copied byte that differs, likewise.
    var differentNearby: Int
    var different: Int
    var literal: Int
    /// A run of literals.
    var literals: Int
    /// A jump to another alignment, and more for each bit of its distance.
    var jump: Int
    var jumpBit: Int

    /// For text, in which what differs is best replaced.
    package static let text = AlignmentCosts(
        equalNearby: 64, equal: 5, differentNearby: 6 * 256, different: 11 * 256,
        literal: 5 * 128, literals: 7 * 256, jump: 24 * 256, jumpBit: 451)
    /// For code, in which numbers differ.
    package static let bytecode = AlignmentCosts(
        equalNearby: 64, equal: 5, differentNearby: 8 * 256, different: 11 * 256,
        literal: 7 * 256, literals: 7 * 256, jump: 24 * 256, jumpBit: 451)
    /// For streams compressed one by one, in which a jump costs little: found by trial with bzip2, as the next.
    package static let streams = AlignmentCosts(
        equalNearby: 64, equal: 5, differentNearby: 6 * 256, different: 11 * 256,
        literal: 700, literals: 4 * 256, jump: 4_000, jumpBit: 200)
    /// For streams where much is replaced by what is like it.
    package static let likeness = AlignmentCosts(
        equalNearby: 64, equal: 5, differentNearby: 6 * 256, different: 11 * 256,
        literal: 400, literals: 7 * 256, jump: 24 * 256, jumpBit: 451)
}
