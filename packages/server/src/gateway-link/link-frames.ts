/** Frames as texts: what agents send is checked, and longer messages are put together of parts, as far as is allowed. */
import { type AgentFrame, type AgentMessage, agentFrames } from "@gatehouse/contract/gateway-link/frames";
import { Ajv } from "ajv";

/** What an agent has to say is short: heartbeats of a thousand peers, and reasons. Characters. */
const longestAgentMessage = 1024 * 1024;

const ajv = new Ajv({ strict: false, ownProperties: true });
const checks = new Map(Object.entries(agentFrames).map(([type, schema]) => [type, ajv.compile(schema)]));

/** What a text was: a message, a part of one that is not whole yet, or nothing that an agent may send. */
export type ReadFrame =
  | { readonly kind: "message"; readonly message: AgentMessage }
  | { readonly kind: "part" }
  | { readonly kind: "fault"; readonly fault: string };

const fault = (text: string): ReadFrame => ({ kind: "fault", fault: text });

/** Reads what one connection brings. */
export class FrameReader {
  #parts: string[] = [];
  #characters = 0;

  read(text: string): ReadFrame {
    const frame = checked(text);
    if (typeof frame === "string") return fault(frame);
    if (frame.type !== "part") return { kind: "message", message: frame };
    if (frame.index !== this.#parts.length) return fault("a part is out of order");
    this.#characters += frame.text.length;
    if (this.#characters > longestAgentMessage) return fault("a message is too long");
    this.#parts.push(frame.text);
    if (!frame.isLast) return { kind: "part" };
    const whole = checked(this.#parts.join(""));
    this.#parts = [];
    this.#characters = 0;
    if (typeof whole === "string") return fault(whole);
    return whole.type === "part" ? fault("a part is made of parts") : { kind: "message", message: whole };
  }
}

/** @returns the frame, or what is wrong with it */
function checked(text: string): AgentFrame | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return "a frame is not JSON";
  }
  const type = value !== null && typeof value === "object" && "type" in value ? value.type : undefined;
  const check = typeof type === "string" ? checks.get(type) : undefined;
  if (check === undefined) return "a frame is of no known type";
  if (!check(value))
    return `a frame of type ${String(type)} is not as declared: ${ajv.errorsText(check.errors).slice(0, 200)}`;
  return value as AgentFrame; // as was just checked
}
