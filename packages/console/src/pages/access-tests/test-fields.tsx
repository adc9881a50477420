import { Group, Input, SegmentedControl, Select, Stack, TextInput, useMatches } from "@mantine/core";
import { t } from "../../messages/i18n.ts";
import { type CustomFieldProps, type Field, nameField, type Values } from "../../records/form-fields.tsx";
import { RecordSelect } from "../../records/record-select.tsx";
import { type AccessTest, formatDevice } from "./format-test.ts";
import { PostureFields } from "./posture-fields.tsx";

type SubjectType = AccessTest["subject"]["type"];

interface Subject {
  readonly type: SubjectType;
  readonly id: string;
}

interface Resource {
  readonly type: "resource" | "address";
  readonly id: string;
  readonly protocol: string;
  readonly port: string;
}

export const testFields: readonly Field[] = [
  nameField(t("accessTests.fields.nameExample")),
  {
    kind: "custom",
    name: "subject",
    label: t("accessTests.fields.subject"),
    render: (props) => <SubjectField {...props} />,
    format: (value) => `${(value as Subject).type} ${(value as Subject).id}`,
  },
  {
    kind: "custom",
    name: "device",
    label: t("accessTests.fields.device"),
    render: (props) => <DeviceField {...props} />,
    format: (value) => formatDevice(value as AccessTest["device"]),
  },
  {
    kind: "choice",
    name: "expected",
    label: t("accessTests.expected.label"),
    options: [
      { value: "denied", label: t("accessTests.expected.denied") },
      { value: "allowed", label: t("accessTests.expected.allowed") },
    ],
  },
  {
    kind: "custom",
    name: "resource",
    label: t("accessTests.fields.resource"),
    render: (props) => <ResourceField {...props} />,
    format: (value) => (value as Resource).id,
  },
  {
    kind: "text",
    name: "sourceIp",
    label: t("accessTests.fields.sourceIp"),
    description: t("accessTests.fields.sourceIpHelp"),
    example: "198.51.100.7",
    maxLength: 64,
  },
  {
    kind: "text",
    name: "country",
    label: t("accessTests.fields.country"),
    description: t("accessTests.fields.countryHelp"),
    example: "DE",
    maxLength: 2,
  },
  {
    kind: "date-time",
    name: "time",
    label: t("accessTests.fields.time"),
    description: t("accessTests.fields.timeHelp"),
  },
  {
    kind: "switch",
    name: "enforced",
    label: t("accessTests.fields.enforced"),
    description: t("accessTests.fields.enforcedHelp"),
  },
  { kind: "long-text", name: "description", label: t("common.description") },
];

const transports = ["TCP", "UDP", "ICMP"] as const;

const subjectPaths = { group: "/tenants/groups", user: "/tenants/users", device: "/tenants/devices" } as const;

function SubjectField({ value, onChange, error }: CustomFieldProps) {
  const subject = value as Subject;
  return (
    <Group align="flex-end" gap="xs" wrap="nowrap">
      <Select
        label={t("accessTests.fields.subject")}
        data={[
          { value: "everyone", label: t("accessTests.subjects.everyone") },
          { value: "group", label: t("accessTests.subjects.group") },
          { value: "user", label: t("accessTests.subjects.user") },
          { value: "device", label: t("accessTests.subjects.device") },
        ]}
        value={subject.type}
        allowDeselect={false}
        onChange={(type) => onChange({ type, id: "" })}
        w={150}
      />
      {subject.type !== "everyone" && (
        <div style={{ flex: 1 }}>
          <RecordSelect
            path={subjectPaths[subject.type]}
            label={t(`accessTests.subjects.${subject.type}`)}
            required
            error={error}
            value={subject.id}
            onChange={(id) => onChange({ ...subject, id })}
          />
        </div>
      )}
    </Group>
  );
}

function DeviceField({ value, onChange }: CustomFieldProps) {
  const device = value as AccessTest["device"];
  const kind = typeof device === "string" ? device : "posture";
  const isWide = useMatches({ base: false, xs: true });
  const posture = typeof device === "string" ? {} : device.posture;
  return (
    <Stack gap={6}>
      <Stack gap={0}>
        <Input.Label component="div" id="test-device">
          {t("accessTests.fields.device")}
        </Input.Label>
        <SegmentedControl
          aria-labelledby="test-device"
          orientation={isWide ? "horizontal" : "vertical"}
          value={kind}
          onChange={(next) => onChange(next === "posture" ? { posture: {} } : next)}
          data={[
            { value: "any", label: t("accessTests.fields.deviceAny") },
            { value: "none", label: t("accessTests.fields.deviceNone") },
            { value: "posture", label: t("accessTests.fields.devicePosture") },
          ]}
        />
      </Stack>
      {kind === "posture" && <PostureFields posture={posture} onChange={(changed) => onChange({ posture: changed })} />}
    </Stack>
  );
}

