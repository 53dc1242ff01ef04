// Requests with bodies.
extension HTTPConnection {
    func collect(_ framing: BodyFraming, _ limit: Int, _ collecting: Collecting) {
        guard framing != .none else {
            perform(collecting.then(collecting.head, [], exchange), collecting.head, .none)
            return
        }
        do throws(MessageFailure) {
            let reader = try BodyReader(framing, limit: limit, budget: context.bodies)
            phase = .collecting(reader, collecting)
            beginProgress()
            if collecting.head.expectsContinue {
                append(Self.continueHead)
                flush()
            }
        } catch {
            refuse(error, isHead: collecting.head.method == .head)
        }
    }

    private func beginProgress() {
        progressMark = receivedByteCount
        stream.setDeadline(options.progressWindow)
    }

    /// - Returns: how many bytes belong to the body.
    func readBody(_ bytes: Span<UInt8>) -> Int {
        var isUnwanted = false
        do throws(MessageFailure) {
            switch phase {
            case .collecting(let reader, let collecting):
                let used = try reader.read(bytes)
                guard reader.isComplete else { return used }
                phase = .ending
                perform(
                    collecting.then(collecting.head, reader.content, exchange),
                    collecting.head, .none)
                return used
            case .dropping(let reader):
                isUnwanted = true
                let used = try reader.read(bytes)
                if reader.isComplete { phase = .head }
                return used
            default: return 0
            }
        } catch {
            // The answer to this unwanted body has been sent.
            phase = .ending
            if isUnwanted { finishAfterOutput() } else { refuse(error) }
            return bytes.count
        }
    }
}

// What a streamed exchange needs from its connection.
extension HTTPConnection {
    /// After a complete response: reads the next request, or ends.
    func endStreaming() {
        flush()
        guard !stream.isEnding, stream.handler === self else { return }
        guard keepsAlive else {
            finishAfterOutput()
            return
        }
        phase = .head
        continueReading()
    }

    func continueReading() {
        let (token, loop) = (stream.token, loop)
        loop.afterCall { [self] in
            guard loop.stream(token) != nil, stream.handler === self else { return }
            processInput()
            flush()
            rest()
        }
    }
}
