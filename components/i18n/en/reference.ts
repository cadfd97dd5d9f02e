/** Words of the reference page. */
export const reference = { title: "Reference" };
