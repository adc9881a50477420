/** Frames as texts: what the other end sends is checked, and longer messages are put together of parts, as far as is allowed. */
import type { Part } from "@gatehouse/agent-protocol/link/frames";
import { Ajv, type ValidateFunction } from "ajv";
import { isUuid } from "../../platform/ids.ts";

/** What agents have to say is short: heartbeats of a thousand peers, and reasons. Characters. */
const longestAgentMessage = 1024 * 1024;

/** The checks of a link's frames, by type. */
export type FrameChecks = ReadonlyMap<string, ValidateFunction>;

/** @param frames the schema of each type of frame */
export function frameChecks(frames: Readonly<Record<string, object>>): FrameChecks {
  const ajv = new Ajv({ strict: false, ownProperties: true, formats: { uuid: isUuid } });
  return new Map(Object.entries(frames).map(([type, schema]) => [type, ajv.compile(schema)]));
}

/** What a text was: a message, a part of one that is not whole yet, or nothing that may be sent. */
export type ReadFrame<Message> =
  | { readonly kind: "message"; readonly message: Message }
  | { readonly kind: "part" }
  | { readonly kind: "fault"; readonly fault: string };

const fault = (text: string) => ({ kind: "fault", fault: text }) as const;

/** Reads what one connection brings. `Message` is whatever the checks let through, but for parts. */
export class FrameReader<Message extends { readonly type: string }> {
  readonly #checks: FrameChecks;
  #parts: string[] = [];
  #characters = 0;

  constructor(checks: FrameChecks) {
    this.#checks = checks;
  }

  read(text: string): ReadFrame<Message> {
    const frame = this.#checked(text);
    if (typeof frame === "string") return fault(frame);
    if (!isPart(frame)) return { kind: "message", message: frame };
    if (frame.index !== this.#parts.length) return fault("a part is out of order");
    this.#characters += frame.text.length;
    if (this.#characters > longestAgentMessage) return fault("a message is too long");
    this.#parts.push(frame.text);
    if (!frame.isLast) return { kind: "part" };
    const whole = this.#checked(this.#parts.join(""));
    this.#parts = [];
    this.#characters = 0;
    if (typeof whole === "string") return fault(whole);
    return isPart(whole) ? fault("a part is made of parts") : { kind: "message", message: whole };
  }

  /** @returns the frame, or what is wrong with it */
  #checked(text: string): Message | Part | string {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return "a frame is not JSON";
    }
    const type = value !== null && typeof value === "object" && "type" in value ? value.type : undefined;
    const check = typeof type === "string" ? this.#checks.get(type) : undefined;
    if (check === undefined) return "a frame is of no known type";
    if (!check(value)) {
      const faults = JSON.stringify(check.errors?.map(({ instancePath, message }) => [instancePath, message]));
      return `a frame of type ${String(type)} is not as declared: ${faults.slice(0, 200)}`;
    }
    return value as Message | Part; // as was just checked
  }
}

function isPart(frame: { readonly type: string }): frame is Part {
  return frame.type === "part";
}
