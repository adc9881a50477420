/** The ids of the write requests that this page sent, so that their events can be told from those of other people. */

const mostIds = 1_000;
const ids = new Set<string>();

/** Sends a request, and notes its id if it is a write. */
export async function sendNoting(request: Request): Promise<Response> {
  const response = await globalThis.fetch(request);
  const id = request.method === "GET" ? null : response.headers.get("x-request-id");
  if (id !== null) {
    ids.add(id);
    const [oldest] = ids;
    if (ids.size > mostIds && oldest !== undefined) ids.delete(oldest);
  }
  return response;
}

/** Whether this page sent the request. True only once for each request: a later question is about another change. */
export function takeOwnRequest(id: string): boolean {
  return ids.delete(id);
}
