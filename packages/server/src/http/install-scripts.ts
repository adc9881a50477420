/**
 * The POSIX shell scripts at `/install/`. A script is a function that its last line calls, so that a partly received
 * script does nothing. All text is ASCII, because the machine's locale is unknown.
 */

export interface InstallScriptOptions {
  /** Address of this server: scheme, host and port. */
  readonly url: string;
  /** The key that signs the repository, in OpenPGP's armour. */
  readonly signingKey: string;
  /** Debian's names of the architectures that the repository has. */
  readonly architectures: readonly string[];
}

/** Answers with the reason on a server without packages. */
export const missingAgentsScript = `#!/bin/sh
echo 'This server has no packages of agents. Install the package gatehouse-agents on the server, and restart it.' >&2
exit 1
`;

export function gatewayScript(options: InstallScriptOptions): string {
  return script(options, {
    agent: "gateway",
    usage: `Options:
  --token-file FILE   file with the gateway's token; without it, the script asks for the token`,
    options: `    --token-file)
      [ $# -ge 2 ] || fail '--token-file needs a file.'
      token_file=$2
      shift 2
      ;;`,
    variables: "token_file=",
    before: `  if [ -n "$token_file" ]; then
    token=$(cat "$token_file") || fail "The token file $token_file cannot be read."
  elif [ -s /etc/gatehouse/gateway-token ]; then
    token=$(cat /etc/gatehouse/gateway-token)
    echo 'The token of this gateway is in place; --token-file FILE replaces it.'
  else
    ask_for_token
  fi
  case $token in
  '' | *[!A-Za-z0-9_.~+/=-]*) fail 'The token is empty, or has characters that no token has.' ;;
  esac`,
    functions: `ask_for_token() {
  (: </dev/tty) 2>/dev/null || fail 'Cannot ask for the token without a terminal. Use --token-file FILE.'
  trap 'stty echo </dev/tty' EXIT
  trap 'exit 1' INT TERM
  stty -echo </dev/tty
  # After the echo is off: a token that is pasted at once would be shown.
  printf 'Token of the gateway: ' >/dev/tty
  IFS= read -r token </dev/tty || token=
  stty echo </dev/tty
  trap - EXIT INT TERM
  echo >/dev/tty
}
`,
    after: `  sed -i "s|^GATEHOUSE_URL=.*|GATEHOUSE_URL=$url|" /etc/gatehouse/gateway.conf
  grep -q "^GATEHOUSE_URL=$url\\$" /etc/gatehouse/gateway.conf ||
    printf 'GATEHOUSE_URL=%s\\n' "$url" >>/etc/gatehouse/gateway.conf
  (umask 077 && printf '%s\\n' "$token" >/etc/gatehouse/gateway-token.new)
  mv /etc/gatehouse/gateway-token.new /etc/gatehouse/gateway-token
  start_service`,
  });
}

export function deviceScript(options: InstallScriptOptions): string {
  return script(options, {
    agent: "device",
    usage: `Options:
  --no-enrol          only install the agent; enrol later with gatehouse-device enrol`,
    options: `    --no-enrol)
      enrols=no
      shift
      ;;`,
    variables: "enrols=yes",
    before: "",
    functions: "",
    after: `  if [ ! -e /var/lib/gatehouse-device/enrolment.json ]; then
    if [ "$enrols" = no ]; then
      echo "Enrol this device: gatehouse-device enrol --url $url && systemctl start gatehouse-device"
      return
    fi
    gatehouse-device enrol --url "$url"
  fi
  start_service`,
  });
}

interface ScriptParts {
  readonly agent: "gateway" | "device";
  readonly usage: string;
  /** Cases of further options. */
  readonly options: string;
  readonly variables: string;
  readonly functions: string;
  /** Steps before and after the installation of the package. */
  readonly before: string;
  readonly after: string;
}

function script({ url, signingKey, architectures }: InstallScriptOptions, parts: ScriptParts): string {
  const package_ = `gatehouse-${parts.agent}`;
  const call = `curl -fsS ${url}/install/${parts.agent} | sudo sh`;
  return `#!/bin/sh
# Installs ${package_} from ${url}, and keeps it upgradable with apt.
set -eu

url='${url}'
${parts.variables}

usage() {
  cat <<'END'
Usage: ${call} -s -- [options]

${parts.usage}
  --help              show this help
END
}

fail() {
  printf '%s\\n' "$*" >&2
  exit 1
}

${parts.functions}
start_service() {
  if [ -d /run/systemd/system ]; then
    systemctl enable --quiet ${package_}
    systemctl restart ${package_}
    echo '${package_} is running. Its log: journalctl -u ${package_}'
  else
    echo '${package_} is installed. systemd does not run here, so start the service yourself.'
  fi
}

main() {
  while [ $# -gt 0 ]; do
    case $1 in
${parts.options}
    --help)
      usage
      exit 0
      ;;
    *) fail "The option $1 is unknown. Use --help." ;;
    esac
  done
  [ "$(id -u)" = 0 ] || fail 'Run the script as root: ${call}'
  command -v apt-get >/dev/null || fail 'apt-get is missing. Use Debian 12 or newer, or a system that is based on it.'
  case $(dpkg --print-architecture) in
  ${architectures.join(" | ")}) ;;
  *) fail "This server has packages for ${architectures.join(" and ")}, not for $(dpkg --print-architecture)." ;;
  esac
${parts.before}
  install -d -m 0755 /etc/apt/keyrings
  cat >/etc/apt/keyrings/gatehouse.asc <<'END'
${signingKey.trimEnd()}
END
  cat >/etc/apt/sources.list.d/gatehouse.sources <<END
Types: deb
URIs: $url/apt/
Suites: stable
Components: main
Signed-By: /etc/apt/keyrings/gatehouse.asc
END
  chmod 0644 /etc/apt/keyrings/gatehouse.asc /etc/apt/sources.list.d/gatehouse.sources
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -q
  # Keep the administrator's settings file. Skip recommended packages: wireguard-tools recommends a Debian kernel.
  apt-get install -y -q --no-install-recommends -o Dpkg::Options::=--force-confold ${package_} </dev/null
${parts.after}
}

main "$@"
`;
}
