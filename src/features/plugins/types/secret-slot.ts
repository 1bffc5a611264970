/** Stands for the value in the path of a grant. */
export const slotMark = '{}'
