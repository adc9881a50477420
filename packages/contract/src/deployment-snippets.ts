/**
 * Commands and files that deploy a gateway. The console, the documents and the tests use these texts, so that every
 * place shows what is tested.
 */
import { version } from "./version.ts";

export const snippetKinds = ["debian", "debianFile", "cloudInit", "container", "compose", "helm", "checkout"] as const;
export type SnippetKind = (typeof snippetKinds)[number];

/** The snippets that install from the server. They work only if the server has agent packages. */
export const packageSnippetKinds: readonly SnippetKind[] = ["debian", "cloudInit"];

export interface SnippetOptions {
  /** Address of the control plane, such as https://gatehouse.example.com. */
  readonly url: string;
  /** The gateway's token. */
  readonly token: string;
}

const tokenFile = "gatehouse-gateway.token";
/** File with the token inside containers. */
const mountedToken = "/run/secrets/gatehouse-token";
/** Folder in memory that a container shares with its host, because the container's own /run ends with the container. */
const runtimeFolder = "/run/gatehouse-gateway";
/** The chart of the release. */
const chart = `./gatehouse_${version}.chart.tgz`;
const image = `localhost/gatehouse-gateway:${version}`;

/** Writes the token to a file that only the calling user can read. */
const writeToken = (token: string) => `(umask 077 && printf %s '${token}' > ${tokenFile})`;
/** Writes the token to a file of root: in containers, root has no capability to read the files of other users. */
const writeTokenAsRoot = (token: string) => `printf %s '${token}' | sudo install -m 600 /dev/stdin ${tokenFile}`;
/** The downloaded script is a file, because a shell that reads an empty pipe succeeds. */
const script = "gatehouse-install.sh";

export const gatewaySnippets: Readonly<Record<SnippetKind, (options: SnippetOptions) => string>> = {
  debian: ({ url, token }) => `${writeToken(token)} &&
  curl -fsS -o ${script} ${url}/install/gateway &&
  sudo sh ${script} --token-file ${tokenFile}`,

  debianFile: ({ url, token }) => `${writeToken(token)} &&
  sudo apt-get install --no-install-recommends ./gatehouse-gateway_*.deb &&
  sudo sed -i 's|^GATEHOUSE_URL=.*|GATEHOUSE_URL=${url}|' /etc/gatehouse/gateway.conf &&
  sudo install -m 600 ${tokenFile} /etc/gatehouse/gateway-token &&
  sudo systemctl restart gatehouse-gateway`,

  cloudInit: ({ url, token }) => `#cloud-config
packages: [curl, ca-certificates]
write_files:
  - path: /etc/gatehouse/gateway-token
    permissions: "0600"
    content: "${token}"
runcmd:
  - >-
    curl -fsS --retry 10 --retry-all-errors -o /run/${script} ${url}/install/gateway &&
    sh /run/${script} --token-file /etc/gatehouse/gateway-token
`,

  container: ({ url, token }) => `${writeTokenAsRoot(token)} &&
  echo 'd ${runtimeFolder} 0700' | sudo install -m 644 /dev/stdin /etc/tmpfiles.d/gatehouse-gateway.conf &&
  sudo systemd-tmpfiles --create gatehouse-gateway.conf &&
  sudo podman run --detach --name gatehouse-gateway --restart always --network host --read-only \\
    --cap-drop ALL --cap-add NET_ADMIN --cap-add NET_BIND_SERVICE --security-opt no-new-privileges \\
    --device /dev/net/tun --volume gatehouse-gateway:/var/lib/gatehouse-gateway \\
    --volume ${runtimeFolder}:${runtimeFolder} \\
    --volume "$PWD/${tokenFile}:${mountedToken}:ro" \\
    ${image} --url ${url} --token-file ${mountedToken}`,

  compose: ({ url, token }) => `# First: ${writeTokenAsRoot(token)}
services:
  gateway:
    image: ${image}
    command: [--url, "${url}", --token-file, ${mountedToken}]
    restart: always
    network_mode: host
    read_only: true
    cap_drop: [ALL]
    cap_add: [NET_ADMIN, NET_BIND_SERVICE]
    security_opt: ["no-new-privileges:true"]
    devices: [/dev/net/tun]
    volumes:
      - gateway:/var/lib/gatehouse-gateway
      - ${runtimeFolder}:${runtimeFolder}
      - ./${tokenFile}:${mountedToken}:ro
volumes:
  gateway:
`,

  helm: ({ url, token }) => `${writeToken(token)} &&
  kubectl create secret generic gatehouse-gateway --from-file=token=${tokenFile} &&
  helm upgrade --install gatehouse-gateway ${chart} --set server.enabled=false,gateway.enabled=true \\
    --set gateway.url=${url} --set gateway.tokenSecret=gatehouse-gateway`,

  checkout: ({ url, token }) => `${writeToken(token)} &&
  sudo sysctl -p packages/gateway/systemd/90-gatehouse-gateway.conf &&
  sudo "$(command -v node)" packages/gateway/bin/gatehouse-gateway.js \\
    --url ${url} --token-file ${tokenFile}`,
};

export const tokenUpdateKinds = ["debian", "container", "compose", "helm", "checkout"] as const;
export type TokenUpdateKind = (typeof tokenUpdateKinds)[number];

/**
 * Commands that give a new token to a gateway that is already running, after a rotation. They can be repeated. They
 * install nothing, and keep the gateway's state.
 */
export const tokenUpdateSnippets: Readonly<Record<TokenUpdateKind, (options: SnippetOptions) => string>> = {
  debian: ({ token }) => `printf %s '${token}' | sudo install -m 600 /dev/stdin /etc/gatehouse/gateway-token &&
  sudo systemctl restart gatehouse-gateway`,

  // The mount shows the former file until the container restarts. A restart keeps the image and the options.
  container: ({ token }) => `${writeTokenAsRoot(token)} &&
  sudo podman restart gatehouse-gateway`,

  compose: ({ token }) => `${writeTokenAsRoot(token)} &&
  docker compose restart gateway`,

  helm: ({ token }) => `${writeToken(token)} &&
  kubectl create secret generic gatehouse-gateway --from-file=token=${tokenFile} --dry-run=client --output yaml |
    kubectl apply --filename - &&
  kubectl rollout restart deployment/gatehouse-gateway-gateway`,

  checkout: gatewaySnippets.checkout,
};
