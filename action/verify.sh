#!/usr/bin/env bash
# Verify what FILES names, one file or folder on each line, and report it in FORMAT. The exit code is the worst of all
# files: what is certain outweighs what is unknown.
set -uo pipefail

named() {
  while IFS= read -r path; do
    path=${path%$'\r'}
    [ -n "$path" ] || continue
    if [ -d "$path" ]; then
      find "$path" -mindepth 1 -name '.*' -prune -o -type f -name '*.cpl' -print | LC_ALL=C sort
    else
      printf '%s\n' "$path"
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

count=0 wrong=0 unexpected=0 unknown=0
while IFS= read -r file; do
  case $file in -*) file=./$file ;; esac
  count=$((count + 1))
  if [ -n "$reports" ]; then
    cplc verify "$file" --format sarif ${options[@]+"${options[@]}"} > "$reports/$count.sarif" < /dev/null
  else
    cplc verify "$file" --format "$format" ${options[@]+"${options[@]}"} < /dev/null
  fi
  code=$?
  printf '%s: exit code %s\n' "$file" "$code" >&2
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
