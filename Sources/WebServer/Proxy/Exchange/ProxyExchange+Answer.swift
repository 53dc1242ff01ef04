// The upstream's answer: heads, then one body.
extension ProxyExchange {
    func answered(_ bytes: Span<UInt8>) {
        switch phase {
        case .head:
            guard let link else { return }
            guard !link.input.isEmpty else {
                readHeads(bytes)
                return
            }
            link.input.append(bytes, 0..<bytes.count)
            // Taken out, so that putting back the rest makes no copy.
            let all = link.input
            link.input = []
            readHeads(all.span)
        case .body: readBody(bytes)
        case .connecting, .over: break
        }
    }

    /// Reads heads until the final one, then continues with the body.
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
                if link.parser.head.status < 200, !countInterim(consumed) { return }
                take(link.parser.head, rest, after: bytes.extracting(position...))
                link.parser.reset()
            }
        }
        if case .body = phase { readBody(bytes.extracting(position...)) }
    }

    /// Counts the bytes of an interim answer, to give up an upstream that sends nothing else.
    private func countInterim(_ count: Int) -> Bool {
        interimByteCount += count
        guard interimByteCount > UpstreamHeadParser.byteLimit else { return true }
        refuse(
            MessageFailure(
                502,
                "there are more than \(UpstreamHeadParser.byteLimit) bytes of interim answers (1xx) and no other"
            ))
        return false
    }

    /// Whether the browser is at an http address of this machine: no proxy in front says that it is at https.
    private var isClientPlain: Bool {
        let head = client.head
        guard !options.keepsSecureCookies, options.scheme == "http",
            let authority = head.authority ?? head.host,
            head.value(of: "x-forwarded-proto").map({ !head.matches($0, "https") }) ?? true
        else { return false }
        return HostPolicy.isLoopback(head.bytes[authority])
    }

    private func refuse(_ failure: MessageFailure) {
        fail(
            502,
            "The answer of the server \(pool.upstream.origin) is malformed: \(failure.sentence).")
    }

    /// Takes in a head; `bytes` begin with it, and `after` follows it.
    private func take(_ head: UpstreamHead, _ bytes: Span<UInt8>, after: Span<UInt8>) {
        guard head.status >= 200 else {
            switch head.status {
            case 100: tellToContinue()
            case 101: changeProtocol(head, bytes, after)
            // Others are hints that a proxy may leave out (RFC 9110, section 15.2).
            default: break
            }
            return
        }
        isReusable = head.isKeepAlive
        let framing = head.framing(toHead: request.isHead)
        phase = .body(BodyRest(framing))
        if framing == .untilClose { isReusable = false }
        var answer = UpstreamAnswer.head(head, bytes, by: route, isPlain: isClientPlain)
        amend(&answer)
        // With chunks, the client can distinguish the end from a cut.
        pendingHead = PendingHead(
            head: answer,
            framing: framing == .untilClose ? .chunked : framing, hasDate: head.hasDate)
    }

    /// Accepts a 101 only if it names a protocol that the client asked for.
    private func changeProtocol(
        _ head: UpstreamHead, _ bytes: Span<UInt8>, _ after: Span<UInt8>
    ) {
        guard !request.upgrade.isEmpty else {
            refuse(MessageFailure(502, "it changes the protocol without being asked"))
            return
        }
        guard let upgrade = head.upgrade, head.connection.upgrades,
            isAsked(bytes.extracting(upgrade))
        else {
            refuse(MessageFailure(502, "it changes to a protocol that was not asked for"))
            return
        }
        becomeTunnel(
            UpstreamAnswer.head(
                head, bytes, by: route, isPlain: isClientPlain, dropsDate: true), after)
    }

    private func isAsked(_ name: Span<UInt8>) -> Bool {
        let wanted = name.withUnsafeBufferPointer { $0.map { FieldText.lowercased($0) } }
        for element in request.upgrade[...].listElements()
        where element.map({ FieldText.lowercased($0) }) == wanted {
            return true
        }
        return false
    }

    // MARK: Body

    private func readBody(_ bytes: Span<UInt8>) {
        guard case .body(var rest) = phase else { return }
        scratch.removeAll(keepingCapacity: true)
        do throws(MessageFailure) {
            let used = try rest.read(bytes, decoded: &scratch)
            if rest.isChunked {
                deliver(scratch.span)
            } else {
                deliver(bytes.extracting(..<used))
            }
            guard !rest.isComplete else {
                // Bytes after the end belong to no request.
                complete(isReusable: isReusable && used == bytes.count)
                return
            }
            phase = .body(rest)
        } catch {
            refuse(error)
            return
        }
        client.flush()
        watch()
    }

    /// Queues a piece for the client; the caller flushes or finishes.
    private func deliver(_ bytes: Span<UInt8>) {
        if let head = pendingHead {
            pendingHead = nil
            client.put(head.head, head.framing, hasDate: head.hasDate)
        }
        client.put(bytes)
    }

    /// Pauses the upstream while the client does not read; otherwise sets its deadline.
    private func watch() {
        // Sending to the client may have found it gone.
        guard case .body = phase, let stream = link?.stream else { return }
        if client.hasSpace {
            stream.setDeadline(options.stall)
        } else {
            isUpstreamPaused = true
            stream.pauseReading()
            stream.setDeadline(nil)
        }
    }
}
