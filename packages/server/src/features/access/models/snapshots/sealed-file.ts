/**
 * Files of encrypted chunks (AES-256-GCM). Each file has its own key, which is derived from the master key, a random
 * salt and the file's subject. Each chunk authenticates its number, and whether it is the last one. A file that was
 * changed, shortened, extended, or copied from another subject or installation cannot be read.
 */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { deriveFileKey } from "../../../../platform/secrets/master-key.ts";

/** Must be changed if the format of the contents changes. */
const magic = Buffer.from("gatehouse-model-3\n");
const saltBytes = 32;
const tagBytes = 16;
const lengthBytes = 4;
/** The maximum size of a chunk. */
const maxChunkBytes = 64 * 1_048_576;

export interface SealedChunk {
  readonly bytes: Buffer;
  readonly isLast: boolean;
}

/** Writes a file that only the user of this process can read. */
export class SealedFileWriter {
  readonly #file: FileHandle;
  readonly #key: Buffer;
  #chunks = 0;
  /** The bytes that were written. */
  size = 0;

  private constructor(file: FileHandle, key: Buffer) {
    this.#file = file;
    this.#key = key;
  }

  /** @throws if the file exists */
  static async create(path: string, masterKey: Buffer, subject: string): Promise<SealedFileWriter> {
    const salt = randomBytes(saltBytes);
    const file = await open(path, "wx", 0o600);
    const writer = new SealedFileWriter(file, deriveFileKey(masterKey, subject, salt));
    try {
      await writer.#write(magic, salt);
      return writer;
    } catch (error) {
      await writer.close();
      throw error;
    }
  }

  async add({ bytes, isLast }: SealedChunk): Promise<void> {
    const cipher = createCipheriv("aes-256-gcm", this.#key, nonceOf(this.#chunks)).setAAD(
      placeOf(this.#chunks, isLast),
    );
    this.#chunks += 1;
    const sealed = cipher.update(bytes);
    cipher.final();
    const head = Buffer.alloc(lengthBytes);
    head.writeUInt32BE(sealed.length);
    await this.#write(head, sealed, cipher.getAuthTag());
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  async #write(...parts: readonly Buffer[]): Promise<void> {
    for (const part of parts) {
      await this.#file.writeFile(part);
      this.size += part.length;
    }
  }
}

/**
 * Reads the chunks of a file.
 *
 * @throws if the file is incomplete, was changed, or was written with another key or subject
 */
export async function* readSealedFile(
  path: string,
  masterKey: Buffer,
  subject: string,
): AsyncGenerator<Buffer, void, void> {
  const file = await open(path, "r");
  try {
    const start = await readExactly(file, magic.length + saltBytes);
    if (!start.subarray(0, magic.length).equals(magic)) throw new Error("the file has another format");
    const key = deriveFileKey(masterKey, subject, start.subarray(magic.length));
    const { size } = await file.stat();
    let left = size - start.length;
    for (let index = 0; left > 0; index += 1) {
      const length = (await readExactly(file, lengthBytes)).readUInt32BE();
      left -= lengthBytes + length + tagBytes;
      if (length > maxChunkBytes || left < 0) throw new Error("the file is damaged");
      const sealed = await readExactly(file, length + tagBytes);
      const decipher = createDecipheriv("aes-256-gcm", key, nonceOf(index), { authTagLength: tagBytes })
        .setAAD(placeOf(index, left === 0))
        .setAuthTag(sealed.subarray(length));
      const bytes = decipher.update(sealed.subarray(0, length));
      decipher.final();
      yield bytes;
    }
  } finally {
    await file.close();
  }
}

async function readExactly(file: FileHandle, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(length);
  const { bytesRead } = await file.read(buffer, 0, length);
  if (bytesRead < length) throw new Error("the file is incomplete");
  return buffer;
}

/** No two chunks of a file have the same nonce, and no two files have the same key. */
function nonceOf(index: number): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUInt32BE(index, 8);
  return nonce;
}

function placeOf(index: number, isLast: boolean): Buffer {
  return Buffer.from(`${index} ${isLast ? "last" : "more"}`);
}
