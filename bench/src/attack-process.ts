/**
 * Sends one kind of request in a loop until its standard input ends, in a separate process, so that its work does not
 * delay the measurement. It reads the attack as one line of JSON, and prints the result as JSON.
 */
import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { createInterface } from "node:readline";
import type { AttackLoad, AttackResult } from "./attack.ts";

/** The pause after an answer 429: a client that ignores Retry-After, but not one that only floods. */
const pauseMs = 100;

/** Replaced with a different number in each request. */
const marker = "[<id>]";

const input = createInterface(process.stdin);
const [line] = await once(input, "line");
const { url, method, headers, body, connections } = JSON.parse(String(line)) as AttackLoad; // as `startAttack` writes it
const agent = new Agent({ keepAlive: true, maxSockets: connections });
const answers = new Map<number, number>();
/** Numbers the records that the attack writes. */
let written = 0;
let isStopped = false;
input.once("close", () => {
  isStopped = true;
});
const before = process.cpuUsage();
await Promise.all(Array.from({ length: connections }, repeat));
agent.destroy();
const { user, system } = process.cpuUsage(before);
const result: AttackResult = { answers: [...answers], processorSeconds: (user + system) / 1e6 };
process.stdout.write(JSON.stringify(result));

async function repeat(): Promise<void> {
  const payload = body === undefined ? undefined : Buffer.from(body);
  const places = payload === undefined ? [] : placesOf(payload);
  const length = payload === undefined ? {} : { "content-length": payload.length };
  while (!isStopped) {
    // Numbers are written in place, because building a large body again would use the processor.
    written += 1;
    const number = String(written).padStart(marker.length, "0");
    for (const place of places) payload?.write(number, place, "latin1");
    const sent = request(url, { method, agent, headers: { ...headers, ...length } });
    sent.end(payload);
    const [response] = (await once(sent, "response")) as [IncomingMessage]; // the event's argument
    response.resume();
    await once(response, "end");
    const status = response.statusCode ?? 0;
    answers.set(status, (answers.get(status) ?? 0) + 1);
    if (status === 429) await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

function placesOf(payload: Buffer): readonly number[] {
  const places: number[] = [];
  for (let place = payload.indexOf(marker); place >= 0; place = payload.indexOf(marker, place + marker.length)) {
    places.push(place);
  }
  return places;
}
