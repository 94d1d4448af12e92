# Runs a server for as long as any test uses it, and a little longer, because the next test may follow soon.
# Every test holds a shared lock on $1 while it runs; a process that starts or ends a server holds $2.
in_use=$1 start=$2
shift 2
"$@" &
server=$!
idle=0
while kill -0 "$server" 2>/dev/null; do
  sleep 1
  if flock --nonblock "$in_use" true; then idle=$((idle + 1)); else idle=0; fi
  if [ "$idle" -ge 15 ]; then
    # While $2 is locked, no test can find the server before it ends.
    (
      flock 9
      if flock --nonblock "$in_use" true; then
        kill "$server"
        wait_for=50
        while kill -0 "$server" 2>/dev/null && [ "$wait_for" -gt 0 ]; do
          sleep 0.1
          wait_for=$((wait_for - 1))
        done
      fi
    ) 9>>"$start"
    idle=0
  fi
done
