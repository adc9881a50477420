import { v7 } from "uuid";

/** Generates a UUIDv7 (RFC 9562). Its order is the order of creation, so that an index on ids is also one on age. */
export function newId(): string {
  return v7();
}

const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether the text is a UUID, in upper or lower case. */
export function isUuid(text: string): boolean {
  return uuidForm.test(text);
}
