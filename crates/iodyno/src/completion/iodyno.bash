# bash completion of iodyno

_iodyno() {
    local words=() word joined= strip line IFS=$'\n'
    # Bash divides words at = and :, which iodyno does not.
    for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
        if [[ ${#words[@]} -gt 0 && ( $joined || $word == [=:]* ) ]]; then
            words[${#words[@]}-1]+=$word
        else
            words+=("$word")
        fi
        if [[ $word == *[=:] ]]; then joined=1; else joined=; fi
    done
    word=${words[${#words[@]}-1]}
    strip=
    if [[ $word == *[=:]* && $COMP_WORDBREAKS == *=* ]]; then strip=${word%"${word##*[=:]}"}; fi
    COMPREPLY=()
    while read -r line; do
        line=${line%%$'\t'*}
        COMPREPLY+=("${line#"$strip"}")
    done < <("${1/#\~\//$HOME/}" __complete "$((${#words[@]} - 1))" -- "${words[@]}" 2>/dev/null)
    if [[ ${COMPREPLY[0]-} == *[=/] ]]; then compopt -o nospace; fi
    # Readline quotes file names alone, and adds the slash of a folder itself.
    if [[ ${COMPREPLY[*]-} == *[/\ ]* ]]; then
        compopt -o filenames
        COMPREPLY=("${COMPREPLY[@]%/}")
    fi
} 2>/dev/null

complete -F _iodyno iodyno
