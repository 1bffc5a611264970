/**
 * Tasks that are done with numbers, dates, yes or no, and ids of what was read, and no other word of it: somebody
 * without tools can read it for them, and answer in these types. The other tasks that do something write, pay or send
 * what they have read: a name, an address, a text.
 */
const typed: Readonly<Record<string, readonly number[]>> = {
  // An amount, the number of a standing order, whether anything is odd; the user says to whom.
  banking: [2, 3, 4, 5, 6, 9, 11, 14],
  // Whether a rating is high enough.
  travel: [0],
  // Whether an hour is free; the number of an event or a file.
  workspace: [6, 7, 8, 12, 35, 38],
}

/** Whether all that a recorded task needs of what it reads has such a type. */
export const isTyped = (suite: string, task: string): boolean =>
  (typed[suite] ?? []).some((number) => task === `user_task_${number}`)
