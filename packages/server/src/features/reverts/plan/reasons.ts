/** Reasons why an event, or a part of it, cannot be reverted. */
import type { Event } from "@gatehouse/contract/records/event";
import { irrevertibleOperations, irrevertibleTargets } from "@gatehouse/contract/records/irrevertible";
import type { Irrevertible, IrrevertibleCode } from "@gatehouse/contract/records/revert";

const messages: Readonly<Record<IrrevertibleCode, string>> = {
  api_key:
    "Gatehouse stores only the hash of an API key, so the key cannot be restored. Create a new key, and configure it in the programs that used this one.",
  built_in:
    "The record belongs to every tenant. It was created with the tenant and remains until the tenant is deleted.",
  configuration: "The event is part of an applied configuration. Apply the previous configuration to undo the event.",
  delivery: "A message that was sent to a webhook cannot be taken back.",
  devices: "The user's devices remain deactivated and without a user. Enrol them again.",
  gateway_priority:
    "The gateway gets the lowest priority of each resource. Configure the load balancing of its resources.",
  gateway_settings:
    "The event does not contain the gateway's resolvers, networks and relay port. Set them again if the gateway had any.",
  invitation: "A renewed invitation cannot be shortened. Deactivate the user to cut off access.",
  missing_record: "The record does not exist any more, so the reference to it is left out.",
  no_setting_changed: "The event changed no setting that can be restored.",
  observation: "The event records the state that an agent reported. It follows the agent.",
  ownership:
    "Ownership is transferred only explicitly. Transfer it back with POST /tenants/users/{id}/transfer-ownership.",
  part_of_deletion: "The event is part of the deletion of another record. Revert that deletion instead.",
  record_deleted: "The record was deleted after the event. Revert the deletion first.",
  saml_default_group: "A tenant needs a SAML default group, and the previous one does not exist any more.",
  secret: "Gatehouse does not store secrets in events, so the previous secret cannot be restored.",
  too_many_changes: "A revert performs a limited number of changes. Restore the remaining references yourself.",
  unsupported: "Changes of this kind cannot be reverted.",
  user_status: "The user must accept a new invitation to become active.",
};

/** @param details a message for this case, and the field, record or event that the reason refers to */
export function cannot(code: IrrevertibleCode, details: Partial<Omit<Irrevertible, "code">> = {}): Irrevertible {
  return { code, message: messages[code], ...details };
}

/** The reason why nothing of the event can be reverted; undefined if that depends on its content. */
export function reasonAgainst({ operation, target }: Event): Irrevertible | undefined {
  const code = irrevertibleTargets[target.type] ?? irrevertibleOperations[operation];
  return code === undefined ? undefined : cannot(code);
}
