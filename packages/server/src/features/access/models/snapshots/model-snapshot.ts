/** The contents of snapshots: a tenant's facts at a generation, as chunks. */
import type { TenantFacts } from "@gatehouse/policy/model/facts";
import type { LargeKind } from "@gatehouse/policy/model/model";
import type { ProtocolList } from "@gatehouse/policy/model/protocol-lists";
import type { Work } from "@gatehouse/policy/work";
import { deviceFormat, type ModelFacts, resourceFormat, userFormat } from "../packed/packed-facts.ts";
import { PackedPages, PackedRecords, type Page } from "../packed/packed-records.ts";
import { PageLists } from "../packed/page-lists.ts";
import { SharedTexts, sharingTexts } from "../packed/shared-texts.ts";
import type { SealedChunk } from "./sealed-file.ts";

/** The state of the tenant in a snapshot. */
export interface SnapshotState {
  readonly tenantId: string;
  readonly generation: number;
  /** The hash of the audit chain at this generation. It detects a database that was restored since. */
  readonly chainHash: string;
}

export interface ModelSnapshot {
  readonly state: SnapshotState;
  readonly facts: ModelFacts;
}

/** The first byte of a chunk. */
const kinds = { state: 0, users: 1, devices: 2, resources: 3, others: 4, end: 5, lists: 6 } as const;
/** The bytes before the rows of a page: its kind, and the number of rows. */
const pageHeadBytes = 5;
/** The maximum number of records in a chunk, which takes a few milliseconds to parse. */
const recordsOfChunk = 500;
/**
 * The bytes after which the next record begins a new chunk. A page or a list of policies can have hundreds of MiB,
 * which would be slow to encrypt at once.
 */
const chunkBytes = 4 * 1_048_576;
/** The characters of lists of ports in a chunk. Each of their ports becomes an object. */
const charactersOfLists = 65_536;

/** The chunks of a snapshot, in order. */
export function* snapshotChunks({
  state,
  facts: { users, devices, resources, others },
}: ModelSnapshot): Iterable<SealedChunk> {
  yield textChunk(kinds.state, JSON.stringify(state));
  for (const page of users.pages) yield* pageChunks(kinds.users, page);
  for (const page of devices.pages) yield* pageChunks(kinds.devices, page);
  for (const page of resources.pages) {
    yield* listChunks(page.lists);
    yield* pageChunks(kinds.resources, page);
  }
  for (const [kind, records] of Object.entries(others)) yield* recordChunks(kind, records);
  yield { bytes: Buffer.of(kinds.end), isLast: true };
}

function* recordChunks(kind: string, records: readonly object[]): Iterable<SealedChunk> {
  let texts: string[] = [];
  let length = 0;
  for (const [index, record] of records.entries()) {
    const text = JSON.stringify(record);
    length += text.length;
    texts.push(text);
    if (texts.length < recordsOfChunk && length < chunkBytes && index < records.length - 1) continue;
    yield textChunk(kinds.others, `{"kind":"${kind}","records":[${texts.join()}]}`);
    texts = [];
    length = 0;
  }
}

function textChunk(kind: number, text: string): SealedChunk {
  return { bytes: Buffer.concat([Buffer.of(kind), Buffer.from(text)]), isLast: false };
}

/** The lists to which the rows of the next page refer: at least one chunk. */
function* listChunks(lists: Iterable<ProtocolList>): Iterable<SealedChunk> {
  let texts: string[] = [];
  let length = 0;
  for (const list of lists) {
    const text = JSON.stringify(list);
    texts.push(text);
    length += text.length;
    if (length < charactersOfLists) continue;
    yield textChunk(kinds.lists, `[${texts.join()}]`);
    texts = [];
    length = 0;
  }
  yield textChunk(kinds.lists, `[${texts.join()}]`);
}

function* pageChunks(kind: number, { bytes, starts }: Page): Iterable<SealedChunk> {
  const rows = starts.length - 1;
  const startOf = (row: number) => starts[row] ?? 0;
  for (let first = 0; first < rows; ) {
    let next = first + 1;
    while (next < rows && startOf(next + 1) - startOf(first) <= chunkBytes) next += 1;
    const head = Buffer.of(kind, 0, 0, 0, 0);
    head.writeUInt32BE(next - first, 1);
    // Without the line feed after the last row.
    yield { bytes: Buffer.concat([head, bytes.subarray(startOf(first), startOf(next) - 1)]), isLast: false };
    first = next;
  }
}

type OtherFacts = Omit<TenantFacts, LargeKind>;

/**
 * Reads a snapshot from its chunks.
 *
 * @param perform performs work between two chunks
 * @throws if a chunk is missing or malformed
 */
export async function readSnapshotChunks(
  chunks: AsyncIterable<Buffer>,
  perform: <Result>(work: Work<Result>) => Promise<Result>,
): Promise<ModelSnapshot> {
  const users = new PackedPages();
  const devices = new PackedPages();
  const resources = new PackedPages();
  const texts = new SharedTexts();
  const others: { readonly [Kind in keyof OtherFacts]: OtherFacts[Kind][number][] } = {
    groups: [],
    gateways: [],
    rules: [],
    policies: [],
  };
  let state: SnapshotState | undefined;
  let lists = new PageLists();
  let hasRows = false;
  let isComplete = false;
  for await (const chunk of chunks) {
    switch (chunk[0]) {
      case kinds.state:
        state = JSON.parse(chunk.toString("utf8", 1)) as SnapshotState; // authenticated, so this server wrote it
        break;
      case kinds.users:
        await perform(users.adding(chunk.subarray(pageHeadBytes), chunk.readUInt32BE(1)));
        break;
      case kinds.devices:
        await perform(devices.adding(chunk.subarray(pageHeadBytes), chunk.readUInt32BE(1)));
        break;
      case kinds.resources:
        await perform(resources.adding(chunk.subarray(pageHeadBytes), chunk.readUInt32BE(1), lists));
        hasRows = true;
        break;
      case kinds.lists:
        if (hasRows) lists = new PageLists();
        hasRows = false;
        for (const list of JSON.parse(chunk.toString("utf8", 1)) as readonly ProtocolList[]) lists.add(list); // as above
        break;
      case kinds.others: {
        const { kind, records } = JSON.parse(chunk.toString("utf8", 1)) as {
          readonly kind: keyof OtherFacts;
          readonly records: never[];
        }; // as above
        await perform(sharingTexts({ users: [], devices: [], resources: [], ...noOthers, [kind]: records }, texts));
        for (const record of records) others[kind].push(record);
        break;
      }
      case kinds.end:
        isComplete = true;
        break;
      default:
        throw new Error(`a snapshot has a chunk of the unknown kind ${chunk[0]}`);
    }
  }
  if (state === undefined || !isComplete) throw new Error("a snapshot is incomplete");
  return {
    state,
    facts: {
      users: await perform(PackedRecords.indexing(users, userFormat())),
      devices: await perform(PackedRecords.indexing(devices, deviceFormat())),
      resources: await perform(PackedRecords.indexing(resources, resourceFormat())),
      others,
    },
  };
}

const noOthers: OtherFacts = { groups: [], gateways: [], rules: [], policies: [] };
