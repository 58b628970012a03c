#!/usr/bin/env bash
# Verify what FILES names, one file or folder on each line, and report it in FORMAT. The exit code is the worst of all
# files: what is certain outweighs what is unknown.
#
# A workflow obeys commands in what is printed: `::command::` at the beginning of a line, `##[command]` anywhere. Names of
# files and texts from them may look like these. So commands are stopped around everything that is not meant as one.
set -uo pipefail

token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')

quietly() {  # print standard input so that nothing in it is a command
  printf '::stop-commands::%s\n' "$token"
  cat
  printf '\n::%s::\n' "$token"
}

named() {  # each file, ended by a NUL
  while IFS= read -r path; do
    path=${path%$'\r'}
    [ -n "$path" ] || continue
    case $path in -*) path=./$path ;; esac
    if [ -d "$path" ]; then
      find "$path" -mindepth 1 -name '.*' -prune -o -type f -name '*.cpl' -print0 | LC_ALL=C sort -z
    else
      printf '%s\0' "$path"
    fi
  done <<< "${FILES:-.}"
}

options=()
while IFS= read -r option; do
  option=${option%$'\r'}
  [ -n "$option" ] && options+=("$option")
done <<< "${ARGUMENTS:-}"

format=${FORMAT:-github}
reports=
if [ "$format" = sarif ]; then
  reports=$(mktemp -d "${RUNNER_TEMP:-${TMPDIR:-/tmp}}/cplc-reports.XXXXXX")
  printf 'reports=%s\n' "$reports" >> "${GITHUB_OUTPUT:-/dev/null}"
fi
errors=$(mktemp "${RUNNER_TEMP:-${TMPDIR:-/tmp}}/cplc-errors.XXXXXX")
trap 'rm -f "$errors"' EXIT

count=0 wrong=0 unexpected=0 unknown=0
while IFS= read -r -d '' file; do
  count=$((count + 1))
  code=0
  case $format in
    sarif)
      cplc verify --format sarif ${options[@]+"${options[@]}"} -- "$file" \
        > "$reports/$count.sarif" 2> "$errors" < /dev/null || code=$?
      ;;
    github)
      cplc verify --format github ${options[@]+"${options[@]}"} -- "$file" 2> "$errors" < /dev/null || code=$?
      ;;
    *)
      cplc verify --format "$format" ${options[@]+"${options[@]}"} -- "$file" 2> "$errors" < /dev/null | quietly
      code=${PIPESTATUS[0]}
      ;;
  esac
  # All on standard output: the two streams are read side by side, and commands on the other one would be stopped, too.
  { cat "$errors"; printf '%q: exit code %s' "$file" "$code"; } | quietly
  case $code in
    0) ;;
    1) unexpected=1 ;;
    3) unknown=1 ;;
    *) wrong=1 ;;
  esac
done < <(named)

if [ "$count" -eq 0 ]; then
  echo "there is no .cpl file in what was named" >&2
  exit 2
fi
if [ "$wrong" -eq 1 ]; then exit 2; fi
if [ "$unexpected" -eq 1 ]; then exit 1; fi
if [ "$unknown" -eq 1 ]; then exit 3; fi
