/**
 * Returns the WebSocket URL of a link.
 *
 * @param url the control plane's `https://…` or `http://…`, with a path if a proxy adds one
 * @param path the link's path, with its leading slash
 * @throws TypeError if the URL is invalid
 */
export function linkUrl(url: string, path: string): URL {
  return new URL(url.replace(/^http/, "ws").replace(/\/+$/, "") + path);
}

/** Whether tokens and messages to the control plane travel unencrypted beyond this machine. */
export function isUnencrypted(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  const isThisMachine = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
  return protocol === "http:" && !isThisMachine;
}
