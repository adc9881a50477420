import Type, { type Static } from "typebox";
import { component, nullable, oneOf, shortText, Uuid } from "../schema.ts";
import { Protocol } from "./protocol.ts";

export const resourceTypes = ["PRIVATE", "SAAS", "INTERNET"] as const;
export type ResourceType = (typeof resourceTypes)[number];

/** The text of an address in a request. The rules of each address family check its format. */
export const AddressText = Type.String({
  "x-trim": true,
  minLength: 1,
  maxLength: 253,
  description: "An IPv4 or IPv6 address, a CIDR, a host name, a domain, or `*.domain`.",
});

/** The most blocks to which the answers of a name can be limited. */
export const mostAnswerBlocks = 32;

const blocks =
  "For a host name, domain or `*.domain` of a PRIVATE resource: blocks that contain every address that DNS may return. Gateways remove other addresses from answers and do not open them.";

function answerBlocks(description: string) {
  return Type.Array(shortText(49, "An address or a CIDR."), { minItems: 1, maxItems: mostAnswerBlocks, description });
}

/** A change of `answersWithin` in a request. Null is the default. */
export const AnswersWithin = nullable(
  answerBlocks(
    `${blocks} Null: the \`networks\` in the settings of the gateway; if it has none, any address. To permit any address at every gateway, use \`0.0.0.0/0\` and \`::/0\`.`,
  ),
);

export const Address = component("Address", "An address of a resource with the protocols that it accepts.", {
  id: Uuid,
  address: Type.String({ description: "An IP address, a CIDR, a host name, a domain, or `*.domain`." }),
  isIp: Type.Boolean({ description: "Whether the address is an IP address or a CIDR." }),
  type: oneOf(resourceTypes),
  protocols: Type.Array(Protocol),
  answersWithin: Type.Optional(answerBlocks(blocks)),
});
export type Address = Static<typeof Address>;
