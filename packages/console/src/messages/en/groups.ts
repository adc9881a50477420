export const groups = {
  bulk: {
    deleteNote:
      "Members of the groups will stay users. Policies will no longer refer to the groups. A group that is a user’s only group cannot be deleted here. Delete it on its own page, which offers to move the users. The default groups are skipped.",
  },
  create: "Create group",
  defaultForSso: "Default group for single sign-on",
  delete: {
    effect_one:
      "{{count}} user will leave the group, and policies will no longer refer to the group. Users who have access only through the group will lose it. If you revert the deletion, the group gets a new ID.",
    effect_other:
      "{{count}} users will leave the group, and policies will no longer refer to the group. Users who have access only through the group will lose it. If you revert the deletion, the group gets a new ID.",
    moveMembers_one: "Move {{count, number}} user to the default group and delete",
    moveMembers_other: "Move {{count, number}} users to the default group and delete",
    noDefault: "No default group was found. Add the users to another group first.",
    title: "Delete group “{{name}}”?",
  },
  edit: "Edit group “{{name}}”",
  empty: {
    text: "Policies grant access to groups of users. Create the first group for a team or a task.",
    title: "No groups yet",
  },
  fields: {
    deviceSessionLifetime: "Device session lifetime",
    deviceSessionLifetimeHelp:
      "How long a member’s device stays trusted after sign-in, from 15 minutes to a year. The shortest of the lifetimes in the settings and in the member’s groups applies. Leave empty if the group sets no limit.",
    idpMapping: "Identity provider groups",
    idpMappingHelp:
      "Users who sign in with one of these groups become members. Enter the names or the IDs that the provider sends in its groups claim.",
    maxDevices: "Device limit per member",
    maxDevicesHelp:
      "The number of devices that each member can have. The largest limit of the user’s groups applies, unless the user has a separate limit.",
    nameExample: "Engineers",
    roles: "Roles for members",
  },
  members: {
    add: "Add members",
    addTitle: "Add members to “{{name}}”",
    empty: "No members yet",
    emptyText:
      "Members get the access and the roles of the group. Add users, or choose the group when you invite them.",
    removed: "Member removed",
    removeNamed: "Remove {{name}}",
    removeNote: "The user loses the access and the roles of the group. Every user must stay in at least one group.",
    removeTitle: "Remove “{{name}}” from “{{group}}”?",
    select: "Select at least one user.",
    title: "Members ({{count, number}})",
  },
  noSessionLifetime: "No limit set by this group",
  noun: "groups",
  rolesColumn: "Roles",
  title: "Groups",
  usersColumn: "Members",
} as const;
