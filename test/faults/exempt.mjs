// Failpoints that no scenario can reach, each with the reason. One that is reached, or that does not exist, is a
// mistake in this list, and `npm run faults` says so.

export const exempt = {}
