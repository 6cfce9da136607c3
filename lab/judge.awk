# What a machine of the laboratory did, from MACHINE.machine.json, MACHINE.ndjson and MACHINE.end:
# a row of lab/all's table, and at the end of the file `reasons` what is not as it should be.
# `line` is the machine's line of machines.txt.

function text(key,    found) {
    if (!match($0, "\"" key "\":\"([^\"\\\\]|\\\\.)*\"")) return ""
    found = substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 5)
    gsub(/\\"/, "\"", found)
    return found
}
function say(what) {
    if (!said++) print name ":" >>reasons
    print "  " what >>reasons
}
function tell(what) { say(what); wrong++ }
function compare(what, told, declared) {
    if (declared == told) return
    tell(sprintf("%s: qemu was told %s, groma declares %s", what, told, declared == "" ? "nothing" : declared))
}
function kib(size) {
    # As qemu is told, and as groma declares it.
    return size ~ /Gi?B?$/ ? size * 1048576 : size ~ /Mi?B?$/ ? size * 1024 : size + 0
}

BEGIN {
    fields = split(line, column, / *[|] */)
    name = column[1]
    sub(/ *$/, "", column[fields])
    options = " " column[9] " "
    done = " " column[10] " "
}
FILENAME ~ /[.]end$/ { split($0, end, "|"); next }
FILENAME ~ /[.]machine[.]json$/ {
    if (match($0, /^ *"[a-z_0-9.]+": "/)) {
        key = $1; gsub(/[":]/, "", key)
        fact = $0; sub(/^ *"[^"]*": "/, "", fact); sub(/",?$/, "", fact)
        facts[key] = fact
    }
    next
}
/^[{]"kind":"metric"/ {
    state = text("state"); states[state]++; metrics++
    # Of the emulation: README.md says why.
    if (state == "failed" && text("reason") ~ /cycles of a dependent operation/) { states["failed"]--; emulated++ }
    else if (state == "failed" || state == "timeout") {
        why = state ": " text("reason")
        who = text("id") (text("params_text") == "" ? "" : " " text("params_text")) " (" text("placement") ")"
        if (!(why in whose)) order[++kinds] = why
        count[why]++
        if (count[why] <= 4) whose[why] = whose[why] (count[why] == 1 ? "" : ", ") who
    }
}
/^[{]"kind":"end"/ { complete = 1 }

END {
    split(column[4], cpus, "x")
    told = cpus[1] * cpus[2] * cpus[3]
    cores = cpus[1] * cpus[2]
    packages = cpus[1]
    if (match(options, / nosmt /)) told = cores
    if (match(options, / maxcpus=[0-9]+/)) {
        told = substr(options, RSTART + 9, RLENGTH - 9) + 0
        cores = ""
    }
    # Those that run as usual are the others, and only they are declared.
    if (match(options, / isolcpus=[0-9,]+/)) {
        told -= split(substr(options, RSTART + 10, RLENGTH - 10), isolated, ",")
        cores = ""
    }
    if (length(facts) == 0) { if (done !~ / bare /) tell("groma machine said nothing") }
    else {
        compare("CPUs", told, facts["cpu.count"])
        if (cores != "") {
            compare("cores", cores, facts["cpu.cores"])
            compare("packages", packages, facts["cpu.packages"])
        }
        nodes = 0; matrix = ""
        words = split(column[5], word, " ")
        for (i = 1; i <= words; i++) {
            if (word[i] ~ /=/) {
                split(word[i], pair, /[:=]/)
                far[pair[1], pair[2]] = far[pair[2], pair[1]] = pair[3]
            } else nodes++
        }
        if (nodes == 0) nodes = 1
        for (i = 0; i < nodes; i++)
            for (j = 0; j < nodes; j++) matrix = matrix (i + j == 0 ? "" : " ") (i == j ? 10 : far[i, j])
        list = nodes == 1 ? "0" : "0-" (nodes - 1)
        compare("nodes", list, facts["numa.nodes"])
        declared = facts["numa.distances"]; gsub(/[^0-9]+/, " ", declared)
        compare("distances", matrix, declared)
        compare("page size", column[7] " KiB", facts["memory.page"])
        if (column[8] != "") compare("clock", column[8], facts["clock.source"])
        had = kib(column[6]); has = kib(facts["memory.total"])
        if (has > had || has < had * 0.4) compare("memory", had " KiB", facts["memory.total"])
    }
    expected = done ~ / refused / ? "^exit code 2" : "^exit code 0|first process"
    if (end[2] !~ expected && !(emulated && kinds == 0)) tell(end[2])
    if (metrics > 0 && !complete) tell("its stream has no end")
    for (i = 1; i <= kinds; i++) {
        more = count[order[i]] > 4 ? " and " (count[order[i]] - 4) " more" : ""
        say(order[i] ": " whose[order[i]] more)
    }
    printf "%-15s %4s %5d %5d %5d %5d %5d %5d %5d  %-9s %-5s %-8s %7.0f  %-14s %s\n", name, end[1], states["ok"],
        states["noisy"], states["unresolved"], states["unsupported"], states["denied"], states["timeout"],
        states["failed"], facts["cpu.count"] "/" facts["cpu.cores"] "/" facts["cpu.packages"], facts["numa.nodes"],
        facts["memory.page"], kib(facts["memory.total"]) / 1024, facts["clock.source"],
        wrong == 0 ? "" : wrong " to look at"
}
