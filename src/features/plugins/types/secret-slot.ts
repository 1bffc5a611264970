/** Marks the place of the value in the path of a grant. */
export const slotMark = '{}'
