/** Where the control plane is, as a person gave it. */

/**
 * @param url `https://…` or `http://…`, also with a path where a proxy gives the control plane one
 * @param path of the link, from its slash on
 * @throws TypeError for what is no URL
 */
export function linkUrl(url: string, path: string): URL {
  return new URL(url.replace(/^http/, "ws").replace(/\/+$/, "") + path);
}

/** Whether what is said to the control plane, tokens too, can be read on the way there. */
export function isReadableOnTheWay(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  const isThisMachine = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
  return protocol === "http:" && !isThisMachine;
}
