export const roles = {
  assign: {
    label: "Assign to a user",
    submit: "Assign",
    title: "Assign the role “{{name}}”",
  },
  empty: {
    text: "Every organisation has built-in roles. A role is a set of permissions for users.",
    title: "No roles",
  },
  kind: {
    builtIn: "Built-in",
    builtInHelp: "Built-in. Its permissions are the same in every organisation.",
    custom: "Custom",
    label: "Type",
  },
  noun: "roles",
  permissions: "Permissions",
  permissionsCount: "{{count, number}} of {{total, number}}",
  permissionsEmpty: "No permissions",
  permissionsEmptyText:
    "Users with only this role cannot administer anything. Their access to resources comes from policies.",
  revoke: {
    done: "Role removed",
    label: "Remove",
    labelFor: "Remove {{name}}",
    note: "Roles that the user inherits from groups remain as long as the user is a member.",
    title: "Remove the role “{{name}}” from “{{user}}”?",
  },
  showUsers: "Show users",
  title: "Roles",
  users: {
    all: "Every user has this role.",
    assignment: "Assignment",
    direct: "Direct",
    empty: "Users get the permissions of the role. Assign it to the first user, or to a group.",
    more_one: "{{count, number}} more user is not shown. <a>Show all</a>",
    more_other: "{{count, number}} more users are not shown. <a>Show all</a>",
    title: "Users",
    titleCount: "Users ({{count, number}})",
    user: "User",
    viaGroup: "Through a group",
  },
} as const;
