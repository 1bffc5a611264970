// Judges the output of a test run without a protection.

const timedOut = /^(\w+: )?(Test|Hook) timed out in \d+ms/

/** Whether a test was red for nothing but its time: the protection may be what it waited for, or the machine is slow. */
export const isOnlyLate = ({ failureMessages = [] }) =>
  failureMessages.length > 0 && failureMessages.every((message) => timedOut.test(message))

const whyRed = ({ red, problem, passed, said }) =>
  red ?? problem ?? (passed === 0 ? `nothing ran: ${said.trim().slice(-500)}` : undefined)

/**
 * Judges a protection by the run without it. A test that merely was late has noticed something only if it is in time with
 * the protection on.
 *
 * @param runs `before`: the run with all on, if there was one. `without`: makes the run with it off. `baseline`: makes
 *   the run with all on, with the same limits of time.
 */
export async function judge({ before, without, baseline }) {
  const wrong = before && whyRed(before)
  if (wrong) return { isCaught: false, text: `NOT VALID, red with it on: ${wrong}` }
  const off = await without()
  const { red, isLate, isOff, problem, said } = off
  if (red !== undefined && isOff) {
    const late = isLate && !before && whyRed(await baseline())
    return late
      ? { isCaught: false, text: `NOT VALID, ${red} is late, and with it on red is: ${late}` }
      : { isCaught: true, text: red }
  }
  const why = !isOff
    ? `was never off: ${said.trim().slice(-500)}`
    : (problem ?? 'no test turned red')
  return { isCaught: false, text: `MISSED: ${why}` }
}