function ResourceField({ value, onChange, error }: CustomFieldProps) {
  const resource = value as Resource;
  return (
    <Stack gap="xs">
      <Group align="flex-end" gap="xs" wrap="nowrap">
        <Select
          label={t("accessTests.fields.destination")}
          data={[
            { value: "resource", label: t("accessTests.resourceTypes.resource") },
            { value: "address", label: t("accessTests.resourceTypes.address") },
          ]}
          value={resource.type}
          allowDeselect={false}
          onChange={(type) => onChange({ ...resource, type, id: "" })}
          w={150}
        />
        <div style={{ flex: 1 }}>
          {resource.type === "resource" ? (
            <RecordSelect
              path="/tenants/resources"
              label={t("accessTests.fields.resource")}
              required
              error={error}
              value={resource.id}
              onChange={(id) => onChange({ ...resource, id })}
            />
          ) : (
            <TextInput
              label={t("accessTests.fields.address")}
              required
              placeholder={t("common.example", { value: "wiki.corp.example.com" })}
              maxLength={256}
              error={error}
              value={resource.id}
              onChange={({ currentTarget }) => onChange({ ...resource, id: currentTarget.value })}
            />
          )}
        </div>
      </Group>
      {resource.type === "address" && (
        <Group gap="xs">
          <Select
            label={t("accessTests.fields.protocol")}
            placeholder={t("accessTests.fields.any")}
            data={transports}
            value={resource.protocol === "" ? null : resource.protocol}
            clearable
            clearButtonProps={{ "aria-label": t("accessTests.fields.anyProtocol") }}
            onChange={(protocol) => onChange({ ...resource, protocol: protocol ?? "" })}
            w={150}
          />
          <TextInput
            label={t("accessTests.fields.port")}
            placeholder={t("accessTests.fields.any")}
            inputMode="numeric"
            maxLength={5}
            value={resource.port}
            onChange={({ currentTarget }) => onChange({ ...resource, port: currentTarget.value.replaceAll(/\D/g, "") })}
            w={100}
          />
        </Group>
      )}
    </Stack>
  );
}

export const newTest: Values = {
  name: "",
  subject: { type: "group", id: "" },
  device: "any",
  expected: "denied",
  resource: { type: "resource", id: "", protocol: "", port: "" },
  sourceIp: "",
  country: "",
  time: "",
  enforced: true,
  description: "",
};

export function testValues(test: AccessTest): Values {
  const { name, subject, device, resource, context = {}, expected, enforced, description } = test;
  const { protocol = "", port } = resource.properties ?? {};
  return {
    name,
    subject: { type: subject.type, id: subject.id ?? "" },
    device,
    expected,
    resource: { type: resource.type, id: resource.id, protocol, port: port === undefined ? "" : String(port) },
    sourceIp: context.sourceIp ?? "",
    country: context.country ?? "",
    time: context.time ?? "",
    enforced,
    description: description ?? "",
  };
}

interface TestValues {
  readonly name: string;
  readonly subject: Subject;
  readonly device: AccessTest["device"];
  readonly expected: AccessTest["expected"];
  readonly resource: Resource;
  readonly sourceIp: string;
  readonly country: string;
  readonly time: string;
  readonly enforced: boolean;
  readonly description: string;
}

export function bodyOf(values: Values) {
  const { subject, resource, sourceIp, country, time, ...rest } = values as unknown as TestValues; // as the fields define them
  const { protocol, port } = resource;
  const transport = transports.find((each) => each === protocol);
  const properties = {
    ...(transport === undefined ? {} : { protocol: transport }),
    ...(port === "" ? {} : { port: Number(port) }),
  };
  return {
    ...rest,
    subject: { type: subject.type, ...(subject.type === "everyone" ? {} : { id: subject.id }) },
    resource: {
      type: resource.type,
      id: resource.id.trim(),
      ...(Object.keys(properties).length === 0 ? {} : { properties }),
    },
    context: {
      ...(sourceIp === "" ? {} : { sourceIp: sourceIp.trim() }),
      ...(country === "" ? {} : { country: country.toUpperCase() }),
      ...(time === "" ? {} : { time }),
    },
  };
}
