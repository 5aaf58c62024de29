# SPDX-License-Identifier: BSD-3-Clause
# Completion of weft in bash: commands, options and algorithms as the program's own help lists them.
_weft() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} weft=${COMP_WORDS[0]}
	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W "--help --version $("$weft" --help | awk '/^  / {print $1}')" -- "$word")
		return
	fi
	local help
	help=$("$weft" "${COMP_WORDS[1]}" --help 2>/dev/null) || return
	case $before in
	--cc) mapfile -t COMPREPLY < <(compgen -W "$(_weft_names congestion <<<"$help") $(_weft_names receiver <<<"$help")" -- "$word") ;;
	--lb | --background-lb) mapfile -t COMPREPLY < <(compgen -W "$(_weft_names 'load balancing' <<<"$help")" -- "$word") ;;
	--route) mapfile -t COMPREPLY < <(compgen -W "$(_weft_names switches <<<"$help")" -- "$word") ;;
	*)
		if [[ $word == -* ]]; then
			mapfile -t COMPREPLY < <(compgen -W "$(grep -oE '^  --[a-z-]+' <<<"$help")" -- "$word")
		else
			mapfile -t COMPREPLY < <(compgen -f -- "$word")
		fi
		;;
	esac
}

# First words of the help's section whose title begins so.
_weft_names() {
	awk -v title="$1" 'index($0, title) == 1 {on = 1; next} /^$/ {on = 0} on {print $1}'
}

complete -o filenames -F _weft weft
