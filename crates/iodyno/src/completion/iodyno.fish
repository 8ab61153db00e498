# fish completion of iodyno

function __iodyno_complete
    set -l words (commandline --current-process --tokenize --cut-at-cursor)
    set -l program (string replace --regex '^~/' "$HOME/" -- $words[1])
    $program __complete (count $words) -- $words (commandline --current-token --cut-at-cursor) 2>/dev/null
end

complete --command iodyno --no-files --keep-order --arguments '(__iodyno_complete)'
