/** By how much more than the estimate is reserved for a call's input (docs/design.md invariant 3). */
export const inputReserveFactor = 1.25
