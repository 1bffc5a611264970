// Which hosts the http tools may reach: said, and asked once when a deployment is new.
import { createInterface } from 'node:readline/promises'

export const openingHint = 'Open one: isola http allow <host>'

/** The state in one line. */
export const networkLine = ({ hosts, elsewhere }) => {
  const other = elsewhere === 'ask' ? 'others are asked about' : 'others are denied'
  return hosts.length === 0
    ? `closed to the http tools, ${other} (isola http allow <host>)`
    : `http tools reach ${hosts.slice(0, 5).join(', ')}${hosts.length > 5 ? ' …' : ''}; ${other}`
}

/** Only a person at a terminal is asked: a pipe or a CI job gets the closed network. */
export const mayAsk = ({ stdin, stdout, env }) =>
  Boolean(stdin.isTTY && stdout.isTTY) && !env.CI && env.TERM !== 'dumb'

/**
 * Asks, and opens what is named; nothing is also an answer.
 * @param options.open Allows hosts.
 */
export async function askForHosts({ open, say, stdin, stdout }) {
  const terminal = createInterface({ input: stdin, output: stdout })
  try {
    const answer = await terminal.question(
      'Which hosts may the http tools reach? Names with spaces between, or Enter for none: ',
    )
    const allow = answer.split(/[\s,]+/).filter(Boolean)
    if (allow.length > 0) await open(allow)
  } catch (error) {
    say(`Nothing was opened: ${error.message}`)
  } finally {
    terminal.close()
  }
}

/**
 * Throws where a server does not know of it.
 * @param read Answers `GET /api/operator/http`.
 */
export async function readNetwork(read) {
  const network = await read()
  if (!Array.isArray(network.hosts)) throw new Error('this server does not say')
  return network
}
