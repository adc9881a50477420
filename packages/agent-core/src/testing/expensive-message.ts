const pointer = 0xc000;
const unknownType = 65_280;

/** Returns a DNS message of about `size` bytes, with a long chain of compression pointers that many names follow. */
export function expensiveMessage(size: number, type: "query" | "response"): Buffer {
  const message = Buffer.alloc(size);
  message.writeUInt16BE(type === "query" ? 0 : 0x8000, 2);
  message.writeUInt16BE(1, 4);
  message.writeUInt16BE(1, 15); // the class of a question about the root
  message.writeUInt16BE(1, 13);
  const start = 28;
  const pointers = Math.floor((Math.min(16_383, size / 2) - start) / 2);
  const record = (at: number, name: number, length: number) => {
    const type = name === 0 ? at + 1 : at + 2;
    if (name !== 0) message.writeUInt16BE(pointer | name, at);
    message.writeUInt16BE(unknownType, type);
    message.writeUInt16BE(1, type + 2);
    message.writeUInt16BE(length, type + 8);
  };
  record(17, 0, 2 * pointers);
  for (let index = 0; index < pointers; index++) {
    message.writeUInt16BE(pointer | (index === 0 ? 12 : start + 2 * (index - 1)), start + 2 * index);
  }
  const end = start + 2 * pointers;
  let records = 1;
  for (let at = end; at + 12 <= size; at += 12, records++) record(at, end - 2, 0);
  message.writeUInt16BE(records, 6);
  return message;
}
