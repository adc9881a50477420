/** The machines that programs and libraries in a folder are for. */
import { open, readdir } from "node:fs/promises";
import path from "node:path";

/** ELF's numbers, by Debian's name of the architecture. */
const numbers: Readonly<Record<string, number>> = { amd64: 62, arm64: 183 };

export interface Programs {
  /** Files for the architecture, relative to the folder and sorted. */
  readonly fitting: readonly string[];
  /** Files for other machines. */
  readonly foreign: readonly string[];
}

/** Sorts the ELF files in a folder by whether they are for an architecture. @param architecture Debian's name */
export async function programsIn(folder: string, architecture: string): Promise<Programs> {
  const fitting: string[] = [];
  const foreign: string[] = [];
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const entry of entries.filter((each) => each.isFile())) {
    const file = path.join(entry.parentPath, entry.name);
    const machine = await machineOf(file);
    if (machine === undefined) continue;
    (machine === numbers[architecture] ? fitting : foreign).push(path.relative(folder, file));
  }
  return { fitting: fitting.sort(), foreign: foreign.sort() };
}

/** The machine of an ELF file; undefined for other files. */
async function machineOf(file: string): Promise<number | undefined> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(20), 0, 20, 0);
    const isElf = bytesRead === 20 && buffer.toString("latin1", 0, 4) === "\x7fELF";
    return isElf ? buffer.readUInt16LE(18) : undefined;
  } finally {
    await handle.close();
  }
}
