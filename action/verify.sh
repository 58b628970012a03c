#!/usr/bin/env bash
# Verify what FILES names, one file or folder on each line, or else the project, and report it in FORMAT. The exit code
# is that of `cplc verify`.
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

paths=()
while IFS= read -r path; do
  path=${path%$'\r'}
  [ -n "$path" ] || continue
  case $path in -*) path=./$path ;; esac
  paths+=("$path")
done <<< "${FILES:-}"
if [ ${#paths[@]} -eq 0 ] && ! grep -qsE '^[[:space:]]*\[(tool\.cplc\.)?project\]' cplc.toml pyproject.toml; then
  paths=(.)
fi

options=()
while IFS= read -r option; do
  option=${option%$'\r'}
  [ -n "$option" ] && options+=("$option")
done <<< "${ARGUMENTS:-}"

format=${FORMAT:-github}
errors=$(mktemp "${RUNNER_TEMP:-${TMPDIR:-/tmp}}/cplc-errors.XXXXXX")
trap 'rm -f "$errors"' EXIT

verify() {
  cplc verify --format "$format" ${options[@]+"${options[@]}"} -- ${paths[@]+"${paths[@]}"} 2> "$errors" < /dev/null
}

code=0
case $format in
  sarif)
    reports=$(mktemp -d "${RUNNER_TEMP:-${TMPDIR:-/tmp}}/cplc-reports.XXXXXX")
    printf 'reports=%s\nreport=%s/cplc.sarif\n' "$reports" "$reports" >> "${GITHUB_OUTPUT:-/dev/null}"
    verify > "$reports/cplc.sarif" || code=$?
    [ -s "$reports/cplc.sarif" ] || rm -f "$reports/cplc.sarif"
    ;;
  github)
    verify || code=$?
    ;;
  *)
    verify | quietly
    code=${PIPESTATUS[0]}
    ;;
esac
# All on standard output: the two streams are read side by side, and commands on the other one would be stopped, too.
{ cat "$errors"; printf 'cplc verify: exit code %s' "$code"; } | quietly
exit "$code"
