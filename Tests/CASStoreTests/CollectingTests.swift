import StorageTestSupport

/// Collecting: the plan, the operation, and what is never touched.
@Suite struct CollectingTests {
    @Test func `collects what the plan says, and a second time nothing`() throws {
        let temporary = try TemporaryStore(adding: "1", ["a": "only in one", "b": "shared"])
        try temporary.add("2", ["b": "shared", "c": "only in two"])
        let loose = try temporary.put("named by nothing")
        try temporary.versions.retire("1")
        let plan = try temporary.store.planCollection()
        try expect(Set(plan.objects.map(\.address)), equals: [loose, address(of: "only in one")])
        expect(plan.byteCount, equals: Int64("only in onenamed by nothing".utf8.count))
        // A plan changes nothing.
        try expect(temporary.store.contains(loose))
        let collected = try temporary.store.collect()
        expect(collected.objectCount, equals: plan.objectCount)
        expect(collected.byteCount, equals: plan.byteCount)
        for garbage in plan.objects {
            try expect(temporary.store.contains(garbage.address), equals: false)
        }
        try expect(temporary.store.planCollection().objectCount, equals: 0)
        try expect(temporary.store.collect().objectCount, equals: 0)
        try expect(temporary.store.contains(address(of: "shared")))
        try expect(temporary.versions.check(CheckOptions(isDeep: true)).findings, equals: [])
    }

    @Test func `says of each object why it goes, as long as that is known`() throws {
        let temporary = try TemporaryStore(adding: "1", ["a": "only in one", "b": "in both"])
        try temporary.add("2", ["b": "in both", "c": "only in two"])
        let loose = try temporary.put("named by nothing")
        try temporary.versions.retire("1")
        try temporary.versions.retire("2")
        var names: [ObjectID: String?] = [:]
        for garbage in try temporary.store.planCollection().objects {
            if case .retired(let version) = garbage.reason {
                names[garbage.address] = version.name
                expect(abs(version.retiredAt - secondsNow()) < 600)
            } else {
                expect(garbage.reason, equals: .neverNamed)
                names[garbage.address] = .some(nil)
            }
        }
        let one = try address(of: "only in one")
        let (both, two) = (try address(of: "in both"), try address(of: "only in two"))
        expect(names, equals: [one: "1", both: "2", two: "2", loose: nil])
        // Content that comes again and goes with another version is that one's.
        try temporary.add("3", ["a": "only in one"])
        try temporary.versions.retire("3")
        let again = try temporary.store.planCollection().objects.first { $0.address == one }
        guard case .retired(let last)? = again?.reason else {
            throw Unexpected("\(String(describing: again))")
        }
        expect(last.name, equals: "3")
        // A new index does not know.
        Damage.remove(temporary.indexPath)
        for garbage in try temporary.reopened().store.planCollection().objects {
            expect(garbage.reason, equals: .neverNamed)
        }
        try expect(temporary.reopened().store.collect().objectCount, equals: 4)
    }

    @Test func `collects suspended partials of no version, and keeps those that one waits for`()
        throws
    {
        let temporary = try TemporaryStore()
        let source = try TemporaryStore(adding: "1", ["a": "wanted content"])
        try temporary.versions.register(source.versions.manifest(of: "1"))
        for text in ["wanted content", "unwanted content"] {
            let incoming = try IncomingContents(temporary.store)
            var item = try incoming.begin(address(of: text), byteCount: Int64(text.utf8.count))
            try item.append(bytes(String(text.prefix(3))).span.bytes)
            try item.suspend()
        }
        let plan = try temporary.store.planCollection()
        try expect(plan.staged.map(\.address), equals: [address(of: "unwanted content")])
        try expect(temporary.store.collect().objectCount, equals: 1)
        try expect(temporary.staged, equals: [address(of: "wanted content").description])
    }

    @Test func `leaves a partial alone that a writer has open`() throws {
        let temporary = try TemporaryStore()
        // Too much to be in memory until it is whole.
        let slow = SampleBytes.ramp(300_000)
        let incoming = try IncomingContents(temporary.store)
        var item = try incoming.begin(address(of: slow), byteCount: 300_000)
        try item.append(Array(slow.prefix(2)).span.bytes)
        let other = try temporary.reopened().store
        try expect(other.planCollection().staged, equals: [])
        _ = try other.collect()
        try item.append(Array(slow.dropFirst(2)).span.bytes)
        _ = try item.finish()
        try incoming.commit()
        try expect(temporary.store.read(address(of: slow), limit: 300_000), equals: slow)
    }

    @Test func `collects what is in quarantine`() throws {
        let temporary = try TemporaryStore()
        let damaged = try temporary.put("will be damaged")
        try Damage.flip(temporary.objectPath(damaged), at: 3)
        _ = try temporary.versions.check(repairing: true)
        let plan = try temporary.store.planCollection()
        expect(plan.quarantined.map(\.address), equals: [damaged])
        try expect(temporary.store.collect().objectCount, equals: plan.objectCount)
        expect(Damage.names(temporary.path + "/quarantine"), equals: [])
    }

    @Test(arguments: ["", "{", "{\"castree\":1}", "\0\0\0\0"])
    func `refuses while a manifest cannot be read`(text: String) throws {
        let temporary = try TemporaryStore(adding: "1", ["a": "one"])
        try temporary.add("2", ["a": "two"])
        let loose = try temporary.put("garbage")
        try Damage.overwrite(temporary.path + "/manifests/1.json", with: bytes(text))
        expect(code { _ = try temporary.store.collect() }, equals: .index)
        expect(code { _ = try temporary.reopened().store.collect() }, equals: .index)
        // Nor when the index is made again and has never known what the manifest said.
        Damage.remove(temporary.indexPath)
        expect(code { _ = try temporary.reopened().store.collect() }, equals: .index)
        for kept in [loose, try address(of: "one"), try address(of: "two")] {
            try expect(temporary.store.contains(kept))
        }
    }

