# SPDX-License-Identifier: BSD-3-Clause
# Completion of weft in bash: commands, options and algorithms as the program's own help lists them.
_weft() {
	local word=${COMP_WORDS[COMP_CWORD]} at=$((COMP_CWORD - 1)) weft=${COMP_WORDS[0]}
	COMPREPLY=()
	# bash makes three words of --cc=sm, and of --cc= two, of which the last is to be completed as if it were empty.
	if [ "$word" = = ]; then
		word=
	elif [ "${COMP_WORDS[at]}" = = ]; then
		at=$((at - 1))
	fi
	local before=${COMP_WORDS[at]}
	if [ "$COMP_CWORD" -eq 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W "--help --version $("$weft" --help | awk '/^  / {print $1}')" -- "$word")
		return
	fi
	local help
	help=$("$weft" "${COMP_WORDS[1]}" --help 2>/dev/null) || return
	case $before in
	--cc)
		local senders
		senders=$(_weft_names congestion <<<"$help")
		if [[ $word == *+* ]]; then # a receiver's, with one of the senders', but not auto
			mapfile -t COMPREPLY < <(compgen -P "${word%+*}+" -W "${senders/#auto/}" -- "${word##*+}")
		else
			mapfile -t COMPREPLY < <(compgen -W "$senders $(_weft_names receiver <<<"$help")" -- "$word")
		fi
		;;
	--lb | --background-lb) mapfile -t COMPREPLY < <(compgen -W "$(_weft_names 'load balancing' <<<"$help")" -- "$word") ;;
	--route) mapfile -t COMPREPLY < <(compgen -W "$(_weft_names switches <<<"$help")" -- "$word") ;;
	*)
		if [[ $word == -* ]]; then
			mapfile -t COMPREPLY < <(compgen -W "$(grep -oE '^  --[a-z-]+' <<<"$help")" -- "$word")
		else
			mapfile -t COMPREPLY < <(compgen -f -- "$word")
			# Publications, unless the option before takes a value.
			if [ "${COMP_WORDS[1]}" = reproduce ] && [[ $help != *$'\n'"  $before "[A-Z]* ]]; then
				mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W "$("$weft" reproduce --list 2>/dev/null)" -- "$word")
			fi
		fi
		;;
	esac
}

# First words of the help's section whose title begins so.
_weft_names() {
	awk -v title="$1" 'index($0, title) == 1 {on = 1; next} /^$/ {on = 0} on {print $1}'
}

complete -o filenames -F _weft weft
