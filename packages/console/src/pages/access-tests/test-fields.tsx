import { Group, SegmentedControl, Select, Stack, Switch, Text, TextInput } from "@mantine/core";
import type { CustomFieldProps, Field, Values } from "../../records/form-fields.tsx";
import { RecordSelect } from "../../records/record-select.tsx";
import { type AccessTest, formatDevice } from "./format-test.ts";

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
  { kind: "text", name: "name", label: "Name", required: true, placeholder: "Contractors never reach Payroll" },
  {
    kind: "custom",
    name: "subject",
    label: "Who",
    render: (props) => <SubjectField {...props} />,
    format: (value) => `${(value as Subject).type} ${(value as Subject).id}`,
  },
  {
    kind: "custom",
    name: "device",
    label: "Device",
    render: (props) => <DeviceField {...props} />,
    format: (value) => formatDevice(value as AccessTest["device"]) || "with every device",
  },
  {
    kind: "choice",
    name: "expected",
    label: "Must",
    options: [
      { value: "denied", label: "Never reach" },
      { value: "allowed", label: "Always reach" },
    ],
  },
  {
    kind: "custom",
    name: "resource",
    label: "What",
    render: (props) => <ResourceField {...props} />,
    format: (value) => (value as Resource).id,
  },
  { kind: "text", name: "sourceIp", label: "From address", placeholder: "Any", maxLength: 64 },
  { kind: "text", name: "country", label: "From country", placeholder: "Any, such as DE", maxLength: 2 },
  {
    kind: "text",
    name: "time",
    label: "At",
    placeholder: "Any time, such as 2026-11-23T09:00:00Z",
    maxLength: 40,
  },
  {
    kind: "switch",
    name: "enforced",
    label: "Enforced",
    description: "A change that would break it is refused, unless it only takes access away or gives a reason.",
  },
  { kind: "long-text", name: "description", label: "Description" },
];

const transports = ["TCP", "UDP", "ICMP"] as const;

const subjectPaths = { group: "/tenants/groups", user: "/tenants/users", device: "/tenants/devices" } as const;

function SubjectField({ value, onChange, error }: CustomFieldProps) {
  const subject = value as Subject;
  return (
    <Group align="flex-end" gap="xs" wrap="nowrap">
      <Select
        label="Who"
        data={[
          { value: "everyone", label: "Everyone" },
          { value: "group", label: "A group" },
          { value: "user", label: "A user" },
          { value: "device", label: "A device" },
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
            label={subject.type === "group" ? "Group" : subject.type === "user" ? "User" : "Device"}
            error={error}
            value={subject.id}
            onChange={(id) => onChange({ ...subject, id })}
          />
        </div>
      )}
    </Group>
  );
}

/** What is made up stands as text while it is typed. */
function DeviceField({ value, onChange }: CustomFieldProps) {
  const device = value as AccessTest["device"];
  const kind = typeof device === "string" ? device : "posture";
  const posture = typeof device === "string" ? {} : device.posture;
  const set = (name: string, met: boolean) => onChange({ posture: { ...posture, [name]: met } });
  return (
    <Stack gap={6}>
      <Text size="sm" fw={600} id="test-device">
        Device
      </Text>
      <SegmentedControl
        aria-labelledby="test-device"
        value={kind}
        onChange={(next) =>
          onChange(next === "posture" ? { posture: { diskEncrypted: false, osUpToDate: false } } : next)
        }
        data={[
          { value: "any", label: "Each that they have" },
          { value: "none", label: "None" },
          { value: "posture", label: "One like this" },
        ]}
      />
      {kind === "posture" &&
        Object.entries(posture).map(([name, met]) =>
          typeof met === "boolean" ? (
            <Switch
              key={name}
              label={name}
              checked={met}
              onChange={({ currentTarget }) => set(name, currentTarget.checked)}
            />
          ) : (
            <Text key={name} size="sm">
              {name} = {String(met)}
            </Text>
          ),
        )}
    </Stack>
  );
}

function ResourceField({ value, onChange, error }: CustomFieldProps) {
  const resource = value as Resource;
  return (
    <Stack gap="xs">
      <Group align="flex-end" gap="xs" wrap="nowrap">
        <Select
          label="What"
          data={[
            { value: "resource", label: "A resource" },
            { value: "address", label: "An address" },
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
              label="Resource"
              error={error}
              value={resource.id}
              onChange={(id) => onChange({ ...resource, id })}
            />
          ) : (
            <TextInput
              label="Address"
              placeholder="wiki.corp.example.com"
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
            label="Protocol"
            placeholder="Any"
            data={transports}
            value={resource.protocol === "" ? null : resource.protocol}
            clearable
            clearButtonProps={{ "aria-label": "Any protocol" }}
            onChange={(protocol) => onChange({ ...resource, protocol: protocol ?? "" })}
            w={150}
          />
          <TextInput
            label="Port"
            placeholder="Any"
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

interface Typed {
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
  const { subject, resource, sourceIp, country, time, ...rest } = values as unknown as Typed; // as the fields make them
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
      ...(time === "" ? {} : { time: time.trim() }),
    },
  };
}
