import HotPush
import Platform
import VersionTree

// The engine's other verbs, where devices must see what comes of them.
extension Publisher {
    @discardableResult
    func pack(_ name: String, of versions: VersionStore) throws(StoreError) -> PackReport? {
        try engine().pack(name, of: versions).seen().packing
    }

    func planPacks(_ name: String, of versions: VersionStore) throws(StoreError) -> PackReport? {
        try draft().planPacks(name, of: versions)
    }

    @discardableResult
    func resign() throws(StoreError) -> [ChannelPointer] {
        try engine().resign().map { (commit) throws(StoreError) in try commit.seen().pointer }
    }

    @discardableResult
    func rotate(_ rotation: TrustRotation) throws(StoreError) -> TrustRotation.Step {
        let (step, commits) = try engine().rotate(rotation)
        for commit in commits { _ = try commit.seen() }
        return step
    }
}
