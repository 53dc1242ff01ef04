/// A shell for which the program prints a completion script.
///
/// Every script calls `PROGRAM __complete SHELL WORD...`, the last word being the one that is completed. The answer
/// has a candidate, a tab and its meaning on each line; or is `:files` or `:directories`, which shells complete
/// better.
enum CompletionShell: String, CaseIterable, Sendable {
    case bash, zsh, fish

    /// The hidden word that asks for candidates.
    static let command = "__complete"

    func script(for program: String) -> String {
        // A shell function cannot have every name that a program can.
        let function =
            "_"
            + String(
                program.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" }
            ) + "_complete"
        switch self {
        case .bash: return bashScript(program, function)
        case .zsh: return zshScript(program, function)
        case .fish: return fishScript(program, function)
        }
    }
}

// printf %q: a candidate may contain shell syntax. Without candidates, readline completes and quotes file names.
private func bashScript(_ program: String, _ function: String) -> String {
    #"""
    \#(function)() {
        local line
        COMPREPLY=()
        while IFS= read -r line; do
            case $line in
                :files) compopt -o default 2>/dev/null ;;
                :directories) compopt -o dirnames 2>/dev/null ;;
                *) COMPREPLY+=("$(printf %q "${line%%$'\t'*}")")
                    case ${line%%$'\t'*} in *[:/=]) compopt -o nospace 2>/dev/null ;; esac ;;
            esac
        done < <("${COMP_WORDS[0]}" __complete bash "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    }
    complete -F \#(function) \#(program)

    """#
}

private func zshScript(_ program: String, _ function: String) -> String {
    #"""
    \#(function)() {
        local line word summary
        local -a candidates open given=("${(@Q)words[2,CURRENT]}")
        for line in "${(@f)$("${words[1]}" __complete zsh "${given[@]}" 2>/dev/null)}"; do
            case $line in
                :files) compset -P '--*='; _files ;;
                :directories) compset -P '--*='; _files -/ ;;
                ?*) word=${line%%$'\t'*} summary=${line#*$'\t'}
                    case $word in
                        *[:/=]) open+=("${word//:/\\:}${summary:+:$summary}") ;;
                        *) candidates+=("${word//:/\\:}${summary:+:$summary}") ;;
                    esac ;;
            esac
        done
        (( $#open )) && _describe \#(program) open -S ''
        (( $#candidates )) && _describe \#(program) candidates
    }
    compdef \#(function) \#(program)

    """#
}

private func fishScript(_ program: String, _ function: String) -> String {
    #"""
    function \#(function)
        set -l words (commandline -opc)
        set -l current (commandline -ct)
        for line in ($words[1] __complete fish $words[2..] $current 2>/dev/null)
            switch $line
                case :files
                    __fish_complete_path $current
                case :directories
                    __fish_complete_directories $current
                case '*'
                    echo $line
            end
        end
    end
    complete -c \#(program) -f -a '(\#(function))'

    """#
}

extension Program {
    /// Answers a shell: candidates on standard output, and never an error.
    func answerCompletion(_ arguments: [String], in surroundings: Surroundings) -> ExitStatus {
        guard let shell = arguments.first.flatMap(CompletionShell.init(rawValue:)) else {
            return statuses.status(for: .usage)
        }
        var words = Array(arguments.dropFirst())
        var hidden = ""
        if shell == .bash { (words, hidden) = joinedBashWords(words.map(unquotedByBash)) }
        let completer = Completer(program: self, environment: surroundings.environment)
        let lines: [String] =
            switch completer.answer(to: words) {
            case .files: [":files"]
            case .directories: [":directories"]
            case .words(let words): words.compactMap { line(for: $0, hiding: hidden) }
            }
        // If the shell does not listen, there is no one to tell.
        try? surroundings.output.write(trusted: lines.map { $0 + "\n" }.joined())
        try? surroundings.output.flush()
        return .done
    }

    /// The line of a candidate; nil for one that would break lines or hide in them.
    private func line(for word: CompletionWord, hiding prefix: String) -> String? {
        guard word.text.escapedForDisplay == word.text else { return nil }
        return String(word.text.unicodeScalars.dropFirst(prefix.unicodeScalars.count))
            + "\t" + word.summary
    }
}

/// Removes the quoting from a word of a bash command line (bash(1), QUOTING); a quotation may be open.
private func unquotedByBash(_ word: String) -> String {
    var result = ""
    var quote: Unicode.Scalar?
    var isEscaped = false
    for scalar in word.unicodeScalars {
        if isEscaped {
            // Between double quotes a backslash escapes little, and stays before the rest.
            if quote != nil, !"$`\"\\".unicodeScalars.contains(scalar) { result += "\\" }
            result.unicodeScalars.append(scalar)
            isEscaped = false
        } else if scalar == "\\", quote != "'" {
            isEscaped = true
        } else if let open = quote, scalar == open {
            quote = nil
        } else if quote == nil, scalar == "'" || scalar == "\"" {
            quote = scalar
        } else {
            result.unicodeScalars.append(scalar)
        }
    }
    return result
}

/// Joins what bash has split at `=` and `:` (COMP_WORDBREAKS); `hidden` is what bash considers complete.
private func joinedBashWords(_ words: [String]) -> (words: [String], hidden: String) {
    var joined: [String] = []
    var hidden = ""
    var isOpen = false
    for word in words {
        let isBreak = word == "=" || word == ":"
        if let last = joined.last, isBreak || isOpen {
            joined[joined.count - 1] = last + word
            hidden = isBreak ? last + word : last
        } else {
            joined.append(word)
            hidden = ""
        }
        isOpen = isBreak
    }
    return (joined, hidden)
}
