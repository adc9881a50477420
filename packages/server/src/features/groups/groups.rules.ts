/** The number of devices that a member of a new group may enrol (contract, "Records"). */
export const newGroupMaxDevices = 5;
