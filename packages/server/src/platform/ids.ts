import { v7 } from "uuid";

/** Makes a UUIDv7 (RFC 9562): unique, and in order of creation, so that an index on ids is one on age. */
export function newId(): string {
  return v7();
}

const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether a text has the form of a UUID, in either letter case. */
export function isUuid(text: string): boolean {
  return uuidForm.test(text);
}
