import { t } from "../../messages/i18n.ts";
import { textWithCode } from "../../messages/text-with-code.tsx";
import { type Field, nameField, type Values } from "../../records/form-fields.tsx";
import type { EnrolmentKey } from "./enrolment-key-state.tsx";

const name = nameField(t("enrolmentKeys.fields.nameExample"), { description: t("enrolmentKeys.fields.nameHelp") });
const expiryField = {
  kind: "date-time",
  name: "expiresAt",
  label: t("enrolmentKeys.fields.expires"),
} as const satisfies Field;

/** The fields that can be changed later. */
export const editFields: readonly Field[] = [
  name,
  { ...expiryField, description: t("enrolmentKeys.fields.expiresHelpLater"), required: true },
];

export const newKeyFields: readonly Field[] = [
  name,
  {
    kind: "records",
    name: "userId",
    path: "/tenants/users",
    label: t("enrolmentKeys.fields.user"),
    description: t("enrolmentKeys.fields.userHelp"),
    required: true,
    validate: (value) => ((value as readonly string[]).length === 1 ? undefined : t("enrolmentKeys.oneUser")),
  },
  {
    kind: "number",
    name: "maxUses",
    label: t("enrolmentKeys.fields.maxUses"),
    description: t("enrolmentKeys.fields.maxUsesHelp"),
    min: 1,
    max: 10_000,
    required: true,
  },
  {
    kind: "words",
    name: "tags",
    label: t("enrolmentKeys.fields.tags"),
    description: textWithCode("enrolmentKeys.fields.tagsHelp"),
    example: "build",
  },
  { ...expiryField, description: t("enrolmentKeys.fields.expiresHelp") },
];

export const newKey: Values = { name: "", userId: [], maxUses: 1, tags: [], expiresAt: "" };

export function newKeyBody(values: Values) {
  const { name, userId, maxUses, tags, expiresAt } = values as {
    readonly name: string;
    readonly userId: readonly string[];
    readonly maxUses: number | null;
    readonly tags: readonly string[];
    readonly expiresAt: string;
  }; // as the fields define them
  return {
    name,
    userId: userId[0] ?? "",
    ...(maxUses === null ? {} : { maxUses }),
    ...(tags.length === 0 ? {} : { tags: [...tags] }),
    ...(expiresAt === "" ? {} : { expiresAt }),
  };
}

export function keyValues({ name, expiresAt }: EnrolmentKey): Values {
  return { name, expiresAt };
}

export function editBody(values: Values, before: EnrolmentKey) {
  const { name, expiresAt } = values as { readonly name: string; readonly expiresAt: string }; // as the fields define them
  // The expiry of a key that has expired is sent only if a person changes it.
  return { name, ...(expiresAt === before.expiresAt ? {} : { expiresAt }) };
}
