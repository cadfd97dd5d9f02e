/** Words of the status page. */
export const status = { title: "Status" };