    @Test func `refuses while all manifests are gone`() throws {
        let temporary = try TemporaryStore(adding: "1", ["a": "one"])
        Damage.remove(temporary.path + "/manifests")
        _ = code { _ = try temporary.reopened().store.collect() }
        try expect(temporary.store.contains(address(of: "one")))
    }

    @Test func `a count that is too low never deletes what a version names`() throws {
        let damage = "UPDATE object SET refs = 0, keepers = 0"
        let scribbled = try TemporaryStore(adding: "1", ["a": "one", "b": "two"])
        try scribbled.change(damage)
        _ = code { _ = try scribbled.reopened().store.collect() }
        try expect(scribbled.store.contains(address(of: "one")))

        // Nor when nothing on the file tells: the index is a hint (bit-rot, a mistake of ours).
        let rotten = try TemporaryStore(adding: "1", ["a": "one", "b": "two"])
        try rotten.changeUnnoticed(damage)
        _ = code { _ = try rotten.reopened().store.collect() }
        try expect(rotten.store.contains(address(of: "one")))
    }

    @Test(arguments: [1, 2, 63, 64, 65, 200])
    func `one count among many that is too low is noticed`(number: Int) throws {
        let temporary = try TemporaryStore()
        var files: [String: String] = [:]
        for number in 0..<200 { files["\(number)"] = "content \(number)" }
        try temporary.add("1", files)
        files["0"] = nil
        try temporary.add("2", files)
        let loose = try temporary.put("loose")
        try temporary.changeUnnoticed(
            "UPDATE object SET refs = 0, keepers = 0 WHERE id = \(number)")
        _ = code { _ = try temporary.reopened().store.collect() }
        for content in files.values {
            try expect(temporary.store.contains(address(of: content)))
        }
        // And the collection is made as soon as the counts are right again.
        _ = try temporary.reopened().store.collect()
        try expect(!temporary.store.contains(loose))
        try expect(temporary.reopened().check().findings, equals: [])
    }

    @Test func `references that rotted are not counted down`() throws {
        let temporary = try TemporaryStore(adding: "1", ["a": "one", "b": "two"])
        try temporary.add("2", ["b": "two"])
        // The second version seems to name both objects.
        try temporary.changeUnnoticed("UPDATE version SET edges = x'0102' WHERE name = '2'")
        try temporary.reopened().retire("2")
        _ = try temporary.reopened().store.collect()
        for content in ["one", "two"] {
            try expect(temporary.store.contains(address(of: content)))
        }
        try expect(temporary.reopened().check().findings, equals: [])
    }

    @Test func `an announced object that is needed again is taken back`() throws {
        let temporary = try TemporaryStore()
        let address = try temporary.put("wanted again")
        // A collector has announced the deletion and died.
        try temporary.changeUnnoticed("UPDATE object SET state = 2")
        try temporary.add("1", ["a": "wanted again"])
        _ = try temporary.store.collect()
        try expect(temporary.store.read(address, limit: 100), equals: bytes("wanted again"))
        try expect(temporary.versions.versions().map(\.state), equals: [.materialized])
        try expect(temporary.versions.check().findings, equals: [])
    }

    @Test func `an announced object whose file is gone is written again`() throws {
        let temporary = try TemporaryStore()
        for verb in ["add", "put"] {
            let address = try temporary.put("wanted again \(verb)")
            try temporary.changeUnnoticed("UPDATE object SET state = 2 WHERE refs = 0")
            Damage.remove(temporary.objectPath(address))
            if verb == "add" {
                try temporary.add("1", ["a": "wanted again add"])
            } else {
                try expect(temporary.put("wanted again put"), equals: address)
            }
            try expect(
                temporary.store.read(address, limit: 100), equals: bytes("wanted again \(verb)"))
            try expect(temporary.versions.check().findings, equals: [])
        }
    }

    @Test func `a version that names an announced and deleted object waits for it`() throws {
        let temporary = try TemporaryStore()
        let source = try TemporaryStore(adding: "1", ["a": "to come"])
        let address = try temporary.put("to come")
        try temporary.changeUnnoticed("UPDATE object SET state = 2")
        Damage.remove(temporary.objectPath(address))
        try expect(temporary.versions.register(source.versions.manifest(of: "1")), equals: false)
        try expect(temporary.versions.missing(of: "1").map(\.address), equals: [address])
    }

    @Test func `a collection that died between announcing and deleting is finished by the next`()
        throws
    {
        let temporary = try TemporaryStore()
        let there = try temporary.put("still there")
        let gone = try temporary.put("already deleted")
        try temporary.changeUnnoticed("UPDATE object SET state = 2")
        Damage.remove(temporary.objectPath(gone))
        _ = try temporary.reopened().store.collect()
        try expect(temporary.store.contains(there), equals: false)
        try expect(temporary.versions.check().findings, equals: [])
        try expect(temporary.store.usage().objects, equals: 0)
    }

    @Test func `something that is not a file in place of garbage does not stop the collector`()
        throws
    {
        for stranger in [Damage.Stranger.directory, .fifo, .symbolicLink("/etc/hostname")] {
            let temporary = try TemporaryStore()
            let odd = try temporary.put("odd")
            let even = try temporary.put("even")
            try Damage.replace(temporary.objectPath(odd), by: stranger)
            let last = code { _ = try temporary.store.collect() }
            let isGone = try !temporary.store.contains(even)
            expect(last == nil, "\(stranger)")
            expect(isGone, "\(stranger)")
        }
    }
}
