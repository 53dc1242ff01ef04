import Expectations

@testable import HotPush

@Suite("The events of an update", .timeLimit(.minutes(60))) struct EventMailboxTests {
    private static func progress(_ number: Int) -> UpdateEvent {
        var figures = DownloadFigures()
        figures.requests = number
        return .progress(
            version: "1", UpdateProgress(figures: figures, filesTotal: 0, bytesTotal: 0))
    }

    @Test func `come in order, and those from before are not told`() async {
        let hub = EventHub()
        hub.post(.cancelled)
        var events = hub.subscribe().makeAsyncIterator()
        hub.post(.checking)
        hub.post(Self.progress(1))
        hub.post(.upToDate("yes"))
        await expect(events.next(), equals: .checking)
        await expect(events.next(), equals: Self.progress(1))
        await expect(events.next(), equals: .upToDate("yes"))
    }

    @Test func `of progress are the newest few, and no other is lost for them`() async {
        let mailbox = EventMailbox()
        for number in 0..<1000 {
            mailbox.post(Self.progress(number))
            if number % 100 == 0 { mailbox.post(.confirmed(version: "\(number)")) }
        }
        mailbox.close()
        var told: [UpdateEvent] = []
        while let event = await mailbox.next() { told.append(event) }
        let states = (0..<10).map { UpdateEvent.confirmed(version: "\($0 * 100)") }
        expect(told.filter { states.contains($0) }, equals: states)
        let newest = (1000 - EventMailbox.progressCountMax..<1000).map { Self.progress($0) }
        expect(told.filter { !states.contains($0) }, equals: newest)
    }

    @Test func `that a reader was too slow for are counted for him`() async {
        let mailbox = EventMailbox()
        for number in 0..<(EventMailbox.countMax + 5) {
            mailbox.post(.confirmed(version: "\(number)"))
        }
        await expect(mailbox.next(), equals: .missed(count: 5))
        await expect(mailbox.next(), equals: .confirmed(version: "5"))
    }

    @Test func `are for every reader, and end with their sender`() async {
        var hub: EventHub? = EventHub()
        let streams = [hub?.subscribe(), hub?.subscribe()].compactMap { $0 }
        hub?.post(.checking)
        hub = nil
        for stream in streams {
            var told: [UpdateEvent] = []
            for await event in stream { told.append(event) }
            expect(told, equals: [.checking])
        }
    }

    @Test func `end for a reader who is cancelled, and continue for others`() async {
        let hub = EventHub()
        let stream = hub.subscribe()
        var other = hub.subscribe().makeAsyncIterator()
        let reader = Task {
            var count = 0
            for await _ in stream { count += 1 }
            return count
        }
        reader.cancel()
        _ = await reader.value
        hub.post(.checking)
        await expect(other.next(), equals: .checking)
    }
}
