// The upstream's answer: heads, then one body.
extension ProxyExchange {
    /// Bytes have come from the upstream.
    func answered(_ bytes: Span<UInt8>) {
        switch phase {
        case .head:
            guard let link else { return }
            guard !link.input.isEmpty else {
                readHeads(bytes)
                return
            }
            link.input.append(bytes, 0..<bytes.count)
            // Taken out, so that it is not copied when what is left is put back.
            let all = link.input
            link.input = []
            readHeads(all.span)
        case .body: readBody(bytes)
        case .connecting, .over: break
        }
    }

    /// Reads heads off the front until the final one, then goes on with the body.
    private func readHeads(_ bytes: Span<UInt8>) {
        var position = 0
        while case .head = phase, let link, position < bytes.count {
            let rest = bytes.extracting(position...)
            switch link.parser.parse(rest) {
            case .needMore:
                link.input.append(rest, 0..<rest.count)
                return
            case .failure(let failure):
                refuse(failure)
                return
            case .head(let consumed):
                position += consumed
                take(link.parser.head, rest, after: bytes.extracting(position...))
                link.parser.reset()
            }
        }
        if case .body = phase { readBody(bytes.extracting(position...)) }
    }

    private func refuse(_ failure: UpstreamFailure) {
        fail(
            502,
            "The answer of the server \(pool.upstream.origin) is malformed: \(failure.sentence).")
    }

    /// Takes in a head; `bytes` begin with it, `after` is what follows.
    private func take(_ head: UpstreamHead, _ bytes: Span<UInt8>, after: Span<UInt8>) {
        guard head.status >= 200 else {
            switch head.status {
            case 100: tellToContinue()
            case 101: changeProtocol(head, bytes, after)
            // Others are hints that may be left out (RFC 9110, section 15.2).
            default: break
            }
            return
        }
        isReusable = head.isKeepAlive
        let framing = head.framing(toHead: request.isHead)
        let outgoing: ExchangeStream.Framing
        switch framing {
        case .none:
            (phase, outgoing) = (.body(.length(0)), .none)
        case .length(let count): (phase, outgoing) = (.body(.length(count)), .length)
        case .chunked: (phase, outgoing) = (.body(.chunked(ChunkedDecoder())), .chunked)
        case .untilClose:
            (phase, outgoing) = (.body(.untilClose), .chunked)
            isReusable = false
        }
        pendingHead = PendingHead(
            head: UpstreamAnswer.head(head, bytes), framing: outgoing, hasDate: head.hasDate)
    }

    /// A 101 is only believed when it names what the client asked for.
    private func changeProtocol(
        _ head: UpstreamHead, _ bytes: Span<UInt8>, _ after: Span<UInt8>
    ) {
        guard !request.upgrade.isEmpty else {
            refuse(UpstreamFailure("it changes the protocol, which nobody asked for"))
            return
        }
        guard let upgrade = head.upgrade, head.isUpgrade, isAsked(bytes.extracting(upgrade)) else {
            refuse(UpstreamFailure("it changes to a protocol that was not asked for"))
            return
        }
        becomeTunnel(UpstreamAnswer.head(head, bytes, dropsDate: true), after)
    }

    private func isAsked(_ name: Span<UInt8>) -> Bool {
        let wanted = name.withUnsafeBufferPointer { $0.map { ByteClass.lowercase($0) } }
        for element in request.upgrade[...].listElements()
        where element.map({ ByteClass.lowercase($0) }) == wanted {
            return true
        }
        return false
    }

    // MARK: Body

    private func readBody(_ bytes: Span<UInt8>) {
        guard case .body(let rest) = phase else { return }
        switch rest {
        case .length(let remaining):
            let count = Int(min(remaining, Int64(bytes.count)))
            deliver(bytes.extracting(..<count))
            guard remaining > Int64(count) else {
                // What comes after the end belongs to no request.
                complete(isReusable: isReusable && count == bytes.count)
                return
            }
            phase = .body(.length(remaining - Int64(count)))
        case .chunked(var decoder):
            scratch.removeAll(keepingCapacity: true)
            do throws(RequestFailure) {
                let used = try decoder.decode(bytes, into: &scratch, limit: Int.max)
                deliver(scratch.span)
                guard !decoder.isDone else {
                    complete(isReusable: isReusable && used == bytes.count)
                    return
                }
                phase = .body(.chunked(decoder))
            } catch {
                refuse(UpstreamFailure(error.sentence))
                return
            }
        case .untilClose: deliver(bytes)
        }
        client.flush()
        watch()
    }

    /// Puts a piece behind what waits for the client; whoever calls flushes or finishes.
    private func deliver(_ bytes: Span<UInt8>) {
        if let head = pendingHead {
            pendingHead = nil
            client.put(head.head, head.framing, hasDate: head.hasDate)
        }
        client.put(bytes)
    }

    /// Holds the upstream back while the client does not read; gives it time otherwise.
    private func watch() {
        // The client may have gone while it was sent to.
        guard case .body = phase, let stream = link?.stream else { return }
        if client.hasRoom {
            stream.setDeadline(options.stall)
        } else {
            isUpstreamPaused = true
            stream.pauseReading()
            stream.setDeadline(nil)
        }
    }
}
